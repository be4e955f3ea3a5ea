"""The best coefficients of a few columns for a loss, and projections of dual points.

    minimise over gamma (k,):   L(r - Z gamma) + t'gamma,
    its dual over beta (n,):    r'beta - L*(beta)   subject to   Z'beta = t.

For a piecewise linear loss, such as that of quantile regression, this is a linear program: an
interior point method for the dual (Portnoy and Koenker 1997) ends near a vertex, and the signs and
bounds of its multipliers identify the vertex. Newton's method is used for losses with two
derivatives, and the BFGS method for all others.

References
----------
S. Portnoy and R. Koenker, The Gaussian hare and the Laplacian tortoise: computability of
squared-error versus absolute-error estimators, Statistical Science 1997.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.optimize

from .._typing import Array
from ..barriers import interior_points
from ..linalg.descent import backtrack
from ..losses.base import ROUNDING, Loss
from ..losses.piecewise import PiecewiseLoss
from ..thresholds import COVARIATE_SAMPLES

# Largest number of steps of each method; few problems need half as many.
MOST_STEPS = 60


def best_coefficients(loss: Loss, Z: Array, r: Array, t: Array) -> Array:
    """Minimiser of ``L(r - Z gamma) + t'gamma``.

    Parameters
    ----------
    loss : Loss
        A piecewise loss, or a loss with a second derivative, a gradient or a prox.
    Z : ndarray of shape (n, k)
        Columns.
    r : ndarray of shape (n,)
        Residuals.
    t : ndarray of shape (k,)
        Linear term.

    Returns
    -------
    ndarray of shape (k,)
        The coefficients. If the optimum is not attained, they are large.
    """
    if Z.shape[1] == 0:
        return np.zeros(0)  # SciPy before 1.14 has no pseudo-inverse of an empty matrix
    if isinstance(loss, PiecewiseLoss):
        if loss.quadratic:
            return weighted_fit(1.0 / loss.curvature, Z, r, t)
        many = len(r) > COVARIATE_SAMPLES and not loss.curved
        return among_many(loss, Z, r, t) if many else vertex(loss, Z, r, t)
    if hasattr(loss, "second_derivative") or hasattr(loss, "curvature_in"):
        return newton(loss, Z, r, t)
    return quasi_newton(loss, Z, r, t)


def among_many(loss: PiecewiseLoss, Z: Array, r: Array, t: Array) -> Array:
    """Minimiser for a piecewise linear loss of many samples, most of which are far from kinks.

    A subsample gives a first gamma. The slopes of samples far from a kink at this gamma are fixed,
    so that their losses become a linear term; samples whose slope turns out to be wrong are added
    to the other samples (Portnoy and Koenker 1997).
    """
    n = len(r)
    size = max(1000, int(2.0 * n ** (2.0 / 3.0)))
    some = np.linspace(0, n - 1, size).astype(np.intp)
    gamma = best_coefficients(loss.take(some).times(n / size), Z[some], r[some], t)
    left = r - Z @ gamma
    distance, slopes = loss.distances(left), loss.gradient(left)
    near = distance <= np.partition(distance, size)[size]
    for _ in range(10):
        rest = t - np.where(near, 0.0, slopes) @ Z
        gamma = vertex(loss.take(near), Z[near], r[near], rest)
        wrong = ~near & (loss.gradient(r - Z @ gamma) != slopes)
        if not wrong.any():
            return gamma
        near |= wrong
    return vertex(loss, Z, r, t)


def weighted_fit(weights: Array, Z: Array, r: Array, t: Array) -> Array:
    """Minimiser for the squared loss; the one of smallest norm if it is not unique."""
    root = np.sqrt(weights)
    rows = root[:, None] * Z
    gamma = np.linalg.lstsq(rows, root * r, rcond=None)[0]
    if t.any():
        gamma = gamma - np.linalg.lstsq(rows.T @ rows, t, rcond=None)[0]
    return np.asarray(gamma)


def near_optimum(loss: PiecewiseLoss, Z: Array, r: Array, t: Array) -> tuple[Array, Array]:
    """Coefficients (k,) and multipliers (n,) near the optimum of a piecewise loss.

    If products of residuals and slopes would overflow, both are divided by powers of two.
    """
    size, slope = unit_of(r), unit_of(loss.size)
    if 1e-150 < size * slope < 1e150:
        return near_optimum_of_units(loss, Z, r, t)
    loss = PiecewiseLoss(
        loss.lower / slope, loss.upper / slope, loss.epsilon / size, loss.curvature / size * slope
    )
    gamma, beta = near_optimum_of_units(loss, Z, r / size, t / slope)
    return size * gamma, slope * beta


def unit_of(values: Array) -> float:
    """Power of two near the largest finite absolute value; 1 if there is none."""
    largest = np.abs(values[np.isfinite(values)]).max(initial=0.0)
    return float(2.0 ** (np.frexp(largest)[1] - 1)) if largest > 0.0 else 1.0


def near_optimum_of_units(loss: PiecewiseLoss, Z: Array, r: Array, t: Array) -> tuple[Array, Array]:
    """As :func:`near_optimum`, for residuals and slopes whose products do not overflow."""
    gamma = weighted_fit(np.ones(len(r)), Z, r, np.zeros_like(t))
    best = (np.inf, gamma, np.zeros_like(r))
    points = interior_points(
        loss,
        r - Z @ gamma,
        gamma,
        lambda beta, gamma: Z @ gamma - r + loss.curvature * beta,
        lambda beta: t - beta @ Z,
        lambda D: beside_columns(D + loss.curvature, Z),
    )
    with np.errstate(all="ignore"):
        for inside in islice(points, MOST_STEPS):
            value = loss.value(r - Z @ inside.gamma) + float(t @ inside.gamma)
            best = min(best, (value, inside.gamma, inside.beta), key=lambda point: point[0])
            if inside.mu <= 1e-13 or not np.isfinite(value):
                break
    return best[1:]


def beside_columns(D: Array, Z: Array) -> Callable[[Array, Array], tuple[Array, Array]]:
    """Solver of ``D x + Z gamma = rhs``, ``Z'x = total``; the columns may be collinear."""
    weighted = Z / D[:, None]
    S = Z.T @ weighted
    scale = 1.0 / np.sqrt(np.maximum(np.diagonal(S), np.finfo(float).tiny))
    S = scale[:, None] * S * scale
    some = np.isfinite(S).all()  # otherwise the result is NaN, and callers stop
    inverse = scipy.linalg.pinvh(S, check_finite=False) if some else np.full_like(S, np.nan)

    def solve(rhs: Array, total: Array) -> tuple[Array, Array]:
        gamma = scale * (inverse @ (scale * (rhs @ weighted - total)))
        return (rhs - Z @ gamma) / D, gamma

    return solve


