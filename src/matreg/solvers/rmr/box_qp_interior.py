"""The quadratic problem of :mod:`.box_qp` by an interior point method, from afar.

Predictor and corrector in the barriers of :mod:`.barriers`. It needs no guess of the sides and does
not mind a singular K; in some ten steps it knows the sides well enough for block pivoting to end,
unless the solution is not unique: then its own, in the middle of all of them, is as good.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..._typing import Array
from ...linalg.bordered import BorderedSolve, cholesky, with_border
from .barriers import Barriers, largest_step

# Slacks to begin with are at least this fraction of the box, and their products with the
# multipliers this fraction of box times residual.
INSIDE, PRODUCT = 0.1, 0.1
# How much of the way to the boundary a step goes.
FRACTION = 0.99
MOST_STEPS = 40


@dataclass(frozen=True)
class InteriorIterate:
    """A point inside of the box.

    Attributes
    ----------
    beta, b : ndarray, float
        Multipliers and intercept.
    side : ndarray
        The side that each sample seems to tend to.
    mu : float
        Mean complementarity, relative to that of the first point.
    """

    beta: Array
    b: float
    side: Array
    mu: float


class BoxInteriorPoint:
    """One run.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Positive semidefinite matrix.
    Phi : ndarray of shape (n, d) or None
        ``K = Phi Phi'`` if that is known with fewer columns than rows.
    c : ndarray of shape (n,)
        Bounds.
    epsilon : float
        Half width of the tube.
    fit_intercept : bool
        Whether the solution sums to zero.
    """

    def __init__(
        self, K: Array, Phi: Array | None, c: Array, epsilon: float, fit_intercept: bool
    ) -> None:
        self.K, self.Phi, self.c = K, Phi, c
        self.epsilon, self.fit_intercept = epsilon, fit_intercept
        self.work = np.empty_like(K if Phi is None else Phi)  # fresh memory each step takes long

    def iterate(self, t: Array, beta: Array, b: float) -> Iterator[InteriorIterate]:
        """Points ever nearer to the solution for `t`, from somewhere in the box."""
        c = self.c
        size = float(np.abs(t - self.K @ beta - b).mean()) + self.epsilon
        u, v = (
            np.clip(np.maximum(half, 0.0) + INSIDE * c, None, (1.0 - INSIDE) * c)
            for half in (beta, -beta)
        )
        s = np.stack([u, v, c - u, c - v])
        m = PRODUCT * size * float(c.mean()) / s
        first = float(np.vdot(s, m))
        if not 0.0 < first < np.inf:  # a tube without width, and all residuals on it
            return
        for _ in range(MOST_STEPS):
            beta = s[0] - s[1]
            g = self.K @ beta + b - t
            both = 2.0 * self.epsilon - m[0] - m[1] + m[2] + m[3]
            barriers = Barriers(s, m, g + self.epsilon - m[0] + m[2], both)
            ds, dm, db = self.step(barriers, -float(beta.sum()))
            length = min(1.0, FRACTION * largest_step((s, ds), (m, dm)))
            s, m, b = s + length * ds, m + length * dm, b + length * db
            product = float(np.vdot(s, m))
            if not (np.isfinite(product) and np.isfinite(b)):
                return
            yield InteriorIterate(s[0] - s[1], b, self.sides(s, m, g), product / first)

    def step(self, barriers: Barriers, total: float) -> tuple[Array, Array, float]:
        """Direction of slacks, multipliers and intercept."""
        s, m = barriers.s, barriers.m
        solve = self.factor(barriers.D)

        def towards(wish: Array) -> tuple[Array, Array, float]:
            dbeta, db = solve(barriers.rhs(wish), total)
            return *barriers.slack_directions(dbeta, wish), db

        products = s * m
        ds, dm, _ = towards(-products)
        length = largest_step((s, ds), (m, dm))
        mu = float(products.mean())
        after = float(np.mean((s + length * ds) * (m + length * dm)))
        return towards(mu * (after / mu) ** 3 - products - ds * dm)

    def factor(self, D: Array) -> BorderedSolve:
        """Solver of ``(K + diag(D)) dbeta + 1 db = rhs, 1'dbeta = total``."""
        Phi = self.Phi
        if Phi is None:
            np.copyto(S := self.work, self.K)
            np.einsum("ii->i", S)[:] += D
            return with_border(cholesky(S), len(D), self.fit_intercept)
        weighted = np.multiply(Phi, (1.0 / np.sqrt(D))[:, None], out=self.work)
        H = weighted.T @ weighted
        np.einsum("ii->i", H)[:] += 1.0
        solve_H = cholesky(H)

        def solve(rhs: Array) -> Array:
            x = rhs / D
            return x - Phi @ solve_H(Phi.T @ x) / D

        return with_border(solve, len(D), self.fit_intercept)

    def sides(self, s: Array, m: Array, g: Array) -> Array:
        """Which of slack and multiplier vanishes, in units of box and residual."""
        s, m = s / self.c, m / (float(np.abs(g).mean()) + self.epsilon)
        inside, full = m[:2] > s[:2], m[2:] > s[2:]
        side = np.where(inside, 0.0, np.where(full, 2.0, 1.0))
        return side[0] - side[1]
