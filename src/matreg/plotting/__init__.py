"""Figures of paths, of cross-validation, of coefficients and of outliers.

They follow scikit-learn's display conventions: ``from_estimator`` draws and returns an object that
holds the axes and can draw again. matplotlib is imported when the first figure is drawn.

path  cv  coef  outliers      one display each
_style        shared colours, axes, images of matrices
"""

from ._style import BLUE, COLOURS, GREEN, GREY, ORANGE, Display, pyplot, show_matrix
from .coef import CoefDisplay
from .cv import CVDisplay
from .outliers import OutlierDisplay
from .path import PathDisplay

__all__ = [
    "BLUE",
    "COLOURS",
    "GREEN",
    "GREY",
    "ORANGE",
    "CVDisplay",
    "CoefDisplay",
    "Display",
    "OutlierDisplay",
    "PathDisplay",
    "pyplot",
    "show_matrix",
]
