"""Second half of G-RMR where outliers are replaced: flag entries, and fill them from low rank.

Samples are low rank plus detail, D = L + detail, except for flagged entries. The sample
that the regression sees is X: D where an entry is not flagged, free where it is. With (w, b) fixed,

    minimise over L, the flags F, and X with X = D outside of F:
        L(y - b - Xw) + gamma ||L||_* + mu/2 ||X - L||_F^2 + mu/2 sum_{ij in F} limit_j^2.

Every flag has a cost. Without the labels an entry would be flagged where it is more than
`limit_j` away from L, and X would be L there. Missing entries are always flagged, at no cost. Each
row is multiplied by the root of its weight, as in :mod:`.split`.

Given L, the flags and X are found row by row. Given the flags, L and X are a convex problem, solved
by alternating directions. Its dual is to maximise

    beta'(y - b - Kw) - L*(beta) + <Z, K> - ||Z||_F^2 / (2 mu)

subject to ``||Z||_2 <= gamma`` and ``Z = beta w'`` on the flags, where K is D outside of the flags
and 0 on them. That the flags are the best ones is not certified.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._typing import Array, Mask
from ...design import slices
from ...linalg.factors import Factors, gram_norm
from .admm import ExactSplit
from .coupled import Coupled, Point
from .decompose import Decomposition, decompose
from .paper import PaperSplit
from .row_prox import RowProblem, square


@dataclass(frozen=True)
class ReplaceProblem(Coupled):
    """The problem above."""

    mu: float  # positive weight of the detail
    limit: Array  # (m,): distance from L above which an entry is an outlier, by cell
    flags: Mask  # (n, m): which entries are flagged; all missing ones are

    @cached_property
    def base(self) -> Array:
        """Residuals with zeros on the flags, ``target - Kw``, of shape (n,)."""
        base = self.target.copy()
        for i in slices(*self.D.shape):
            base[i] -= (self.kept(i) @ self.w) / self.root[i]
        return base

    def kept(self, i: slice) -> Array:
        """The rows i of D, with zeros on the flags."""
        return np.where(self.flags[i], 0.0, self.D[i])

    def filling(self, i: slice, mu: float) -> RowProblem:
        """Problem of the rows i of X, which are free on the flags and fixed elsewhere."""
        return self.row_problem(i, np.full_like(self.root[i], np.inf), mu, self.flags[i])

    def prox_rows(self, i: slice, g: Array, mu: float) -> tuple[Array, Array]:
        """Distances of the rows i from D to those of L nearest to g, and subgradients of the loss.

        Outside of the flags the rows are drawn to D. On the flags the loss draws them along w, and
        X is beyond them by ``beta w / self.mu``.
        """
        rows, kept = self.filling(i, 1.0 / (1.0 / mu + 1.0 / self.mu)), self.kept(i)
        beta = rows.solve(g - kept)
        pulled = g + (beta * rows.scale / mu)[:, None] * self.w
        near = (self.mu * kept + mu * g) / (self.mu + mu)
        return self.D[i] - np.where(self.flags[i], pulled, near), beta

    def at(self, split: ExactSplit | PaperSplit | Decomposition, tol: float) -> Point:
        """Low-rank part, which must be known, with the objective of the best samples for it."""
        L = split.state.factors
        assert L is not None
        loss, cost = (float(terms.sum()) for terms in fill(self, L))
        cost += self.gamma * float(L.d.sum())
        return Point(None, L.d, L, cost, cost + loss)

    def complete(self, point: Point, out: Array) -> None:
        """Write the outliers of the best samples for a low-rank part."""
        assert point.factors is not None
        fill(self, point.factors, out=out)

    def flag_prices(self, i: slice) -> Array:
        """Cost of the flags of each of the rows i."""
        known = self.flags[i] if self.missing is None else self.flags[i] & ~self.missing[i]
        return 0.5 * self.mu * self.root[i] ** 2 * (known @ self.limit**2)

    @cached_property
    def flag_cost(self) -> float:
        """Cost of all flags."""
        return sum(float(self.flag_prices(i).sum()) for i in slices(*self.D.shape))

    def outside(self, i: slice, Z: Array) -> float:
        """How far rows are from zero on the flags at most."""
        return float(np.abs(Z[self.flags[i]]).max(initial=0.0))

    def bound(self, Z: Array, beta: Array) -> float:
        """Dual objective at Z, scaled into the ball; on the flags Z must be ``beta w'``."""
        norm = gram_norm(Z)
        theta = self.gamma / norm if norm > self.gamma else 1.0
        linear = float(beta @ self.base)
        for i in slices(*Z.shape):
            linear += float(np.vdot(Z[i], self.kept(i)))
        curved = 0.5 / self.mu * square(Z)
        conjugate = self.coupling.conjugate(theta * beta)
        return theta * linear - conjugate - theta**2 * curved + self.flag_cost


