"""Losses of the residuals ``r = y - <W, X_i> - b``, with everything that a certificate needs.

A loss ``L(r) = sum_i l_i(r_i)`` enters the dual through its conjugate: the dual variable ``beta``
is a subgradient of the loss at the residuals, and ``y'beta - L*(beta)`` is the loss's part of the
dual objective. Weights are part of a loss, and positive: samples of weight zero are not in the
problem.

One class represents all losses whose conjugate is, for each sample,

    l*(beta) = epsilon |beta| + curvature beta^2 / 2    on    lower <= beta <= upper,

and the solvers of RMR use only these four numbers. A function of a few lines sets them for each
loss: :func:`epsilon_insensitive`, :func:`absolute`, :func:`pinball`, :func:`hinge`,
:func:`squared_hinge`, :func:`huber`, :func:`squared`. Any other loss needs the methods of
:class:`~matreg.losses.base.Loss`, and the first-order solver then accepts it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, Mask
from .base import ROUNDING


@dataclass(frozen=True)
class PiecewiseLoss:
    """Loss whose conjugate is ``epsilon |beta| + curvature beta^2 / 2`` on an interval.

    ``l(r)`` is zero where ``|r| <= epsilon``. Beyond epsilon it is
    ``(|r| - epsilon)^2 / (2 curvature)`` until its slope reaches ``upper`` (r > 0) or ``lower`` (r
    < 0), and then linear; without curvature it is linear for all ``|r| > epsilon``.

    Parameters
    ----------
    lower, upper : ndarray of shape (n,)
        Smallest and largest slope, ``lower <= 0 <= upper`` and not both zero. An infinite one
        needs a positive curvature.
    epsilon : ndarray of shape (n,)
        Residuals up to this size have no loss.
    curvature : ndarray of shape (n,)
        Inverse of the second derivative where the loss is curved, 0 where it has a kink.

    Examples
    --------
    >>> import numpy as np
    >>> loss = epsilon_insensitive(np.array([1.0, 2.0]), epsilon=0.5)
    >>> loss.value(np.array([0.4, -1.5]))
    2.0
    >>> loss.conjugate(np.array([1.0, -2.0]))
    1.5
    """

    lower: Array
    upper: Array
    epsilon: Array
    curvature: Array

    def fits(self, n: int) -> bool:
        """Whether there are four numbers for each of n samples, within their ranges."""
        for number in self._numbers:
            if np.shape(number) != (n,) or getattr(number, "dtype", np.dtype(int)).kind != "f":
                return False
        least = (-self.lower, self.upper, self.epsilon, self.curvature)
        return n == 0 or all(number.min() >= 0.0 for number in least)  # False for NaN

    def take(self, index: NDArray[Any] | slice) -> PiecewiseLoss:
        """The loss of some of the samples."""
        return PiecewiseLoss(*(number[index] for number in self._numbers))

    def beside(self, other: PiecewiseLoss) -> PiecewiseLoss:
        """The losses of these samples, followed by the losses `other` of further samples."""
        both = zip(self._numbers, other._numbers, strict=True)
        return PiecewiseLoss(*map(np.concatenate, both))

    @property
    def _numbers(self) -> tuple[Array, Array, Array, Array]:
        return self.lower, self.upper, self.epsilon, self.curvature

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Smallest and largest slope (n,) per sample."""
        return self.lower, self.upper

    @cached_property
    def size(self) -> Array:
        """Largest absolute slope (n,) per sample."""
        return np.maximum(self.upper, -self.lower)

    @cached_property
    def curved(self) -> bool:
        """Whether any sample has a curvature."""
        return bool(np.any(self.curvature > 0.0))

    @cached_property
    def quadratic(self) -> bool:
        """Whether this is the squared loss, with weights ``1 / curvature``."""
        unbounded = np.isinf(self.lower).all() and np.isinf(self.upper).all()
        return bool(unbounded and not self.epsilon.any())

    @cached_property
    def bounded(self) -> bool:
        """Whether all slopes are finite."""
        return bool(np.isfinite(self.size).all())

    @cached_property
    def kinked(self) -> Mask:
        """Samples whose conjugate has a kink at 0, with bounds on both sides of 0."""
        return (self.epsilon > 0.0) & (self.lower < 0.0) & (self.upper > 0.0)

    def value(self, r: Array) -> float:
        """Sum of the losses of the residuals."""
        over = np.maximum(np.abs(r) - self.epsilon, 0.0)
        bound = np.where(r > 0.0, self.upper, -self.lower)
        if not self.curved:
            return float(bound @ over)
        size = _slope(over, bound, self.curvature)
        return float(size @ (over - 0.5 * self.curvature * size))

    def gradient(self, r: Array) -> Array:
        """Slopes (n,) at the residuals; at a kink the one with the smallest absolute value."""
        return self.multiplier(r, 0.0)

    def multiplier(self, v: Array, step: Array | float) -> Array:
        """Slopes (n,) at ``prox(v, step)``, which equals ``v - step * multiplier(v, step)``."""
        over = np.maximum(np.abs(v) - self.epsilon, 0.0)
        bound = np.where(v > 0.0, self.upper, -self.lower)
        return np.copysign(_slope(over, bound, step + self.curvature), v)

    def prox(self, v: Array, step: float) -> Array:
        """Minimiser of ``step L(r) + |r - v|^2 / 2``."""
        return v - step * self.multiplier(v, step)

    def conjugate(self, beta: Array) -> float:
        """Conjugate at a `beta` within the bounds."""
        value = float(self.epsilon @ np.abs(beta))
        return value + 0.5 * float(self.curvature @ (beta * beta)) if self.curved else value

    def distances(self, r: Array) -> Array:
        """Distances (n,) of the residuals from the nearest kink of their losses."""
        above = np.where(self.upper > 0.0, np.abs(r - self.epsilon), np.inf)
        below = np.where(self.lower < 0.0, np.abs(r + self.epsilon), np.inf)
        return np.minimum(above, below)

    def subgradients(self, r: Array, rounding: float = 0.0) -> tuple[Array, Array]:
        """Smallest and largest subgradient (n,) at the residuals; they differ at kinks.

        Residuals within `rounding` of a kink count as lying on it.
        """
        kink = (np.abs(np.abs(r) - self.epsilon) <= rounding) & (self.curvature == 0.0)
        beta = np.where(kink, 0.0, self.gradient(r))
        largest = np.where(kink & (r >= -rounding), self.upper, beta)
        smallest = np.where(kink & (r <= rounding), self.lower, beta)
        return smallest, largest

    def best_intercept(self, r: Array, total: float = 0.0) -> float:
        """Middle of the interval of minimisers of ``L(r - b) + total b``.

        The sum of the slopes, which decreases in b, equals `total` there.
        """
        return self._intercept_on_curves(r, total) if self.curved else self._median(r, total)

    def _median(self, r: Array, total: float) -> float:
        """Best intercept of a loss without curvature, a weighted median of its kinks.

        As b grows, the sum of the slopes decreases from ``sum(upper)``, by ``upper`` at the kinks
        ``r - epsilon`` and by ``-lower`` at the kinks ``r + epsilon``.
        """
        kinks = np.concatenate([r - self.epsilon, r + self.epsilon])
        falls = np.concatenate([self.upper, -self.lower])
        kinks, falls = kinks[falls > 0.0], falls[falls > 0.0]
        if len(kinks) == 0:  # all slopes are zero: any intercept will do
            return float(np.median(r)) if len(r) else 0.0
        order = np.argsort(kinks, kind="stable")
        fallen = np.cumsum(falls[order])
        goal = float(self.upper.sum()) - total
        slack = ROUNDING * 0.5 * fallen[-1]
        found = np.searchsorted(fallen, [goal - slack, goal + slack])
        first, last = np.minimum(found, len(order) - 1)  # sums of huge weights may overflow
        return float(0.5 * (kinks[order[first]] + kinks[order[last]]))

    def _intercept_on_curves(self, r: Array, total: float) -> float:
        """Best intercept if some losses are curved: the sum of slopes is piecewise linear."""
        with np.errstate(invalid="ignore"):
            far = [self.curvature * self.upper, self.curvature * self.lower]
        ends = [r - self.epsilon - far[0], r + self.epsilon - far[1]]
        kinks = np.concatenate([*ends, r - self.epsilon, r + self.epsilon])
        kinks = np.unique(kinks[np.isfinite(kinks)])
        if len(kinks) == 0:
            return float(np.median(r)) if len(r) else 0.0
        slack = ROUNDING * float(np.abs(self.gradient(r - np.median(r))).sum())

        def above(k: int) -> bool:  # whether the sum exceeds the total just right of kink k
            return float(self.subgradients(r - kinks[k])[0].sum()) > total + slack

        low, high = -1, len(kinks)  # kinks left of the solution, and not left of it
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if above(middle) else (low, middle)
        if low >= 0 and high < len(kinks):
            at_high = float(self.subgradients(r - kinks[high])[1].sum())
            if at_high > total + slack:  # the sum jumps over the total at this kink
                return float(kinks[high])
            inside = 0.5 * (kinks[low] + kinks[high])
        elif high < len(kinks):
            inside = kinks[0] - 1.0
        else:
            inside = kinks[-1] + 1.0
        return self._on_one_piece(r, float(inside), total)

    def _on_one_piece(self, r: Array, inside: float, total: float) -> float:
        """Point at which the linear piece of the sum of slopes around `inside` equals the total."""
        s = r - inside
        over = np.abs(s) - self.epsilon
        bound = np.where(s > 0.0, self.upper, -self.lower)
        sloping = (over > 0.0) & (over < self.curvature * bound)
        if not sloping.any():  # flat
            return inside
        fixed = float(self.gradient(s)[~sloping].sum())
        weight = 1.0 / self.curvature[sloping]
        centre = r[sloping] - np.copysign(self.epsilon[sloping], s[sloping])
        return float((weight @ centre + fixed - total) / weight.sum())

    def feasible(self, beta: Array, total: float | None) -> Array:
        """Point near `beta` within the bounds, with the sum `total` unless that is None."""
        with np.errstate(divide="ignore"):
            return shared_out(beta, self.lower, self.upper, total, 1.0 / self.curvature)

    def times(self, factor: Array | float) -> PiecewiseLoss:
        """The loss times a positive factor: a number, or one per sample (n,)."""
        return replace(
            self,
            lower=self.lower * factor,
            upper=self.upper * factor,
            curvature=self.curvature / factor,
        )

    def scaled(self, factor: float) -> PiecewiseLoss:
        """The loss with its finite slopes multiplied by a factor."""
        return replace(self, lower=self.lower * factor, upper=self.upper * factor)


