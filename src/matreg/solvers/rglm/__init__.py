"""Matrix regression with a smooth loss: squared, logistic, Poisson.

solve             which method, and the smallest tau with W = 0
least_squares     the squared loss: FISTA, then proximal Newton steps
reweighted        other smooth losses, as a sequence of weighted squared ones
standard_form     weights and columns without a penalty projected out
proximal_newton   the second of these
"""
