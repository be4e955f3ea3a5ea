"""Smooth losses of generalised linear models, functions of ``r = -(<W, X_i> + b)``.

The loss holds the labels, and the problem has zeros instead of labels: with the linear predictor
``f = <W, X_i> + b`` the residual is ``r = 0 - f``. All losses are half the deviance, and so never
negative. With the mean ``mu(f)`` of the model and the label t,

    beta = dl/dr = s (t - mu),    l'' = s mu'(f),

so that the conjugate is a function of ``mu = t - beta / s``: an entropy.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, wrightomega, xlogy

from .._typing import Array
from .base import Loss
from .piecewise import shared_out


def smooth_prox(loss: Logistic, v: Array, step: float) -> Array:
    """Minimiser of ``step loss(r) + |r - v|^2 / 2``, sample by sample.

    This is Newton's method for the root of ``r - v + step gradient(r)``, which increases in r. If
    a step leaves the interval around the root, or two steps have not halved this interval, a
    bisection replaces the step.
    """
    there = v - step * loss.gradient(v)  # the root is between v and this
    low, high = np.minimum(v, there), np.maximum(v, there)
    r, width = v, np.full_like(v, np.inf)
    for k in range(100):  # far more than needed
        value = r - v + step * loss.gradient(r)
        low, high = np.where(value < 0.0, r, low), np.where(value > 0.0, r, high)
        new = r - value / (1.0 + step * loss.second_derivative(r))
        good = (new >= low) & (new <= high) & (high - low <= 0.5 * width)
        width = high - low if k % 2 else width
        new = np.where(good, new, 0.5 * (low + high))
        done = np.abs(new - r) <= 1e-15 * np.maximum(np.abs(v), np.abs(there))
        r = new
        if done.all():
            break
    return r


class SmoothLoss(Loss, Protocol):
    """A loss with two derivatives."""

    def gradient(self, r: Array) -> Array:
        """Derivative of the loss with respect to the residuals."""
        ...

    def second_derivative(self, r: Array) -> Array:
        """Second derivatives (n,) of the losses of single residuals."""
        ...


class Logistic:
    """``L(r) = sum_i s_i (log(1 + exp(f_i)) - t_i f_i)`` with ``f = -r``.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Labels, 0 or 1.
    s : ndarray of shape (n,)
        Positive sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Logistic(np.array([0.0, 1.0]), np.ones(2))
    >>> round(loss.value(np.zeros(2)), 6)
    1.386294
    """

    def __init__(self, t: Array, s: Array) -> None:
        self.t, self.s = t, s
        self.sign = 2.0 * t - 1.0

    def take(self, index: NDArray[Any] | slice) -> Logistic:
        """The loss of some of the samples."""
        return Logistic(self.t[index], self.s[index])

    @staticmethod
    def mean(f: Array) -> Array:
        """Probability of the label 1."""
        return np.asarray(expit(f))

    def value(self, r: Array) -> float:
        """Sum of the losses, each ``log(1 + exp(-+f))`` without overflow."""
        return float(self.s @ np.logaddexp(0.0, self.sign * r))

    def gradient(self, r: Array) -> Array:
        """``s (t - mu)``, without cancellation where mu is near t."""
        return self.s * self.sign * expit(self.sign * r)

    def second_derivative(self, r: Array) -> Array:
        """``s mu (1 - mu)``."""
        return self.s * expit(r) * expit(-r)

    def prox(self, v: Array, step: float) -> Array:
        """Minimiser of ``step loss(r) + |r - v|^2 / 2``."""
        return smooth_prox(self, v, step)

    def conjugate(self, beta: Array) -> float:
        """``sum s (mu log mu + (1 - mu) log(1 - mu))``, finite for mu between 0 and 1."""
        wrong = np.clip(self.sign * beta / self.s, 0.0, 1.0)
        return float(self.s @ (xlogy(wrong, wrong) + xlogy(1.0 - wrong, 1.0 - wrong)))

    def best_intercept(self, r: Array, total: float = 0.0) -> float:
        """Root b of the monotone ``sum_i beta_i(r - b)``; `total` is 0 in all problems of R-GLM.

        If all f are equal, the root has a closed form; otherwise it lies between the roots for
        the largest and the smallest f. The root is infinite if all labels are equal.
        """
        ones, zeros = float(self.s @ self.t), float(self.s @ (1.0 - self.t))
        if ones == 0.0 or zeros == 0.0:
            return np.inf if zeros == 0.0 else -np.inf
        odds = np.log(ones / zeros)
        low, high = float(odds + r.min()), float(odds + r.max())
        if not high - low > 1e-15 * max(abs(low), abs(high)):
            return low
        # The accuracy is relative to the residuals, not to the root, which may be 0.
        rounding = float(np.finfo(float).eps) * float(np.abs(r).max())
        slack = max(1e-9 * (high - low), 2.0 * rounding)  # the ends must differ in sign

        def slope(b: float) -> float:
            return float(self.gradient(r - b).sum())

        return float(brentq(slope, low - slack, high + slack, xtol=0.1 * rounding))

    @property
    def bounds(self) -> tuple[Array, Array]:
        """``s (t - 1)`` and ``s t``, for means of 1 and 0."""
        return self.s * (self.t - 1.0), self.s * self.t

    def feasible(self, beta: Array, total: float | None) -> Array:
        """Point near `beta` within the bounds, with the sum `total` unless that is None."""
        return shared_out(beta, *self.bounds, total, self.s)


class Poisson:
    """``L(r) = sum_i s_i (exp(f_i) - t_i f_i + t_i log t_i - t_i)`` with ``f = -r``.

    Parameters
    ----------
    t : ndarray of shape (n,)
        Labels, not negative: counts, or rates with the exposures as weights.
    s : ndarray of shape (n,)
        Positive sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Poisson(np.array([1.0, 3.0]), np.ones(2))
    >>> loss.value(-np.log([1.0, 3.0]))
    0.0
    """

    def __init__(self, t: Array, s: Array) -> None:
        self.t, self.s = t, s
        self.log_t = np.log(np.where(t > 0.0, t, 1.0))

    def take(self, index: NDArray[Any] | slice) -> Poisson:
        """The loss of some of the samples."""
        return Poisson(self.t[index], self.s[index])

    @staticmethod
    def mean(f: Array) -> Array:
        """``exp(f)``, the expected count."""
        with np.errstate(over="ignore"):
            return np.exp(f)

    def value(self, r: Array) -> float:
        """Sum of the losses; infinite where the mean overflows."""
        with np.errstate(over="ignore", invalid="ignore"):  # 0 times infinity is not used
            relative = self.t * (np.expm1(-r - self.log_t) + (r + self.log_t))
            return float(self.s @ np.where(self.t > 0.0, relative, self.mean(-r)))

    def gradient(self, r: Array) -> Array:
        """``s (t - mu)``."""
        return self.s * (self.t - self.mean(-r))

    def second_derivative(self, r: Array) -> Array:
        """``s mu``."""
        return self.s * self.mean(-r)

    def prox(self, v: Array, step: float) -> Array:
        """Minimiser of ``step loss(r) + |r - v|^2 / 2``."""
        lowest = v - step * self.s * self.t  # limit for infinite residuals
        return np.asarray(lowest + wrightomega(np.log(step * self.s) - lowest))

    def conjugate(self, beta: Array) -> float:
        """``sum s (mu log mu - mu - t log t + t)``, finite for mu of at least 0."""
        mu = np.maximum(self.t - beta / self.s, 0.0)
        return float(self.s @ (xlogy(mu, mu) - mu - self.t * (self.log_t - 1.0)))

    def best_intercept(self, r: Array, total: float = 0.0) -> float:
        """Logarithm of the mean label relative to the mean of ``exp(f)``; -inf if all are zero."""
        shift = float(r.min())
        with np.errstate(divide="ignore"):
            return float(np.log(self.s @ self.t) - np.log(self.s @ np.exp(shift - r)) + shift)

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Minus infinity and ``s t``, for means of infinity and 0."""
        return np.full_like(self.s, -np.inf), self.s * self.t

    def feasible(self, beta: Array, total: float | None) -> Array:
        """Point whose means ``t - beta / s`` are at least 0, scaled so that beta has its sum."""
        most = self.s * self.t
        beta = np.minimum(beta, most)
        whole = float((most - beta).sum())
        if total is None or whole == 0.0:
            return beta
        excess = float(beta.sum()) - total
        return np.minimum(beta - excess * ((most - beta) / whole), most)


