"""Estimators: the scikit-learn face of the solvers."""
