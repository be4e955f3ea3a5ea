"""Samples with labels, weights and covariates.

samples       in memory, and what all kinds of samples offer
blocks        read block by block
dask_blocks   read block by block on Dask
"""

from .samples import Samples

__all__ = ["Samples"]
