"""Matrix regression with a smooth loss: squared, logistic, Poisson.

solve             the choice of the method, and the smallest tau with W = 0
least_squares     the squared loss: FISTA, then proximal Newton steps
reweighted        other smooth losses, as a sequence of weighted least squares problems
standard_form     the squared loss without weights and unpenalised columns
proximal_newton   proximal point steps by semismooth Newton for the standard form
"""
