"""Columns beside the matrix that have no penalty: none, the intercept, covariates.

``basis`` says what a solver may ask of them, ``best_columns`` finds their best coefficients.
"""
