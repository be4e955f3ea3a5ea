"""RMR on many samples in memory: from a subsample to all of them, with less and less smoothing.

A reweighted subsample approximates the smoothed objective. Early, heavily smoothed stages therefore
use a subsample, which grows fourfold whenever few of its samples feel the smoothing; the full data
are used only once the smoothing is narrow. Without curvature of the loss a working set of the
samples near a kink (:mod:`..active_set.working_set`) computes the last digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ..._typing import Index
from ...linalg.threads import single_threaded
from ...problem import RMRProblem
from ..active_set.working_set import finish
from ..certificate import SolverResult
from ..warm_start import Start, completed, position_of, snapped
from .augmented import (
    Smoothing,
    coordinates,
    first_smoothing,
    solve_core,
)
from .incremental_gram import spread_out
from .smoothed_objective import edge_distances

# The samples grow as soon as those within the smoothing are fewer than this multiple of the
# coordinates of W.
FEW = 4
# With fewer samples within the smoothing than this multiple of the coordinates of W, a working set
# of those near an edge (:mod:`..active_set.working_set`) ends the search.
RIPE = 1


def widened(problem: RMRProblem, start: Start) -> Start:
    """A start close by, so smoothed that some multiple of the coordinates of W is within it."""
    design = problem.design
    if not start.Lambda.size:
        start = completed(problem, start)
    r = problem.y - design.forward(start.W) - problem.unpenalised.times(start.gamma)
    distance = edge_distances(problem.loss, r)
    d = coordinates(int(np.linalg.matrix_rank(start.W)), start.W.shape, len(start.gamma))
    k = min(design.n // 2, 2 * d)
    own = start.smoothing or sharp(problem)
    width = max(2.0 * float(np.partition(distance, k)[k]), own.width)
    return replace(start, smoothing=own.as_wide_as(width))


def sharp(problem: RMRProblem) -> Smoothing:
    """No smoothing to speak of, as at a solution."""
    first = first_smoothing(problem, problem.primal_at(0.0, problem.y)[1])
    return first.as_wide_as(1e-12 * first.width)


@single_threaded(lambda problem: problem.design.size)
def solve_many(
    problem: RMRProblem,
    *,
    start: Start | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem on many samples in memory.

    Parameters
    ----------
    problem : Problem
        RMR, with a ridge.
    start : Start, default=None
        Where to start, the solution of a problem close by.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of Newton steps on all samples.
    verbose : int, default=0
        Whether to print one line per minimisation.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    start = from_parts(problem, tol) if start is None else widened(problem, start)
    core = partial(solve_core, problem, tol=tol, verbose=verbose)
    near = core(start, few=0 if problem.loss.curved else RIPE, max_iter=max_iter)
    left = max_iter - near.n_iter
    if near.converged or left <= 0 or problem.loss.curved:
        return near
    here = near.start
    assert here.smoothing is not None
    beta = snapped(near.beta, problem.loss)
    end = finish(
        problem,
        start=replace(here, beta=beta, position=position_of(problem), smoothing=None),
        reach=here.smoothing.width,
        tol=tol,
        max_iter=left,
        verbose=verbose,
    )
    both = replace(end.after(near), kept=here)
    left -= end.n_iter
    if both.converged or left <= 0:
        return both
    return core(here, max_iter=left).after(both)


def from_parts(problem: RMRProblem, tol: float) -> Start | None:
    """Where to start: the solution of a part of the samples, from that of a smaller one."""
    start = None
    for part in growing_samples(problem):
        start = solve_core(part, start, tol=tol, few=FEW).start
    return start


def growing_samples(problem: RMRProblem) -> Iterator[RMRProblem]:
    """The problem with growing parts of its samples, that have the weight of all."""
    design = problem.design
    order = np.argsort(spread_out(np.arange(design.n)), kind="stable")
    size = 4 * design.p * design.q
    while 3 * size <= design.n:
        yield part_of(problem, np.sort(order[:size]))
        size *= 4


def part_of(problem: RMRProblem, index: Index) -> RMRProblem:
    """The problem with some samples, that have the weight of all."""
    factor = problem.design.n / len(index)
    return replace(
        problem,
        design=problem.design.take(index),
        y=problem.y[index],
        loss=problem.loss.take(index).times(factor),
        unpenalised=problem.unpenalised.take(index),
    )
