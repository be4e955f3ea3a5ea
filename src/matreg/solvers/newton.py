"""The default solver of RMR: an interior point method, and another one where it stalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..losses import EpsilonInsensitive
from .augmented import solve_augmented
from .crossover import at_rounding_floor, crossover
from .interior import InteriorPoint
from .problem import Problem
from .rays import label_ray
from .result import SolverResult, Tracker
from .tau_max import only_multipliers
from .threads import calmly

Array = NDArray[np.float64]

# Boxes to try before the own one, as multiples of what the labels ask for.
SMALLER = (1e8, 1e6, 1e4)
# Gap, relative to the tolerance, that another try may close although it is all rounding.
LUCK = 10.0


def attempts(problem: Problem) -> Iterator[Problem]:
    """The problem, before it with smaller boxes if its own is larger than any solution needs.

    If the optimum of a smaller box is inside of it and inside of the tube, it is the optimum: the
    certificate will tell. The tube is a little narrower there, so that rounding does not leave
    it, which costs C times as much as it should in a huge box.
    """
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    scale = float(np.abs(label_ray(problem, np.inf)).max())
    for factor in SMALLER:
        if 0.0 < factor * scale < loss.c.max():
            smaller = EpsilonInsensitive(
                loss.c * (factor * scale / loss.c.max()), loss.epsilon * (1.0 - 1e-7)
            )
            yield replace(problem, loss=smaller)
    yield problem


@calmly(lambda problem: problem.design.flat.size)
def solve_newton(
    problem: Problem, *, tol: float = 1e-6, max_iter: int = 200, verbose: int = 0
) -> SolverResult:
    """Solve an RMR problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        Epsilon-insensitive loss and spectral elastic net.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Largest number of Newton steps.
    verbose : int, default=0
        Whether to print a line a step.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    tracker = Tracker(problem, tol, verbose)
    only = only_multipliers(problem)
    if only is not None:  # all it takes where W = 0
        tracker.offer_dual(problem.feasible(only))
    tracker.record(0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        n_iter = 0
        for careful in (False, True):
            n_iter = interior(tracker, n_iter, max_iter, careful)
            n_iter = augmented(tracker, n_iter, max_iter)
    return tracker.result(n_iter)


def finished(tracker: Tracker) -> bool:
    """Whether the gap is small enough, or as small as float64 allows."""
    return tracker.converged or (tracker.gap > LUCK * tracker.tol and at_rounding_floor(tracker))


def interior(tracker: Tracker, n_iter: int, max_iter: int, careful: bool) -> int:
    """Interior point runs until the tracker is satisfied; return the steps done so far."""
    for posed in attempts(tracker.problem):
        if finished(tracker) or n_iter >= max_iter:
            break
        run = InteriorPoint(posed, tracker, careful)
        start = point = run.start()
        for point in run.iterate(start):
            if point is not start:
                n_iter += 1
                tracker.record(n_iter)
            if n_iter >= max_iter:
                break
        if not tracker.converged and point.finite:
            crossover(tracker, posed, run.low_rank, point.b, point.beta)
    return n_iter


def augmented(tracker: Tracker, n_iter: int, max_iter: int) -> int:
    """Augmented Lagrangian steps from the best point, for where the interior point stalled."""
    if finished(tracker) or n_iter >= max_iter:
        return n_iter
    result = solve_augmented(
        tracker.problem,
        start=tracker.result(n_iter),
        tol=tracker.tol,
        max_iter=min(80, max_iter - n_iter),
    )
    n_iter += result.n_iter
    tracker.offer_primal(result.W)
    tracker.offer_dual(result.beta)
    tracker.record(n_iter)
    return n_iter