def shared_out(
    beta: Array, lower: Array, upper: Array, total: float | None, weight: Array
) -> Array:
    """Point within bounds near `beta`, with the sum `total` unless that is None.

    The error of the sum is distributed in proportion to the slack within the bounds; if some slack
    is infinite, over those samples in proportion to `weight`.
    """
    beta = np.clip(beta, lower, upper)
    if total is None:
        return beta
    excess = float(beta.sum()) - total
    room = beta - lower if excess > 0.0 else upper - beta
    endless = np.isinf(room)
    if endless.any():
        room = np.where(endless, weight, 0.0)
    whole = float(room.sum())
    if whole > 0.0:
        beta = beta - excess * (room / whole)
    return np.clip(beta, lower, upper)


def _slope(over: Array, bound: Array, curvature: Array | float) -> Array:
    """``min(over / curvature, bound)`` for non-negative `over`, a curvature of 0 included."""
    with np.errstate(divide="ignore", invalid="ignore"):
        slope = np.minimum(over / curvature, bound)
    return np.where(over > 0.0, slope, 0.0)


def epsilon_insensitive(c: Array, epsilon: float) -> PiecewiseLoss:
    """``sum_i c_i max(|r_i| - epsilon, 0)``, where `c` (n,) is C times the sample weights."""
    return PiecewiseLoss(-c, c, np.full_like(c, epsilon), np.zeros_like(c))


