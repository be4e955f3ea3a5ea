"""Columns beside the matrix that have no penalty: none, the intercept, covariates.

basis          the columns, and what a solver needs of them
best_columns   their best coefficients for a loss, and the nearest dual point that they allow
"""
