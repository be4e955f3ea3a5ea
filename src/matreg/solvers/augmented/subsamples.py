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

from ..._typing import Array, Index
from ...linalg.threads import single_threaded
from ...problem import RMRProblem
from ..active_set.working_set import finish
from ..certificate import SolverResult
from ..warm_start import Neighbour, position_of, snapped
from .augmented import (
    DEFAULT,
    AugmentedSettings,
    State,
    coordinates,
    first_state,
    solve_core,
)
from .incremental_gram import spread_out
from .smoothed_objective import edge_distances


def at_point(problem: RMRProblem, W: Array, gamma: Array, Lambda: Array) -> State:
    """The state at the solution of a problem close by, without smoothing."""
    cold = first_state(problem, DEFAULT)
    narrow = 1e-12 * cold.width
    return State(W, gamma, Lambda, narrow, cold.s2 * cold.width / narrow)


def widened(problem: RMRProblem, state: State, settings: AugmentedSettings = DEFAULT) -> State:
    """The state for a problem close by: ramps that hold some multiple of the coordinates of W."""
    design = problem.design
    r = problem.y - design.forward(state.W) - problem.unpenalised.times(state.gamma)
    distance = edge_distances(problem.loss, r)
    d = coordinates(int(np.linalg.matrix_rank(state.W)), state.W.shape, len(state.gamma))
    k = min(design.n // 2, settings.nearby * d)
    width = max(2.0 * float(np.partition(distance, k)[k]), state.width)
    return replace(state, width=width, s2=state.s2 * state.width / width)


@single_threaded(lambda problem: problem.design.size)
def solve_many(
    problem: RMRProblem,
    *,
    start: State | None = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
    settings: AugmentedSettings = DEFAULT,
) -> SolverResult:
    """Solve an RMR problem on many samples in memory.

    Parameters
    ----------
    problem : Problem
        RMR, with a ridge.
    start : State, default=None
        Where to start, the solution of a problem close by.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of Newton steps on all samples.
    verbose : int, default=0
        Whether to print one line per minimisation.
    settings : AugmentedSettings, default=DEFAULT
        Numbers of the method.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    if start is not None:
        state: State | None = widened(problem, start, settings)
    else:
        state = from_parts(problem, tol, settings.few, settings)
    core = partial(solve_core, problem, tol=tol, verbose=verbose, settings=settings)
    near = core(state, few=0 if problem.loss.curved else settings.ripe, max_iter=max_iter)
    left = max_iter - near.n_iter
    if near.converged or left <= 0 or problem.loss.curved:
        return near
    end = finish(
        problem,
        neighbour=point_of(problem, near),
        reach=near.state.width,
        tol=tol,
        max_iter=left,
        verbose=verbose,
    )
    both = replace(end.after(near), state=near.state)
    left -= end.n_iter
    if both.converged or left <= 0:
        return both
    return core(near.state, max_iter=left).after(both)


def from_parts(
    problem: RMRProblem, tol: float, few: int, settings: AugmentedSettings = DEFAULT
) -> State | None:
    """Where to start: the solution of a part of the samples, from that of a smaller one."""
    state = None
    for part in growing_samples(problem, settings):
        state = solve_core(part, state, tol=tol, few=few, settings=settings).state
    return state


def point_of(problem: RMRProblem, result: SolverResult) -> Neighbour:
    """Where the ramps ended, as a point to go on from without them."""
    ramps, beta = result.state, snapped(result.beta, problem.loss)
    return Neighbour(position_of(problem), ramps.W, ramps.Lambda, beta, ramps.gamma)


def growing_samples(
    problem: RMRProblem, settings: AugmentedSettings = DEFAULT
) -> Iterator[RMRProblem]:
    """The problem with growing parts of its samples, that have the weight of all."""
    design = problem.design
    order = np.argsort(spread_out(np.arange(design.n)), kind="stable")
    size = settings.first_samples * design.p * design.q
    while 3 * size <= design.n:
        yield part_of(problem, np.sort(order[:size]))
        size *= settings.more_samples


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
