"""The unpenalised part of the linear predictor: nothing, the intercept, covariates.

basis          the unpenalised columns, and what a solver needs of them
best_columns   their best coefficients for a loss, and projections of dual points
"""
