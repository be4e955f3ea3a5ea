"""Arguments of estimators.

fit_input     the arguments of `fit`
parameters    which values the parameters may have
covariates    variables whose coefficients have no penalty
streamed      samples that are read block by block
"""
