"""The part of a model that is not penalised: no column, a column of ones, or several columns.

A problem's linear predictor is ``A W + Z gamma`` with Z of shape (n, k) and gamma of shape (k,).
Without a column there is no gamma, a column of ones has the intercept for it, and covariates are
more columns, with or without the ones. In the dual, Z stands for the equations ``Z'beta = t``.

For the bound of a certificate from above any gamma will do, so that an inexact :meth:`Basis.best`
only widens the gap. For the bound from below :meth:`Basis.feasible` moves a beta into its box and
onto the equations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._typing import Array
from ..losses.base import ROUNDING, Loss
from ..losses.piecewise import PiecewiseLoss
from .best_columns import best_coefficients, into_box


class Basis(Protocol):
    """Columns Z of shape (n, k) without a penalty.

    Attributes
    ----------
    size : int
        Number k of columns.
    """

    @property
    def size(self) -> int:
        """Number k of columns."""
        ...

    def columns(self, n: int) -> Array:
        """Z, of shape (n, k)."""
        ...

    def times(self, gamma: Array) -> Array | float:
        """``Z gamma``, a number if all samples have the same."""
        ...

    def sums(self, beta: Array) -> Array:
        """``Z'beta``, of shape (k,)."""
        ...

    def best(self, loss: Loss, r: Array, t: Array) -> Array:
        """Minimiser gamma of ``L(r - Z gamma) + t'gamma``."""
        ...

    def feasible(self, loss: Loss, beta: Array, t: Array) -> Array:
        """Point near `beta` of finite conjugate with ``Z'beta = t``."""
        ...

    def off(self, beta: Array, t: Array) -> float:
        """How far ``Z'beta`` is from t at most, relative to the sizes of the terms."""
        ...

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """The nearest t that a beta within the bounds can have, if it is known."""
        ...

    def without(self, y: Array, weights: Array | None = None) -> Array:
        """`y` minus its (weighted) least squares fit by the columns."""
        ...

    def take(self, index: NDArray[Any] | slice) -> Basis:
        """The columns of some of the samples."""
        ...

    def coefficients(self, gamma: Array) -> Array:
        """Coefficients of the columns as they were given, from those of Z."""
        ...


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
        """Point near `beta` of finite conjugate."""
        return loss.feasible(beta, None)

    def off(self, beta: Array, t: Array) -> float:
        """Zero: there is no equation."""
        return 0.0

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """The same."""
        return t

    def without(self, y: Array, weights: Array | None = None) -> Array:
        """`y` itself."""
        return y

    def take(self, index: NDArray[Any] | slice) -> NoColumns:
        """The same."""
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
        """The best intercept, which the losses know exactly: a median, for example."""
        return np.array([loss.best_intercept(r, float(t[0]))])

    def feasible(self, loss: Loss, beta: Array, t: Array) -> Array:
        """Point near `beta` of finite conjugate and of sum t."""
        return loss.feasible(beta, float(t[0]))

    def off(self, beta: Array, t: Array) -> float:
        """How far the sum of `beta` is from t, relative to the sizes."""
        goal = float(t[0])
        return ratio(abs(float(beta.sum()) - goal), float(np.abs(beta).sum()) + abs(goal))

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """The sum t between those of the bounds."""
        return np.clip(t, loss.lower.sum(), loss.upper.sum())

    def without(self, y: Array, weights: Array | None = None) -> Array:
        """`y` minus its mean."""
        mean = y.mean() if weights is None else weights @ y / weights.sum()
        return y - float(mean)

    def take(self, index: NDArray[Any] | slice) -> Ones:
        """The same."""
        return self

    def coefficients(self, gamma: Array) -> Array:
        """The intercept, of shape (1,)."""
        return gamma


