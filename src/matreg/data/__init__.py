"""Samples with labels, weights and covariates.

samples       in memory, in a block, and what all kinds of samples offer
joint         several labels or classes as one problem
blocks        read block by block
reading       slices of arrays, of mapped files and of other storage
dask_blocks   read block by block on Dask
moments       samples of which only the second moments are known
units         sizes of numbers whose products float64 can hold
"""

from .samples import Samples

__all__ = ["Samples"]
