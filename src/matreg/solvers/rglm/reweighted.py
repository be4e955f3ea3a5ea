"""Smooth losses and the spectral elastic net: proximal Newton steps by reweighted least squares.

Around residuals r a loss is approximated by the parabola
``L(r) + g'(r+ - r) + 1/2 (r+ - r)'H(r+ - r)`` with the diagonal second derivative H. With the
parabola instead of the loss, the problem is least squares with weights H and labels
``y - r + g / H``, which :mod:`.least_squares` solves, more and more accurately as the gap shrinks.
A line search ensures descent (Lee, Sun and Saunders 2014).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._runtime.progress import without_progress
from ..._typing import Array
from ...linalg.descent import backtrack
from ...linalg.factors import Factors, without_rounding
from ...losses.piecewise import squared
from ...losses.smooth import SmoothLoss
from ...penalties.spectral import SpectralPenalty
from ...problem import ROUNDING, Problem, RMRProblem
from ..certificate import SolverResult, Tracker
from ..warm_start import Start
from .least_squares import PreparedForm, kept_at, negligible, solve_least_squares
from .standard_form import StandardForm, flat

GLMProblem = Problem[SmoothLoss, SpectralPenalty]


@dataclass(frozen=True)
class Point:
    """Coefficients W with the best gamma, and the objective `value`.

    `unexplained` (n,) is ``y - A W``, and `residual` (n,) is ``y - A W - Z gamma``. Both are kept
    because ``y - A W`` cannot be recovered accurately from the residual if gamma is large.
    """

    W: Factors
    gamma: Array
    unexplained: Array
    residual: Array
    value: float


class Reweighted:
    """Proximal Newton steps for a smooth loss and a spectral elastic net, from W (p, q)."""

    def __init__(self, problem: GLMProblem, W: Array) -> None:
        self.problem = problem
        self.loss = problem.loss
        self.point = self.at(without_rounding(W))
        self.beta = np.zeros(problem.design.n)
        self.accuracy = 0.01  # gap of a least squares problem, relative to that of the problem
        self.sigma: float | None = None

    def at(self, W: Factors) -> Point:
        """The point with coefficients W."""
        rest = self.problem.y - self.problem.design.forward(W.matrix)
        value, gamma = self.problem.primal_at(self.problem.penalty_value(W), rest)
        return Point(W, gamma, rest, rest - self.problem.unpenalised.times(gamma), value)

    def parabola(self) -> RMRProblem:
        """The least squares problem that approximates the problem at the present point."""
        r = self.point.residual
        weights = self.loss.second_derivative(r)
        # Smaller weights would lead to labels that are only rounding errors. If classes are
        # separated too well, every derivative is zero in float64.
        least = 1e-10 * float(weights.max())
        weights = np.maximum(weights, max(least, float(np.finfo(float).tiny)))
        labels = self.problem.y - r + self.loss.gradient(r) / weights
        ours = self.problem
        return Problem(ours.design, labels, squared(weights), ours.penalty, ours.unpenalised)

    def step(self, gap: float, max_iter: int) -> int:
        """One step, given the absolute duality gap; returns the number of iterations."""
        point, model = self.point, self.parabola()
        W = point.W.matrix
        size = model.loss.value(model.y - self.problem.y + point.residual)
        objective = size + model.penalty.value(point.W.d)
        tol = self.accuracy * gap / objective if objective > 0.0 else 0.0
        prepared = PreparedForm(StandardForm(model), self.sigma)
        with without_progress():
            result = solve_least_squares(
                model,
                tol=float(np.clip(tol, 1e-14, 0.1)),
                max_iter=max_iter,
                start=Start(W, point.gamma, self.beta, prepared=prepared),
            )
        self.beta = result.beta
        self.sigma = result.kept.prepared.sigma if result.kept and result.kept.prepared else None
        if not self.search(result):
            self.accuracy *= 0.01
        return max(result.n_iter, 1)

    def search(self, result: SolverResult) -> bool:
        """Armijo's rule towards the minimum of the parabola; returns whether the point is lower."""
        point, ours = self.point, self.problem
        direction = result.W.matrix - point.W.matrix
        move = ours.design.forward(direction)
        move += ours.unpenalised.times(result.gamma - point.gamma)
        slope = ours.penalty.value(result.W.d) - ours.penalty.value(point.W.d)
        slope -= float(self.loss.gradient(point.residual) @ move)

        def at(length: float) -> Point:
            between = point.W.matrix + length * direction
            return self.at(result.W if length == 1.0 else without_rounding(between))

        self.point = backtrack(at, point.value, min(slope, 0.0)) or point
        return self.point.value < point.value

    @property
    def fits_exactly(self) -> bool:
        """Whether nothing is penalised and the Newton step of every residual is a rounding error.

        If the loss has no minimum, these steps stay large.
        """
        if self.problem.penalty_value(self.point.W) > 0.0:
            return False
        r = self.point.residual
        rounding = ROUNDING * (1.0 + np.abs(r)) * self.loss.second_derivative(r)
        return bool((np.abs(self.loss.gradient(r)) <= rounding).all())

    def offer(self, tracker: Tracker) -> None:
        """Offer the point and two dual points: the derivatives of the loss and of the parabola.

        Near the solution the second one is better, since it is feasible already.
        """
        tracker.offer_primal(self.point.W, self.point.unexplained)
        ours = self.problem
        for beta in (self.loss.gradient(self.point.residual), self.beta):
            beta = ours.balanced(beta)
            if ours.penalty.ridge == 0.0 and negligible(ours, beta):
                beta = unseen(ours, beta)
            tracker.offer_dual(beta)


