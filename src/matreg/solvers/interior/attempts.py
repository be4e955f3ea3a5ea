"""RMR from scratch by the interior point method, in a smaller box first where its own is huge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...linalg.factors import svd
from ...linalg.threads import single_threaded
from ...problem import RMRProblem
from ..certificate import SolverResult, Tracker
from ..dual_points import label_ray, only_multipliers
from ..first_order import solve_universal
from ..warm_start import Start
from .crossover import crossover
from .interior_point import InteriorPoint


def tracker_at_zero(problem: RMRProblem, tol: float, verbose: int) -> Tracker:
    """A tracker that knows whether W = 0 is the solution, as from the largest tau of a path on."""
    tracker = Tracker(problem, tol, verbose, "W = 0")
    only = only_multipliers(problem)
    if only is not None:
        tracker.offer_dual(only)
    tracker.record(0)
    return tracker


def solve_zero(
    problem: RMRProblem,
    *,
    start: Start | None = None,
    tol: float,
    max_iter: int = 0,
    verbose: int = 0,
) -> SolverResult:
    """A start other than zero as it is, or W = 0 with what the columns without a penalty prove."""
    if start is None or not start.W.any():
        return tracker_at_zero(problem, tol, verbose).result(0)
    tracker = Tracker(problem, tol, verbose, "start")
    tracker.offer_primal(svd(start.W))
    tracker.offer_dual(start.beta)
    return tracker.result(0)


@single_threaded(lambda problem: problem.design.size)
def solve_cold(
    problem: RMRProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        A loss of four numbers a sample, a spectral penalty with a ridge.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Largest number of Newton steps.
    verbose : int, default=0
        Whether to print one line per step.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    loss = problem.loss
    if np.isinf(loss.lower).all() and np.isinf(loss.upper).all():  # there is no interior
        return solve_universal(problem, tol=tol, max_iter=max_iter, verbose=verbose)
    tracker = tracker_at_zero(problem, tol, verbose)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        n_iter = 0
        for posed in (None if tracker.converged else smaller_box(problem), problem):
            if posed is not None and not tracker.converged and n_iter < max_iter:
                n_iter = attempt(tracker, posed, n_iter, max_iter)
    return tracker.result(n_iter)


def smaller_box(problem: RMRProblem) -> RMRProblem | None:
    """The problem in a smaller box, if its own is larger than any solution needs.

    If the optimum of the smaller box is inside of it and inside of the tube, it is the optimum: the
    certificate will tell. The tube is a little narrower there, so that rounding does not leave
    it, which costs C times as much as it should in a huge box.
    """
    loss = problem.loss
    largest = float(loss.size.max())
    if problem.homogeneous and loss.bounded:
        # Much more than what the labels ask for.
        enough = 1e5 * float(np.abs(label_ray(problem, np.inf)).max())
        if 0.0 < enough < largest:
            smaller = loss.scaled(enough / largest)
            return replace(problem, loss=replace(smaller, epsilon=loss.epsilon * (1.0 - 1e-7)))
    return None


def attempt(tracker: Tracker, posed: RMRProblem, n_iter: int, max_iter: int) -> int:
    """Solve the problem by the one that is posed, in its own box or a smaller one; count steps."""
    tracker.method = "interior point"
    run = InteriorPoint(posed, tracker)
    for step, _ in enumerate(run.iterate(run.start())):
        if step > 0:
            n_iter += 1
            tracker.record(n_iter)
        if n_iter >= max_iter:
            break
    if not tracker.converged:
        tracker.method = "crossover"
        crossover(tracker, posed, run.best)
    return n_iter
