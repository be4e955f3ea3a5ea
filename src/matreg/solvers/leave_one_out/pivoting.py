"""A box-constrained quadratic problem without one of its samples, from the solution with it.

With the derivative of the thresholding held fixed, a fit to all samples but i is a quadratic problem
in the box of the dual variables, whose solution with i is known. With ``e = r - D beta`` (D the
curvature of the loss) changes obey ``de = -(K + D) dbeta``, and each sample is on one of five sides:

    0      inside of the tube      beta = 0,                |e| <= epsilon
    +-1    on its edge             e = +-epsilon,           beta free
    +-2    outside                 beta at its bound,       +-e >= epsilon

On an edge de is known and dbeta is not, elsewhere it is the other way round. Solved for what is not
known this is a linear map T of what is (the principal pivot transform of ``-(K + D)``), and T for
other sides follows from that for the first ones by a system of as many equations as samples have
changed between edge and elsewhere. So one matrix serves all samples that are removed. Sides that
turn out to be wrong change all at once; where that does not end, one at a time, which does (block
principal pivoting and Murty's rule: Portugal, Judice and Vicente, Math. Comp. 1994).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..._typing import Array, Mask
from ...linalg.bordered import cholesky
from ...losses import PiecewiseLoss


@dataclass(frozen=True)
class PivotSettings:
    """Numbers of the method.

    Attributes
    ----------
    patience : int
        Rounds without fewer samples on a wrong side after which they change one at a time.
    max_changes : int
        Changes one at a time after which to give up.
    rounding : float
        Violations that are but rounding, relative to bounds and residuals.
    snap : float
        A dual variable this close to zero or to its bound, relative to the bound, is there.
    """

    patience: int = 3
    max_changes: int = 200
    rounding: float = 1e-7
    snap: float = 1e-4


DEFAULT = PivotSettings()


class Removal(NamedTuple):
    """Changes of dual variables and residuals (n,) as a sample is removed."""

    dbeta: Array
    dr: Array
    ended: bool


def transform(F: Array, D: Array, free: Mask) -> Array:
    """The map T of (de on the edge, dbeta elsewhere) to (dbeta on the edge, de elsewhere)."""
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
        Bounds, tube and curvature.
    r, beta : ndarray of shape (n,)
        Residuals and dual variables of the solution.
    """

    def __init__(
        self,
        F: Array,
        loss: PiecewiseLoss,
        r: Array,
        beta: Array,
        settings: PivotSettings = DEFAULT,
    ) -> None:
        self.loss, self.settings, self.D = loss, settings, loss.curvature
        self.no_inside = without_inside(loss)
        self.side = sides_at(loss, beta, settings)
        self.free = np.abs(self.side) == 1.0
        self.beta = np.where(self.free, beta, self.bounds(self.side))
        self.e = np.where(self.free, loss.epsilon * self.side, r - self.D * self.beta)
        self.T = transform(F, self.D, self.free)
        bounded = np.where(np.isfinite(loss.size), loss.size, np.abs(beta).max(initial=0.0))
        self.small_beta = settings.rounding * bounded
        self.small_e = settings.rounding * (float(np.abs(r).max(initial=0.0)) + loss.epsilon)

    def bounds(self, side: Array) -> Array:
        """Dual variables of samples that are not on an edge."""
        return np.where(side == 2.0, self.loss.upper, np.where(side == -2.0, self.loss.lower, 0.0))

    def without(self, i: int) -> Removal:
        """Changes as sample i is removed."""
        found = self._all_at_once(i) or self._one_by_one(i)
        beta, e, ended = found
        dbeta = beta - self.beta
        return Removal(dbeta, e - self.e + self.D * dbeta, ended)

    def _all_at_once(self, i: int) -> tuple[Array, Array, bool] | None:
        """Solution by changing all wrong sides at once; None where that does not end."""
        side, fewest, patience = self.side.copy(), len(self.side) + 1, self.settings.patience
        side[i] = 0.0
        while patience > 0:
            beta, e = self._solve(side, i, 0.0)
            after = self._next_sides(side, beta, e)
            after[i] = 0.0
            wrong = int(np.count_nonzero(after != side))
            if wrong == 0:
                return beta, e, True
            if wrong < fewest:
                fewest, patience = wrong, self.settings.patience
            else:
                patience -= 1
            side = after
        return None

    def _one_by_one(self, i: int) -> tuple[Array, Array, bool]:
        """Solution along the path on which beta_i goes to 0, from one change of sides to the next.

        Along a piece all numbers are linear in what is left of beta_i, a share from 1 to 0.
        """
        side, share = self.side.copy(), 1.0
        side[i] = 0.0
        last = -1
        beta, e = self._solve(side, i, share)
        for _ in range(self.settings.max_changes):
            end_beta, end_e = self._solve(side, i, 0.0)
            reach, after = self._reach(side, beta, e, end_beta, end_e, last, i)
            first = int(np.argmin(reach))
            if reach[first] >= 1.0:
                return end_beta, end_e, True
            share *= 1.0 - reach[first]
            side[first], last = after[first], first
            beta, e = self._solve(side, i, share)
        return end_beta, end_e, False

    def _reach(
        self, side: Array, beta: Array, e: Array, end_beta: Array, end_e: Array, last: int, i: int
    ) -> tuple[Array, Array]:
        """Share of the way at which each sample changes its side, and to which one."""
        loss, sign, size = self.loss, np.where(side < 0.0, -1.0, 1.0), np.abs(side)
        free, outside = size == 1.0, size == 2.0
        dbeta, de = end_beta - beta, end_e - e
        with np.errstate(divide="ignore", invalid="ignore"):
            up, down = (loss.upper - beta) / dbeta, (loss.lower - beta) / dbeta
            zero = np.where(self.no_inside, np.nan, -beta / dbeta)
            onto = (loss.epsilon - e) / de, (-loss.epsilon - e) / de
        inwards = sign * dbeta < 0.0
        far = np.full(len(side), np.inf)
        after, reach = side.copy(), far.copy()

        def offer(where: Mask, at: Array, then: Array | float) -> None:
            at = np.where(where, np.maximum(at, 0.0), np.inf)
            at = np.where(np.isnan(at), np.inf, at)
            sooner = at < reach
            reach[sooner] = at[sooner]
            after[sooner] = np.broadcast_to(then, len(side))[sooner]

        offer(free & (dbeta > 0.0) & ((sign > 0.0) | self.no_inside), up, 2.0)
        offer(free & (dbeta < 0.0) & ((sign < 0.0) | self.no_inside), down, -2.0)
        offer(free & inwards & ~self.no_inside, zero, 0.0)
        offer(outside & (sign * de < 0.0), np.where(sign > 0.0, onto[0], onto[1]), sign)
        offer((size == 0.0) & (de > 0.0) & (loss.upper > 0.0), onto[0], 1.0)
        offer((size == 0.0) & (de < 0.0) & (loss.lower < 0.0), onto[1], -1.0)
        reach[i] = np.inf
        if last >= 0 and reach[last] <= self.settings.rounding:  # it has only just come there
            reach[last] = np.inf
        return reach, after

    def _solve(self, side: Array, i: int, share: float) -> tuple[Array, Array]:
        """Dual variables and ``e`` for given sides, with a share of beta_i left."""
        free = np.abs(side) == 1.0
        known_beta = self.bounds(side) - self.beta
        known_beta[i] = (share - 1.0) * self.beta[i]
        known_e = self.loss.epsilon * side - self.e
        changed = np.flatnonzero(free != self.free)
        given = np.where(self.free, known_e, known_beta)
        given[changed] = 0.0
        some = np.flatnonzero(given)
        out = self.T[:, some] @ given[some]
        if len(changed):
            wanted = np.where(self.free, known_beta, known_e)[changed] - out[changed]
            block = self.T[changed[:, None], changed]
            try:
                given[changed] = np.linalg.solve(block, wanted)
            except np.linalg.LinAlgError:
                given[changed] = np.linalg.lstsq(block, wanted, rcond=None)[0]
            out += self.T[:, changed] @ given[changed]
        dbeta, de = np.where(self.free, out, given), np.where(self.free, given, out)
        return self.beta + dbeta, self.e + de

    def _next_sides(self, side: Array, beta: Array, e: Array) -> Array:
        """Where each sample turns out to be: the same side, or the next one."""
        loss, sign, size = self.loss, np.where(side < 0.0, -1.0, 1.0), np.abs(side)
        free, small = size == 1.0, self.small_e
        new = side.copy()
        new[free & ~self.no_inside & (sign * beta < -self.small_beta)] = 0.0
        new[free & (beta > loss.upper + self.small_beta)] = 2.0
        new[free & (beta < loss.lower - self.small_beta)] = -2.0
        back = (size == 2.0) & (sign * e < loss.epsilon - small)
        new[back] = sign[back]
        new[(size == 0.0) & (e > loss.epsilon + small) & (loss.upper > 0.0)] = 1.0
        new[(size == 0.0) & (e < -loss.epsilon - small) & (loss.lower < 0.0)] = -1.0
        return new


def sides_at(loss: PiecewiseLoss, beta: Array, settings: PivotSettings = DEFAULT) -> Array:
    """The side of each sample at a solution, by its dual variable."""
    snap, no_inside = settings.snap, without_inside(loss)
    bound = np.where(beta > 0.0, loss.upper, -loss.lower)
    finite = np.where(np.isfinite(bound), bound, np.abs(beta).max(initial=0.0))
    size = np.where(np.abs(beta) <= snap * finite, 0.0, 1.0)
    size[np.abs(beta) >= bound - snap * finite] = 2.0
    size[bound == 0.0] = 0.0
    size[no_inside & (size == 0.0)] = 1.0
    return np.where(beta < 0.0, -size, size)


def without_inside(loss: PiecewiseLoss) -> Mask:
    """Samples without a tube whose dual variables may be of either sign."""
    return (loss.epsilon == 0.0) & (loss.lower < 0.0) & (loss.upper > 0.0)