def unseen(problem: GLMProblem, beta: Array) -> Array:
    """The part of beta with ``A'beta = 0`` and ``Z'beta = 0``, for tau = 0; 0 if not feasible."""
    columns = np.hstack([flat(problem.design), problem.unpenalised.columns(len(beta))])
    for _ in range(2):  # the second round removes the rounding errors of the first
        beta = beta - columns @ np.linalg.lstsq(columns, beta)[0]
    off = np.abs(problem.loss.feasible(beta, None) - beta).max()
    return beta if off <= ROUNDING * np.abs(beta).max() else np.zeros_like(beta)


def solve_reweighted(
    problem: GLMProblem, *, tol: float, max_iter: int, verbose: int, start: Start | None
) -> SolverResult:
    """Solve an R-GLM problem with a smooth loss, with the arguments of :func:`.solve_rglm`.

    Iterations are summed over all least squares problems; only the coefficients of the start are
    used.
    """
    shape, tau = (problem.design.p, problem.design.q), problem.penalty.tau
    tracker, k, since = Tracker(problem, tol, verbose, "proximal Newton", max_iter), 0, 0
    method = Reweighted(problem, np.zeros(shape))
    method.offer(tracker)
    tracker.record(k)
    # If the classes can be separated, the loss has no minimum; this objective is small enough.
    nothing = float(np.finfo(float).eps) * tracker.primal
    if start is not None and start.W.shape == shape and not tracker.converged:
        warm = Reweighted(problem, start.parabola(tau))
        method = warm if warm.point.value < method.point.value else method
        method.offer(tracker)
    while k < max_iter and not tracker.converged and since < 5:  # beyond 5, rounding dominates
        before = tracker.primal, tracker.gap
        k += method.step(max(tracker.primal - tracker.dual, 0.0), max_iter - k)
        method.offer(tracker)
        tracker.record(k)
        # Without a penalty the bound is useless before the end: the objective also counts.
        progress = tracker.primal < 0.999 * before[0] or tracker.gap < 0.9 * before[1]
        since = 0 if progress and tracker.primal > nothing else since + 1
    kept = kept_at(tracker)
    result = tracker.result(k, kept if start is None else kept.after(start))
    if not result.converged and method.fits_exactly:
        return result.fitting_exactly()
    return result
