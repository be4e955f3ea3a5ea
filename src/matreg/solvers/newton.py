"""The default solver of RMR: an interior point method, and another one where it stalls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse.linalg
from numpy.typing import NDArray

from ..losses import EpsilonInsensitive
from .augmented import solve_augmented
from .interior import InteriorPoint
from .problem import Problem
from .rays import label_ray
from .result import SolverResult, Tracker
from .tau_max import only_multipliers
from .threads import calmly

Array = NDArray[np.float64]

# How far from its bound, relative to it, a multiplier is inside of the box.
INSIDE = 1e-6


def attempts(problem: Problem) -> Iterator[Problem]:
    """The problem, before it with smaller boxes if its own is larger than any solution needs.

    If the optimum of a smaller box is inside of it and inside of the tube, it is the optimum: the
    certificate will tell. The tube is a little narrower there, so that rounding does not leave
    it, which costs C times as much as it should in a huge box.
    """
    loss = problem.loss
    assert isinstance(loss, EpsilonInsensitive)
    scale = float(np.abs(label_ray(problem, np.inf)).max())
    for factor in (1e8, 1e4):
        if 0.0 < factor * scale < loss.c.max():
            smaller = EpsilonInsensitive(
                loss.c * (factor * scale / loss.c.max()), loss.epsilon * (1.0 - 1e-7)
            )
            yield replace(problem, loss=smaller)
    yield problem


def lifted(problem: Problem, posed: Problem, beta: Array) -> Array:
    """Multipliers of the problem from those of the same one in a smaller box.

    In a huge box W hardly depends on its size, and so does not ``A'beta``, while beta grows with
    the bounds it is at. So beta is scaled up with the box, and those inside of it are corrected
    such that ``A'beta`` stays what it was.
    """
    loss, smaller = problem.loss, posed.loss
    assert isinstance(loss, EpsilonInsensitive) and isinstance(smaller, EpsilonInsensitive)
    growth = float(loss.c.max() / smaller.c.max())
    free = np.abs(beta) < (1.0 - INSIDE) * smaller.c
    out = growth * np.where(free, beta, np.sign(beta) * smaller.c)
    rows = problem.design.flat[free]
    goal = problem.design.adjoint(beta - out).reshape(-1)
    if problem.fit_intercept:  # the sum of beta stays zero: one more column, like the others
        size = float(np.abs(problem.design.flat).mean())
        rows = np.hstack([rows, np.full((len(rows), 1), size)])
        goal = np.append(goal, -size * out.sum())
    if np.isfinite(goal).all():
        out[free] += scipy.sparse.linalg.lsqr(rows.T, goal, atol=1e-15, btol=1e-15)[0]
    return problem.feasible(out)


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


def interior(tracker: Tracker, n_iter: int, max_iter: int, careful: bool) -> int:
    """Interior point runs until the tracker is satisfied; return the steps done so far."""
    for posed in attempts(tracker.problem):
        if tracker.converged or n_iter >= max_iter:
            break
        run = InteriorPoint(posed, tracker, careful)
        start = point = run.start()
        for point in run.iterate(start):
            if point is not start:
                n_iter += 1
                tracker.record(n_iter)
            if n_iter >= max_iter:
                break
        if posed is not tracker.problem and not tracker.converged and point.finite:
            tracker.offer_dual(lifted(tracker.problem, posed, point.beta))
    return n_iter


def augmented(tracker: Tracker, n_iter: int, max_iter: int) -> int:
    """Augmented Lagrangian steps from the best point, for where the interior point stalled."""
    if tracker.converged or n_iter >= max_iter:
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
