"""Dual points that need no solver: those of W = 0 and of the labels, and multiples of points.

The dual solution of the problem with W = 0, which has only the unpenalised columns, is ``+-c_i``
for samples outside the tube and 0 strictly inside. On the edge, beta may lie anywhere in between.
In general as many samples lie on the edge as there are columns, and ``Z'beta = linear_gamma``
determines their beta; with ties there are more samples. Among the multiples of any beta, the
maximum of the dual is computed exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from ..linalg.factors import singular_values
from ..losses.piecewise import PiecewiseLoss
from ..problem import Problem, RMRProblem


def at_zero(problem: Problem[Any, Any]) -> tuple[Array, Array]:
    """Residuals (n,) of W = 0 with the best gamma, and a dual point (n,) near the slopes there."""
    r = problem.residual(problem.y)
    return r, problem.balanced(problem.loss.gradient(r))


def only_multipliers(problem: RMRProblem) -> Array | None:
    """Dual optimal beta (n,) of the problem with W = 0; None if it is not unique."""
    beta, lower, upper = optimal_multipliers(problem)
    free = np.flatnonzero(lower < upper)
    if len(free) > problem.unpenalised.size:
        return None
    rest = problem.linear_gamma - problem.unpenalised.sums(beta)
    rows = problem.unpenalised.take(free).columns(len(free))
    found, _, rank, _ = np.linalg.lstsq(rows.T, rest, rcond=None)
    if rank < len(free):
        return None
    beta[free] = found
    return beta


def optimal_multipliers(problem: RMRProblem) -> tuple[Array, Array, Array]:
    """Dual optimal beta of the problem with W = 0, and its bounds where beta is not determined.

    Returns three arrays (n,): beta, which is zero where it is not determined, and lower and upper
    bounds, which are zero elsewhere. If the best intercepts are an interval, no sample is on an
    edge at its middle, and the sum of beta is zero already, so that beta is unique.
    """
    loss, columns = problem.loss, problem.unpenalised
    gamma = columns.best(loss, problem.y, problem.linear_gamma)
    largest = max(float(np.abs(problem.y).max(initial=0.0)), float(loss.epsilon.max()))
    lower, upper = loss.subgradients(problem.y - columns.times(gamma), 1e-12 * largest)
    tied = lower < upper
    return np.where(tied, 0.0, lower), np.where(tied, lower, 0.0), np.where(tied, upper, 0.0)


def best_on_ray(problem: RMRProblem, beta: Array, d: Array) -> tuple[float, float]:
    """Largest dual objective at ``t beta`` with ``0 <= t <= 1``, and t.

    `d` holds the singular values of the image of `beta`, of shape (min(p, q),). With a linear term
    multiples of beta need not be feasible, and t is 1.
    """
    t = multiple(problem, beta, d, 1.0) if problem.homogeneous else 1.0
    return problem.dual_at(t * beta, problem.penalty.conjugate(t * d)), t


def multiple(problem: RMRProblem, x: Array, d: Array, longest: float) -> float:
    """Best factor t with ``0 <= t <= longest`` for the dual point t x; d as in `best_on_ray`."""
    curvature = float(problem.loss.curvature @ (x * x)) if problem.loss.curved else 0.0
    return problem.penalty.best_multiple(slope(problem, x), curvature, d, longest)


def label_ray(problem: RMRProblem, room: float) -> Array:
    """Best dual point (n,) among the multiples of the labels minus their fit by the columns Z.

    The point stays within the share `room` of the box. With covariates and bounds of one sign, its
    sums ``Z'beta`` need not be zero.
    """
    loss, x = problem.loss, weights(problem.loss)
    y = problem.unpenalised.without(problem.y, x)
    both = problem.unpenalised.size > 0
    x = one_sided(loss, x * y, both)
    if slope(problem, x) <= 0.0:  # most labels are in the tube: only use the most extreme ones
        x = one_sided(loss, extremes(y, both), both)
    if not x.any():
        return x
    bound = np.where(x > 0.0, loss.upper, -loss.lower)
    largest = float(np.max(np.abs(x) / np.where(x == 0.0, np.inf, bound)))
    d = singular_values(problem.design.adjoint(x))
    return multiple(problem, x, d, room / largest if largest > 0.0 else np.inf) * x


def weights(loss: PiecewiseLoss) -> Array:
    """Relative weights of the samples: largest slope or, if infinite, the second derivative."""
    with np.errstate(divide="ignore"):
        x = np.where(np.isfinite(loss.size), loss.size, 1.0 / loss.curvature)
    return np.asarray(x / x.max())


def one_sided(loss: PiecewiseLoss, x: Array, centred: bool) -> Array:
    """The vector x with zeros where the bounds forbid its sign; then of sum zero if `centred`."""
    allowed = np.where(x > 0.0, loss.upper > 0.0, loss.lower < 0.0)
    if allowed.all():
        return x
    x = np.where(allowed, x, 0.0)
    up, down = float(x[x > 0.0].sum()), -float(x[x < 0.0].sum())
    if centred and up != down:
        less = min(up, down)
        x = x * np.where(x > 0.0, less / (up or 1.0), less / (down or 1.0))
    return x


def slope(problem: RMRProblem, x: Array) -> float:
    """Derivative of the dual objective at t x with respect to t, at t = 0, without the penalty."""
    return float(problem.y @ x) - float(problem.loss.epsilon @ np.abs(x))


def extremes(y: Array, both: bool) -> Array:
    """1 at the largest label, -1 at the smallest; without `both` the sign of the largest size."""
    out = np.zeros_like(y)
    if both:
        out[np.argmax(y)] += 1.0
        out[np.argmin(y)] -= 1.0
    else:
        furthest = np.argmax(np.abs(y))
        out[furthest] = np.sign(y[furthest])
    return out
