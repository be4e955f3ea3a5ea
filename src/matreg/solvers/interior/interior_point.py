"""Interior point method with smoothed singular value thresholding.

Barriers keep the dual variable beta inside of its box, with slacks ``s`` and multipliers ``m``
(:mod:`matreg.barriers`); the smoothed thresholding of the penalty (`linalg.thresholding`) keeps W
and the spectral ball on a central path, too. With the ridge rho, the curvature k,
``Z = A'beta - linear`` and a scaling ``sigma >= rho`` the equations at barrier parameter mu are

    A W + Z gamma - y + k beta + epsilon - m_0 + m_2 = 0,   the same with signs reversed for v,
    s m = mu,    Z'beta = linear_gamma,    SVT_{tau, sigma mu}(Z + (sigma - rho) W) = sigma W,

where the Z of ``Z gamma`` and ``Z'beta`` holds the unpenalised columns. Each Newton step for these
equations reduces to one linear system for beta and gamma (`linalg.bordered`). Without the
smoothing, the derivative of the thresholding would ignore singular values below tau until they
cross tau, and the steps would stall if the optimum is degenerate.

The predictor and corrector steps are those of Mehrotra (1992).

References
----------
S. Mehrotra, On the implementation of a primal-dual interior point method, SIAM J. Optim. 1992.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...barriers import Barriers, Box, centring, largest_step
from ...linalg.bordered import factor, with_border
from ...linalg.factors import Factors, singular_values
from ...linalg.thresholding import Coordinates, SmoothedThresholding
from ...problem import RMRProblem
from ..certificate import Tracker
from ..dual_points import best_on_ray, label_ray

# sigma grows as W converges, up to this factor, so that small singular values are resolved too.
HEAVIEST = 300.0
# Largest number of times a step is halved while the thresholding is far from linear along it.
# Otherwise the steps stall with many samples per coordinate and a small W.
HALVINGS = 6
# Number of steps in single precision, which halves their time. Problems that need more steps are
# degenerate, and would take 1.5 times as many steps without double precision.
SINGLE_STEPS = 12
EMPTY = np.zeros((0, 0))


@dataclass
class Point:
    """Iterate: dual variables with slacks and multipliers of their box, W, gamma and Z."""

    beta: Array
    s: Array
    m: Array
    W: Array
    gamma: Array
    Z: Array

    def moved(self, step: float, direction: Point) -> Point:
        """The point after a step of this length in a direction."""
        return Point(
            self.beta + step * direction.beta,
            self.s + step * direction.s,
            self.m + step * direction.m,
            self.W + step * direction.W,
            self.gamma + step * direction.gamma,
            self.Z + step * direction.Z,
        )


class Best(NamedTuple):
    """The point with the smallest gap, with low-rank W."""

    gap: float
    W: Factors
    gamma: Array
    beta: Array


class InteriorPoint:
    """One run on a problem whose box and tube may differ from those of the tracker's problem.

    The problem is RMR with a ridge and at least one finite bound of its dual variables. Points are
    offered to the tracker, which belongs to the problem that the user posed.
    """

    def __init__(self, problem: RMRProblem, tracker: Tracker) -> None:
        self.problem = problem
        self.design = problem.design
        self.y = problem.y
        self.box = Box(problem.loss)
        self.tau, self.ridge = problem.penalty.tau, problem.penalty.ridge
        self.tracker = tracker
        self.primal, self.steps = np.inf, 0
        self.size = self.fitting_size()
        self.last_W: Array | None = None
        self.best = Best(np.inf, tracker.W, tracker.gamma, tracker.beta)

    def fitting_size(self) -> float:
        """Spectral norm of the least squares fit along ``A'y``, a first guess of that of W."""
        x = self.problem.unpenalised.without(self.y)
        G = self.design.adjoint(x)
        image = self.design.forward(G)
        curvature = float(image @ image)
        if not 0.0 < curvature < np.inf:
            return 0.0
        return abs(float(x @ image)) / curvature * float(np.linalg.norm(G, 2))

    def start(self) -> Point:
        """Starting point: beta is a multiple of the labels, moved into the interior of the box."""
        loss = self.problem.loss
        beta = label_ray(self.problem, 0.9)
        beta, slacks = self.box.slacks(beta, self.margin(beta))
        Z = self.problem.dual_image(beta)
        W = self.problem.penalty.gradient_conjugate(Z).matrix
        residual = self.y - self.design.forward(W)
        gamma = self.problem.primal_at(0.0, residual)[1]
        residual -= self.problem.unpenalised.times(gamma)
        spread = 3.0 * np.abs(residual).mean() + 1e-12 * np.abs(self.y).max()
        g = loss.curvature * beta - residual
        x = np.stack([self.box.cost + g, loss.epsilon - g])
        root = np.sqrt(x * x + 4.0 * spread * spread)
        m = np.concatenate([0.5 * (root + x), 0.5 * (root - x)])
        return Point(beta, slacks, np.where(self.box.present, m, 0.0), W, gamma, Z)

    def margin(self, beta: Array) -> Array:
        """Smallest slacks (n,) at the start: a fraction of the box or, in a huge box, of beta."""
        loss = self.problem.loss
        width = np.where(
            self.box.kinked, np.minimum(loss.upper, -loss.lower), loss.upper - loss.lower
        )
        reach = float(np.abs(beta).max()) or np.inf
        width = np.where(self.box.kinked & np.isfinite(width), width, np.minimum(width, reach))
        return 0.05 * np.where(np.isfinite(width), width, 1.0)

    def mu(self, point: Point) -> float:
        """Mean complementarity of a point, its barrier parameter."""
        return self.box.mean(point.s, point.m)

    def iterate(self, point: Point) -> Iterator[Point]:
        """Newton steps until the tracker has converged or no progress is made; yields points."""
        best, lowest, since = np.inf, np.inf, 0
        while True:
            system = self.linearise(point)
            gap = self.offer(point, system)
            yield point
            # A barrier parameter may underflow in a box that is larger than the solution needs.
            if self.tracker.converged or not np.isfinite(gap) or self.mu(point) == 0.0:
                return
            # While the bound is below zero, only the barrier parameter measures progress.
            mu = self.mu(point)
            progress = 0.0 < gap < 0.9 * best or mu < 0.9 * lowest
            best, lowest = min(best, max(gap, 0.0)), min(lowest, mu)
            since = 0 if progress else since + 1
            solved = self.problem is not self.tracker.problem and gap <= 1e-10 * self.primal
            if since >= 12 or solved:
                return
            direction, length, target = self.direction(point, system, gap)
            length = self.shortened(point, direction, system, target, length)
            point = point.moved(length, direction)
            self.steps += 1

    def linearise(self, point: Point) -> ThresholdingAt:
        """Thresholding at the current point, with the products with A that the step needs."""
        dense = singular_values(point.W)
        sigma, cut = self.scaling(point.W, dense)
        smoothing = self.smoothing(sigma, self.mu(point))
        threshold = self.thresholding(point, sigma, smoothing, cut)
        plain = threshold.value(0.0)
        residual = threshold.compose(plain) - sigma * point.W

        def psi(O: Array) -> Array:
            return 1.0 / (self.ridge * O + sigma * (1.0 - O))

        drift = threshold.apply(residual, psi)
        low_rank = threshold.compose(plain / sigma)
        AW, A_low_rank, A_drift = self.design.forward_each(point.W, low_rank, drift)
        coordinates = threshold.coordinates(lambda O: O * psi(O))
        slope_psi = psi(threshold.slope)
        return ThresholdingAt(
            sigma, dense, threshold, coordinates, plain, slope_psi, drift, AW, A_low_rank, A_drift
        )

    def thresholding(
        self, point: Point, sigma: float, smoothing: float, cut: float
    ) -> SmoothedThresholding:
        """Thresholding around ``Z + (sigma - rho) W``."""
        penalty = self.problem.penalty
        M = point.Z + (sigma - self.ridge) * point.W
        return SmoothedThresholding(M, lambda d, m: penalty.threshold(d, sigma, m), smoothing, cut)

    def scaling(self, W: Array, d: Array) -> tuple[float, float]:
        """The sigma for W with singular values d, and the largest slope that counts as zero."""
        # If W is smaller than needed to fit the labels, its final size is not known yet.
        norm = max(float(d[0]), self.size)
        moved = 0.0 if self.last_W is None else float(np.linalg.norm(W - self.last_W))
        settled = 0.1 * float(np.linalg.norm(W)) / moved if moved > 0.0 else 1.0
        self.last_W = W
        weight = min(max(settled, 1.0), HEAVIEST)
        sigma = max(self.ridge, weight * self.tau / norm) if norm > 0.0 else self.ridge
        # While W changes a lot, a direction with an error of 1 % is good enough. Later, slopes
        # matter relative to sigma: if the optimum is degenerate, 1e-4 without the weight takes 1.5
        # times as many steps.
        return sigma, 1e-2 if weight == 1.0 else 1e-5 * weight

    def smoothing(self, sigma: float, mu: float) -> float:
        """Smoothing of the thresholding for a barrier parameter."""
        # More smoothing would hide the solution. A power would raise an error on overflow.
        return min(sigma * mu, 0.1 * self.tau * (0.1 * self.tau))

    def offer(self, point: Point, system: ThresholdingAt) -> float:
        """Offer beta and the low-rank W of a point to the tracker; return the gap of this run."""
        beta = point.beta
        # A multiple of beta may give a better bound, which is sensitive to scale if tau >> ||W||.
        dual, t = best_on_ray(self.problem, beta, singular_values(point.Z))
        if dual > self.tracker.dual:
            self.tracker.offer_dual(t * beta, t * point.Z)
        w = system.plain / system.sigma
        low_rank = system.threshold.factors(w)
        residual = self.y - system.A_low_rank
        primal = self.tracker.offer_primal(low_rank, residual)
        if self.tracker.converged:
            self.tracker.confirm()
        if self.problem is not self.tracker.problem:
            primal, _ = self.problem.primal_at(self.problem.penalty_value(low_rank), residual)
        dense = self.penalty_value(point.W, system.dense)
        primal = min(primal, self.problem.primal_at(dense, self.y - system.AW)[0])
        self.primal = primal
        gap = primal - self.least(dual)
        if gap < self.best.gap:
            self.best = Best(gap, low_rank, point.gamma, beta)
        return gap

    def penalty_value(self, W: Array, d: Array) -> float:
        """Penalty and linear term of W with singular values d, plus the constant."""
        linear = 0.0 if self.problem.linear is None else float(np.vdot(self.problem.linear, W))
        return self.problem.penalty.value(d) + linear + self.problem.constant

    def least(self, dual: float) -> float:
        """The bound, or that of beta = 0 if this point is feasible and better."""
        return max(dual, self.problem.constant) if self.problem.homogeneous else dual

    def direction(
        self, point: Point, system: ThresholdingAt, gap: float
    ) -> tuple[Point, float, float]:
        """Direction by predictor and corrector, step length, and target barrier parameter."""
        step = NewtonStep(self, point, system)
        products = point.s * point.m
        affine = step.box(-products)
        length = step.longest(affine)
        after = float(np.vdot(point.s + length * affine.s, point.m + length * affine.m))
        mu, count = self.mu(point), self.box.count
        # The barrier parameter must not shrink much faster than the gap, unless the predictor step
        # is nearly a full one.
        lead = 0.1 * (1.0 - length)
        floor = lead * gap / (count + 2 * min(point.W.shape))
        target = max(centring(mu, after / count), floor)
        step.aim_at(target)
        direction = step.box(target - products - affine.s * affine.m)
        return step.complete(direction), min(1.0, 0.99 * step.longest(direction)), target

    def shortened(
        self, point: Point, direction: Point, system: ThresholdingAt, mu: float, length: float
    ) -> float:
        """Step length, halved while the thresholding is too far from its linearisation."""
        sigma, smoothing = system.sigma, self.smoothing(system.sigma, mu)
        threshold = system.threshold
        off = float(np.linalg.norm(threshold.compose(threshold.value(smoothing)) - sigma * point.W))
        rounding = 1e-9 * (self.tau + float(threshold.d[0]))
        way = float(np.linalg.norm(direction.Z + (sigma - self.ridge) * direction.W))
        for _ in range(HALVINGS):
            new = point.moved(length, direction)
            at = self.thresholding(new, sigma, smoothing, cut=-1.0)
            reached = np.linalg.norm(at.compose(at.value(smoothing)) - sigma * new.W)
            if reached <= (1.0 - length) * off + 0.3 * length * way + rounding:
                break
            length *= 0.5
        return length


