"""Which method solves an RMR problem in memory: the rule; :mod:`matreg.thresholds` has its numbers.

The first line that applies is tried first; where a method does not reach the tolerance, the next
one goes on from what is left of `max_iter`.

================  ================================================================================
method            when it is tried
================  ================================================================================
``working-set``   the last two solutions of a path are known, the loss has no curvature, and there
                  are many samples, n^2 > 2^14 pq or n^2 > 2^23: most multipliers are held at their
                  bounds, the active set solves for the rest
``active-set``    there is a start, and n^2 <= 2^23 (up to 2,896 samples): its Newton systems have
                  the order of the samples on a kink, and a nearby solution tells which these are
``augmented``     there are at least twice as many samples as W has entries: an augmented
                  Lagrangian, whose Newton systems have the order of the entries
``interior``      always: an interior point method, whose systems have the order of the samples.
                  Near the solution the active set may take over, if samples are few for the rank
                  of W. Where it does not succeed with fewer samples, ``augmented`` is tried after
                  it
================  ================================================================================

Beside these, ``first-order`` takes any convex loss and penalty, and ``admm`` is the algorithm of
the paper. Samples that are stored and larger than scikit-learn's ``working_memory`` are read block
by block (:mod:`.passes`), whatever the method.
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

# A name as in `solver=`, and what solves a problem.
Method = tuple[str, Callable[..., SolverResult]]
# What may end another method, by its name in the history.
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
        A loss of four numbers per sample, a spectral penalty with a ridge.
    method : {"auto", "interior", "active-set", "augmented"}, default="auto"
        "auto" is the rule above.
    start : Start, default=None
        Solution of a problem close by, with as many samples of the same shape.
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
    """Methods to try one after the other, until one of them succeeds."""
    if start is not None:
        holds = start.before is not None and not problem.loss.curved
        if holds and (holds_most(problem) or not follows(problem)):
            yield "working-set", partial(solve_working_set, start=start)
        elif follows(problem):
            yield "active-set", partial(solve_active_set, start=start)
    augmented = "augmented", partial(solve_many, start=start)
    interior = "interior", solve_interior  # which looks at W = 0 itself
    if has_many_samples(problem):
        yield from (("augmented", partial(solve_zero, start=start)), augmented, interior)
    else:
        yield from (interior, augmented)


def forced(method: str, start: Start | None) -> Iterator[Method]:
    """The one method that was asked for, unless the start is the solution."""
    if method == "active-set":
        yield method, partial(solve_from_start, start=start)
        return
    if start is not None:
        yield method, partial(solve_zero, start=start)
    cold = method == "interior"
    yield method, solve_cold if cold else partial(solve_many, start=start)


def solve_interior(problem: RMRProblem, *, tol: float, max_iter: int, verbose: int) -> SolverResult:
    """The interior point method, finished by the active set where that can hold its matrix."""
    finish = partial(finishing, problem, tol) if follows(problem) else None
    return solve_cold(problem, tol=tol, max_iter=max_iter, verbose=verbose, finish=finish)


def finishing(problem: RMRProblem, tol: float, start: Start) -> SolverResult:
    """The active set from a point near the solution, in few steps or not at all."""
    # Where it needs more steps it mostly fails.
    return solve_active_set(problem, start=start, tol=tol, max_iter=4)


def solve_from_start(
    problem: RMRProblem, *, start: Start | None, tol: float, max_iter: int, verbose: int
) -> SolverResult:
    """The active set from a start, or else from a rough solution by the interior point method."""
    rough = None
    if start is None:
        rough = solve_cold(problem, tol=1e-2, max_iter=max_iter, verbose=verbose)
        rough = replace(rough, converged=rough.gap <= tol)
        start, max_iter = rough.start, max(max_iter - rough.n_iter, 1)
    found = solve_active_set(problem, start=start, tol=tol, max_iter=max_iter, verbose=verbose)
    return found if rough is None else found.after(rough)


def follows(problem: RMRProblem) -> bool:
    """Whether the active set can hold the kernel matrix of all samples."""
    return problem.design.n**2 <= KERNEL_NUMBERS


def holds_most(problem: RMRProblem) -> bool:
    """Whether most multipliers are held along a path, where that is the quicker method."""
    design = problem.design
    return design.n**2 > HELD_RATIO * design.p * design.q


def has_many_samples(problem: RMRProblem) -> bool:
    """Whether there are enough samples for the augmented Lagrangian to be the quicker method."""
    design = problem.design
    return design.n >= SAMPLES_PER_ENTRY * design.p * design.q


def remembered(problem: RMRProblem, result: SolverResult, start: Start | None) -> SolverResult:
    """A result with what the next problem can use of it."""
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
