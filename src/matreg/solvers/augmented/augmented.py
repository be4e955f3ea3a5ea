"""Augmented Lagrangian method, for RMR with few samples on a kink.

Newton steps minimise the smoothed objective (:mod:`.smoothed_objective`). Then the multipliers are
updated, the smoothing is made narrower and the penalty of ``U = W`` larger, until the certificate
holds. Wide smoothing needs few steps from any start. Each narrowing needs few more, as long as the
samples within the smoothing outnumber the coordinates of W. Both splittings leave an error in the
residuals: the difference between ``r`` and ``y - A W - Z gamma``, and ``A (W - U)``. The penalty of
``U = W`` grows such that the two errors are of the same size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...linalg.threads import single_threaded
from ...problem import RMRProblem
from ..certificate import SolverResult, Tracker
from ..dual_points import at_zero
from ..warm_start import Start
from .incremental_gram import IncrementalGram
from .newton import direction
from .smoothed_objective import Point, SmoothedObjective

# Smallest and largest factor by which s2 may grow faster than the smoothing narrows.
BALANCE = (0.4, 10.0)
# Largest number of Newton steps of a minimisation.
MOST_STEPS = 40


class Smoothing(NamedTuple):
    """Width of the smoothed kinks, in the units of the labels, and penalty of ``U = W``."""

    width: float
    s2: float

    def as_wide_as(self, width: float) -> Smoothing:
        """Smoothing of another width, with a penalty that is inversely proportional to it."""
        return Smoothing(width, self.s2 * self.width / width)


def first_smoothing(problem: RMRProblem) -> Smoothing:
    """Smoothing so wide that nearly all samples are within it at W = 0."""
    design = problem.design
    distance = problem.loss.distances(at_zero(problem)[0])
    size = float(np.median(distance)) or float(distance.mean()) or 1.0
    some = design.take(slice(0, min(design.n, 1000)))
    entry = float(np.sqrt(np.mean(some.norms**2) / (design.p * design.q))) or 1.0
    s2 = 30.0 * (problem.penalty.tau * entry / size or 1.0)
    return Smoothing(20.0 * size, s2)


class AugmentedLagrangian:
    """One run on RMR with a ridge, from a start or from W = 0; points are offered to the tracker.

    If the start has no smoothing, :func:`first_smoothing` provides it.
    """

    def __init__(self, problem: RMRProblem, tracker: Tracker, start: Start | None) -> None:
        self.problem, self.tracker = problem, tracker
        self.design = problem.design
        self.sums = IncrementalGram(self.design, problem.unpenalised)
        self.n_steps = 0
        if start is None:
            zero = np.zeros((self.design.p, self.design.q))
            _, gamma = problem.primal_at(0.0, problem.y)
            start = Start(zero, gamma, np.zeros(self.design.n), Lambda=zero)
        self.start = start
        self.smoothing = start.smoothing or first_smoothing(problem)

    def iterate(self) -> Iterator[Point]:
        """Points after each minimisation, offered to the tracker."""
        start, inner = self.start, 0.1  # the share of the gap that a minimisation may leave
        AW = self.design.forward(start.W)
        nothing = np.zeros(self.design.n)
        objective = SmoothedObjective(self.problem, nothing, start.Lambda, *self.smoothing)
        # The slopes of the losses are the best guess of the multipliers.
        beta = objective.at(start.W, start.gamma, AW).beta
        objective = SmoothedObjective(self.problem, beta, start.Lambda, *self.smoothing)
        at = objective.at(start.W, start.gamma, AW)
        goal = 0.01 * self.distance(objective, *self.gradient(objective, at))
        share = inner
        while True:
            at, steps = self.minimise(objective, at, goal)
            A_low_rank = self.certify(at)
            smoothing = Smoothing(objective.width, objective.s2)
            self.kept = Start(at.W, at.gamma, at.beta, Lambda=at.Lambda, smoothing=smoothing)
            yield at
            objective = self.narrowed(objective, at, A_low_rank, steps)
            # If no step was needed, this share keeps the gap open, and not the smoothing.
            share = inner * share if steps == 0 else inner
            goal = share * (self.tracker.primal - self.tracker.dual)
            at = objective.at(at.W, at.gamma, at.AW)

    def gradient(self, objective: SmoothedObjective, at: Point) -> tuple[Array, Array]:
        """Gradient with respect to W (p, q) and to gamma (k,)."""
        return objective.gradient(at, self.sums.adjoint(at.beta))

    def distance(self, objective: SmoothedObjective, gradient: Array, slope: Array) -> float:
        """Approximate upper bound of the objective minus its minimum."""
        quadratic = 0.5 * float(np.vdot(gradient, gradient)) / self.problem.penalty.ridge
        return quadratic + 0.5 * float(np.abs(slope).sum()) * objective.width

    def minimise(self, objective: SmoothedObjective, at: Point, goal: float) -> tuple[Point, int]:
        """Newton steps until :meth:`distance` is at most `goal`; the point, number of steps.

        A step that finds no lower point ends them, too.
        """
        for step in range(MOST_STEPS):
            gradient, slope = self.gradient(objective, at)
            if self.distance(objective, gradient, slope) <= goal:
                return at, step
            dW, dgamma = direction(objective, self.sums, at, gradient, slope)
            new = self.search(objective, at, dW, dgamma)
            self.n_steps += 1
            if new is None:  # only rounding is left
                return at, step
            at = new
        return at, MOST_STEPS

    def search(
        self, objective: SmoothedObjective, at: Point, dW: Array, dgamma: Array
    ) -> Point | None:
        """Line search: a point with a lower value in a direction; None if there is none."""
        AdW = self.design.forward(dW)
        slope = objective.slope(at, dW, dgamma, AdW)
        rounding = 1e-13 * abs(at.value)
        t = 1.0
        for _ in range(25):
            if not slope < 0.0:
                return None
            new = objective.at(at.W + t * dW, at.gamma + t * dgamma, at.AW + t * AdW)
            ahead = objective.slope(new, dW, dgamma, AdW)
            lower = new.value <= at.value + 1e-4 * t * slope + rounding
            if lower and ahead <= 0.3 * abs(slope):
                return new
            if not ahead > slope:  # the curvature is lost in rounding errors
                return None
            t *= min(0.7, max(0.05, slope / (slope - ahead)))
        return None

    def certify(self, at: Point) -> Array:
        """Offer the multipliers and the thresholded W; return ``A W`` (n,) of the latter."""
        problem = self.problem
        beta = problem.balanced(at.beta)
        Z = self.sums.adjoint(beta)
        self.tracker.offer_dual(beta, Z if problem.linear is None else Z - problem.linear)
        low_rank = at.threshold.factors(at.threshold.g)
        image = self.design.forward(low_rank.matrix)
        self.tracker.offer_primal(low_rank, problem.y - image)
        return image

    def narrowed(
        self, objective: SmoothedObjective, at: Point, A_low_rank: Array, steps: int
    ) -> SmoothedObjective:
        """Objective with narrower smoothing and a larger s2, and the multipliers of the minimum.

        The fewer Newton steps the last minimisation took, the more the smoothing narrows.
        """
        near = at.smoothed | (at.beta != objective.beta)
        off_loss = np.linalg.norm((objective.step * (at.beta - objective.beta))[near])
        off_rank = np.linalg.norm((at.AW - A_low_rank)[near])
        ratio = off_rank / off_loss if off_loss > 0.0 else 1.0
        growth = 6.0 if steps <= 1 else 2.5 if steps <= 8 else 1.2
        s2 = objective.s2 * growth * float(np.clip(ratio, *BALANCE))
        return SmoothedObjective(self.problem, at.beta, at.Lambda, objective.width / growth, s2)


def coordinates(rank: int, shape: tuple[int, ...], k: int) -> int:
    """Dimension of the manifold of matrices of this rank and shape, plus k columns (at least 1)."""
    return rank * (sum(shape) - rank) + max(k, 1)


@single_threaded(lambda problem: problem.design.size)
def solve_augmented(
    problem: RMRProblem,
    start: Start | None = None,
    *,
    tol: float = 1e-6,
    scale: float | None = None,
    few: int = 0,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem on samples in memory by the augmented Lagrangian method.

    The arguments are those of :func:`matreg.solvers.choose.solve_rmr`; `max_iter` counts Newton
    steps. `tol` is relative to the objective value `scale`, by default that of the problem itself.
    The method also stops when the number of samples within the smoothing is at most `few` times the
    number of coordinates of W. `kept` of the result holds the final state of the method.
    """
    tracker = Tracker(problem, tol, verbose, "augmented Lagrangian", max_iter)
    run = AugmentedLagrangian(problem, tracker, start)
    best, waited, steps = np.inf, 0, 0
    with np.errstate(over="ignore", invalid="ignore"):
        for at in run.iterate():
            tracker.record(run.n_steps)
            d = coordinates(at.threshold.r, at.W.shape, len(at.gamma))
            done = tracker.primal - tracker.dual <= tol * (scale or abs(tracker.primal))
            if done or tracker.stopped or run.n_steps >= max_iter:
                break
            better, cut_off = tracker.gap < 0.5 * best, run.n_steps - steps >= MOST_STEPS
            if np.count_nonzero(at.smoothed) <= few * d and not cut_off:  # at a minimum
                break
            best, waited = (tracker.gap, 0) if better else (best, waited + 1)
            if waited == 12 or (waited > 1 and cut_off):  # only rounding is left
                break
            steps = run.n_steps
    return tracker.result(run.n_steps, run.kept)
