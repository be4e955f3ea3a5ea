"""Starting points of solvers: the solution of a neighbouring problem and previous ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._typing import Array
from ..losses.piecewise import PiecewiseLoss
from ..problem import RMRProblem

if TYPE_CHECKING:  # these modules import this one
    from .augmented.augmented import Smoothing
    from .rglm.least_squares import PreparedForm
    from .sparse import SparseState


class Position(NamedTuple):
    """Parameters that distinguish problems with the same samples."""

    tau: float  # weight of the nuclear norm
    # Sum of the largest slopes of the losses, which is proportional to C.
    loss_scale: float = 1.0


def position_of(problem: RMRProblem) -> Position:
    """Position of a problem."""
    loss = problem.loss
    # The samples of a ridge on covariates have infinite slopes, and C does not affect them.
    bounded = np.isfinite(loss.size)
    with np.errstate(divide="ignore"):
        slopes = loss.size[bounded] if bounded.any() else 1.0 / loss.curvature
    return Position(problem.penalty.tau, float(slopes.sum()))


UNKNOWN = Position(np.nan, np.nan)


@dataclass(frozen=True)
class Start:
    """Starting point: coefficients with multipliers, and the state of a solver.

    Attributes
    ----------
    W, gamma, beta : ndarray of shape (p, q), (k,), (n,)
        Coefficients, those of the columns without a penalty, and dual point.
    position : Position
        Position of the problem that this point solves, if it is known.
    Lambda : ndarray of shape (p, q), or (0, 0) if it is not known
        Multiplier of the nuclear norm: ``ridge W + Lambda = A'beta - linear`` at a solution.
    before : Start or None
        The previous solution, at another position.
    smoothing, prepared, split
        State of the augmented Lagrangian, of R-GLM and of the solver for sparse matrices.
    """

    W: Array
    gamma: Array
    beta: Array
    position: Position = UNKNOWN
    Lambda: Array = field(default_factory=lambda: np.zeros((0, 0)))
    before: Start | None = None
    smoothing: Smoothing | None = None
    prepared: PreparedForm | None = None
    split: SparseState | None = None

    @property
    def known(self) -> bool:
        """Whether the position of the problem is known."""
        return bool(np.isfinite(self.position.tau))

    def after(self, last: Start) -> Start:
        """The start, with the previous two solutions.

        If `last` has the same position, it belongs to other samples and is skipped.
        """
        other = last if last.position != self.position else last.before
        return replace(self, before=other and other.plain(1))

    def plain(self, depth: int = 0) -> Start:
        """The solution without the state of a solver, and with `depth` previous solutions."""
        before = self.before.plain(depth - 1) if self.before and depth else None
        return Start(self.W, self.gamma, self.beta, self.position, self.Lambda, before)

    def scaled(self, position: Position) -> Start:
        """The start, with beta rescaled to the loss scale of another position."""
        factor = position.loss_scale / self.position.loss_scale
        return self if factor == 1.0 else replace(self, beta=factor * self.beta)

    def ahead(self, position: Position) -> Start | None:
        """Linear extrapolation of the last two solutions; None if there is only one."""
        if self.before is None:
            return None
        last, before = self.scaled(position), self.before.scaled(position)
        t = steps(before.position, last.position, position)
        return replace(
            self,
            position=position,
            W=before.W + t * (last.W - before.W),
            Lambda=before.Lambda + t * (last.Lambda - before.Lambda),
            beta=before.beta + t * (last.beta - before.beta),
            gamma=before.gamma + t * (last.gamma - before.gamma),
        )

    def parabola(self, tau: float) -> Array:
        """W (p, q) at another tau, on the parabola through the last three solutions."""
        nodes, node = [self], self.before
        while node is not None:
            nodes, node = [*nodes, node], node.before
        taus = [node.position.tau for node in nodes]
        if len(set(taus)) < len(taus) or not np.isfinite(taus).all():
            return self.W
        weights = lagrange(taus, tau)
        return np.sum([w * node.W for w, node in zip(weights, nodes, strict=True)], axis=0)


def lagrange(nodes: Sequence[float], x: float) -> list[float]:
    """Weights of the values at distinct nodes in the value of the interpolation polynomial at x."""
    return [
        float(np.prod([(x - other) / (node - other) for other in nodes if other != node]))
        for node in nodes
    ]


def steps(before: Position, last: Position, here: Position) -> float:
    """Distance from `before` to `here` in units of that to `last`, along tau or loss scale."""
    at = 0 if before.tau != last.tau else 1
    return (here[at] - before[at]) / (last[at] - before[at])


def completed(problem: RMRProblem, start: Start) -> Start:
    """A start with its position and Lambda; if they are not known, they are derived from beta."""
    if start.known:
        return start
    solution = solution_of(problem, start.W, start.gamma, start.beta)
    # The start may belong to another tau. If W is not zero, the spectral norm of Lambda is tau.
    tau = float(np.linalg.norm(solution.Lambda, 2)) if start.W.any() else 0.0
    return replace(solution, position=solution.position._replace(tau=tau))


def solution_of(
    problem: RMRProblem, W: Array, gamma: Array, beta: Array, Z: Array | None = None
) -> Start:
    """The start of the next problem, from a solution and, if known, the image Z of its beta."""
    Z = problem.dual_image(beta) if Z is None else Z
    Lambda = Z - problem.penalty.ridge * W
    return Start(W, gamma, snapped(beta, problem.loss), position_of(problem), Lambda)


def snapped(beta: Array, loss: PiecewiseLoss) -> Array:
    """Multipliers (n,), with those very close to zero or to a bound moved exactly there."""
    size = np.abs(beta)
    largest = float(size.max(initial=0.0))
    beta = np.where(size <= 1e-6 * largest, 0.0, beta)
    bound = np.where(beta > 0.0, loss.upper, -loss.lower)
    at_bound = size >= bound - 1e-5 * np.minimum(largest, bound)
    return np.where(at_bound, np.copysign(bound, beta), beta)
