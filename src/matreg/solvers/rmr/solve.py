"""One RMR problem: from the solution of a neighbouring one if that works, else from scratch."""

from __future__ import annotations

from ...problem import Problem
from ..certificate import SolverResult
from ..many.augmented import pays, solve_many
from .active_set import DEFAULT, solve_active_set
from .cold import solve_cold


def solve_rmr(
    problem: Problem,
    *,
    start: SolverResult | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        Epsilon-insensitive loss and spectral elastic net.
    start : SolverResult, default=None
        Solution of a problem close by, with as many samples of the same shape.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of steps: linearisations from `start` and Newton steps from scratch together.
    verbose : int, default=0
        Whether to print one line per step.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    if pays(problem):
        return solve_with_many(problem, start, tol, max_iter, verbose)
    if start is None:
        return solve_cold(problem, tol=tol, max_iter=max_iter, verbose=verbose)
    most = min(max_iter, DEFAULT.most_linearisations)
    near = solve_active_set(problem, start=start, tol=tol, max_iter=most, verbose=verbose)
    left = max_iter - near.n_iter
    if near.converged or left <= 0:
        return near
    return solve_cold(problem, tol=tol, max_iter=left, verbose=verbose).after(near)


def solve_with_many(
    problem: Problem, start: SolverResult | None, tol: float, max_iter: int, verbose: int = 0
) -> SolverResult:
    """Solve by the solver for many samples, and by the one for few should it fail."""
    many = solve_many(problem, start=start, tol=tol, max_iter=max_iter, verbose=verbose)
    left = max_iter - many.n_iter
    if many.converged or left <= 0:
        return many
    return solve_cold(problem, tol=tol, max_iter=left, verbose=verbose).after(many)
