"""The part of a model that is not penalised: no column, a column of ones, or several columns.

A problem's linear predictor is ``A W + Z gamma`` with Z of shape (n, k) and gamma of shape (k,).
Without a column there is no gamma; the coefficient of a column of ones is the intercept; covariates
are further columns, with or without the ones. In the dual, Z appears in the equations
``Z'beta = t``.

The upper bound of a certificate is valid for any gamma, so that an inexact :meth:`Columns.best`
only widens the gap. For the lower bound :meth:`Columns.feasible` moves a beta into its box and onto
the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._typing import Array
from ..losses.base import ROUNDING, Loss
from ..losses.piecewise import PiecewiseLoss
from .best_columns import best_coefficients, into_box


@dataclass(frozen=True)
class NoColumns:
    """No column: all of the linear predictor is penalised."""

    size = 0

    def columns(self, n: int) -> Array:
        """An array of shape (n, 0)."""
        return np.zeros((n, 0))

    def times(self, gamma: Array) -> float:
        """Zero."""
        return 0.0

    def sums(self, beta: Array) -> Array:
        """An array of shape (0,)."""
        return np.zeros(0)

    def best(self, loss: Loss, r: Array, t: Array) -> Array:
        """An array of shape (0,)."""
        return np.zeros(0)

    def feasible(self, loss: Loss, beta: Array, t: Array) -> Array:
        """Point near `beta` with a finite conjugate."""
        return loss.feasible(beta, None)

    def off(self, beta: Array, t: Array) -> float:
        """Zero: there is no equation."""
        return 0.0

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """`t` itself."""
        return t

    def without(self, y: Array, weights: Array | None = None) -> Array:
        """`y` itself."""
        return y

    def take(self, index: NDArray[Any] | slice) -> NoColumns:
        """The object itself."""
        return self

    def coefficients(self, gamma: Array) -> Array:
        """An array of shape (0,)."""
        return gamma


@dataclass(frozen=True)
class Ones:
    """A column of ones, whose coefficient is the intercept."""

    size = 1

    def columns(self, n: int) -> Array:
        """Ones, of shape (n, 1)."""
        return np.ones((n, 1))

    def times(self, gamma: Array) -> float:
        """The intercept."""
        return float(gamma[0])

    def sums(self, beta: Array) -> Array:
        """The sum of `beta`, of shape (1,)."""
        return np.array([beta.sum()])

    def best(self, loss: Loss, r: Array, t: Array) -> Array:
        """The best intercept (1,), which losses compute exactly, for example as a median."""
        return np.array([loss.best_intercept(r, float(t[0]))])

    def feasible(self, loss: Loss, beta: Array, t: Array) -> Array:
        """Point near `beta` with a finite conjugate and the sum t."""
        return loss.feasible(beta, float(t[0]))

    def off(self, beta: Array, t: Array) -> float:
        """Difference between the sum of `beta` and t, relative to the sizes of the terms."""
        goal = float(t[0])
        return ratio(abs(float(beta.sum()) - goal), float(np.abs(beta).sum()) + abs(goal))

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """`t`, clipped to the range between the sums of the lower and of the upper bounds."""
        return np.clip(t, loss.lower.sum(), loss.upper.sum())

    def without(self, y: Array, weights: Array | None = None) -> Array:
        """`y` minus its mean."""
        mean = y.mean() if weights is None else weights @ y / weights.sum()
        return y - float(mean)

    def take(self, index: NDArray[Any] | slice) -> Ones:
        """The object itself."""
        return self

    def coefficients(self, gamma: Array) -> Array:
        """The intercept, of shape (1,)."""
        return gamma


@dataclass(frozen=True)
class Columns:
    """Several columns, which should be nearly orthogonal and of mean square 1.

    :func:`covariates` makes such columns from any covariates.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        The columns.
    back : ndarray of shape (m, k), default=None
        Matrix that maps coefficients of Z to those of the m columns that Z was made from; None is
        the identity.
    ridge : ndarray of shape (l,), default=None
        Weights of the last l rows, if these are the samples of a ridge on coefficients.
    """

    Z: Array
    back: Array | None = None
    ridge: Array | None = None

    @property
    def size(self) -> int:
        """Number k of columns."""
        return int(self.Z.shape[1])

    def columns(self, n: int) -> Array:
        """The columns, of shape (n, k)."""
        return self.Z

    def times(self, gamma: Array) -> Array:
        """``Z gamma``, of shape (n,)."""
        return self.Z @ gamma

    def sums(self, beta: Array) -> Array:
        """``Z'beta``, of shape (k,)."""
        return beta @ self.Z

    def best(self, loss: Loss, r: Array, t: Array) -> Array:
        """Minimiser gamma (k,) of ``L(r - Z gamma) + t'gamma``."""
        return best_coefficients(loss, self.Z, r, t)

    def feasible(self, loss: Loss, beta: Array, t: Array) -> Array:
        """The point of the box with ``Z'beta = t`` that is nearest to `beta`, in a weighted norm.

        If no such point is found, the result is zero if t is zero, and otherwise a point that
        violates the equations.
        """
        lower, upper = loss.bounds
        found = into_box(self.Z, np.clip(beta, lower, upper), lower, upper, t)
        if not t.any() and self.off(found, t) > 10.0 * ROUNDING:
            return np.zeros_like(beta)
        return found

    def off(self, beta: Array, t: Array) -> float:
        """Largest difference between ``Z'beta`` and t, relative to the sizes of the terms."""
        sizes = np.abs(beta) @ np.abs(self.Z) + np.abs(t)
        pairs = zip(np.abs(self.sums(beta) - t).tolist(), sizes.tolist(), strict=True)
        return max((ratio(part, whole) for part, whole in pairs), default=0.0)

    def price_of_rounding(self, beta: Array, t: Array) -> float:
        """Cost of letting the ridge's multipliers balance ``Z'beta - t`` and its rounding error."""
        if self.ridge is None:
            return 0.0
        off = np.abs(self.sums(beta) - t)
        return self.price_of(
            beta, off + 0.5 * np.finfo(float).eps * (np.abs(beta) @ np.abs(self.Z))
        )

    def price_of(self, beta: Array, off: Array) -> float:
        """Cost of letting the ridge's multipliers balance errors `off` (k,) of ``Z'beta``."""
        if self.ridge is None:
            return 0.0
        k = len(self.ridge)
        return price_of_sums(self.Z[-k:], self.ridge, beta[-k:], off)

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """`t` itself: the nearest reachable t is not known."""
        return t

    def without(self, y: Array, weights: Array | None = None) -> Array:
        """`y` minus its (weighted) least squares fit by the columns."""
        root = 1.0 if weights is None else np.sqrt(weights)
        gamma = np.linalg.lstsq((root * self.Z.T).T, root * y, rcond=None)[0]
        return np.asarray(y - self.Z @ gamma)

    def take(self, index: NDArray[Any] | slice) -> Columns:
        """The columns of some of the samples."""
        return Columns(self.Z[index], self.back)

    def coefficients(self, gamma: Array) -> Array:
        """Coefficients of the columns as the user gave them, from those of Z."""
        return gamma if self.back is None else self.back @ gamma

    def given(self, Z: Array) -> Array:
        """Rows of the columns as the user gave them, up to a constant, from rows Z of these."""
        if self.back is None:
            return Z
        back = self.back.copy()
        if not back[1:, :1].any():  # the rest of the first row holds means, which may be huge
            back[0, 1:] = 0.0
        # No singular value is dropped: columns may have very different units.
        return Z @ np.linalg.pinv(back, rcond=0.0)


