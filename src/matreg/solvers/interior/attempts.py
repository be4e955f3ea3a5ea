"""Cold starts of RMR by the interior point method; if the box is huge, first in a smaller one."""

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

# Relative gap from which another method may finish. From there the active set solved 57 of 60
# problems, in one to four steps.
NEAR = 0.1


def tracker_at_zero(problem: RMRProblem, tol: float, verbose: int) -> Tracker:
    """A tracker with the certificate of W = 0, which is the solution if tau is large enough."""
    tracker = Tracker(problem, tol, verbose, "W = 0")
    only = only_multipliers(problem)
    if only is not None:
        tracker.offer_dual(only)
    tracker.record(0)
    return tracker


def solve_zero(
    problem: RMRProblem, *, start: Start | None, tol: float, max_iter: int, verbose: int
) -> SolverResult:
    """The certificate of a start with nonzero W, or of W = 0, without any iteration."""
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
    steps. `finish` solves the problem from a point near the solution. It is tried once; if it
    fails, the Newton steps continue.
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
    """The problem in a smaller box; None if its box is not huge, or not bounded.

    If the optimum in the smaller box is in the interior of the box and of the tube, it is the
    optimum of the problem, which the certificate checks. The smaller problem has a slightly
    narrower tube: otherwise rounding errors could leave the tube, which a huge C makes expensive.
    """
    loss = problem.loss
    largest = float(loss.size.max())
    if problem.homogeneous and loss.bounded:
        # Much more than the labels require.
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
    """Solve the problem `posed`, in the original or a smaller box; return the number of steps.

    Points are offered to the tracker, which belongs to the original problem.
    """
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
    """Whether to try a method that needs a point near a solution that is not degenerate.

    If there are more samples than the dimension of matrices of W's rank, it often is degenerate.
    """
    design, r = tracker.problem.design, tracker.W.rank
    return tracker.gap <= NEAR and design.n <= r * (design.p + design.q - r)


def finished(tracker: Tracker, finish: Callable[[Start], SolverResult], n_iter: int) -> int:
    """Offer the result of another method from the best point so far; return its number of steps."""
    found = finish(Start(tracker.W.matrix, tracker.gamma, tracker.beta))
    last, tracker.method = tracker.method, found.method
    tracker.offer_primal(found.W)
    tracker.offer_dual(found.beta)
    tracker.record(n_iter + found.n_iter)
    if not tracker.converged:
        tracker.method = last
    return found.n_iter
