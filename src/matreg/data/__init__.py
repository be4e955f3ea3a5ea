"""Samples with labels, weights and covariates.

samples       samples in memory, a block of samples, and the protocol of all kinds of samples
joint         several labels or classes as one problem
blocks        samples that are read block by block
reading       reads slices of arrays, mapped files and other storage
dask_blocks   samples in a Dask array, read block by block
moments       samples of which only the second moments are known
units         checks that products of the numbers stay in the range of float64
"""

from .samples import Samples

__all__ = ["Samples"]
