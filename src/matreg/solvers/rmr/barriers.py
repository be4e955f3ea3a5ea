"""Barriers of a box, and how they drop out of a Newton step.

A multiplier ``beta = u - v`` with ``0 <= u, v <= c`` has four slacks ``s = (u, v, c - u, c - v)``
and as many multipliers m of their signs. With the residuals

    residual_u = g + epsilon - m_0 + m_2,      residual_v = -g + epsilon - m_1 + m_3

of the conditions of a point, g the gradient in beta, a Newton step that changes ``s m`` by `wish`
is left with one equation for beta, in which the barriers are a diagonal D.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array


class Barriers:
    """The barriers at a point.

    Parameters
    ----------
    s, m : ndarray of shape (4, n)
        Slacks and their multipliers, all positive.
    residual_u, residual_sum : ndarray of shape (n,)
        First residual, and the sum of both.

    Attributes
    ----------
    D : ndarray of shape (n,)
        Diagonal that the barriers add to the equation of beta.
    """

    def __init__(self, s: Array, m: Array, residual_u: Array, residual_sum: Array) -> None:
        self.s, self.m = s, m
        self.residual_u, self.residual_sum = residual_u, residual_sum
        ratio = m / s
        self.Du, self.Dv = ratio[0] + ratio[2], ratio[1] + ratio[3]
        self.D = self.Du * self.Dv / (self.Du + self.Dv)

    def rhs(self, wish: Array) -> Array:
        """Right-hand side of ``d(gradient) + D dbeta = rhs``."""
        u, both = self._pulls(wish)
        return (self.Dv * u - self.Du * (both - u)) / (self.Du + self.Dv)

    def slack_directions(self, dbeta: Array, wish: Array) -> tuple[Array, Array]:
        """How slacks and multipliers slack_directions beta."""
        _, both = self._pulls(wish)
        total = self.Du + self.Dv
        du = (both + self.Dv * dbeta) / total
        dv = (both - self.Du * dbeta) / total
        ds = np.stack([du, dv, -du, -dv])
        return ds, (wish - self.m * ds) / self.s

    def _pulls(self, wish: Array) -> tuple[Array, Array]:
        q = wish / self.s
        return -self.residual_u + q[0] - q[2], -self.residual_sum + q[0] + q[1] - q[2] - q[3]


def largest_step(*pairs: tuple[Array, Array]) -> float:
    """Longest step of at most 1 that keeps positive x, of pairs ``(x, dx)``, non-negative."""
    fastest = [np.fmax.reduce(-dx / x, axis=None, initial=1.0) for x, dx in pairs]
    return float(1.0 / max(fastest))