def absolute(c: Array) -> PiecewiseLoss:
    """``sum_i c_i |r_i|``."""
    return epsilon_insensitive(c, 0.0)


def pinball(c: Array, quantile: float) -> PiecewiseLoss:
    """``sum_i c_i max(quantile r_i, (quantile - 1) r_i)``, which quantiles minimise."""
    return PiecewiseLoss(-(1.0 - quantile) * c, quantile * c, np.zeros_like(c), np.zeros_like(c))


def hinge(y: Array, c: Array) -> PiecewiseLoss:
    """``sum_i c_i max(0, 1 - y_i f_i)`` for labels y of -1 and 1, where ``1 - y f = y r``."""
    zero = np.zeros_like(c)
    return PiecewiseLoss(np.minimum(y * c, 0.0), np.maximum(y * c, 0.0), zero, zero)


def squared_hinge(y: Array, s: Array) -> PiecewiseLoss:
    """``1/2 sum_i s_i max(0, 1 - y_i f_i)^2`` for labels y of -1 and 1."""
    zero, inf = np.zeros_like(s), np.full_like(s, np.inf)
    return PiecewiseLoss(np.where(y < 0.0, -inf, zero), np.where(y > 0.0, inf, zero), zero, 1.0 / s)


def huber(c: Array, delta: float) -> PiecewiseLoss:
    """``sum_i c_i h(r_i)`` with h quadratic up to `delta` and of slope 1 beyond."""
    return PiecewiseLoss(-c, c, np.zeros_like(c), delta / c)


def squared(s: Array) -> PiecewiseLoss:
    """``1/2 sum_i s_i r_i^2``."""
    inf = np.full_like(s, np.inf)
    return PiecewiseLoss(-inf, inf, np.zeros_like(s), 1.0 / s)
