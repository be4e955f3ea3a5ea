"""What the solution of a problem tells a solver about a neighbouring one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from ..._typing import Array
from ...losses import PiecewiseLoss
from ...problem import RMRProblem
from ..certificate import SolverResult, Tracker


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


@dataclass(frozen=True)
class Neighbour:
    """Solution for some tau, with the one before it.

    Attributes
    ----------
    tau : float
        Weight of the nuclear norm it belongs to.
    W, Lambda, beta, b : ndarray, ndarray, ndarray, float
        Primal and dual solution, with ``ridge W + Lambda = A'beta - T``.
    before : Neighbour or None
        The solution before, for another tau.
    linear : object or None
        Linearisation that led there, if it is worth another try.
    """

    tau: float
    W: Array
    Lambda: Array
    beta: Array
    b: float
    before: Neighbour | None = None
    linear: object | None = None

    def after(self, last: Neighbour) -> Neighbour:
        """The same, with the last solution before it.

        One of the same tau, which belongs to other samples, is passed over.
        """
        other = last if last.tau != self.tau else last.before
        if other is not None:
            other = replace(other, before=None, linear=None)
        return replace(self, before=other)

    def ahead(self, tau: float) -> Neighbour | None:
        """Where the line through the last two solutions leads; None if there is but one."""
        if self.before is None:
            return None
        last, before = self, self.before
        t = (tau - before.tau) / (last.tau - before.tau)
        return replace(
            self,
            tau=tau,
            W=before.W + t * (last.W - before.W),
            Lambda=before.Lambda + t * (last.Lambda - before.Lambda),
            beta=before.beta + t * (last.beta - before.beta),
            b=before.b + t * (last.b - before.b),
        )


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
    W = start.W.matrix
    Lambda = problem.image(start.beta) - problem.penalty.ridge * W
    # Where W is not zero Lambda touches the ball of radius tau.
    tau = float(np.linalg.norm(Lambda, 2)) if start.W.rank else 0.0
    return Neighbour(tau, W, Lambda, snapped(start.beta, problem.loss), start.b)


def snapped(beta: Array, loss: PiecewiseLoss) -> Array:
    """Multipliers with those next to zero or to a bound moved there."""
    size, snap = np.abs(beta), DEFAULT.snap
    small = snap * float(size.max(initial=0.0))
    beta = np.where(size <= 0.1 * small, 0.0, beta)
    bound = np.where(beta > 0.0, loss.upper, -loss.lower)
    return np.where(size >= bound - np.minimum(small, snap * bound), np.copysign(bound, beta), beta)
