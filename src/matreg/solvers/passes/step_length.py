"""Step lengths between two passes over the samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..._typing import Array
from ...linalg.factors import Factors, svd
from ...penalties.spectral import SpectralPenalty
from .summary import PassSummary


@dataclass(frozen=True)
class Tangent:
    """The loss of all samples at some (W, gamma) and its derivatives: its tangent plane there.

    As the loss is convex, the tangent is a lower bound of the loss everywhere.
    """

    loss: float
    G: Array  # (p*q,): minus the derivative with respect to W
    g: Array  # (k,): minus the derivative with respect to gamma

    @classmethod
    def of(cls, summary: PassSummary, ridge: float = 0.0, slopes: Array | float = 0.0) -> Tangent:
        """Tangent from the summary of a pass, and the ridge on gamma with its slopes (k,)."""
        G, g = summary.gradient
        return cls(summary.loss + ridge, G, g - slopes)

    def slope(self, D: Array, dgamma: Array) -> float:
        """Derivative of the loss in the direction D (p, q), dgamma (k,)."""
        return -float(self.G @ D.reshape(-1)) - float(self.g @ dgamma)


def lowest(value: Callable[[float], float], first: int = 0) -> float:
    """The part 0.75^k of a step, with k from `first` to 35, that has the smallest value."""
    return min((0.75**k for k in range(first, 36)), key=value)


@dataclass(frozen=True)
class Step:
    """A step from a point where the tangent is known."""

    # The point where the step begins.
    W: Factors
    gamma: Array
    tangent: Tangent
    # The step, of shapes (p, q) and (k,).
    D: Array
    dgamma: Array

    def part(self, t: float) -> tuple[Factors, Array]:
        """W and gamma after a part of the step."""
        return svd(self.W.matrix + t * self.D), self.gamma + t * self.dgamma

    def slopes(self, ahead: Tangent) -> tuple[float, float]:
        """Derivatives of the loss along the step, before and after it."""
        before, after = (end.slope(self.D, self.dgamma) for end in (self.tangent, ahead))
        return before, after

    def back(self, ahead: Tangent, penalty: SpectralPenalty) -> float:
        """The part of the step to take if the full step was too long.

        The loss is convex, so that its tangents at both ends are lower bounds of the loss: the part
        minimises the larger of the two bounds plus the penalty.
        """
        behind, slope = self.slopes(ahead)

        def value(t: float) -> float:
            bound = max(self.tangent.loss + t * behind, ahead.loss + (t - 1.0) * slope)
            return penalty.value_of(self.part(t)[0]) + bound

        return lowest(value, first=1)

    def best_part(self, taken: float, ahead: Tangent, penalty: SpectralPenalty) -> float:
        """The best part of the step, from the slopes of the loss at its start and after `taken`.

        The solution of a graded problem has a sampling error of c times the error of the previous
        W. The best part is 1 / (1 + c^2), which leaves the share c / sqrt(1 + c^2) of that error
        instead of c.
        """
        behind, slope = self.slopes(ahead)
        curvature = max(slope - behind, 0.0) / taken

        def value(t: float) -> float:
            return penalty.value_of(self.part(t)[0]) + t * behind + 0.5 * curvature * t * t

        return lowest(value)
