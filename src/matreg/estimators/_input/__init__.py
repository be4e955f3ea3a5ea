"""What estimators are given.

given         samples with what stands beside them, as they are passed
parameters    which values the parameters may have
covariates    what stands beside the matrix without a penalty
streamed      samples that are read block by block
"""
