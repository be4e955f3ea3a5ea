"""Exact proximal step of the samples in G-RMR: every row on its own, one equation per row."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array, Mask
from ...linalg.thresholding import soft
from ...losses.piecewise import PiecewiseLoss


def priced(price: Array | float, missing: Mask | None) -> Array | float:
    """Price of an outlier in each entry: zero where the entry is missing."""
    return price if missing is None else np.where(missing, 0.0, price)


def square(A: Array) -> float:
    """Sum of the squares of all entries."""
    return float(np.vdot(A, A))


def relative(part: float, whole: float) -> float:
    """Size of a part relative to the whole, from their sums of squares; a whole may be zero."""
    # The ratio of the squares could overflow.
    return float(np.sqrt(part) / np.sqrt(max(whole, np.finfo(float).tiny)))


@dataclass
class RowProblem:
    """Minimise ``l(base - v'u) + thr |u|_1 + |u - g|^2 / 2`` over the rows ``u = x - d``.

    All terms except the loss are divided by the penalty `mu` of the splitting, so that the
    subgradient ``beta`` of the loss appears as ``beta / mu``. The minimiser is
    ``u = soft(g + beta v / mu, thr)`` with ``beta`` a subgradient at ``base - v'u``: a monotone,
    piecewise linear equation in the one number ``beta``. The direction ``v`` of a row is `scale`
    times `w`. Where an entry of the sample is `missing` it has no price ``thr``.
    """

    w: Array
    scale: Array
    base: Array
    thr: Array
    loss: PiecewiseLoss
    mu: float
    missing: Mask | None = None

    def take(self, index: NDArray[np.intp] | slice) -> RowProblem:
        """The problem of some of the rows."""
        scale, base, thr = self.scale[index], self.base[index], self.thr[index]
        missing = None if self.missing is None else self.missing[index]
        return RowProblem(self.w, scale, base, thr, self.loss.take(index), self.mu, missing)

    def move(self, g: Array, beta: Array) -> Array:
        """Minimisers u for given subgradients, of the shape of g."""
        A = g + (beta * self.scale / self.mu)[:, None] * self.w
        return soft(A, priced(self.thr[:, None], self.missing))

    def residual(self, g: Array, beta: Array) -> tuple[Array, Array]:
        """Residuals ``base - v'u(beta)``, and their derivatives times -1, which are at least 0."""
        u = self.move(g, beta)
        slope = (u != 0.0) @ self.w**2 * self.scale**2 / self.mu
        return self.base - self.scale * (u @ self.w), slope

    def solve(self, g: Array) -> Array:
        """Subgradient ``beta`` of every row."""
        beta = np.zeros_like(self.base)
        coupled = self.w.any()
        r0 = self.residual(g, beta)[0] if coupled else self.base
        ends = self.loss.gradient(r0)  # largest slopes: moving makes the residual smaller
        out = np.flatnonzero(ends)
        if out.size:
            sign, end = np.sign(ends[out]), np.abs(ends[out])
            beta[out] = sign * (self.take(out)._root(g[out], sign, end) if coupled else end)
        return beta

    def _root(self, g: Array, sign: Array, end: Array) -> Array:
        """Zero of the decreasing ``sign r(sign b) - epsilon - curvature b`` on [0, end].

        Newton's method within a bracket. Where the function is still positive at the right end,
        that end is returned.
        """
        root, low, high = np.zeros_like(end), np.zeros_like(end), np.full_like(end, np.inf)
        epsilon, curvature = self.loss.epsilon, self.loss.curvature
        tiny = 1e-13 * (np.abs(self.base) + epsilon)
        todo = np.arange(len(end))
        row, rows = self, g
        for step in range(200):  # every fourth bisects: these alone reach rounding errors by then
            s, x, last = sign[todo], root[todo], end[todo]
            r, slope = row.residual(rows, s * x)
            value = s * r - epsilon[todo] - curvature[todo] * x
            low[todo] = np.where(value > 0.0, x, low[todo])
            high[todo] = np.where(value > 0.0, high[todo], x)
            lo, hi = low[todo], high[todo]
            with np.errstate(divide="ignore", invalid="ignore"):
                newton = np.minimum(x + value / (slope + curvature[todo]), last)
            done = (np.abs(value) <= tiny[todo]) | ((value > 0.0) & (x >= last))
            done |= (np.abs(newton - x) <= 1e-14 * x) | (hi - lo <= 1e-15 * last)
            # The function is not convex, so that Newton alone may turn in circles.
            usable = (newton > lo) & (newton < hi) & (step % 4 != 3)
            middle = np.where(np.isinf(hi), last, 0.5 * (lo + hi))
            root[todo] = np.where(done, x, np.where(usable, newton, middle))
            left = np.flatnonzero(~done)
            if left.size == 0:
                break
            if left.size < len(todo):
                todo, row, rows = todo[left], row.take(left), rows[left]
        return root
