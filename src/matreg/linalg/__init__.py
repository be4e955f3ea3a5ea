"""Linear algebra that solvers share."""
