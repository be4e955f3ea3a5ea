"""Preprocessing of samples before a fit.

scaler        units of columns, rows or entries; units: a warning if they differ too much
windows       samples that are windows of a time series
scatter       scattered light in excitation-emission matrices
covariates    tables and categories as columns of numbers
_moments      means and variances in one pass; _stored_view: stored samples scaled as they are read
"""

from .covariates import CovariateEncoder
from .scaler import MatrixScaler
from .scatter import mask_scatter
from .units import warn_of_units
from .windows import windows

__all__ = ["CovariateEncoder", "MatrixScaler", "mask_scatter", "warn_of_units", "windows"]
