"""Interior point method with smoothed singular value thresholding.

The dual variable is ``beta = u - v`` with ``0 <= u, v <= c``. Four barriers keep it inside of its
box, with slacks ``s = (u, v, c - u, c - v)`` and multipliers ``m``; the pair of W and the spectral
ball is kept on its own central path by the smoothed thresholding of `linalg.thresholding`. With
``Z = A'beta`` and a scaling ``sigma >= 1`` the equations at barrier parameter mu are

    A W + b - y + epsilon - m_0 + m_2 = 0,      -(A W + b - y) + epsilon - m_1 + m_3 = 0,
    s m = mu,    sum(beta) = 0,    SVT_{tau, sigma mu}(Z + (sigma - 1) W) = sigma W,

and each Newton step of theirs comes down to one linear system for beta and b (`linalg.bordered`).
Without the smoothing the thresholding would know nothing of the singular values below tau until
they have crossed it, and the steps would stall where the optimum is degenerate.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...linalg.bordered import factor
from ...linalg.factors import Factors, singular_values
from ...linalg.thresholding import Coordinates, SmoothedThresholding
from ...losses import EpsilonInsensitive
from ...problem import Problem
from ..certificate import Tracker
from .barriers import Barriers, largest_step
from .dual_ray import best_on_ray, label_ray

# Where there are two numbers, the second is for another try, on another way to the optimum.
# Slopes of the thresholding below this, times the weight of W, are not worth coordinates of their
# own. Where the optimum is degenerate the small ones count: without that weight 1e-4 costs half as
# many steps again there.
CUT = (1e-5, 0.0)
# Smoothing never wider than this fraction of tau: wider says nothing about the solution.
WIDEST = 0.1
# W weighs the more beside Z the less it still moves: this times its size over its last step, up to
# the second number. Its small singular values, which the largest one hides, need that weight.
SETTLED, HEAVIEST = 0.1, 300.0
# The barrier may run ahead of the duality gap by this factor, or the steps get short; and by more
# where the prediction was good, up to a limit.
CENTRALITY = (0.1, 1.0)
LEAST_LEAD = (0.0, 0.1)
# A step that lost more of the dual bound than this fraction of the gap, or made its own gap this
# many times as large, aimed too far: the next ones leave at least a share of the barrier parameter,
# which grows up to a limit and fades again.
NOTICEABLE, WORSE = 0.1, 1.2
CAUTION, MORE, MOST, FADING = 0.2, 3.0, 0.5, 1.3
# How far the thresholding may be from linear along a step, relative to the step.
TRUST = (0.3, 0.15)
# How often a step is halved for it.
HALVINGS = 6
# Correctors after the second-order one, each as cheap as a solve.
CORRECTORS = 3
# Steps in single precision, which halves their time. Problems that need more than these are
# degenerate, and need double precision: they take half as many again without.
SINGLE_STEPS = 12
# Steps without progress after which an attempt is given up.
PATIENCE = 12

EMPTY = np.zeros((0, 0))


@dataclass
class Point:
    """Iterate: slacks and multipliers of the box, W, b and ``Z = A'beta``."""

    s: Array
    m: Array
    W: Array
    b: float
    Z: Array

    @property
    def beta(self) -> Array:
        """Dual variable."""
        return self.s[0] - self.s[1]

    @property
    def mu(self) -> float:
        """Mean complementarity."""
        return float(np.vdot(self.s, self.m)) / self.s.size

    @property
    def finite(self) -> bool:
        """Whether all of it is a number: the linear algebra may fail in an extreme box."""
        parts = (self.s, self.m, self.W, self.Z, self.b)
        return all(np.isfinite(part).all() for part in parts)

    def moved(self, step: float, direction: Point) -> Point:
        """The point a step further."""
        return Point(
            self.s + step * direction.s,
            self.m + step * direction.m,
            self.W + step * direction.W,
            self.b + step * direction.b,
            self.Z + step * direction.Z,
        )


class Best(NamedTuple):
    """The point of smallest gap, with W of low rank."""

    gap: float
    W: Factors
    b: float
    beta: Array


