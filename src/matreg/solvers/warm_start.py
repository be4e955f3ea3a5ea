"""Warm starts: the solution of a neighbouring problem, and the extrapolation of the last two."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from .._typing import Array
from ..losses import PiecewiseLoss
from ..problem import RMRProblem
from .certificate import SolverResult, Tracker


@dataclass(frozen=True)
class NeighbourSettings:
    """What is taken for a neighbour's solution.

    Attributes
    ----------
    snap : float
        A multiplier this close to zero or to its bound, relative to the largest one, is there.
    """

    snap: float = 1e-5


DEFAULT = NeighbourSettings()


class Position(NamedTuple):
    """Where a problem is among those with the same samples.

    Attributes
    ----------
    tau : float
        Weight of the nuclear norm.
    slopes : float
        Sum of the largest slopes of the losses, which a weight C of the loss multiplies.
    """

    tau: float
    slopes: float


def position_of(problem: RMRProblem) -> Position:
    """Position of a problem."""
    loss = problem.loss
    with np.errstate(divide="ignore"):
        slopes = loss.size if loss.bounded else 1.0 / loss.curvature
    return Position(problem.penalty.tau, float(slopes.sum()))


@dataclass(frozen=True)
class Neighbour:
    """Solution at some position, with the one before it.

    Attributes
    ----------
    position : Position
        Of the problem it solves.
    W, Lambda, beta, gamma : ndarray of shape (p, q), (p, q), (n,), (k,)
        Primal and dual solution, with ``ridge W + Lambda = A'beta - T``.
    before : Neighbour or None
        The solution before, at another position.
    tools : object or None
        What the solver that led there left to the next problem.
    """

    position: Position
    W: Array
    Lambda: Array
    beta: Array
    gamma: Array
    before: Neighbour | None = None
    tools: object | None = None

    def after(self, last: Neighbour) -> Neighbour:
        """The same, with the last two solutions before it.

        One of the same position, which belongs to other samples, is passed over.
        """
        other = last if last.position != self.position else last.before
        return replace(self, before=other and other.plain(1))

    def plain(self, depth: int) -> Neighbour:
        """The solution alone, with so many solutions before it."""
        before = self.before.plain(depth - 1) if self.before and depth else None
        return replace(self, before=before, tools=None)

    def scaled(self, position: Position) -> Neighbour:
        """The same, with multipliers for losses of other weights: they are where they were."""
        factor = position.slopes / self.position.slopes
        return self if factor == 1.0 else replace(self, beta=factor * self.beta)

    def ahead(self, position: Position) -> Neighbour | None:
        """Where the line through the last two solutions leads; None if there is but one."""
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


def steps(before: Position, last: Position, here: Position) -> float:
    """How many steps from `before` to `last` lead to `here`, along tau or else along the slopes."""
    at = 0 if before.tau != last.tau else 1
    return (here[at] - before[at]) / (last[at] - before[at])


class Method(Protocol):
    """A run that starts from a neighbour and yields what it remembers of each step."""

    def iterate(self) -> Iterator[Neighbour]:
        """Steps until the tracker is satisfied or no progress is made."""
        ...


def solve_from(
    method: Callable[[RMRProblem, Tracker, Neighbour], Method],
    problem: RMRProblem,
    start: SolverResult,
    tol: float,
    max_iter: int,
    verbose: int,
    name: str,
) -> SolverResult:
    """Run a method from the solution of a neighbouring problem, with one row per step."""
    tracker = Tracker(problem, tol, verbose, name)
    n_iter = 0
    state: Neighbour | None = None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for neighbour in method(problem, tracker, neighbour_of(problem, start)).iterate():
            n_iter, state = len(tracker.history.rows), neighbour
            tracker.record(n_iter)
            if n_iter >= max_iter:
                break
    return tracker.result(n_iter, state if tracker.converged else None)


def neighbour_of(problem: RMRProblem, start: SolverResult) -> Neighbour:
    """Neighbour that a result carries, or what can be made of its solution."""
    shape = (problem.design.p, problem.design.q)
    if isinstance(start.state, Neighbour) and start.state.W.shape == shape:
        return start.state
    solution = solution_of(problem, start)
    # It may be that of another tau. Where W is not zero Lambda touches the ball of radius tau.
    tau = float(np.linalg.norm(solution.Lambda, 2)) if start.W.rank else 0.0
    return replace(solution, position=solution.position._replace(tau=tau))


def solution_of(problem: RMRProblem, result: SolverResult, Z: Array | None = None) -> Neighbour:
    """What a result, with the image Z of its beta if that is known, is for the next problem."""
    W = result.W.matrix
    Z = problem.image(result.beta) if Z is None else Z
    Lambda = Z - problem.penalty.ridge * W
    beta = snapped(result.beta, problem.loss)
    return Neighbour(position_of(problem), W, Lambda, beta, result.gamma)


def snapped(beta: Array, loss: PiecewiseLoss) -> Array:
    """Multipliers with those next to zero or to a bound moved there."""
    size, snap = np.abs(beta), DEFAULT.snap
    small = snap * float(size.max(initial=0.0))
    beta = np.where(size <= 0.1 * small, 0.0, beta)
    bound = np.where(beta > 0.0, loss.upper, -loss.lower)
    return np.where(size >= bound - np.minimum(small, snap * bound), np.copysign(bound, beta), beta)
