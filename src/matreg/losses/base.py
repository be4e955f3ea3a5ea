"""The protocol of a loss of residuals."""

from __future__ import annotations

from typing import Protocol

from .._typing import Array

# Two sums count as equal if they differ by less than this, relative to the sizes of their terms.
# This is 45 times the machine epsilon.
ROUNDING = 1e-14


class Loss(Protocol):
    """What a certificate needs of a loss."""

    def value(self, r: Array) -> float:
        """Sum of the losses of the residuals r (n,)."""
        ...

    def conjugate(self, beta: Array) -> float:
        """``sup_r beta'r - L(r)`` for a `beta` (n,) where it is finite."""
        ...

    def best_intercept(self, r: Array, total: float = 0.0) -> float:
        """Number ``b`` that minimises ``L(r - b) + total b``."""
        ...

    def feasible(self, beta: Array, total: float | None) -> Array:
        """Nearby point where the conjugate is finite, with the sum `total` unless that is None."""
        ...

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Smallest and largest dual variable of each sample; only needed with covariates."""
        ...