class InteriorPoint:
    """One run on a problem whose box and tube may differ from those of the tracker's problem.

    Parameters
    ----------
    problem : Problem
        RMR, with an epsilon-insensitive loss.
    tracker : Tracker
        Where points are offered; it belongs to the problem that the user posed.
    careful : bool
        Whether to spare no effort in the linear algebra.
    """

    def __init__(self, problem: Problem, tracker: Tracker, careful: bool = False) -> None:
        assert isinstance(problem.loss, EpsilonInsensitive)
        self.problem = problem
        self.design = problem.design
        self.y = problem.y
        self.c = problem.loss.c
        self.epsilon = problem.loss.epsilon
        self.tau = problem.penalty.tau
        self.tracker = tracker
        self.careful = careful
        self.trust = TRUST[careful]
        self.primal, self.steps = np.inf, 0
        self.size = self.fitting_size()
        self.last_W: Array | None = None
        self.best = Best(np.inf, tracker.W, tracker.b, tracker.beta)
        self.dual, self.last_dual, self.gap, self.caution = 0.0, -np.inf, np.inf, 0.0

    def fitting_size(self) -> float:
        """Spectral norm of the least squares fit along ``A'y``, a first guess at that of W."""
        x = self.y - self.y.mean() if self.problem.fit_intercept else self.y
        G = self.design.adjoint(x)
        image = self.design.forward(G)
        curvature = float(image @ image)
        if not 0.0 < curvature < np.inf:
            return 0.0
        return abs(float(x @ image)) / curvature * float(np.linalg.norm(G, 2))

    def start(self) -> Point:
        """Centre of the box, shifted along the labels, with multipliers that match it."""
        beta = label_ray(self.problem, 0.9)
        Z = self.design.adjoint(beta)
        W = self.problem.penalty.gradient_conjugate(Z).matrix
        residual = self.y - self.design.forward(W)
        b = self.problem.loss.best_intercept(residual) if self.problem.fit_intercept else 0.0
        residual -= b
        half = np.maximum(0.5 * (self.c - np.abs(beta)), 0.05 * self.c)
        u, v = np.maximum(beta, 0.0) + half, np.maximum(-beta, 0.0) + half
        s = np.stack([u, v, self.c - u, self.c - v])
        s[2:] = np.maximum(s[2:], 0.02 * self.c)
        spread = 3.0 * np.abs(residual).mean() + 1e-12 * np.abs(self.y).max()
        x = np.stack([self.epsilon - residual, self.epsilon + residual])
        root = np.sqrt(x * x + 4.0 * spread * spread)
        m = np.concatenate([0.5 * (root + x), 0.5 * (root - x)])
        return Point(s, m, W, b, Z)

    def iterate(self, point: Point) -> Iterator[Point]:
        """Newton steps until the tracker is satisfied or no progress is made."""
        best, lowest, since = np.inf, np.inf, 0
        while True:
            system = self.linearise(point)
            gap = self.offer(point, system)
            yield point
            # A barrier parameter may underflow in a box that is larger than the solution needs.
            if self.tracker.converged or not np.isfinite(gap) or point.mu == 0.0:
                return
            # While the bound is below zero only the barrier parameter tells of progress.
            progress = 0.0 < gap < 0.9 * best or point.mu < 0.9 * lowest
            best, lowest = min(best, max(gap, 0.0)), min(lowest, point.mu)
            since = 0 if progress else since + 1
            solved = self.problem is not self.tracker.problem and gap <= 1e-10 * self.primal
            if since >= PATIENCE or solved:
                return
            direction, length, target = self.direction(point, system, gap)
            if not direction.finite:
                return
            length = self.shortened(point, direction, system, target, length)
            point = point.moved(length, direction)
            self.steps += 1

    def linearise(self, point: Point) -> ThresholdingAt:
        """Thresholding at the current point, with the images under A that the step needs."""
        dense = singular_values(point.W)
        sigma, cut = self.scaling(point.W, dense)
        smoothing = self.smoothing(sigma, point.mu)
        threshold = SmoothedThresholding(
            point.Z + (sigma - 1.0) * point.W, self.tau, smoothing, cut
        )
        plain = threshold.value(0.0)
        residual = threshold.compose(plain) - sigma * point.W

        def psi(O: Array) -> Array:
            return 1.0 / (O + sigma * (1.0 - O))

        drift = threshold.apply(residual, psi)
        low_rank = threshold.compose(plain / sigma)
        AW, A_low_rank, A_drift = self.design.forward_each(point.W, low_rank, drift)
        coordinates = threshold.coordinates(lambda O: O * psi(O))
        slope_psi = psi(threshold.slope)
        return ThresholdingAt(
            sigma, dense, threshold, coordinates, plain, slope_psi, drift, AW, A_low_rank, A_drift
        )

    def scaling(self, W: Array, d: Array) -> tuple[float, float]:
        """Weight of W, of singular values d, beside Z, and which slopes are negligible with it."""
        # A W smaller than what fits the labels says nothing yet about its final size.
        norm = max(float(d[0]), self.size)
        moved = 0.0 if self.last_W is None else float(np.linalg.norm(W - self.last_W))
        settled = SETTLED * float(np.linalg.norm(W)) / moved if moved > 0.0 else 1.0
        self.last_W = W
        weight = min(max(settled, 1.0), HEAVIEST)
        sigma = max(1.0, weight * self.tau / norm) if norm > 0.0 else 1.0
        # Small slopes count by what they are relative to sigma.
        return sigma, CUT[self.careful] * weight

    def smoothing(self, sigma: float, mu: float) -> float:
        """Smoothing of the thresholding that goes with a barrier parameter."""
        return min(sigma * mu, (WIDEST * self.tau) ** 2)

    def offer(self, point: Point, system: ThresholdingAt) -> float:
        """Offer the points at hand to the tracker; return the gap of this run."""
        beta = point.beta
        # A multiple of beta may be the better bound: tau >> ||W|| makes it sensitive to scale.
        dual, t = best_on_ray(self.problem, beta, singular_values(point.Z))
        if dual > self.tracker.dual:
            self.tracker.offer_dual(self.tracker.problem.feasible(t * beta))
        w = system.plain / system.sigma
        low_rank = system.threshold.factors(w)
        self.tracker.offer_primal(low_rank, residual=self.y - system.A_low_rank)
        primal = min(
            self.problem.primal_at(system.dense, self.y - system.AW)[0],
            self.problem.primal_at(w, self.y - system.A_low_rank)[0],
        )
        self.primal, self.dual = primal, dual
        gap = primal - max(dual, 0.0)
        if gap < self.best.gap:
            self.best = Best(gap, low_rank, point.b, beta)
        return gap

    def direction(
        self, point: Point, system: ThresholdingAt, gap: float
    ) -> tuple[Point, float, float]:
        """Predictor and correctors; how far to go and the barrier parameter it aims at."""
        step = NewtonStep(self, point, system)
        self.take_caution()
        products = point.s * point.m
        affine = step.box(-products)
        length = step.longest(affine)
        after = float(np.vdot(point.s + length * affine.s, point.m + length * affine.m))
        mu = point.mu
        # The barrier must not run ahead of the gap, unless the prediction holds well anyway.
        lead = CENTRALITY[self.careful] * max(1.0 - length, LEAST_LEAD[self.careful])
        floor = lead * gap / (point.s.size + 2 * min(point.W.shape))
        target = max(mu * (after / point.s.size / mu) ** 3, floor, self.caution * mu)
        step.aim_at(target)
        wish = target - products - affine.s * affine.m
        direction = step.box(wish)
        length = step.longest(direction)
        for _ in range(CORRECTORS):
            further = min(1.0, 1.3 * length + 0.1)
            ahead = (point.s + further * direction.s) * (point.m + further * direction.m)
            repair = np.clip(ahead, 0.1 * target, 10.0 * target) - ahead
            wish_new = wish + np.maximum(repair, -10.0 * target)
            trial = step.box(wish_new)
            length_new = step.longest(trial)
            if not length_new >= length + 0.1 * (further - length):
                break
            direction, length, wish = trial, length_new, wish_new
        return step.complete(direction), min(1.0, 0.99 * length), target

    def take_caution(self) -> None:
        """Aim nearer after a step that lost some of the bound, and further again by and by."""
        gap = self.primal - max(self.dual, 0.0)
        lost = self.last_dual - self.dual
        if lost > NOTICEABLE * (self.tracker.primal - self.tracker.dual) or gap > WORSE * self.gap:
            self.caution = min(max(MORE * self.caution, CAUTION), MOST)
        else:
            self.caution /= FADING
        self.last_dual, self.gap = self.dual, gap

    def shortened(
        self, point: Point, direction: Point, system: ThresholdingAt, mu: float, length: float
    ) -> float:
        """Halve the step while the thresholding is too far from what its derivative said."""
        sigma, smoothing = system.sigma, self.smoothing(system.sigma, mu)
        threshold = system.threshold
        off = float(np.linalg.norm(threshold.compose(threshold.value(smoothing)) - sigma * point.W))
        rounding = 1e-9 * (self.tau + float(threshold.d[0]))
        way = float(np.linalg.norm(direction.Z + (sigma - 1.0) * direction.W))
        for _ in range(HALVINGS):
            new = point.moved(length, direction)
            at = SmoothedThresholding(new.Z + (sigma - 1.0) * new.W, self.tau, smoothing, cut=-1.0)
            reached = np.linalg.norm(at.compose(at.value(smoothing)) - sigma * new.W)
            if reached <= (1.0 - length) * off + self.trust * length * way + rounding:
                break
            length *= 0.5
        return length


