"""RMR for one tau after another: which solver is the quickest at each."""

from __future__ import annotations

from collections.abc import Callable

from ...problem import Problem
from ..certificate import SolverResult
from ..many.augmented import pays
from .active_set import MOST_LINEARISATIONS, solve_active_set
from .augmented_lagrangian import solve_augmented_lagrangian
from .cold import solve_cold
from .solve import solve_with_many

# Points for which a strategy is given a rest after it failed, doubled each time up to the last.
SHORTEST_REST, LONGEST_REST = 1, 4
# Steps of the augmented Lagrangian method at most: where it is the right one it takes fewer.
MOST_STEPS = 80


class Strategy:
    """A solver that starts from the last solution and may fail; then it has a rest.

    Parameters
    ----------
    solver : callable
        ``solve_active_set`` or ``solve_augmented_lagrangian``.
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of its steps.
    """

    def __init__(self, solver: Callable[..., SolverResult], tol: float, max_iter: int) -> None:
        self.solver, self.tol, self.max_iter = solver, tol, max_iter
        self.rest, self.next_rest = 0, SHORTEST_REST

    def solve(self, problem: Problem, last: SolverResult, max_iter: int) -> SolverResult | None:
        """Solve from the last solution, converged or not; None while it has a rest."""
        if self.rest > 0:
            self.rest -= 1
            return None
        most = min(self.max_iter, max_iter)
        result = self.solver(problem, start=last, tol=self.tol, max_iter=most)
        if result.converged:
            self.next_rest = SHORTEST_REST
        else:
            self.rest, self.next_rest = self.next_rest, min(2 * self.next_rest, LONGEST_REST)
        return result


class PathSolver:
    """Solutions for neighbouring problems, each from the last where that works.

    To follow the last solution is the quickest where the optimum is not degenerate, the augmented
    Lagrangian method where it is, and a fit from scratch is for where both fail. Paths are smooth
    in one stretch and degenerate in another, so that each is tried again after a while. Of many
    samples the solver for them starts from the last solution by itself.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of steps of one point, those of all methods that are tried together.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.tol, self.max_iter = tol, max_iter
        self.strategies = [
            Strategy(solve_active_set, tol, MOST_LINEARISATIONS),
            Strategy(solve_augmented_lagrangian, tol, MOST_STEPS),
        ]

    def solve(self, problem: Problem, last: SolverResult | None) -> SolverResult:
        """Solution of a problem from that of the last one, if there is one."""
        if pays(problem):
            return solve_with_many(problem, last, self.tol, self.max_iter)
        tried = None if last is None else self._from_last(problem, last)
        if tried is None:
            return solve_cold(problem, tol=self.tol, max_iter=self.max_iter)
        if self._ends(tried):
            return tried
        left = self.max_iter - tried.n_iter
        return solve_cold(problem, tol=self.tol, max_iter=left).after(tried)

    def _from_last(self, problem: Problem, last: SolverResult) -> SolverResult | None:
        """What the strategies make of the last solution; None if all of them have a rest."""
        tried: SolverResult | None = None
        for strategy in self.strategies:
            if tried is not None and self._ends(tried):
                break
            left = self.max_iter - (0 if tried is None else tried.n_iter)
            result = strategy.solve(problem, last, left)
            if result is not None:
                tried = result if tried is None else result.after(tried)
        return tried

    def _ends(self, result: SolverResult) -> bool:
        """Whether a point is good enough or has no steps left."""
        return result.converged or result.n_iter >= self.max_iter