Basis = NoColumns | Ones | Columns
"""Columns Z of shape (n, k) without a penalty, with the methods of :class:`Columns`."""

NOTHING = NoColumns()
ONES = Ones()


def intercept(fit_intercept: bool) -> Basis:
    """A column of ones with `fit_intercept`, otherwise no column."""
    return ONES if fit_intercept else NOTHING


def covariates(Z: Array, fit_intercept: bool = True) -> Columns:
    """Nearly orthogonal columns that span the same space as covariates, with or without ones.

    A column that is constant, or a combination of others, changes nothing. The coefficients that
    :meth:`Columns.coefficients` returns are those of smallest norm among all with the same
    predictions, the limit of a vanishing ridge; the norm does not include the intercept.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Covariates.
    fit_intercept : bool, default=True
        Whether a column of ones comes before the covariates; its coefficient is the first one.

    Returns
    -------
    Columns
        At most m columns, and one more with `fit_intercept`.

    Examples
    --------
    >>> import numpy as np
    >>> age = np.array([20.0, 30.0, 40.0, 50.0])
    >>> basis = covariates(np.column_stack([age, age, np.ones(4)]))
    >>> basis.size
    2
    >>> basis.coefficients(np.linalg.lstsq(basis.Z, 1.0 + 0.5 * age, rcond=None)[0]).round(6)
    array([1.  , 0.25, 0.25, 0.  ])
    """
    Z = np.asarray(Z, dtype=np.float64)
    found = directions(Z, fit_intercept)
    own, mean, there = found.Z @ found.map, found.mean, found.scale > 0.0
    map_ = found.map
    if own.shape[1] < np.count_nonzero(there):  # onto the span of the rows of Z - mean
        span, _ = np.linalg.qr(np.where(there[:, None], found.Z.T @ own, 0.0))
        map_ = span @ (span.T @ map_)
    if not fit_intercept:
        return Columns(own, map_)
    back = np.zeros((Z.shape[1] + 1, own.shape[1] + 1))
    back[0, 0], back[0, 1:], back[1:, 1:] = 1.0, -mean @ map_, map_
    return Columns(np.column_stack([np.ones(len(Z)), own]), back)


