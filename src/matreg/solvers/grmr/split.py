"""Second half of G-RMR as a convex problem: split the samples, given the regression.

With row i of the stacked matrices the sample i, and (w, b) fixed,

    minimise over X, E with D = X + E:   L(y - b - Xw) + gamma ||X||_* + lam ||E||_1.

A sample of weight s counts as s copies of it. The nuclear norm of s copies of a row is that of the
row times ``sqrt(s)``. Therefore each row is multiplied by the root of its weight.

The dual is to maximise ``beta'(y - b) - L*(beta) + <Z, D>`` subject to ``|Z_ij| <= lam`` and
``||Z + beta w'||_2 <= gamma``: any multiplier, scaled down until it is feasible, bounds the optimum
from below.

Where an entry of a sample is missing, its outlier costs nothing: ``lam_ij = 0``. The box of Z is
zero there, and neither objective depends on what the entry is filled with.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ..._typing import Array
from ...design import slices
from ...linalg.factors import gram_norm
from .coupled import Coupled, Point
from .row_prox import priced

if TYPE_CHECKING:
    from .admm import ExactSplit
    from .decompose import Decomposition
    from .paper import PaperSplit


@dataclass(frozen=True)
class SplitProblem(Coupled):
    """The convex problem above."""

    lam: float  # positive weight of the outliers

    @cached_property
    def base(self) -> Array:
        """Residuals without outliers, ``target - Dw``, of shape (n,)."""
        return self.target - (self.D @ self.w) / self.root

    @cached_property
    def threshold(self) -> Array:
        """Price of an outlier in each scaled row, of shape (n,)."""
        return self.lam * self.root

    def prices(self, i: slice) -> Array | float:
        """Price of an outlier in each entry of the rows i: zero where the entry is missing."""
        return priced(self.threshold[i, None], None if self.missing is None else self.missing[i])

    def residual(self, E: Array) -> Array:
        """``target - Xw`` with ``X = D - E``, of shape (n,)."""
        return self.base + (E @ self.w) / self.root

    def cost(self, E: Array, d: Array) -> float:
        """``gamma ||D - E||_* + lam ||E||_1``, if `d` are the singular values of ``D - E``."""
        price = sum(float(np.sum(self.prices(i) * np.abs(E[i]))) for i in slices(*E.shape))
        return self.gamma * float(d.sum()) + price

    def prox_rows(self, i: slice, g: Array, mu: float) -> tuple[Array, Array]:
        """Outliers of the rows i nearest to ``d - g``, and subgradients of the loss."""
        free = None if self.missing is None else self.missing[i]
        rows = self.row_problem(i, self.threshold[i] / mu, mu, free)
        move = g - self.D[i]
        beta = rows.solve(move)
        return -rows.move(move, beta), beta

    def at(self, split: ExactSplit | PaperSplit | Decomposition, tol: float) -> Point:
        """Outliers with their objective."""
        d = split.clean_values(tol)  # first: it needs memory, and some solvers compute E anew
        E = split.E
        cost = self.cost(E, d)
        primal = self.coupling.value(self.residual(E)) + cost
        return Point(E, d, split.state.factors, cost, primal)

    def complete(self, point: Point, out: Array) -> None:
        """The outliers are known."""

    def outside(self, i: slice, Z: Array) -> float:
        """How far rows are outside of their box at most."""
        return float((np.abs(Z) - self.prices(i)).max())

    def bound(self, Y: Array, beta: Array) -> float:
        """Dual objective at ``Z = Y - beta w'``, scaled into the ball; Z must be in its box."""
        norm = gram_norm(Y)
        theta = self.gamma / norm if norm > self.gamma else 1.0
        linear = float(beta @ self.base) + float(np.vdot(Y, self.D))
        return theta * linear - self.coupling.conjugate(theta * beta)