def vertex(loss: PiecewiseLoss, Z: Array, r: Array, t: Array) -> Array:
    """Minimiser for a piecewise loss: the vertex near the result of the interior point method.

    At the vertex, samples with a free multiplier are on their kink or on the curved part of their
    loss, and all others have the slope of their bound. The change of gamma is the smallest one
    that satisfies these conditions.
    """
    gamma, beta = near_optimum(loss, Z, r, t)
    best, value = gamma, loss.value(r - Z @ gamma) + float(t @ gamma)
    for _ in range(2):
        change = change_to_vertex(loss, Z, r - Z @ best, t, beta)
        new = best + change
        lower = loss.value(r - Z @ new) + float(t @ new)
        if not lower <= value + ROUNDING * (abs(value) + float(np.abs(t * new).sum())):
            break
        best, value = new, lower
    return best


def change_to_vertex(loss: PiecewiseLoss, Z: Array, r: Array, t: Array, beta: Array) -> Array:
    """Change of gamma at residuals r that puts the free samples on their kinks.

    A multiplier is free if its distance from the ends of its interval exceeds 1e-6 of the length.
    """
    bound, size = np.where(beta > 0.0, loss.upper, -loss.lower), np.abs(beta)
    inside = 1e-6 * np.minimum(bound, float(size.max(initial=0.0)))
    ends_at_zero = loss.kinked | (loss.lower == 0.0) | (loss.upper == 0.0)
    free = (size < bound - inside) & (~ends_at_zero | (size > inside))
    kink = free & (loss.curvature == 0.0)
    curve = free & (loss.curvature > 0.0)
    target = np.sign(beta) * loss.epsilon
    rows, off = Z[kink], (r - target)[kink]
    chosen = spanning(rows)
    rows, off = rows[chosen], off[chosen]
    if not curve.any():
        return np.asarray(np.linalg.lstsq(rows, off, rcond=None)[0]) if len(rows) else 0.0 * t
    weight = 1.0 / loss.curvature[curve]
    H = Z[curve].T @ (weight[:, None] * Z[curve])
    at_bound = np.where(free, 0.0, np.where(size > 0.5 * bound, np.copysign(bound, beta), 0.0))
    slope = (weight * (r - target)[curve]) @ Z[curve] + at_bound @ Z - t
    k, f = len(t), len(rows)
    K = np.block([[H, -rows.T], [rows, np.zeros((f, f))]])
    found = np.linalg.lstsq(K, np.concatenate([slope, off]), rcond=None)[0]
    return np.asarray(found[:k])