class Directions(NamedTuple):
    """Columns, centred if there is an intercept, and their singular vectors."""

    Z: Array  # (n, m), the columns minus their means
    mean: Array  # (m,)
    scale: Array  # (m,), inverse of the largest size of each column; 0 for constant columns
    Vt: Array  # right singular vectors of ``Z * scale``, row by row
    d: Array  # singular values, in descending order
    rank: int  # number of singular values above the rounding error

    @property
    def map(self) -> Array:
        """Map M (m, rank) such that ``Z M`` has orthogonal columns of mean square 1."""
        kept, n = slice(self.rank), len(self.Z)
        return np.asarray(self.scale[:, None] * self.Vt[kept].T / self.d[kept] * np.sqrt(n))


def directions(Z: Array, fit_intercept: bool) -> Directions:
    """Singular vectors of columns (n, m), for columns with any means and units.

    A centred column, or a combination of columns, counts as zero if it is no larger than the
    rounding error of the entries of Z. Columns are divided by their largest number before
    centring, so that all have the same rounding error. If a column far from zero repeats another
    column, the one with the smaller rounding error therefore prevails.
    """
    n, size = len(Z), np.abs(Z).max(axis=0, initial=0.0)
    mean = np.zeros(Z.shape[1])
    if fit_intercept and n:
        mean = Z.mean(axis=0)
        # The rounding error of the mean may be as large as the variation of a column: correct it.
        Z, mean = (rest := Z - mean) - (more := rest.mean(axis=0)), mean + more
    rounding = np.sqrt(n) * ROUNDING
    there = np.linalg.norm(Z, axis=0) > rounding * size
    scale = np.where(there, 1.0 / np.where(there, size, 1.0), 0.0)
    _, d, Vt = np.linalg.svd(Z * scale, full_matrices=False)
    return Directions(Z, mean, scale, Vt, d, int(np.count_nonzero(d > rounding)))


def price_of_sums(rows: Array, ridge: Array, own: Array, off: Array) -> float:
    """Largest increase of a ridge's cost if its multipliers balance errors of the sums.

    Parameters
    ----------
    rows : ndarray of shape (m, k)
        Rows that map gamma to the coefficients with a ridge.
    ridge, own : ndarray of shape (m,)
        Weights of the ridge, and the multipliers ``ridge * coefficients``.
    off : ndarray of shape (k,)
        Largest error of each of the sums ``Z'beta``.
    """
    unit = np.linalg.norm(rows, axis=1)
    unit[unit == 0.0] = 1.0  # a constant covariate
    more = np.abs(np.linalg.pinv((rows / unit[:, None]).T)) @ off / unit
    return float((0.5 * more / ridge) @ (2.0 * np.abs(own) + more))


def ratio(part: float, whole: float) -> float:
    """``part / whole`` of non-negative numbers; 0 divided by 0 is 0."""
    if whole > 0.0:
        return part / whole
    return 0.0 if part == 0.0 else np.inf
