"""Solvers: a problem in, a result out. They know no estimator."""
