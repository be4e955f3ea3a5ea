"""Penalties of a matrix: value, prox, conjugate.

``base`` has the protocol, ``spectral`` the functions of the singular values, ``sparse`` the
entries beside them.
"""

from .base import Penalty
from .sparse import SparseLowRank
from .spectral import SpectralElasticNet, SpectralPenalty

__all__ = ["Penalty", "SparseLowRank", "SpectralElasticNet", "SpectralPenalty"]
