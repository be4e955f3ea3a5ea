"""A box-constrained quadratic problem without one of its samples, from the solution with all.

With the derivative of the thresholding held fixed, the fit to all samples except i is a quadratic
problem in the box of the dual variables, whose solution with i is known. With ``e = r - D beta``
(D the curvature of the loss) changes satisfy ``de = -(K + D) dbeta``, and each sample is on one of
five sides:

    0      inside of the tube      beta = 0,                |e| <= epsilon
    +-1    on its edge             e = +-epsilon,           beta free
    +-2    outside                 beta at its bound,       +-e >= epsilon

On an edge de is known and dbeta is not; elsewhere dbeta is known and de is not. A linear map T (the
principal pivot transform of ``-(K + D)``) maps the known numbers to the unknown ones. T for other
sides follows from T for the first sides by a linear system with one equation per sample that has
moved to or from an edge, so that one matrix serves all samples that are removed. All wrong sides
are changed at once (block principal pivoting: Portugal, Judice and Vicente, Math. Comp. 1994). If
this does not terminate, beta_i moves to 0 step by step, from one change of a side to the next (G.
Cauwenberghs and T. Poggio, Incremental and decremental support vector machine learning, NIPS 2000).
"""

from __future__ import annotations

import copy
from typing import NamedTuple

import numpy as np
from scipy.linalg.lapack import dgesv

from ..._typing import Array, Index, Mask
from ...linalg.bordered import cholesky
from ...losses.piecewise import PiecewiseLoss
from ..active_set.box_qp import next_sides, without_inside

# Curvature that is used at a kink, relative to the scale: with more samples on an edge than
# coordinates, K alone is singular.
KINK = 1e-7
# Violations up to this size, relative to bounds and residuals, count as rounding errors.
ROUNDING = 1e-7


class Solution(NamedTuple):
    """Dual variables, ``e`` and sides (n,) without a sample, and whether the search terminated."""

    beta: Array
    e: Array
    side: Array
    ended: bool


def transform(F: Array, D: Array, free: Mask) -> Array:
    """The map T (n, n) of (de on the edge, dbeta elsewhere) to (dbeta on the edge, de elsewhere).

    F (n, d) holds coordinates with ``K = F F'``, D (n,) the curvature; `free` are samples on the
    edge.
    """
    n, edge, rest = len(F), np.flatnonzero(free), np.flatnonzero(~free)
    T = np.empty((n, n))
    K = F @ F.T
    K[np.diag_indices(n)] += D
    solve = cholesky(K[np.ix_(edge, edge)])
    X = solve(np.ascontiguousarray(K[np.ix_(edge, rest)]))
    T[np.ix_(edge, edge)] = -solve(np.eye(len(edge)))
    T[np.ix_(edge, rest)] = -X
    T[np.ix_(rest, edge)] = X.T
    T[np.ix_(rest, rest)] = K[np.ix_(rest, edge)] @ X - K[np.ix_(rest, rest)]
    return T


