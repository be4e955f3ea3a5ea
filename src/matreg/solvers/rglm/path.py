"""R-GLM for one tau after another."""

from __future__ import annotations

from ...problem import Problem
from ..certificate import SolverResult
from .solve import solve_rglm


class PathSolver:
    """Solutions for neighbouring problems, each from the state of the last.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    max_iter : int
        Largest number of iterations of one point.
    """

    def __init__(self, tol: float, max_iter: int) -> None:
        self.tol, self.max_iter = tol, max_iter

    def solve(self, problem: Problem, last: SolverResult | None) -> SolverResult:
        """Solution of a problem from that of the last one, if there is one."""
        start = None if last is None else last.state
        return solve_rglm(problem, start=start, tol=self.tol, max_iter=self.max_iter)