@dataclass
class ThresholdingAt:
    """Thresholding around a point, the singular values of W, and products of A with matrices."""

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
        curvature, columns = run.problem.loss.curvature, run.problem.unpenalised
        g = system.AW + columns.times(point.gamma) - run.y + curvature * point.beta
        self.barriers = Barriers(run.box, point.s, point.m, g)
        precision = np.float32 if run.steps < SINGLE_STEPS else np.float64
        D = self.barriers.D + curvature
        solve = factor(run.design, system.coordinates, D, precision)
        self.solve = with_border(solve, columns.columns(run.design.n))
        self.missing = run.problem.linear_gamma - columns.sums(point.beta)
        self.drift, self.A_drift = system.drift, system.A_drift

    def aim_at(self, mu: float) -> None:
        """Set the target of the thresholding to the smoothing for `mu` instead of no smoothing."""
        system = self.system
        smoothing = self.run.smoothing(system.sigma, mu)
        change = system.slope_psi * (system.threshold.value(smoothing) - system.plain)
        shift = system.threshold.compose(change)
        self.drift = system.drift + shift
        self.A_drift = system.A_drift + self.run.design.forward(shift)

    def box(self, wish: Array) -> Point:
        """Direction of beta, slacks, multipliers and gamma for a change `wish` (4, n) of ``s m``.

        Instead of W it holds the response of W to the change of Z, if the linear system yields it.
        """
        rhs = self.barriers.rhs(wish) - self.A_drift
        solved, dgamma = self.solve(rhs, self.missing)
        dbeta, f = np.split(solved, [len(rhs)])
        ds, dm = self.barriers.slack_directions(dbeta, wish)
        response = self.system.coordinates.adjoint(f) if len(f) else EMPTY
        return Point(dbeta, ds, dm, response, dgamma, EMPTY)

    def longest(self, direction: Point) -> float:
        """Longest step of at most 1 that stays within the box."""
        return largest_step((self.point.s, direction.s), (self.point.m, direction.m))

    def complete(self, direction: Point) -> Point:
        """The same direction with those of W and Z; the response of W is computed if not known."""
        system, sigma, response = self.system, self.system.sigma, direction.W
        dZ = self.run.design.adjoint(direction.beta)
        if not response.size:
            ridge = self.run.ridge
            response = system.threshold.apply(dZ, lambda O: O / (ridge * O + sigma * (1.0 - O)))
        return replace(direction, W=self.drift + response, Z=dZ)