class Pivoting:
    """The quadratic problem around the solution with all samples.

    Parameters
    ----------
    F : ndarray of shape (n, d)
        Coordinates with ``K = F F'``.
    loss : PiecewiseLoss
        The losses, which determine bounds, tube and curvature.
    r, beta : ndarray of shape (n,)
        Residuals and dual variables of the solution.
    scale : float
        Factor that converts dual variables to the size of residuals.
    """

    def __init__(self, F: Array, loss: PiecewiseLoss, r: Array, beta: Array, scale: float) -> None:
        self.loss, self.r = loss, r
        self.D = np.where(loss.curvature > 0.0, loss.curvature, KINK * scale)
        self.no_inside = without_inside(loss)
        self.side = sides_at(loss, r, beta, scale)
        self.free = np.abs(self.side) == 1.0
        self.beta = np.where(self.free, beta, self.bounds(self.side))
        self.e = np.where(self.free, loss.epsilon * self.side, r - self.D * self.beta)
        self.T = transform(F, self.D, self.free)
        self.columns = np.ascontiguousarray(self.T.T)  # columns of T are accessed often
        bounded = np.where(np.isfinite(loss.size), loss.size, np.abs(beta).max(initial=0.0))
        self.small_beta = ROUNDING * bounded
        self.small_e = ROUNDING * (float(np.abs(r).max(initial=0.0)) + loss.epsilon)

    def inside(self, i: int, solution: Solution) -> Mask:
        """Samples other than i whose dual variables are clearly inside of their bounds (mask)."""
        loss, beta = self.loss, solution.beta
        small = 1e-5 * np.minimum(loss.size, np.abs(beta).max(initial=0.0))
        within = (beta > loss.lower + small) & (beta < loss.upper - small)
        within[i] = False
        return within & (self.no_inside | (np.abs(beta) > small))

    def bounds(self, side: Array) -> Array:
        """Dual variables (n,) of samples that are not on an edge; 0 on an edge."""
        return np.where(side == 2.0, self.loss.upper, np.where(side == -2.0, self.loss.lower, 0.0))

    def without(self, i: int) -> Solution:
        """Solution without sample i.

        Of many samples, most are far from an edge and stay on their sides: only the sides of the
        others are searched. If the result is not a solution, the sides of all samples are.
        """
        start = Solution(self.beta, self.e, self.side.copy(), True)
        start.side[i] = 0.0
        rows = self._near(i)
        if 2 * len(rows) < len(self.side):
            part, side = self._of(rows), start.side.copy()
            at = int(np.searchsorted(rows, i))
            side[rows] = part._from(at, Solution(part.beta, part.e, side[rows], True), part.e).side
            found = self._all_at_once(i, start._replace(side=side), self.e)
            if found is not None:
                return found
        return self._from(i, start, self.e)

    def _near(self, i: int) -> Index:
        """Indices of i, of samples on an edge, and of those that may reach one without i, in order.

        The last ones are at most as far from an edge as the largest first-order change of any e.
        """
        scale = self.T[i, i] if self.free[i] else 1.0
        move = np.where(self.free, 0.0, np.abs(self.beta[i] / scale * self.columns[i]))
        move[i] = 0.0
        near = self.free | (np.abs(np.abs(self.e) - self.loss.epsilon) <= move.max())
        near[i] = True
        return np.flatnonzero(near)

    def _of(self, rows: Index) -> Pivoting:
        """The problem in which all samples except `rows` keep their sides."""
        part = copy.copy(self)
        for name in ("r", "D", "no_inside", "side", "free", "beta", "e", "small_beta", "small_e"):
            setattr(part, name, getattr(self, name)[rows])
        part.loss, part.columns = self.loss.take(rows), self.columns[np.ix_(rows, rows)]
        return part

    def shifted(self, i: int, solution: Solution, shift: Array) -> Solution:
        """The solution without sample i if the predictions change by `shift` (n,)."""
        return self._from(i, solution, self.e - shift)

    def _from(self, i: int, start: Solution, e: Array) -> Solution:
        """Solution without sample i from a nearby one; `e` (n,) is that of the full solution."""
        return self._all_at_once(i, start, e) or self._one_by_one(i, start, e)

    def residuals_of(self, solution: Solution) -> Array:
        """Residuals (n,) of all samples for a solution, including the change of the intercept."""
        return self.r + solution.e - self.e + self.D * (solution.beta - self.beta)

    def _all_at_once(self, i: int, start: Solution, e0: Array) -> Solution | None:
        """Solution by changing all wrong sides at once; None if this does not terminate.

        The search stops after three rounds that did not reduce the number of wrong sides.
        """
        side, fewest, patience = start.side, len(self.side) + 1, 3
        while patience > 0:
            beta, e = self._solve(side, i, e0)
            after = next_sides(
                self.loss,
                side,
                beta,
                e,
                no_inside=self.no_inside,
                rounding=self.small_beta,
                slack=self.small_e,
            )
            after[i] = 0.0
            wrong = int(np.count_nonzero(after != side))
            if wrong == 0:
                return Solution(beta, e, side, True)
            fewest, patience = (wrong, 3) if wrong < fewest else (fewest, patience - 1)
            side = after
        return None

    def _one_by_one(self, i: int, start: Solution, e0: Array) -> Solution:
        """Solution along the straight path from the start, from one change of sides to the next.

        Between two changes, beta and e are linear in beta_i, or in the share of the shift.
        """
        side, beta, e, last = start.side.copy(), start.beta, start.e, -1
        for _ in range(200):  # more than a dozen changes are rarely needed
            end_beta, end_e = self._solve(side, i, e0)
            reach, after = self._reach(side, beta, e, end_beta, end_e)
            reach[i] = np.inf
            if last >= 0 and reach[last] <= ROUNDING:  # this sample has just changed its side
                reach[last] = np.inf
            last = int(np.argmin(reach))
            if reach[last] >= 1.0:
                return Solution(end_beta, end_e, side, True)
            beta, e = beta + reach[last] * (end_beta - beta), e + reach[last] * (end_e - e)
            side[last] = after[last]
        return Solution(beta, e, side, False)

    def _reach(
        self, side: Array, beta: Array, e: Array, end_beta: Array, end_e: Array
    ) -> tuple[Array, Array]:
        """Share of the way at which each sample leaves its side, and its next side; both (n,)."""
        loss, no_inside = self.loss, self.no_inside
        dbeta, de = end_beta - beta, end_e - e
        up = dbeta > 0.0
        # A free sample moves to the bound ahead, or to zero if zero comes first.
        ends = no_inside | (np.where(side < 0.0, -1.0, 1.0) * dbeta > 0.0)
        bound = np.where(ends, np.where(up, loss.upper, loss.lower), 0.0)
        to = np.where(ends, np.where(up, 2.0, -2.0), 0.0)
        # Any other sample moves to the edge ahead; if it is outside, to the edge of its side.
        sign = np.where(side == 0.0, np.sign(de), np.sign(side))
        leaves = np.where(side == 0.0, np.where(de > 0.0, loss.upper, -loss.lower) > 0.0,
                          sign * de < 0.0)  # fmt: skip
        free = np.abs(side) == 1.0
        with np.errstate(divide="ignore", invalid="ignore"):
            on_edge, elsewhere = (bound - beta) / dbeta, (sign * loss.epsilon - e) / de
        reach = np.where(free, on_edge, np.where(leaves, elsewhere, np.inf))
        still = np.isnan(reach) | (np.where(free, dbeta, de) == 0.0)
        reach = np.where(still, np.inf, np.maximum(reach, 0.0))
        return reach, np.where(free, to, sign)

    def _solve(self, side: Array, i: int, e: Array) -> tuple[Array, Array]:
        """Dual variables and ``e`` without sample i for given sides; `e` is the previous one."""
        free = np.abs(side) == 1.0
        known_beta = self.bounds(side) - self.beta
        known_beta[i] = -self.beta[i]
        known_e = self.loss.epsilon * side - e
        changed = (free != self.free).nonzero()[0]
        given = np.where(self.free, known_e, known_beta)
        given[changed] = 0.0
        some = given.nonzero()[0]
        out = given[some] @ self.columns[some]
        if len(changed):
            wanted = np.where(self.free, known_beta, known_e)[changed] - out[changed]
            columns = self.columns[changed]
            block = columns[:, changed].T
            *_, found, failed = dgesv(block, wanted)
            if failed:
                found = np.linalg.lstsq(block, wanted, rcond=None)[0]
            given[changed] = found
            out += found @ columns
        dbeta, de = np.where(self.free, out, given), np.where(self.free, given, out)
        return self.beta + dbeta, e + de


def sides_at(loss: PiecewiseLoss, r: Array, beta: Array, scale: float) -> Array:
    """The side of each sample at a solution.

    At a solution one of two numbers is zero: the distance of the dual variable from its bound, or
    from zero, and the distance of the residual from the edge. Because of rounding errors, the
    smaller one counts as zero, with `scale` as the factor from dual variables to residuals.
    """
    e = r - loss.curvature * beta
    up = np.where(beta == 0.0, e, beta) > 0.0
    sign = np.where(loss.upper <= 0.0, -1.0, np.where((loss.lower >= 0.0) | up, 1.0, -1.0))
    bound = np.where(sign > 0.0, loss.upper, -loss.lower)
    over, size = sign * e - loss.epsilon, sign * beta
    out = np.ones(len(beta))
    out[(scale * size < -over) & ~without_inside(loss)] = 0.0
    out[scale * (bound - size) < over] = 2.0
    return sign * out
