"""The choice of the method for an RMR problem in memory; :mod:`matreg.thresholds` has its numbers.

The first line that applies is tried first; if a method does not reach the tolerance, the next one
is tried with the iterations that are left of `max_iter`.

================  ================================================================================
method            when it is tried
================  ================================================================================
``working-set``   the last two solutions of a path are known, the loss has no curvature, and there
                  are many samples, n^2 > 2^14 pq or n^2 > 2^23: most multipliers are held at their
                  bounds, and the active set solves for the rest
``active-set``    there is a start, and n^2 <= 2^23 (up to 2,896 samples): the order of its Newton
                  systems is the number of samples on a kink, and a nearby solution identifies
                  these samples
``augmented``     there are at least twice as many samples as W has entries: an augmented
                  Lagrangian method; the order of its Newton systems is the number of entries
``interior``      always: an interior point method; the order of its systems is the number of
                  samples. Near the solution the active set may take over, if there are few samples
                  for the rank of W. If this fails and there are fewer samples than in the line
                  above, ``augmented`` is tried
================  ================================================================================

Two further methods are ``first-order``, for any convex loss and penalty, and ``admm``, the
algorithm of the paper. Samples that are stored and larger than scikit-learn's ``working_memory``
are read block by block (:mod:`.passes`), whatever the method.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from ..problem import RMRProblem
from ..thresholds import HELD_RATIO, KERNEL_NUMBERS, SAMPLES_PER_ENTRY
from .active_set.active_set import solve_active_set
from .active_set.working_set import solve_working_set
from .augmented.subsamples import solve_many
from .certificate import SolverResult
from .interior.attempts import solve_cold, solve_zero
from .warm_start import Start, solution_of

# A name as in `solver=`, and a function that solves a problem.
Method = tuple[str, Callable[..., SolverResult]]
# Methods that may finish another one: name in the history, and name as in `solver=`.
ENDS = {"active set": "active-set", "first-order": "first-order"}


def solve_rmr(
    problem: RMRProblem,
    *,
    method: str = "auto",
    start: Start | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem in memory to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        A problem with a piecewise loss, and a spectral penalty with a ridge.
    method : {"auto", "interior", "active-set", "augmented"}, default="auto"
        "auto" follows the table of this module.
    start : Start, default=None
        Solution of a nearby problem, with the same number and shape of samples.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of steps of all methods together.
    verbose : int, default=0
        Whether to print one line per step.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    result: SolverResult | None = None
    left = max_iter
    for name, solver in methods(problem, start) if method == "auto" else forced(method, start):
        found = solver(problem, tol=tol, max_iter=left, verbose=verbose)
        found = replace(found, method=ENDS.get(found.method, name))
        result = found if result is None else found.after(result)
        left -= found.n_iter
        if result.converged or left <= 0:
            break
    assert result is not None
    return result


def methods(problem: RMRProblem, start: Start | None) -> Iterator[Method]:
    """Methods in the order in which they are tried until one of them succeeds."""
    if start is not None:
        holds = start.before is not None and not problem.loss.curved
        if holds and (holds_most(problem) or not follows(problem)):
            yield "working-set", partial(solve_working_set, start=start)
        elif follows(problem):
            yield "active-set", partial(solve_active_set, start=start)
    augmented = "augmented", partial(solve_many, start=start)
    interior = "interior", solve_interior  # it checks W = 0 itself
    if has_many_samples(problem):
        yield from (("augmented", partial(solve_zero, start=start)), augmented, interior)
    else:
        yield from (interior, augmented)


def forced(method: str, start: Start | None) -> Iterator[Method]:
    """The requested method, after a check whether the start is a solution already."""
    if method == "active-set":
        yield method, partial(solve_from_start, start=start)
        return
    if start is not None:
        yield method, partial(solve_zero, start=start)
    cold = method == "interior"
    yield method, solve_cold if cold else partial(solve_many, start=start)


def solve_interior(problem: RMRProblem, *, tol: float, max_iter: int, verbose: int) -> SolverResult:
    """The interior point method; the active set may finish if its kernel matrix is small enough."""
    finish = partial(finishing, problem, tol) if follows(problem) else None
    return solve_cold(problem, tol=tol, max_iter=max_iter, verbose=verbose, finish=finish)


def finishing(problem: RMRProblem, tol: float, start: Start) -> SolverResult:
    """The active set from a point near the solution, with at most four steps."""
    # If the active set needs more steps, it mostly fails.
    return solve_active_set(problem, start=start, tol=tol, max_iter=4)


def solve_from_start(
    problem: RMRProblem, *, start: Start | None, tol: float, max_iter: int, verbose: int
) -> SolverResult:
    """The active set from a start, and then from more and more accurate interior points."""
    run = partial(solve_active_set, problem, tol=tol, verbose=verbose)
    result = None if start is None else run(start=start, max_iter=max_iter)
    for near in (1e-2, 1e-4, tol):
        done = 0 if result is None else result.n_iter
        if result is not None and (result.converged or done >= max_iter):
            break
        rough = solve_cold(problem, tol=max(near, tol), max_iter=max_iter - done, verbose=verbose)
        rough = replace(rough, converged=rough.gap <= tol)
        left = max(max_iter - done - rough.n_iter, 1)
        found = run(start=rough.start, max_iter=left).after(rough)
        result = found if result is None else found.after(result)
    assert result is not None
    return result


def follows(problem: RMRProblem) -> bool:
    """Whether the kernel matrix of all samples is small enough for the active set."""
    return problem.design.n**2 <= KERNEL_NUMBERS


def holds_most(problem: RMRProblem) -> bool:
    """Whether it is faster along a path to hold most multipliers at their bounds."""
    design = problem.design
    return design.n**2 > HELD_RATIO * design.p * design.q


def has_many_samples(problem: RMRProblem) -> bool:
    """Whether there are enough samples for the augmented Lagrangian to be the faster method."""
    design = problem.design
    return design.n >= SAMPLES_PER_ENTRY * design.p * design.q


def remembered(problem: RMRProblem, result: SolverResult, start: Start | None) -> SolverResult:
    """A result whose `kept` is the start of the next problem."""
    own = result.kept
    if own is not None and own.known:
        return result
    left = own or start
    kept = solution_of(problem, result.W.matrix, result.gamma, result.beta)
    if left is not None:
        kept = replace(kept, smoothing=left.smoothing)
    if start is not None and start.known:
        kept = kept.after(start)
    return replace(result, kept=kept)