def spanning(rows: Array) -> Any:
    """Indices of linearly independent rows that span all rows."""
    if len(rows) <= 1:
        return slice(None)
    _, R, order = scipy.linalg.qr(rows.T, mode="economic", pivoting=True)
    d = np.abs(np.diagonal(R))
    return order[: int(np.count_nonzero(d > 1e-10 * d.max(initial=0.0)))]


class Trial(NamedTuple):
    """Coefficients, and the value of a function there."""

    at: Array
    value: float


def newton(loss: Any, Z: Array, r: Array, t: Array) -> Array:
    """Newton's method with Levenberg's damping for a loss with two derivatives.

    Far from the optimum, a logistic loss has almost no curvature along some columns. A line search
    along the Newton direction would get stuck there; damped steps do not.
    """
    gamma, value, damping = np.zeros_like(t), loss.value(r), 0.0
    with np.errstate(all="ignore"):
        for _ in range(MOST_STEPS):
            left = r - Z @ gamma
            slopes = loss.gradient(left)
            slope, size = slopes @ Z - t, np.abs(slopes) @ np.abs(Z)
            if np.all(np.abs(slope) <= ROUNDING * size):
                break
            H = (
                loss.curvature_in(Z, left)
                if hasattr(loss, "curvature_in")
                else Z.T @ (loss.second_derivative(left)[:, None] * Z)
            )
            if not (np.isfinite(H).all() and np.isfinite(slope).all()):
                break
            # Without curvature this limits a step to the size of the residuals, or to 1; near the
            # optimum the added term vanishes.
            reach = max(float(np.abs(left).max()), 1.0)
            H += np.diag(np.abs(slope) / reach)
            unit = float(np.trace(H)) / len(t) * np.eye(len(t))
            step = np.linalg.lstsq(H + damping * unit, slope, rcond=None)[0]
            promised = float(step @ slope)
            if promised <= 1e-14 * abs(value):  # less than the rounding error of the value
                return np.asarray(gamma + step)
            new = loss.value(r - Z @ (gamma + step)) + float(t @ (gamma + step))
            if new <= value - 1e-4 * promised:
                gamma, value, damping = gamma + step, new, damping / 10.0 if damping > 1e-6 else 0.0
            else:
                damping = max(10.0 * damping, 1e-3)
    return np.asarray(gamma)


