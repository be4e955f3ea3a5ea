"""Smooth losses and the spectral elastic net: proximal Newton steps by reweighted least squares.

Around residuals r a loss is a parabola, ``L(r) + g'(r+ - r) + 1/2 (r+ - r)'H(r+ - r)`` with the
diagonal second derivative H. The problem with it in the place of the loss is least squares with
weights H and labels ``y - r + g / H``, which :mod:`.least_squares` solves as exactly as the present
gap makes worth while. A line search makes every step descend (Lee, Sun and Saunders 2014).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..._runtime.progress import without_progress
from ..._typing import Array
from ...linalg.descent import backtrack
from ...linalg.factors import Factors, svd
from ...losses.piecewise import squared
from ...losses.smooth import SmoothLoss
from ...penalties.spectral import SpectralPenalty
from ...problem import ROUNDING, Problem, RMRProblem
from ..certificate import SolverResult, Tracker
from ..warm_start import Start
from .least_squares import PreparedForm, kept_at, solve_least_squares
from .standard_form import StandardForm, flat

GLMProblem = Problem[SmoothLoss, SpectralPenalty]


# Weights of least squares relative to the largest one: smaller ones make labels of mere rounding.
SMALLEST_WEIGHT = 1e-10
# Gap of a least squares problem relative to the present one of the problem itself; as much
# smaller again after a step that did not descend.
INNER_ACCURACY = 1e-2
# Steps without a smaller gap after which rounding must be the reason.
PATIENCE = 5


@dataclass(frozen=True)
class Point:
    """Coefficients at the best gamma with objective, `unexplained` ``y - A W`` and `residual`.

    The residual is ``y - A W - Z gamma``; of a large gamma, ``Z gamma`` added to it would not give
    the former back.
    """

    W: Factors
    gamma: Array
    unexplained: Array
    residual: Array
    value: float


def without_rounding(W: Array) -> Factors:
    """W in factors, without singular values that are zero up to the rounding of a sum."""
    f = svd(W)
    noise = float(np.finfo(float).eps) * max(W.shape) * f.d[0]
    return Factors(f.U, np.where(f.d > noise, f.d, 0.0), f.Vt)


def dual_point(problem: GLMProblem, residual: Array) -> Array:
    """Derivative of the loss at ``y - A W`` minus the best ``Z gamma``, made feasible."""
    gamma = problem.primal_at(0.0, residual)[1]
    return feasible(problem, problem.loss.gradient(residual - problem.unpenalised.times(gamma)))


def feasible(problem: GLMProblem, beta: Array) -> Array:
    """Nearby dual point of finite conjugate with ``Z'beta = linear_gamma``."""
    return problem.unpenalised.feasible(problem.loss, beta, problem.linear_gamma)


