"""Augmented Lagrangian method with semismooth Newton steps: RMR from a neighbour's solution.

The loss and the nuclear norm are split off, ``r = y - A W - b`` and ``U = W``, with multipliers
beta and Lambda and penalties s1 and s2. Minimising out r and U leaves a function of (W, b) that is
strongly convex in W and once differentiable:

    beta+   = the slopes of the loss at its prox of y - A W - b + beta/s1, of step 1/s1,
    Lambda+ = s2 (M - prox(M)) with M = W + Lambda/s2, of the penalty without its ridge rho,
    gradient rho W + Lambda+ - A'beta+ + T and t - sum(beta+),
    generalised Hessian rho I + s2 (I - J) + A_F'(1/s1 + curvature)^-1 A_F,

where J is the derivative of the thresholding and F are the samples whose beta+ is inside of its
bounds. The inverse of the first part is known in closed form, so that a Newton step costs a system
of the order of F, and the features of these samples only.

An interior point forgets where it started; here the multipliers of a neighbouring problem are
most of its solution. What is left to choose are the penalties. They are right when the errors of
the multipliers and of the primal variables, in their ratio, are alike: so they are taken from how
far each moved at the last problem.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ..._typing import Array, Index, Mask
from ...design import Design
from ...linalg.bordered import BorderedSolve, cholesky, with_border
from ...linalg.factors import Factors, singular_values
from ...linalg.threads import single_threaded
from ...linalg.thresholding import SmoothedThresholding
from ...problem import RMRProblem
from ..certificate import SolverResult, Tracker
from .dual_ray import best_on_ray
from .neighbour import Neighbour, solve_from

# The multipliers are updated when the gradient is this small, relative to A'beta and to how far
# the multipliers will move: sooner the penalties run away from what is not yet a minimum.
INNER, PROGRESS = 1e-2, 0.3
# Relative gradient from which on a certificate is worth its passes over the data.
WORTH_OFFERING = 1e-2
# Factor of the penalties at each update of the multipliers: larger ones make the pieces of the
# inner function so small that its Newton steps get short.
# That is no worry where one step was enough and no sample changed sides.
GROWTH, EASY = 1.7, 8.0
# Penalties to start with, as multiples of how far the last problem moved.
BOLD = (4.0, 10.0)
# The same without a last problem, as multiples of max|beta| / std(y) and tau / ||W||; the range.
TIMID, LEAST, MOST = (30.0, 300.0), 0.1, 1e6
# Steps without progress after which to give up.
PATIENCE = 30
# Up to this number of samples their Gram matrix is kept.
SMALL_GRAM = 4000


@dataclass(frozen=True)
class Inner:
    """The inner function at a point.

    Attributes
    ----------
    W, b, AW : ndarray, float, ndarray
        The point.
    band : ndarray of bool
        Samples whose multiplier is inside of its bounds.
    beta, Lambda : ndarray
        Multipliers after an update.
    threshold : SmoothedThresholding
        Of ``W + Lambda/s2`` at ``tau/s2``.
    value, slope_W, t : float, ndarray, float
        Inner function, its derivative in W without that of the loss, and in b likewise.
    """

    W: Array
    b: float
    AW: Array
    band: Mask
    beta: Array
    Lambda: Array
    threshold: SmoothedThresholding
    value: float
    slope_W: Array
    t: float

    def slope(self, dW: Array, db: float, AdW: Array) -> float:
        """Derivative in a direction, without a pass over the data."""
        return float(np.vdot(self.slope_W, dW) - self.beta @ (AdW + db)) + self.t * db

    def low_rank(self) -> Factors:
        """The thresholded matrix."""
        return self.threshold.factors(self.threshold.value(0.0))


@dataclass(frozen=True)
class Piece:
    """Which piece of the inner function a Newton step is for."""

    band: Mask
    threshold: SmoothedThresholding


class AugmentedLagrangian:
    """One run on a problem.

    Parameters
    ----------
    problem : Problem
        RMR, with a ridge.
    tracker : Tracker
        Where points are offered.
    memory : Neighbour
        Solution of a neighbouring problem.
    """

    def __init__(self, problem: RMRProblem, tracker: Tracker, memory: Neighbour) -> None:
        self.problem, self.tracker = problem, tracker
        self.design, self.y, self.loss = problem.design, problem.y, problem.loss
        self.tau, self.ridge = problem.penalty.tau, problem.penalty.ridge
        self.memory = memory
        self.start = self.best_start()
        self.beta, self.Lambda = self.start.beta, self.start.Lambda
        tiny = float(np.finfo(float).tiny)  # numbers of any size must not underflow to zero
        self.s1, self.s2 = (max(penalty, tiny) for penalty in self.penalties())

    def best_start(self) -> Neighbour:
        """The last solution, or its extrapolation where the dual objective says it is better."""
        last, shrink = self.memory, self.shrinkage
        starts = [last, replace(last, beta=shrink * last.beta, Lambda=shrink * last.Lambda)]
        ahead = last.ahead(self.tau)
        if ahead is not None:
            # No sample crosses the tube in a straight line, and none leaves its box.
            same = ahead.beta * last.beta >= 0.0
            starts.append(replace(ahead, beta=np.where(same, ahead.beta, 0.0)))
        box = self.loss.lower, self.loss.upper
        starts = [replace(start, beta=np.clip(start.beta, *box)) for start in starts]
        values = [self.tracker.offer_dual(self.problem.feasible(x.beta)) for x in starts]
        return starts[int(np.argmax(values))]

    @property
    def shrinkage(self) -> float:
        """Ratio of the new tau to the old, by which beta changes where tau rules the penalty."""
        return min(self.tau / self.memory.tau, 1.0) if self.memory.tau > 0.0 else 1.0

    def penalties(self) -> tuple[float, float]:
        """Penalties to start with: by how far the last problem moved, or cautious ones."""
        spread = float(np.std(self.y)) or 1.0
        largest = float(self.loss.size[np.isfinite(self.loss.size)].max(initial=0.0))
        unit1 = max(float(np.abs(self.beta).max()), 1e-3 * largest) / spread or 1.0 / spread
        unit2 = self.tau / (float(np.linalg.norm(self.start.W, 2)) or spread) or 1.0
        if self.memory.ratios is None:
            return TIMID[0] * unit1, TIMID[1] * unit2
        ratio1, ratio2 = self.memory.ratios
        return (
            float(np.clip(BOLD[0] * ratio1, LEAST * unit1, MOST * unit1)),
            float(np.clip(BOLD[1] * ratio2, LEAST * unit2, MOST * unit2)),
        )

    def evaluate(self, W: Array, b: float, AW: Array) -> Inner:
        """Inner function and updated multipliers at a point."""
        s1, s2, loss, penalty = self.s1, self.s2, self.loss, self.problem.penalty
        v = self.y - AW - b + self.beta / s1
        beta = loss.multiplier(v, 1.0 / s1)
        threshold = self.thresholding(W + self.Lambda / s2)
        w = threshold.g
        # Moreau envelopes of the loss and of the penalty without its ridge.
        slopes = np.abs(beta)
        over = np.maximum(np.abs(v) - loss.epsilon, 0.0)
        value = (
            0.5 * self.ridge * float(np.vdot(W, W))
            + float(slopes @ (over - 0.5 * (1.0 / s1 + loss.curvature) * slopes))
            + penalty.part(w)
            + 0.5 * s2 * float(np.sum((threshold.d - w) ** 2))
        )
        if self.problem.T is not None:
            value += float(np.vdot(self.problem.T, W))
        value += self.problem.t * b
        band = loss.prox_derivative(v, 1.0 / s1) < 1.0
        Lambda = threshold.compose(s2 * (threshold.d - w))
        slope_W = self.ridge * W + Lambda
        if self.problem.T is not None:
            slope_W = slope_W + self.problem.T
        return Inner(W, b, AW, band, beta, Lambda, threshold, value, slope_W, self.problem.t)

    def thresholding(self, M: Array) -> SmoothedThresholding:
        """Prox of the penalty without its ridge, of step 1/s2."""
        s2, penalty = self.s2, self.problem.penalty

        def shrink(d: Array, m: float) -> tuple[Array, Array]:
            g, slope = penalty.threshold(s2 * d, s2, m)
            return g / s2, slope

        return SmoothedThresholding(M, shrink, 0.0, 0.0)

    def direction(self, at: Inner, piece: Piece, gradient: Array) -> tuple[Array, float]:
        """Newton direction of W and b, with the Hessian of a piece."""
        s2 = self.s2

        def inverse(O: Array) -> Array:
            return 1.0 / (self.ridge + s2 * (1.0 - O))

        smallest = 1.0 / (self.ridge + s2)
        index = np.flatnonzero(piece.band)
        samples = self.design.take(index)
        Phi = piece.threshold.coordinates(lambda O: inverse(O) - smallest).of_samples(samples)
        S = self.gram(index, samples)
        S *= smallest
        S += Phi @ Phi.T
        np.einsum("ii->i", S)[:] += 1.0 / self.s1 + self.loss.curvature[index]
        rhs = samples.forward(piece.threshold.apply(gradient, inverse))
        dbeta, db = self.refined(S)(rhs, self.problem.t - float(at.beta.sum()))
        dW = piece.threshold.apply(samples.adjoint(dbeta) - gradient, inverse)
        return dW, db

    def refined(self, S: Array) -> BorderedSolve:
        """Solver of the bordered system, with one step of refinement."""
        if len(S) == 0:
            return lambda rhs, total: (rhs, 0.0)
        once = cholesky(S.copy())

        def solve(rhs: Array) -> Array:
            x = once(rhs)
            return x + once(rhs - S @ x)

        return with_border(solve, len(S), self.problem.fit_intercept)

    def gram(self, index: Index, samples: Design) -> Array:
        """Inner products of some samples."""
        if self.design.n <= SMALL_GRAM:
            return self.design.gram.take(index, axis=0).take(index, axis=1)
        return samples.gram.copy()

    def search(self, at: Inner, dW: Array, db: float) -> Inner | None:
        """Point that lies lower in a direction; None if there is none."""
        AdW = self.design.forward(dW)
        slope = at.slope(dW, db, AdW)
        if not slope < 0.0:
            return None
        t = 1.0
        for _ in range(20):
            new = self.evaluate(at.W + t * dW, at.b + t * db, at.AW + t * AdW)
            ahead = new.slope(dW, db, AdW)
            # Near the minimum rounding hides the decrease, but not the derivative.
            if ahead <= 0.3 * abs(slope) or new.value <= at.value + 1e-4 * t * slope:
                return new
            t *= max(0.3, slope / (slope - ahead))
        return None

    def offer(self, at: Inner) -> None:
        """Offer the feasible multiplier and the low-rank matrix at hand."""
        beta = self.problem.feasible(at.beta)
        d = singular_values(self.problem.image(beta))
        value, t = best_on_ray(self.problem, beta, d)
        if value > self.tracker.dual:
            self.tracker.offer_dual(t * beta, self.problem.penalty.conjugate(t * d))
        self.tracker.offer_primal(at.low_rank())

    def iterate(self) -> Iterator[Neighbour]:
        """Newton steps until the tracker is satisfied or no progress is made."""
        start = self.start
        first = at = self.evaluate(start.W, start.b, self.design.forward(start.W))
        Z_start = self.problem.image(self.beta)
        piece = Piece(at.band, at.threshold)
        best, since, steps = np.inf, 0, 0
        while since < PATIENCE:
            Z = self.problem.image(at.beta)
            gradient = self.ridge * at.W + at.Lambda - Z
            off = float(np.hypot(np.linalg.norm(gradient), self.sum_of(at.beta)))
            size = float(np.linalg.norm(Z))
            if off <= WORTH_OFFERING * size:
                self.offer(at)
            yield self.remember(first, at)
            gap = self.tracker.gap
            if self.tracker.converged or not np.isfinite(off):
                return
            best, since = (gap, 0) if gap < 0.9 * best else (best, since + 1)
            easy = steps <= 1 and np.array_equal(piece.band, at.band)
            piece = Piece(at.band, at.threshold)
            moved = float(np.linalg.norm(Z - Z_start) + np.linalg.norm(at.Lambda - self.Lambda))
            if off <= min(INNER * size, PROGRESS * moved):
                piece, Z_start, steps = self.update(at, EASY if easy else GROWTH), Z, 0
                at = self.evaluate(at.W, at.b, at.AW)
                gradient = self.ridge * at.W + at.Lambda - self.problem.image(at.beta)
            new = self.search(at, *self.direction(at, piece, gradient))
            if new is None:
                return
            at, steps = new, steps + 1

    def sum_of(self, beta: Array) -> float:
        """Derivative with respect to the intercept, if there is one."""
        return float(beta.sum()) - self.problem.t if self.problem.fit_intercept else 0.0

    def update(self, at: Inner, growth: float) -> Piece:
        """New multipliers and larger penalties; the piece that the multipliers are on.

        At the old W the new multipliers overshoot, by as much as they just moved, so that some
        samples and singular values seem to change sides which a step will bring back at once.
        """
        self.beta, self.Lambda = at.beta, at.Lambda
        self.s1 *= growth
        self.s2 *= growth
        return Piece(at.band, self.thresholding(at.low_rank().matrix + at.Lambda / self.s2))

    def remember(self, first: Inner, at: Inner) -> Neighbour:
        """The current point for the next problem."""
        far1 = float(np.linalg.norm(at.AW + at.b - first.AW - first.b))
        far2 = float(np.linalg.norm(at.W - first.W))
        dual1 = float(np.linalg.norm(at.beta - self.start.beta))
        dual2 = float(np.linalg.norm(at.Lambda - self.start.Lambda))
        known = min(far1, far2, dual1, dual2) > 0.0
        ratios = (dual1 / far1, dual2 / far2) if known else self.memory.ratios
        return Neighbour(self.tau, at.W, at.Lambda, at.beta, at.b, ratios).after(self.memory)


@single_threaded(lambda problem: problem.design.size)
def solve_augmented_lagrangian(
    problem: RMRProblem,
    *,
    start: SolverResult,
    tol: float = 1e-6,
    max_iter: int = 80,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem from the solution of a neighbouring one.

    Parameters
    ----------
    problem : Problem
        A loss of four numbers a sample, a spectral penalty with a ridge.
    start : SolverResult
        Solution of a problem with the same samples, for another tau close by.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=80
        Largest number of Newton steps.
    verbose : int, default=0
        Whether to print a line a step.

    Returns
    -------
    SolverResult
        The best certified point, converged or not; its state is for the next problem.
    """
    name = "augmented Lagrangian"
    return solve_from(AugmentedLagrangian, problem, start, tol, max_iter, verbose, name)
