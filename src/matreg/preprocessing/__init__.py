"""What samples go through before a fit: units, windows of a time series, masks, covariates."""

from .covariates import CovariateEncoder
from .scaler import MatrixScaler
from .scatter import mask_scatter
from .units import warn_of_units
from .windows import windows

__all__ = ["CovariateEncoder", "MatrixScaler", "mask_scatter", "warn_of_units", "windows"]
