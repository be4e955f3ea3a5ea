"""Figures of paths, of cross-validation and of coefficients.

They follow scikit-learn's display conventions: ``from_estimator`` draws and returns an object that
holds the axes and can draw again. matplotlib is imported when the first figure is drawn.
"""

from ._style import BLUE, GREEN, GREY, ORANGE, pyplot, show_matrix
from .coef import CoefDisplay
from .cv import CVDisplay
from .path import PathDisplay

__all__ = [
    "BLUE",
    "GREEN",
    "GREY",
    "ORANGE",
    "CVDisplay",
    "CoefDisplay",
    "PathDisplay",
    "pyplot",
    "show_matrix",
]