@dataclass(frozen=True)
class Columns:
    """Several columns, which should be about orthogonal and of mean square 1.

    :func:`covariates` makes such columns of any.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        The columns.
    back : ndarray of shape (m, k), default=None
        Coefficients of the columns that these were made of, by coefficients of these; by default
        they are the same.
    ridge : ndarray of shape (m,), default=None
        Weights of the last m rows, if these are the samples of a ridge on coefficients.
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
        """Minimiser gamma of ``L(r - Z gamma) + t'gamma``."""
        return best_coefficients(loss, self.Z, r, t)

    def feasible(self, loss: Loss, beta: Array, t: Array) -> Array:
        """The point of the box with ``Z'beta = t`` that is nearest to `beta`, by the room there is.

        If there is none: zero where t is zero, and otherwise a point that does not balance.
        """
        lower, upper = loss.bounds
        found = into_box(self.Z, np.clip(beta, lower, upper), lower, upper, t)
        if not t.any() and self.off(found, t) > 10.0 * ROUNDING:
            return np.zeros_like(beta)
        return found

    def off(self, beta: Array, t: Array) -> float:
        """How far ``Z'beta`` is from t at most, relative to the sizes of the terms."""
        sizes = np.abs(beta) @ np.abs(self.Z) + np.abs(t)
        pairs = zip(np.abs(self.sums(beta) - t).tolist(), sizes.tolist(), strict=True)
        return max((ratio(part, whole) for part, whole in pairs), default=0.0)

    def price_of_rounding(self, beta: Array, t: Array) -> float:
        """What the ridge on coefficients costs if its multipliers take up ``Z'beta - t``."""
        if self.ridge is None:
            return 0.0
        off = np.abs(self.sums(beta) - t)
        return self.price_of(
            beta, off + 0.5 * np.finfo(float).eps * (np.abs(beta) @ np.abs(self.Z))
        )

    def price_of(self, beta: Array, off: Array) -> float:
        """What the ridge on coefficients costs more if the sums ``Z'beta`` are off by so much."""
        if self.ridge is None:
            return 0.0
        k = len(self.ridge)
        return price_of_sums(self.Z[-k:], self.ridge, beta[-k:], off)

    def reachable(self, loss: PiecewiseLoss, t: Array) -> Array:
        """The same: a better one is not known."""
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
        """Coefficients of the columns as they were given."""
        return gamma if self.back is None else self.back @ gamma

    def given(self, Z: Array) -> Array:
        """Rows of the columns as they were given, up to a constant, from rows of these."""
        if self.back is None:
            return Z
        back = self.back.copy()
        if not back[1:, :1].any():  # the rest of the first row are means, which may be huge
            back[0, 1:] = 0.0
        # All singular values count: columns may be of very different units.
        return Z @ np.linalg.pinv(back, rcond=0.0)


NOTHING = NoColumns()
ONES = Ones()


def intercept(fit_intercept: bool) -> Basis:
    """A column of ones or none."""
    return ONES if fit_intercept else NOTHING


def covariates(Z: Array, fit_intercept: bool = True) -> Columns:
    """Columns that span the same as covariates, with or without ones, about orthogonal.

    A column that is constant, or a combination of others, changes nothing. The coefficients that
    :meth:`Columns.coefficients` gives are those of smallest norm among all with the same
    predictions, which a ridge tends to as it vanishes; the intercept does not count in that norm.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
        Covariates.
    fit_intercept : bool, default=True
        Whether a column of ones comes before them, whose coefficient is the first one.

    Returns
    -------
    Columns
        At most m columns, and one more with the ones.

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
    """Columns, around their means if there is an intercept, and their singular vectors."""

    Z: Array  # (n, m)
    mean: Array  # (m,)
    scale: Array  # (m,), by which the largest number of each is 1; 0 for columns that do not vary
    Vt: Array  # (m, m), combinations of these columns of length 1, the longest first
    d: Array  # (m,), their lengths
    rank: int  # how many of them are not rounding

    @property
    def map(self) -> Array:
        """Map M with ``Z M`` of orthogonal columns of mean square 1."""
        kept, n = slice(self.rank), len(self.Z)
        return np.asarray(self.scale[:, None] * self.Vt[kept].T / self.d[kept] * np.sqrt(n))


def directions(Z: Array, fit_intercept: bool) -> Directions:
    """Singular vectors of columns (n, m), whatever their means and units are.

    What is no larger than the rounding of the numbers of Z is zero: a column around its mean, or a
    combination of columns. Columns are in units of their largest number before the mean is taken
    off, so that the rounding of all is the same: where a column far from zero repeats another one,
    the exact one decides.
    """
    n, size = len(Z), np.abs(Z).max(axis=0, initial=0.0)
    mean = np.zeros(Z.shape[1])
    if fit_intercept and n:
        mean = Z.mean(axis=0)
        # The mean is rounded, by as much as a column may vary; this is the rest of it.
        Z, mean = (rest := Z - mean) - (more := rest.mean(axis=0)), mean + more
    rounding = np.sqrt(n) * ROUNDING
    there = np.linalg.norm(Z, axis=0) > rounding * size
    scale = np.where(there, 1.0 / np.where(there, size, 1.0), 0.0)
    _, d, Vt = np.linalg.svd(Z * scale, full_matrices=False)
    return Directions(Z, mean, scale, Vt, d, int(np.count_nonzero(d > rounding)))


def price_of_sums(rows: Array, ridge: Array, own: Array, off: Array) -> float:
    """Most that the squares of a ridge cost more if their multipliers balance sums that are off.

    Parameters
    ----------
    rows : ndarray of shape (m, k)
        Rows that make the coefficients with a ridge.
    ridge, own : ndarray of shape (m,)
        Weights of the ridge, and the multipliers ``ridge * coefficients``.
    off : ndarray of shape (k,)
        How far each of the sums ``Z'beta`` may be off.
    """
    unit = np.linalg.norm(rows, axis=1)
    unit[unit == 0.0] = 1.0  # a covariate that is constant
    more = np.abs(np.linalg.pinv((rows / unit[:, None]).T)) @ off / unit
    return float((0.5 * more / ridge) @ (2.0 * np.abs(own) + more))


def ratio(part: float, whole: float) -> float:
    """``part / whole`` of numbers that are not negative; nothing of nothing is 0."""
    if whole > 0.0:
        return part / whole
    return 0.0 if part == 0.0 else np.inf
