"""RMR on many samples in memory: from a subsample to all samples, with less and less smoothing.

A reweighted subsample approximates the smoothed objective. Early, heavily smoothed stages therefore
use a subsample, which grows fourfold whenever few of its samples lie within the smoothing; the full
data are used only once the smoothing is narrow. If the loss has no curvature, a working set of the
samples near a kink (:mod:`..active_set.working_set`) computes the last digits.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from ...data.samples import spread_out
from ...linalg.threads import single_threaded
from ...problem import RMRProblem
from ..active_set.working_set import finish
from ..certificate import SolverResult
from ..warm_start import Start, completed, position_of, snapped
from .augmented import coordinates, first_smoothing, solve_augmented

# A working set takes over once the number of samples within the smoothing is less than this
# multiple of the number of coordinates of W; 0 means never.
RIPE = 1


def widened(problem: RMRProblem, start: Start) -> Start:
    """A start with smoothing that contains at least twice as many samples as W has coordinates."""
    design = problem.design
    if not start.Lambda.size:
        start = completed(problem, start)
    r = problem.y - design.forward(start.W) - problem.unpenalised.times(start.gamma)
    distance = problem.loss.distances(r)
    d = coordinates(int(np.linalg.matrix_rank(start.W)), start.W.shape, len(start.gamma))
    k = min(design.n // 2, 2 * d)
    own = start.smoothing or first_smoothing(problem)
    least = own.width if start.smoothing else 1e-12 * own.width  # as narrow as at a solution
    width = max(2.0 * float(np.partition(distance, k)[k]), least)
    return replace(start, smoothing=own.as_wide_as(width))


@single_threaded(lambda problem: problem.design.size)
def solve_many(
    problem: RMRProblem,
    *,
    start: Start | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem on many samples in memory; arguments as in :func:`.solve_augmented`."""
    start = from_subsamples(problem, tol) if start is None else widened(problem, start)
    run = partial(solve_augmented, problem, tol=tol, verbose=verbose)
    near = run(start, few=0 if problem.loss.curved else RIPE, max_iter=max_iter)
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
    return run(here, max_iter=left).after(both)


def from_subsamples(problem: RMRProblem, tol: float) -> Start | None:
    """Solution of the largest subsample; each starts from the solution of a smaller one.

    A larger subsample is used once the number of samples within the smoothing is less than four
    times the number of coordinates of W. The result is None if there are too few samples.
    """
    start = None
    for part in growing_samples(problem):
        start = solve_augmented(part, start, tol=tol, few=4).start
    return start


def growing_samples(problem: RMRProblem) -> Iterator[RMRProblem]:
    """The problem on growing subsamples, each weighted to represent all samples."""
    design = problem.design
    order = np.argsort(spread_out(np.arange(design.n)), kind="stable")
    size = 4 * max(design.p * design.q, problem.unpenalised.size)
    while 3 * size <= design.n:
        part = problem.take(np.sort(order[:size]))
        yield replace(part, loss=part.loss.times(design.n / size))
        size *= 4
