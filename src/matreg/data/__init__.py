"""Samples with labels, weights and covariates.

``samples`` holds them in memory, ``blocks`` reads them block by block, ``dask_blocks`` does so on
Dask. All three are a :class:`matreg.data.samples.SampleSet`.
"""

from .samples import Samples

__all__ = ["Samples"]