class Multinomial:
    """``L(r) = sum_i s_i (log sum_c exp(f_ic) - f_i,own)`` with ``f = -r``.

    The k n numbers are ordered class after class. The classes of a sample are coupled: their means
    add up to 1 and their multipliers to 0. Adding the same number to all f of a sample changes
    nothing.

    Parameters
    ----------
    t : ndarray of shape (k n,)
        1 for the class of each of n samples and 0 for the k - 1 others, class after class.
    s : ndarray of shape (k n,)
        Positive sample weights, repeated for each class.

    Examples
    --------
    >>> import numpy as np
    >>> loss = Multinomial(np.array([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]), np.ones(6))
    >>> round(loss.value(np.zeros(6)), 6)
    2.197225
    """

    def __init__(self, t: Array, s: Array) -> None:
        n = round(float(t.sum()))
        self.t, self.s = t.reshape(-1, n), s.reshape(-1, n)

    def _means(self, r: Array) -> tuple[Array, Array]:
        """Means (k, n), and the losses (n,) of samples of weight 1."""
        f = -r.reshape(self.t.shape)
        f = f - (self.t * f).sum(axis=0)  # relative to the own class
        losses = np.logaddexp.reduce(f, axis=0)
        return np.exp(f - losses), losses

    def value(self, r: Array) -> float:
        """Sum of the losses."""
        return float(self.s[0] @ self._means(r)[1])

    def gradient(self, r: Array) -> Array:
        """``s (t - mu)``, without cancellation where mu is near t."""
        others = (1.0 - self.t) * self._means(r)[0]
        return np.asarray(self.s * (self.t * others.sum(axis=0) - others)).reshape(-1)

    def curvature_in(self, Z: Array, r: Array) -> Array:
        """Second derivative (m, m) along m columns (k n, m)."""
        mu, columns = self._means(r)[0], Z.reshape(*self.t.shape, -1)
        mean = np.einsum("kn,knm->nm", mu, columns)
        own = np.einsum("kn,knm,knl->ml", self.s * mu, columns, columns, optimize=True)
        return np.asarray(own - (self.s[0] * mean.T) @ mean)

    def conjugate(self, beta: Array) -> float:
        """``sum s mu log mu`` with ``mu = t - beta / s``."""
        mu = np.clip(self.t - beta.reshape(self.t.shape) / self.s, 0.0, 1.0)
        return float(np.sum(self.s * xlogy(mu, mu)))

    def best_intercept(self, r: Array, total: float = 0.0) -> float:
        """Zero: adding a number to all classes does not change the loss."""
        return 0.0

    @property
    def bounds(self) -> tuple[Array, Array]:
        """``s (t - 1)`` and ``s t``, for means of 1 and 0."""
        return (self.s * (self.t - 1.0)).reshape(-1), (self.s * self.t).reshape(-1)

    def feasible(self, beta: Array, total: float | None) -> Array:
        """Point whose means of the other classes are at least 0, with a sum of at most 1."""
        others = (1.0 - self.t) * np.maximum(-beta.reshape(self.t.shape) / self.s, 0.0)
        others = others / np.maximum(others.sum(axis=0), 1.0)
        return np.asarray(self.s * (self.t * others.sum(axis=0) - others)).reshape(-1)