class Reweighted:
    """Proximal Newton steps.

    Parameters
    ----------
    problem : Problem
        Smooth loss and spectral elastic net.
    W : ndarray of shape (p, q)
        Where to start.
    """

    def __init__(self, problem: GLMProblem, W: Array) -> None:
        self.problem = problem
        self.loss = problem.loss
        self.point = self.at(without_rounding(W))
        self.beta = np.zeros(problem.design.n)
        self.accuracy = INNER_ACCURACY
        self.sigma: float | None = None

    def at(self, W: Factors) -> Point:
        """Evaluate coefficients."""
        rest = self.problem.y - self.problem.design.forward(W.matrix)
        value, gamma = self.problem.primal_at(self.problem.penalty_value(W), rest)
        return Point(W, gamma, rest, rest - self.problem.unpenalised.times(gamma), value)

    def parabola(self) -> RMRProblem:
        """Least squares in the place of the loss."""
        r = self.point.residual
        weights = self.loss.second_derivative(r)
        least = SMALLEST_WEIGHT * float(weights.max())
        # Of classes that are told apart too well every derivative is zero in float64.
        weights = np.maximum(weights, max(least, float(np.finfo(float).tiny)))
        labels = self.problem.y - r + self.loss.gradient(r) / weights
        ours = self.problem
        return Problem(ours.design, labels, squared(weights), ours.penalty, ours.unpenalised)

    def step(self, gap: float, max_iter: int) -> int:
        """One step at a gap of the objective; its iterations."""
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
            self.accuracy *= INNER_ACCURACY
        return max(result.n_iter, 1)

    def search(self, result: SolverResult) -> bool:
        """Armijo's rule along the way to the minimum of the parabola; tell if it descended."""
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
        """Whether nothing is penalised and Newton's step of every residual is mere rounding.

        Not so where the loss falls for ever: its steps stay large.
        """
        if self.problem.penalty_value(self.point.W) > 0.0:
            return False
        r = self.point.residual
        rounding = ROUNDING * (1.0 + np.abs(r)) * self.loss.second_derivative(r)
        return bool((np.abs(self.loss.gradient(r)) <= rounding).all())

    def offer(self, tracker: Tracker) -> None:
        """Offer the point and two dual ones: the loss's derivative there and that of the parabola.

        Near the solution the second is the better one: it is feasible already.
        """
        tracker.offer_primal(self.point.W, self.point.unexplained)
        ours = self.problem
        for beta in (self.loss.gradient(self.point.residual), self.beta):
            beta = feasible(ours, beta)
            if ours.penalty.tau == ours.penalty.ridge == 0.0:
                beta = unseen(ours, beta)
            tracker.offer_dual(beta)


def unseen(problem: GLMProblem, beta: Array) -> Array:
    """The part of beta that the samples map to zero, which tau = 0 asks for; 0 if not feasible."""
    columns = np.hstack([flat(problem.design), problem.unpenalised.columns(len(beta))])
    for _ in range(2):  # the second time takes away what rounding has left
        beta = beta - columns @ np.linalg.lstsq(columns, beta)[0]
    off = np.abs(problem.loss.feasible(beta, None) - beta).max()
    return beta if off <= ROUNDING * np.abs(beta).max() else np.zeros_like(beta)


def solve_reweighted(
    problem: GLMProblem,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    verbose: int = 0,
    start: Start | None = None,
) -> SolverResult:
    """Solve an R-GLM problem with a smooth loss to a relative duality gap.

    Parameters
    ----------
    problem : Problem
        Smooth loss and a spectral elastic net.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=10000
        Largest number of iterations, those of all least squares problems together.
    verbose : int, default=0
        Whether to print a line a Newton step.
    start : Start, default=None
        Where an earlier run ended, of which the coefficients are used.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    shape, tau = (problem.design.p, problem.design.q), problem.penalty.tau
    tracker, k, since = Tracker(problem, tol, verbose, "proximal Newton"), 0, 0
    patience = PATIENCE
    method = Reweighted(problem, np.zeros(shape))
    method.offer(tracker)
    tracker.record(k)
    # Where labels can be told apart without an error the loss falls for ever; this is enough.
    nothing = float(np.finfo(float).eps) * tracker.primal
    if start is not None and start.W.shape == shape and not tracker.converged:
        W = start.parabola(tau)
        warm = Reweighted(problem, W)
        method = warm if warm.point.value < method.point.value else method
        method.offer(tracker)
    while k < max_iter and not tracker.converged and since < patience:
        before = tracker.primal, tracker.gap
        k += method.step(max(tracker.primal - tracker.dual, 0.0), max_iter - k)
        method.offer(tracker)
        tracker.record(k)
        # Without a penalty there is no bound to speak of before the end: the objective tells too.
        progress = tracker.primal < 0.999 * before[0] or tracker.gap < 0.9 * before[1]
        since = 0 if progress and tracker.primal > nothing else since + 1
    kept = kept_at(tracker)
    result = tracker.result(k, kept if start is None else kept.after(start))
    if not result.converged and method.fits_exactly:
        # Multipliers that are mere rounding prove nothing.
        nowhere = np.zeros_like(result.beta)
        return replace(result, beta=nowhere, dual=0.0, gap=0.0, converged=True)
    return result
