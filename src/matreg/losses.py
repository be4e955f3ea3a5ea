"""Losses of the residuals ``r = y - <W, X_i> - b``, with all that a certificate needs of them.

A loss ``L(r) = sum_i l_i(r_i)`` enters the dual through its conjugate: the dual variable ``beta``
is a subgradient of the loss at the residuals, and ``y'beta - L*(beta)`` is its part of the dual
objective. Weights are part of a loss, and positive: samples of weight zero are not in the problem.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ._typing import Array


class Loss(Protocol):
    """What a problem asks of its loss."""

    def value(self, r: Array) -> float:
        """Sum of the losses of the residuals."""
        ...

    def conjugate(self, beta: Array) -> float:
        """``sup_r beta'r - L(r)`` for a `beta` where it is finite."""
        ...

    def best_intercept(self, r: Array) -> float:
        """Number ``b`` that minimises ``L(r - b)``."""
        ...

    def feasible(self, beta: Array, centred: bool) -> Array:
        """Nearby point of finite conjugate, summing to zero if `centred`."""
        ...


class EpsilonInsensitive:
    """``L(r) = sum_i c_i max(|r_i| - epsilon, 0)``.

    Parameters
    ----------
    c : ndarray of shape (n,)
        Positive slopes, ``C`` times the sample weights.
    epsilon : float
        Half the width of the tube in which residuals cost nothing.

    Examples
    --------
    >>> import numpy as np
    >>> loss = EpsilonInsensitive(np.array([1.0, 2.0]), epsilon=0.5)
    >>> loss.value(np.array([0.4, -1.5]))
    2.0
    """

    def __init__(self, c: Array, epsilon: float) -> None:
        self.c = c
        self.epsilon = epsilon

    def value(self, r: Array) -> float:
        """Sum of the losses of the residuals."""
        return float(self.c @ np.maximum(np.abs(r) - self.epsilon, 0.0))

    def conjugate(self, beta: Array) -> float:
        """``epsilon sum |beta_i|``, finite where ``|beta_i| <= c_i``."""
        return self.epsilon * float(np.abs(beta).sum())

    def best_intercept(self, r: Array) -> float:
        """Middle of the interval of minimisers of the piecewise linear ``L(r - b)``.

        Its slope rises from ``-sum(c)`` by ``c_i`` at each of the kinks ``r_i -+ epsilon``; the
        minimisers are where it crosses zero.
        """
        kinks = np.concatenate([r - self.epsilon, r + self.epsilon])
        order = np.argsort(kinks, kind="stable")
        rise = np.cumsum(np.concatenate([self.c, self.c])[order])
        half = 0.5 * rise[-1]
        slack = 1e-14 * half  # equality of two sums of weights, up to rounding
        found = np.searchsorted(rise, [half - slack, half + slack])
        first, last = np.minimum(found, len(order) - 1)  # sums of huge weights may overflow
        return float(0.5 * (kinks[order[first]] + kinks[order[last]]))

    def feasible(self, beta: Array, centred: bool) -> Array:
        """Clip to the box; what the sum is off is shared out by the room that is left."""
        beta = np.clip(beta, -self.c, self.c)
        if not centred:
            return beta
        excess = beta.sum()
        room = self.c + beta if excess > 0 else self.c - beta
        total = room.sum()
        if total > 0:
            beta = beta - excess * (room / total)
        return np.clip(beta, -self.c, self.c)

    def prox(self, v: Array, step: float) -> Array:
        """Minimiser of ``step L(r) + |r - v|^2 / 2``."""
        over = np.maximum(np.abs(v) - self.epsilon, 0.0)
        return v - np.sign(v) * np.minimum(over, step * self.c)

    def prox_derivative(self, v: Array, step: float) -> Array:
        """Diagonal of a generalised derivative of :meth:`prox`: 0 on the slopes to the tube."""
        over = np.abs(v) - self.epsilon
        return np.where((over > 0.0) & (over < step * self.c), 0.0, 1.0)


class Squared:
    """``L(r) = 1/2 sum_i s_i r_i^2``.

    Parameters
    ----------
    s : ndarray of shape (n,)
        Positive sample weights.

    Examples
    --------
    >>> import numpy as np
    >>> Squared(np.array([1.0, 2.0])).value(np.array([2.0, -1.0]))
    3.0
    """

    def __init__(self, s: Array) -> None:
        self.s = s

    def value(self, r: Array) -> float:
        """Sum of the losses of the residuals."""
        return 0.5 * float(self.s @ (r * r))

    def gradient(self, r: Array) -> Array:
        """Derivative of the loss with respect to the residuals."""
        return self.s * r

    def conjugate(self, beta: Array) -> float:
        """``1/2 sum beta_i^2 / s_i``, finite everywhere."""
        return 0.5 * float(beta @ (beta / self.s))

    def best_intercept(self, r: Array) -> float:
        """Weighted mean."""
        return float(self.s @ r / self.s.sum())

    def feasible(self, beta: Array, centred: bool) -> Array:
        """Every point is feasible but for its sum."""
        if not centred:
            return beta
        return beta - self.s * (beta.sum() / self.s.sum())

    def prox(self, v: Array, step: float) -> Array:
        """Minimiser of ``step L(r) + |r - v|^2 / 2``."""
        return v / (1.0 + step * self.s)

    def prox_derivative(self, v: Array, step: float) -> Array:
        """Diagonal of the derivative of :meth:`prox`."""
        return 1.0 / (1.0 + step * self.s)
