"""Samples with labels, weights and covariates.

samples       in memory, and what all kinds of samples offer
blocks        read block by block
reading       slices of arrays, of mapped files and of other storage
dask_blocks   read block by block on Dask
units         sizes of numbers whose products float64 can hold
"""

from .samples import Samples

__all__ = ["Samples"]
