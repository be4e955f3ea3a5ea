"""RMR from scratch by the interior point method, in a smaller box first where its own is huge."""

from __future__ import annotations

from collections.abc import Callable
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

# Relative gap at which another method is tried from where the steps are. From there the active set
# solved 57 of 60 problems, in one to four of its steps.
NEAR = 0.1


def tracker_at_zero(problem: RMRProblem, tol: float, verbose: int) -> Tracker:
    """A tracker that knows whether W = 0 is the solution, as from the largest tau of a path on."""
    tracker = Tracker(problem, tol, verbose, "W = 0")
    only = only_multipliers(problem)
    if only is not None:
        tracker.offer_dual(only)
    tracker.record(0)
    return tracker


def solve_zero(
    problem: RMRProblem, *, start: Start | None, tol: float, max_iter: int, verbose: int
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
    finish: Callable[[Start], SolverResult] | None = None,
) -> SolverResult:
    """Solve an RMR problem to a relative duality gap.

    The arguments are those of :func:`matreg.solvers.choose.solve_rmr`; `max_iter` counts Newton
    steps. `finish` solves the problem from a point near its solution. It is tried once; where it
    fails, the steps go on.
    """
    loss = problem.loss
    if np.isinf(loss.lower).all() and np.isinf(loss.upper).all():  # there is no interior
        return solve_universal(problem, tol=tol, max_iter=max_iter, verbose=verbose)
    tracker = tracker_at_zero(problem, tol, verbose)
    tracker.most = max_iter
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        n_iter = 0
        for posed in (None if tracker.converged else smaller_box(problem), problem):
            if posed is not None and not tracker.converged and n_iter < max_iter:
                n_iter = attempt(tracker, posed, n_iter, max_iter, finish)
                finish = None
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


def attempt(
    tracker: Tracker,
    posed: RMRProblem,
    n_iter: int,
    max_iter: int,
    finish: Callable[[Start], SolverResult] | None,
) -> int:
    """Solve the problem by the one that is posed, in its own box or a smaller one; count steps."""
    tracker.method = "interior point"
    run = InteriorPoint(posed, tracker)
    for step, _ in enumerate(run.iterate(run.start())):
        if step > 0:
            n_iter += 1
            tracker.record(n_iter)
        if finish is not None and not tracker.converged and may_finish(tracker):
            n_iter += finished(tracker, finish, n_iter)
            finish = None
        if n_iter >= max_iter:
            break
    if not tracker.converged:
        tracker.method = "crossover"
        crossover(tracker, posed, run.best)
    return n_iter


def may_finish(tracker: Tracker) -> bool:
    """Whether a method that needs to be near the solution, which must not be degenerate, may try.

    With more samples than matrices of the rank of W have dimensions the solution often is.
    """
    design, r = tracker.problem.design, tracker.W.rank
    return tracker.gap <= NEAR and design.n <= r * (design.p + design.q - r)


def finished(tracker: Tracker, finish: Callable[[Start], SolverResult], n_iter: int) -> int:
    """Offer what another method finds from the best point so far; its number of steps."""
    found = finish(Start(tracker.W.matrix, tracker.gamma, tracker.beta))
    last, tracker.method = tracker.method, found.method
    tracker.offer_primal(found.W)
    tracker.offer_dual(found.beta)
    tracker.record(n_iter + found.n_iter)
    if not tracker.converged:
        tracker.method = last
    return found.n_iter