def quasi_newton(loss: Any, Z: Array, r: Array, t: Array) -> Array:
    """BFGS steps for a loss with a gradient, or with a prox that yields a smoothed gradient."""
    step = 1e-6 * (float(np.abs(r).mean()) or 1.0)

    def slopes(left: Array) -> Array:
        if hasattr(loss, "gradient"):
            return np.asarray(loss.gradient(left))
        return np.asarray((left - loss.prox(left, step)) / step)

    def evaluate(gamma: Array) -> tuple[float, Array]:
        left = r - Z @ gamma
        return loss.value(left) + float(t @ gamma), t - slopes(left) @ Z

    options = {"gtol": 1e-12, "maxiter": 500}
    found = scipy.optimize.minimize(  # type: ignore[call-overload]
        evaluate, np.zeros_like(t), jac=True, method="BFGS", options=options
    )
    return np.asarray(found.x)


def into_box(Z: Array, beta: Array, lower: Array, upper: Array, t: Array) -> Array:
    """Point of the box with ``Z'beta = t`` that is nearest to a beta in the box, weighted by 1 / w.

    The point is ``clip(beta + w Z lambda)``, where w (n,) is the distance of each sample from its
    nearer bound and a little more; lambda (k,) is found by Newton's method for the concave dual of
    this projection. If there is no such point, the result violates the equations.
    """
    if not len(t):
        return beta
    w = room(beta, lower, upper)

    def along(multiplier: Array, step: Array, length: float) -> Trial:
        new = multiplier + length * step
        x = np.clip(beta + w * (Z @ new), lower, upper)
        distance = float(np.sum((x - beta) ** 2 / np.where(w > 0.0, w, 1.0))) / 2.0
        return Trial(new, -distance - float(new @ (t - x @ Z)))  # minus the dual function

    multiplier, sums = np.zeros_like(t), np.abs(Z)
    raw, x, value = beta, beta, 0.0
    for _ in range(MOST_STEPS):
        off = t - x @ Z
        if np.all(np.abs(off) <= ROUNDING * (np.abs(x) @ sums + np.abs(t))):
            break
        moving = np.where((raw >= lower) & (raw <= upper), w, 0.0)
        H = Z.T @ (moving[:, None] * Z)
        H += 1e-14 * float(w @ np.sum(Z * Z, axis=1)) * np.eye(len(t))
        step = np.asarray(np.linalg.solve(H, off), dtype=np.float64)
        new = backtrack(partial(along, multiplier, step), value, -float(step @ off))
        if new is None:
            break
        multiplier, value = new
        raw = beta + w * (Z @ multiplier)
        x = np.clip(raw, lower, upper)
    return exactly(Z, x, lower, upper, t)


def exactly(Z: Array, x: Array, lower: Array, upper: Array, t: Array) -> Array:
    """Correct the rounding error of ``Z'x = t`` by changing samples in the interior of the box."""
    for _ in range(2):
        inside = np.minimum(x - lower, upper - x)
        inside = np.where(np.isfinite(inside), inside, np.abs(x) + 1.0)
        H = Z.T @ (inside[:, None] * Z)
        step = np.linalg.lstsq(H, t - x @ Z, rcond=None)[0]
        x = np.clip(x + inside * (Z @ step), lower, upper)
    return np.asarray(x)


def room(beta: Array, lower: Array, upper: Array) -> Array:
    """Distance (n,) of each sample from its nearer bound, plus 1e-3 of that from the other one."""
    with np.errstate(invalid="ignore"):
        near = np.minimum(beta - lower, upper - beta)
        far = np.maximum(beta - lower, upper - beta)
    typical = float(np.abs(beta).mean()) or 1.0
    far = np.where(np.isfinite(far), far, typical)
    return np.asarray(np.where(np.isfinite(near), near, typical) + 1e-3 * far)
