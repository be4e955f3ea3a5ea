"""RMR for one tau after another: which solver is the quickest at each."""

from __future__ import annotations

from collections.abc import Callable

from ...problem import Problem
from ..certificate import SolverResult
from .active_set import solve_active_set
from .augmented_lagrangian import solve_augmented_lagrangian
from .cold import solve_cold

# Points for which a strategy is given a rest after it failed, doubled each time up to the last.
SHORTEST_REST, LONGEST_REST = 1, 4


class Strategy:
    """A solver that starts from the last solution and may fail; then it has a rest.

    Parameters
    ----------
    solver : callable
        ``solve_active_set`` or ``solve_augmented_lagrangian``.
    tol : float
        Relative duality gap at which to stop.
    """

    def __init__(self, solver: Callable[..., SolverResult], tol: float) -> None:
        self.solver, self.tol = solver, tol
        self.rest, self.next_rest = 0, SHORTEST_REST

    def solve(self, problem: Problem, last: SolverResult) -> SolverResult | None:
        """Solution of a problem from the last one; None if there is none."""
        if self.rest > 0:
            self.rest -= 1
            return None
        result = self.solver(problem, start=last, tol=self.tol)
        if result.converged:
            self.next_rest = SHORTEST_REST
            return result
        self.rest, self.next_rest = self.next_rest, min(2 * self.next_rest, LONGEST_REST)
        return None


class PathSolver:
    """Solutions for neighbouring problems, each from the last where that works.

    To follow the last solution is the quickest where the optimum is not degenerate, the augmented
    Lagrangian method where it is, and a fit from scratch is for where both fail. Paths are smooth
    in one stretch and degenerate in another, so that each is tried again after a while.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of steps of a fit from scratch.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.tol, self.max_iter = tol, max_iter
        self.strategies = [
            Strategy(solve_active_set, tol),
            Strategy(solve_augmented_lagrangian, tol),
        ]

    def solve(self, problem: Problem, last: SolverResult | None) -> SolverResult:
        """Solution of a problem from that of the last one, if there is one."""
        if last is not None:
            for strategy in self.strategies:
                result = strategy.solve(problem, last)
                if result is not None:
                    return result
        return solve_cold(problem, tol=self.tol, max_iter=self.max_iter)
