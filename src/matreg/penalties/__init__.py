"""Penalties of a matrix: value, prox, conjugate.

base       the protocol: what a certificate and the first-order solver need of a penalty
spectral   functions of the singular values
sparse     the sum of the nuclear norm and the weighted absolute entries
"""

from .base import Penalty
from .sparse import SparseLowRank
from .spectral import SpectralElasticNet, SpectralPenalty

__all__ = ["Penalty", "SparseLowRank", "SpectralElasticNet", "SpectralPenalty"]
