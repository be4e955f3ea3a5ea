"""One RMR problem: from the solution of a neighbouring one if that works, else from scratch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from ...problem import RMRProblem
from ..certificate import SolverResult
from ..many.augmented import State
from ..many.solve import pays, solve_many
from .active_set import solve_active_set
from .cold import solve_cold
from .linearisation import fits_whole
from .neighbour import Neighbour, solution_of
from .working_set import solve_working_set

Stage = Callable[..., SolverResult]


def solve_rmr(
    problem: RMRProblem,
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
        A loss of four numbers a sample, a spectral penalty.
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
    result: SolverResult | None = None
    left = max_iter
    for stage in stages(problem, start):
        found = stage(problem, tol=tol, max_iter=left, verbose=verbose)
        result = found if result is None else found.after(result)
        left -= found.n_iter
        if result.converged or left <= 0:
            break
    assert result is not None
    return result


def stages(problem: RMRProblem, start: SolverResult | None) -> Iterator[Stage]:
    """Solvers to try one after the other, until one of them succeeds."""
    last = start.state if start is not None and isinstance(start.state, Neighbour) else None
    if fits_whole(problem):
        if start is not None:
            yield partial(solve_active_set, start=start)
    elif last is not None and last.before is not None and not problem.loss.curved:
        yield partial(solve_working_set, neighbour=last)
    if pays(problem):
        yield partial(solve_many, start=ramps_of(last))
    yield solve_cold


def ramps_of(last: Neighbour | None) -> State | None:
    """Where the solver for many samples can go on, if it was at work before."""
    if last is None or not isinstance(last.tools, State):
        return None
    return replace(last.tools, W=last.W, gamma=last.gamma, Lambda=last.Lambda)


def remembered(
    problem: RMRProblem, result: SolverResult, start: SolverResult | None
) -> SolverResult:
    """A result with what the next problem can make use of as its state."""
    if isinstance(result.state, Neighbour):
        return result
    last = None if start is None else start.state
    tools = last.tools if result.state is None and last is not None else result.state
    state = replace(solution_of(problem, result), tools=tools)
    return replace(result, state=state if last is None else state.after(last))
