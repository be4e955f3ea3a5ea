"""Squared loss and spectral elastic net: proximal gradient steps, then proximal Newton steps.

Weights and columns without a penalty are eliminated first (an intercept here): with rows
``sqrt(s_i) (X_i - mean)`` and labels ``sqrt(s_i) (y_i - mean)`` the problem is to minimise

    1/2 |z - A W|^2 + ridge/2 ||W||_F^2 + tau ||W||_*.

The iterations of FISTA (:mod:`..first_order`) are cheap, but ill-conditioned samples, such as
images and spectra, need many thousands of them. Therefore FISTA stops as soon as it has cost as
much as the proximal point steps of :mod:`.proximal_newton` are expected to cost, and these steps
follow. Both together cost at most a small factor more than the better of the two.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..._typing import Array
from ...design import Design
from ...linalg.factors import Factors, svd, without_rounding
from ...problem import Problem
from ..certificate import SolverResult, Tracker
from ..first_order import ProximalGradient
from ..warm_start import Position, Start
from .proximal_newton import ProximalPoint
from .standard_form import ROUNDING, StandardForm, flat

# Number of Newton steps that a problem is expected to need; 5 to 50 were observed.
EXPECTED_STEPS = 20


class PreparedForm(NamedTuple):
    """Data that a run leaves for the next run on the same samples."""

    form: StandardForm  # the prepared samples, for another tau
    # Length of the last proximal point step; None if FISTA was enough.
    sigma: float | None = None


def offer(
    tracker: Tracker, design: Design, W: Factors, residual: Array, beta: Array | None = None
) -> None:
    """Offer W and the best multiples of its residual ``z - A W`` and, if given, of a beta.

    If tau is tiny, the residual is a tiny difference, whose rounding errors would spoil the bound:
    then a beta of the solver is the better dual point. For a compressed design, residual and beta
    are not used; the residual is recomputed.
    """
    problem = tracker.problem
    if design is not problem.design:
        residual, beta = problem.y - problem.design.forward(W.matrix), None
    tracker.offer_primal(W, residual)
    tracker.offer_ray(residual)
    if beta is not None:
        tracker.offer_ray(beta)


def negligible(problem: Problem, beta: Array) -> bool:
    """Whether tau is at most the rounding error of the image of beta."""
    size = float(np.abs(beta) @ problem.design.norms)
    return bool(problem.penalty.tau <= np.finfo(float).eps * size)


def unpenalised(tracker: Tracker) -> None:
    """Offer the solution for tau = 0: ridge regression, or the least squares fit of smallest norm.

    Without a ridge, dual feasible points are those that A' maps to zero, such as the part of the
    labels outside of the range of A.
    """
    problem = tracker.problem
    design, z = problem.design, problem.y
    rows = flat(design)
    f = svd(rows)
    kept = f.d > np.finfo(float).eps * max(rows.shape) * f.d.max(initial=0.0)
    U, d, Vt = f.U[:, kept], f.d[kept], f.Vt[kept]
    inside, ridge = U.T @ z, problem.penalty.ridge
    W = without_rounding((inside * (d / (d * d + ridge)) @ Vt).reshape(design.p, design.q))
    tracker.offer_primal(W)
    if ridge > 0.0:
        tracker.offer_dual(z - U @ (inside * (d * d / (d * d + ridge))))
        return
    beta = z - U @ inside
    tracker.offer_dual(beta - U @ (U.T @ beta))


def fits_exactly(problem: Problem, result: SolverResult) -> bool:
    """Whether nothing is penalised and all residuals are rounding errors."""
    if problem.penalty.tau > 0.0 or problem.penalty.ridge > 0.0:
        return False
    root, design = 1.0 / np.sqrt(problem.loss.curvature), problem.design
    size = float(np.linalg.norm(root * problem.y))
    size += float(np.linalg.norm(root * design.norms) * np.linalg.norm(result.W.d))
    many = max(design.n, design.p * design.q)
    return bool(np.sqrt(2.0 * result.primal) <= ROUNDING * many * size)


def solve_least_squares(
    problem: Problem,
    *,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    verbose: int = 0,
    start: Start | None = None,
) -> SolverResult:
    """Solve an R-GLM problem with the squared loss, with the arguments of :func:`.solve_rglm`.

    Samples that an earlier run has prepared are reused if design and labels are the same objects,
    not copies, and have the same weights.
    """
    shape, tau = (problem.design.p, problem.design.q), problem.penalty.tau
    if start is None or start.W.shape != shape:
        start = Start(np.zeros(shape), np.zeros(0), np.zeros(0))
    if start.prepared is None or not start.prepared.form.serves(problem):
        start = replace(start.plain(), prepared=PreparedForm(StandardForm.of(problem)))
    assert start.prepared is not None
    form, sigma = start.prepared
    tracker, k = Tracker(form.posed(problem), tol, verbose, "W = 0", max_iter), 0
    if negligible(tracker.problem, form.z):
        tracker.method = "least squares"
        unpenalised(tracker)
        tracker.record(k)
        if tau == 0.0 or tracker.converged:
            result = tracker.result(k, kept_at(tracker, PreparedForm(form)))
            result = form.restore(result, problem, tol)
            return result.fitting_exactly() if fits_exactly(problem, result) else result
    offer(tracker, form.rows[0], tracker.W, form.rows[1])
    tracker.record(k)
    if not tracker.converged:
        k, sigma = run(start, form, tracker, max_iter)
    kept = kept_at(tracker, PreparedForm(form, sigma)).after(start)
    return form.restore(tracker.result(k, kept), problem, tol)


def kept_at(tracker: Tracker, prepared: PreparedForm | None = None) -> Start:
    """The best point of the tracker, as the start of the next problem."""
    here = Position(tracker.problem.penalty.tau)
    return Start(tracker.W.matrix, tracker.gamma, tracker.beta, here, prepared=prepared)


def run(
    start: Start, form: StandardForm, tracker: Tracker, max_iter: int
) -> tuple[int, float | None]:
    """Proximal point steps if their sigma is known; otherwise, or if these fail, FISTA first.

    Returns the number of iterations, and sigma for a neighbouring problem; None if FISTA was
    enough.
    """
    penalty, k = tracker.problem.penalty, 0
    W, sigma = start.parabola(penalty.tau), start.prepared and start.prepared.sigma
    if sigma is not None:
        if start.known:
            sigma *= start.position.tau / penalty.tau  # W is larger for smaller tau
        k = run_point(ProximalPoint(form, penalty, W, sigma), tracker, k, max_iter)
        if tracker.converged:
            return k, sigma
    gradient = ProximalGradient(*form.rows, penalty, W, 1.0 / form.lipschitz)
    # From a start near the solution, a third of the steps are expected.
    newton_steps = (0.3 if start.W.any() else 1.0) * EXPECTED_STEPS
    k = run_gradient(gradient, tracker, k, max_iter, newton_steps)
    if tracker.converged or k >= max_iter:
        return k, None
    point = ProximalPoint(form, penalty, gradient.W)
    return run_point(point, tracker, k, max_iter), point.sigma


def run_gradient(
    method: ProximalGradient, tracker: Tracker, k: int, max_iter: int, newton_steps: float
) -> int:
    """FISTA until it has converged or cost as much as `newton_steps`; returns the iterations."""
    tracker.method, first = "proximal gradient", k
    while k < max_iter and not tracker.converged:
        method.iterate()
        k += 1
        if (k - first) % 10 == 0 or k == max_iter:  # a certificate costs about an iteration
            offer(tracker, method.design, method.factors, method.residual)
            tracker.record(k)
            if k - first >= newton_steps * newton_price(method):
                break
    return k


def newton_price(method: ProximalGradient) -> float:
    """Approximate cost of a Newton step at the present rank, in iterations of FISTA."""
    m, (p, q), r = method.design.n, method.W.shape, method.factors.rank
    features = r * (p + q - r)
    # Products with a vector are limited by memory: they run at a tenth of the speed of large ones.
    own = 40.0 * m * p * q + 30.0 * p * q * min(p, q)
    system = m * features * min(m, features) + min(m, features) ** 3 / 3.0
    return (8.0 * m * p * q * r + system) / own + 3.0


def run_point(method: ProximalPoint, tracker: Tracker, k: int, max_iter: int) -> int:
    """Proximal point steps until converged, or 12 without progress; returns the iterations."""
    tracker.method, since, best = "proximal Newton", 0, np.inf
    while k < max_iter and not tracker.converged and since < 12:  # beyond 12, rounding dominates
        if method.iterate():
            since, best = (0, tracker.gap) if tracker.gap < 0.9 * best else (since + 1, best)
            continue
        k += 1
        point = method.point
        offer(tracker, method.design, point.factors, point.residual, point.beta)
        tracker.record(k)
    return k
