"""What estimators are given.

fit_input     the arguments of `fit`
parameters    which values the parameters may have
covariates    what stands beside the matrix without a penalty
streamed      samples that are read block by block
"""
