"""Figures of paths, of cross-validation and of coefficients.

They follow scikit-learn's display conventions: ``from_estimator`` draws and returns an object that
holds the axes and can draw again. matplotlib is imported when the first figure is drawn.
"""

from .coef import CoefDisplay
from .cv import CVDisplay
from .path import PathDisplay

__all__ = ["CVDisplay", "CoefDisplay", "PathDisplay"]
