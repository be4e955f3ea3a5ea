"""The active set method, which starts from the solution of a neighbouring problem.

active_set        Newton steps with exactly solved box-constrained problems
box_qp            the box-constrained quadratic problem, by pivoting
kernels           the matrix of that problem, dense or factored
working_set       most multipliers are held, the active set solves for the rest
"""
