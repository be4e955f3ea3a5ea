"""Penalties of a matrix: value, prox, conjugate.

base       the protocol: what a certificate and the first-order solver need of a penalty
spectral   functions of the singular values
sparse     the nuclear norm and the absolute entries together
"""

from .base import Penalty
from .sparse import SparseLowRank
from .spectral import SpectralElasticNet, SpectralPenalty

__all__ = ["Penalty", "SparseLowRank", "SpectralElasticNet", "SpectralPenalty"]