def fill(problem: ReplaceProblem, L: Factors, out: Array | None = None) -> tuple[Array, Array]:
    """Best samples for a low-rank part, given the flags.

    Returns the loss (n,) of each row, and the cost (n,) of its detail and flags; `out` gets the
    outliers ``D - X``.
    """
    loss, cost = np.empty(len(problem.D)), np.empty(len(problem.D))
    for i in slices(*problem.D.shape, least=64):
        kept, low = problem.kept(i), (L.U[i] * L.d) @ L.Vt
        rows = problem.filling(i, problem.mu)
        b = rows.solve(low - kept)
        X = rows.move(low - kept, b)
        r = rows.base - rows.scale * (X @ problem.w)
        X += kept
        if out is not None:
            np.subtract(problem.D[i], X, out=out[i])
        # Equality in Fenchel's inequality: b is a subgradient of the loss at r.
        loss[i] = b * r - rows.loss.epsilon * np.abs(b) - 0.5 * rows.loss.curvature * b**2
        X -= low
        cost[i] = 0.5 * problem.mu * np.einsum("ij,ij->i", X, X) + problem.flag_prices(i)
    return loss, cost


def reflag(problem: ReplaceProblem, L: Factors) -> ReplaceProblem:
    """New flags for a low-rank part, with which no row costs more than before.

    The flags that would be best without the labels are proposed. A row keeps its old flags if these
    cost less.
    """
    flags = np.empty_like(problem.flags)
    for i in slices(*flags.shape, least=64):
        far = np.abs(problem.D[i] - (L.U[i] * L.d) @ L.Vt)
        flags[i] = far > problem.root[i, None] * problem.limit
    if problem.missing is not None:
        flags |= problem.missing
    proposed = replace(problem, flags=flags)
    if not problem.w.any():
        return proposed
    worse = np.add(*fill(proposed, L)) > np.add(*fill(problem, L))
    return replace(problem, flags=np.where(worse[:, None], problem.flags, flags))


def _suit(start: Decomposition, problem: ReplaceProblem) -> None:
    """Set the multiplier of a start to the one that belongs to the flags, and its penalty."""
    state, L = start.state, start.factors
    for i in slices(*state.Y.shape, least=64):
        pull = np.outer(state.beta[i] / problem.root[i], problem.w)
        detail = problem.mu * (problem.D[i] - (L.U[i] * L.d) @ L.Vt)
        state.Y[i] = np.where(problem.flags[i], pull, detail)
    state.mu = state.goal = 0.3 * problem.mu
    state.gamma = problem.gamma
    # The outliers of the best low-rank part are computed at the end: the solver may overwrite E.
    state.spare = start.E


def replace_outliers(problem: ReplaceProblem, start: Decomposition, **limits: Any) -> Decomposition:
    """Flag outliers and replace them, with a certificate for the flags that were found.

    The problem has the flags of `start`, whose arrays are overwritten. The limits are those of
    :func:`~.decompose.decompose`, for each set of flags. The `d` of the split are the singular
    values of the low-rank part.
    """
    for _ in range(10):
        flagged = reflag(problem, start.factors)
        changed = np.count_nonzero(flagged.flags != problem.flags)
        problem = flagged
        _suit(start, problem)
        start = decompose(problem, start=start, **limits)
        if changed <= 3e-4 * problem.D.size:
            break
    return start
