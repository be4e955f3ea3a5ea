"""RMR from scratch: an interior point method, and what helps where float64 gives out.

In a box far larger than the solution needs, a smaller one is tried first; from an interior point
the vertex next to it is sought; a second sweep takes another way to the optimum; and the universal
solver is the last resort.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from ...linalg.threads import single_threaded
from ...problem import RMRProblem
from ..certificate import SolverResult, Tracker
from ..universal import solve_universal
from .dual_ray import label_ray
from .interior_point import CAREFUL, DEFAULT, InteriorPoint, InteriorSettings
from .vertex import at_rounding_floor, crossover
from .zero import only_multipliers


@dataclass(frozen=True)
class ColdSettings:
    """Which attempts are made, one after the other.

    Attributes
    ----------
    smaller : tuple of float
        Boxes to try before the own one, as multiples of what the labels ask for.
    narrower : float
        By how much, relative to it, the tube is narrower there.
    luck : float
        Gap, relative to the tolerance, that another try may close although it is all rounding.
    sweeps : tuple of InteriorSettings
        Settings of the interior point method in the first and the second sweep.
    """

    smaller: tuple[float, ...] = (1e4, 1e6, 1e8)
    narrower: float = 1e-7
    luck: float = 10.0
    sweeps: tuple[InteriorSettings, ...] = (DEFAULT, CAREFUL)


SWEEPS = ColdSettings()


def attempts(problem: RMRProblem, settings: ColdSettings) -> Iterator[RMRProblem]:
    """The problem, before it with smaller boxes if its own is larger than any solution needs.

    If the optimum of a smaller box is inside of it and inside of the tube, it is the optimum: the
    certificate will tell. The tube is a little narrower there, so that rounding does not leave
    it, which costs C times as much as it should in a huge box.
    """
    loss = problem.loss
    largest = float(loss.size.max())
    if problem.homogeneous and loss.bounded:
        scale = float(np.abs(label_ray(problem, np.inf)).max())
        for factor in settings.smaller:
            if 0.0 < factor * scale < largest:
                smaller = loss.scaled(factor * scale / largest)
                epsilon = loss.epsilon * (1.0 - settings.narrower)
                yield replace(problem, loss=replace(smaller, epsilon=epsilon))
    yield problem


@single_threaded(lambda problem: problem.design.size)
def solve_cold(
    problem: RMRProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 200,
    verbose: int = 0,
    settings: ColdSettings = SWEEPS,
) -> SolverResult:
    """Solve an RMR problem to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        A loss of four numbers a sample, a spectral penalty with a ridge.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Largest number of Newton steps.
    verbose : int, default=0
        Whether to print one line per step.
    settings : ColdSettings
        Which attempts are made.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    tracker = Tracker(problem, tol, verbose, "W = 0")
    only = only_multipliers(problem)
    if only is not None:  # all it takes where W = 0
        tracker.offer_dual(only)
    tracker.record(0)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        n_iter = 0
        posed = tuple(attempts(problem, settings))
        for sweep, one in product(settings.sweeps, posed):
            # Each way to the optimum ends in other roundings, and the best of some is enough.
            first = sweep is settings.sweeps[0]
            done = tracker.converged if first else finished(tracker, settings.luck)
            if not done and n_iter < max_iter:
                n_iter = attempt(tracker, one, n_iter, max_iter, sweep)
        if not finished(tracker, settings.luck) and n_iter < max_iter:
            n_iter = last_resort(tracker, n_iter, max_iter)
    return tracker.result(n_iter)


def last_resort(tracker: Tracker, n_iter: int, max_iter: int) -> int:
    """First-order steps, where nothing else has helped; count them too."""
    tracker.method = "first-order"
    start = tracker.result(n_iter)
    result = solve_universal(
        tracker.problem, tol=tracker.tol, max_iter=max_iter - n_iter, start=start
    )
    tracker.offer_primal(result.W)
    tracker.offer_dual(result.beta)
    tracker.record(n_iter + result.n_iter)
    return n_iter + result.n_iter


def finished(tracker: Tracker, luck: float) -> bool:
    """Whether the gap is small enough, or as small as float64 allows."""
    return tracker.converged or (tracker.gap > luck * tracker.tol and at_rounding_floor(tracker))


def attempt(
    tracker: Tracker, posed: RMRProblem, n_iter: int, max_iter: int, settings: InteriorSettings
) -> int:
    """Solve the problem by the one that is posed, in its own box or a smaller one; count steps."""
    tracker.method = "interior point"
    run = InteriorPoint(posed, tracker, settings)
    for step, _ in enumerate(run.iterate(run.start())):
        if step > 0:
            n_iter += 1
            tracker.record(n_iter)
        if n_iter >= max_iter:
            break
    if not tracker.converged:
        tracker.method = "crossover"
        crossover(tracker, posed, run.best)
    return n_iter