@dataclass
class ThresholdingAt:
    """Thresholding around a point, the singular values of W and the images of some matrices."""

    sigma: float
    dense: Array
    threshold: SmoothedThresholding
    coordinates: Coordinates
    plain: Array
    slope_psi: Array
    drift: Array
    AW: Array
    A_low_rank: Array
    A_drift: Array


class NewtonStep:
    """The Newton system at a point, factorised once for predictor and corrector."""

    def __init__(self, run: InteriorPoint, point: Point, system: ThresholdingAt) -> None:
        self.run, self.point, self.system = run, point, system
        m = point.m
        # Not from A W + b - y, which drops out of the sum: there its rounding would remain.
        residual_sum = 2.0 * run.epsilon - m[0] - m[1] + m[2] + m[3]
        residual_u = system.AW + point.b - run.y + run.epsilon - m[0] + m[2]
        self.barriers = Barriers(point.s, m, residual_u, residual_sum)
        precision = np.float32 if run.steps < SINGLE_STEPS else np.float64
        self.solve = factor(
            run.design,
            system.coordinates,
            self.barriers.D,
            run.problem.fit_intercept,
            precision,
            sure=run.careful,
        )
        self.drift, self.A_drift = system.drift, system.A_drift

    def aim_at(self, mu: float) -> None:
        """Let the thresholding aim at the smoothing of `mu` instead of none."""
        system = self.system
        smoothing = self.run.smoothing(system.sigma, mu)
        change = system.slope_psi * (system.threshold.value(smoothing) - system.plain)
        shift = system.threshold.compose(change)
        self.drift = system.drift + shift
        self.A_drift = system.A_drift + self.run.design.forward(shift)

    def box(self, wish: Array) -> Point:
        """Direction of slacks, multipliers and b for a wished change of ``s m``.

        In place of W is how it follows Z, if the linear system knows.
        """
        rhs = self.barriers.rhs(wish) - self.A_drift
        solved, db = self.solve(rhs, -float(self.point.beta.sum()))
        dbeta, f = np.split(solved, [len(rhs)])
        ds, dm = self.barriers.slack_directions(dbeta, wish)
        response = self.system.coordinates.adjoint(f) if len(f) else EMPTY
        return Point(ds, dm, response, db, EMPTY)

    def longest(self, direction: Point) -> float:
        """Longest step of at most 1 within the box."""
        return largest_step((self.point.s, direction.s), (self.point.m, direction.m))

    def complete(self, direction: Point) -> Point:
        """The same direction with those of W and Z, from how W follows Z if that is known."""
        system, sigma, response = self.system, self.system.sigma, direction.W
        dZ = self.run.design.adjoint(direction.beta)
        if not response.size:
            response = system.threshold.apply(dZ, lambda O: O / (O + sigma * (1.0 - O)))
        return replace(direction, W=self.drift + response, Z=dZ)
