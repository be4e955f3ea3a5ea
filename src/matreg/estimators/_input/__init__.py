"""What estimators are given.

parameters    which values the parameters may have
covariates    what stands beside the matrix without a penalty
streamed      samples that are read block by block
"""
