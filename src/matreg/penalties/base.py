"""The protocol of a penalty of a matrix."""

from __future__ import annotations

from typing import Protocol

from .._typing import Array
from ..linalg.factors import Factors


class Penalty(Protocol):
    """What a certificate and the first-order solver need of a penalty."""

    def value_of(self, W: Factors) -> float:
        """Penalty of a matrix W (p, q)."""
        ...

    def conjugate_of(self, Z: Array) -> float:
        """``sup_W <Z, W> - penalty(W)`` for a Z (p, q) where it is finite."""
        ...

    def shrink_factor_of(self, Z: Array) -> float:
        """Largest factor of at most 1 that brings Z into the domain of the conjugate."""
        ...

    def prox(self, Z: Array, step: float) -> Factors:
        """Minimiser of ``step * penalty(W) + ||W - Z||_F^2 / 2``."""
        ...
