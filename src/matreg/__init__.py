"""Robust regression on matrices."""

from .criteria import information_criteria
from .estimators.cv import RGLMCV, RMRCV
from .estimators.grmr import GRMR
from .estimators.grmr_cv import GRMRCV
from .estimators.path import RegularizationPath, rglm_path, rmr_path
from .estimators.rglm import RGLM
from .estimators.rmr import RMR
from .plotting import CoefDisplay, CVDisplay, PathDisplay

__version__ = "0.1.0"

__all__ = [
    "GRMR",
    "GRMRCV",
    "RGLM",
    "RGLMCV",
    "RMR",
    "RMRCV",
    "CVDisplay",
    "CoefDisplay",
    "PathDisplay",
    "RegularizationPath",
    "information_criteria",
    "rglm_path",
    "rmr_path",
]
