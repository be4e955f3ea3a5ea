"""RMR for one tau after another."""

from __future__ import annotations

from dataclasses import dataclass

from ...problem import RMRProblem
from ..certificate import SolverResult
from .solve import remembered, solve_rmr


@dataclass(frozen=True)
class PathSolver:
    """Solutions for neighbouring problems, each from the last where that works.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of steps of one point, from the last solution and from scratch together.
    """

    tol: float
    max_iter: int

    def solve(self, problem: RMRProblem, last: SolverResult | None) -> SolverResult:
        """Solution of a problem from that of the last one, if there is one."""
        result = solve_rmr(problem, start=last, tol=self.tol, max_iter=self.max_iter)
        return remembered(problem, result, last)
