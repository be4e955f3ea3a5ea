"""The best point of passes over the samples, and the way back to it from a step too far."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array
from ...linalg.factors import Factors
from ...problem import relative_gap
from .cores import Lift
from .seen import Seen


@dataclass(frozen=True)
class Tangent:
    """The loss of all samples at some (W, b) and its slopes: a lower bound of it everywhere.

    Attributes
    ----------
    loss, G, g : float, ndarray of shape (p*q,), float
        The loss, and minus its derivatives by W and b.
    """

    loss: float
    G: Array
    g: float

    @classmethod
    def of(cls, seen: Seen) -> Tangent:
        """From what was seen in a pass."""
        return cls(seen.loss, *seen.gradient)

    def along(self, D: Array, db: float, t: float) -> float:
        """The bound at W + t D and b + t db."""
        return self.loss - t * (float(self.G @ D.reshape(-1)) + self.g * db)


@dataclass
class Best:
    """The best certified point so far."""

    W: Factors
    b: float
    tangent: Tangent
    primal: float = np.inf
    dual: float = 0.0
    lift: Lift | None = None

    @property
    def gap(self) -> float:
        """Relative duality gap."""
        return relative_gap(self.primal, self.dual) if np.isfinite(self.primal) else 1.0
