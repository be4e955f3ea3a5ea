"""The active set method: from the solution of a neighbouring problem.

active_set        Newton steps with exact problems in the box
box_qp            the quadratic problem in the box, by pivoting
kernels           the matrix of that problem, dense or factored
working_set       most multipliers held, the rest by the active set
"""
