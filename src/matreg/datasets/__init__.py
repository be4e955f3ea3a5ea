"""Simulated and real data for regression on matrices."""

from .faces import load_cmu_faces, load_qmul_faces
from .istanbul import load_istanbul
from .shapes import SHAPES, make_shape
from .sugar import load_sugar
from .synthetic import make_matrix_regression

__all__ = [
    "SHAPES",
    "load_cmu_faces",
    "load_istanbul",
    "load_qmul_faces",
    "load_sugar",
    "make_matrix_regression",
    "make_shape",
]
