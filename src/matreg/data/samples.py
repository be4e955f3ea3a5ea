"""Samples with their labels and weights in memory, and the protocol of all kinds of samples.

Solvers and searches need only :class:`SampleSet`. :class:`Samples` holds all samples in memory,
each distinct one once; :mod:`.blocks` and :mod:`.dask_blocks` read samples block by block.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from .._typing import Array, Index, Mask
from ..design import ArrayDesign
from ..thresholds import MANY_SAMPLES
from ..unpenalised.basis import Basis, Columns, covariates, intercept

# Number of samples from which units are computed, if there are more.
UNIT_ROWS = 4096


class Block(NamedTuple):
    """Consecutive samples, the unit in which passes over all samples read the data."""

    start: int  # index of the first one
    X: NDArray[Any]  # (k, p*q): samples in their own dtype
    # (k,): labels and sample weights.
    y: Array
    weights: Array
    # (k, m): all columns without a penalty, including the ones; None without covariates.
    Z: Array | None = None

    @property
    def design(self) -> ArrayDesign:
        """The samples as a linear operator on coefficients (p*q, 1)."""
        return ArrayDesign(self.X[:, :, None])

    def basis(self, fit_intercept: bool) -> Basis:
        """The columns without a penalty: `Z` if there are covariates, else ones or no column."""
        return intercept(fit_intercept) if self.Z is None else Columns(self.Z)

    def part(self, start: int, stop: int) -> Block:
        """Consecutive samples of the block."""
        return self.take(slice(start, stop))._replace(start=self.start + start)

    def take(self, some: NDArray[Any] | slice) -> Block:
        """Some samples of the block."""
        Z = None if self.Z is None else self.Z[some]
        return Block(self.start, self.X[some], self.y[some], self.weights[some], Z)


class SampleSet(Protocol):
    """Protocol of all kinds of samples."""

    @property
    def in_memory(self) -> Samples | None:
        """The samples if they are in memory, None if they are read block by block.

        If samples are read block by block, one problem uses all cores, and takes so long that
        finished results should be kept after an interruption.
        """
        ...

    @property
    def n(self) -> int:
        """Number of samples."""
        ...

    @property
    def p(self) -> int:
        """Rows of a sample."""
        ...

    @property
    def q(self) -> int:
        """Columns of a sample."""
        ...

    @property
    def given(self) -> tuple[Any, Any]:
        """Labels and weights; those of a Dask array may be Dask arrays."""
        ...

    def unpenalised(self, fit_intercept: bool) -> Basis:
        """The columns without a penalty: covariates and ones."""
        ...

    def reweighed(self, weights: Any) -> SampleSet:
        """The samples with other weights."""
        ...

    def few(self, rows: int) -> Samples:
        """Some `rows` samples in memory, weighted to represent all; all samples if `rows` is n."""
        ...

    def distinct(self) -> SampleSet:
        """Samples of positive weight; duplicates are merged if the samples are in memory."""
        ...

    def part(self, rows: Index | None, y: Array) -> SampleSet:
        """The samples of some rows, with other labels, for one of several problems."""
        ...

    def map_rows(self, scan: Callable[[Block], Array], columns: int | None = None) -> Any:
        """One number per sample, or `columns` of them, in the order of the samples."""
        ...


@dataclass(frozen=True)
class Samples:
    """Samples of positive weight in memory, each distinct one once.

    Attributes
    ----------
    X : ndarray of shape (n, p, q)
        Distinct samples.
    y, weights : ndarray of shape (n,)
        Labels, and total weights, of the distinct samples.
    group : ndarray of shape (m,)
        For each of the m given samples, the index of its distinct sample; -1 if its weight is zero.
    share : ndarray of shape (m,)
        Weight of each given sample, divided by the total weight of its distinct sample.
    Z : ndarray of shape (n, c) or None
        Covariates of the distinct samples, without a column of ones; samples are only equal if
        their covariates are.
    table : ndarray of shape (l, k) or None
        Rows of k labels, if samples have several; NaN for missing labels. `y` then holds the row
        index of each sample.
    equal : ndarray of shape (n,) or None
        The same number for equal samples with equal covariates; None if they were not compared.
    """

    X: NDArray[Any]
    y: Array
    weights: Array
    group: NDArray[np.intp]
    share: Array
    Z: Array | None = None
    table: Array | None = None
    equal: Index | None = None

    @classmethod
    def of(cls, X: NDArray[Any], y: Array, weights: Array, Z: Array | None = None) -> Samples:
        """Samples as they are given, including duplicates and weights of zero."""
        return cls(X, y, weights, np.arange(len(y)), np.ones(len(y)), Z)

    @property
    def in_memory(self) -> Samples:
        """The samples themselves."""
        return self

    @property
    def n(self) -> int:
        """Number of distinct samples."""
        return len(self.y)

    @property
    def p(self) -> int:
        """Rows of a sample."""
        return int(self.X.shape[1])

    @property
    def q(self) -> int:
        """Columns of a sample."""
        return int(self.X.shape[2])

    @property
    def given(self) -> tuple[Array, Array]:
        """Labels and weights."""
        return self.y, self.weights

    def reweighed(self, weights: Array) -> Samples:
        """The samples with other weights."""
        return replace(self, weights=weights)

    @cached_property
    def design(self) -> ArrayDesign:
        """The samples as a linear operator."""
        return ArrayDesign(self.X)

    def unpenalised(self, fit_intercept: bool) -> Basis:
        """The columns without a penalty, which span the covariates and ones."""
        return intercept(fit_intercept) if self.Z is None else covariates(self.Z, fit_intercept)

    def gather(self, beta: Array) -> Array:
        """Dual variables (n,) of the distinct samples from those of all given samples (m,)."""
        kept = self.group >= 0
        total = np.zeros(len(self.y))
        np.add.at(total, self.group[kept], beta[kept])
        return total

    def spread(self, beta: Array) -> Array:
        """Dual variables (m,) of all given samples from those of the distinct samples (n,)."""
        return np.where(self.group >= 0, self.share * beta[self.group], 0.0)

    def few(self, rows: int) -> Samples:
        """Up to `rows` equally spaced samples in float64, weighted to represent all samples."""
        if rows >= self.n:
            return self
        index = np.linspace(0, self.n - 1, rows).astype(np.intp)
        some = self.take(index)
        factor = float(self.weights.sum()) / (float(some.weights.sum()) or 1.0)
        X = some.X.astype(np.float64, copy=False)
        return replace(some, X=X, weights=factor * some.weights).distinct()

    def compared(self) -> Samples:
        """The samples with `equal` set, so that later subsets need no comparison.

        From MANY_SAMPLES samples on, they are not compared.
        """
        if self.equal is not None or self.n >= MANY_SAMPLES:
            return self
        return replace(self, equal=equal_samples(self.X, self.Z))

    def distinct(self) -> Samples:
        """Samples of positive weight, each distinct one once."""
        found = merge_duplicates(self.X, self.y, self.weights, self.Z, self.equal)
        return found if self.table is None else replace(found, table=self.table)

    def part(self, rows: Index | None, y: Array) -> Samples:
        """The distinct samples of some rows, with other labels; None stands for all rows."""
        some = self if rows is None or len(rows) == self.n else self.take(rows)
        return merge_duplicates(some.X, y, some.weights, some.Z, some.equal)

    def map_rows(self, scan: Callable[[Block], Array], columns: int | None = None) -> Array:
        """One number per sample, or `columns` of them: `scan` of all samples as one block."""
        return scan(Block(0, self.X.reshape(self.n, -1), self.y, self.weights, self.Z))

    def take(self, rows: Index | Mask) -> Samples:
        """The samples of some rows, as if only these had been given."""
        Z = None if self.Z is None else self.Z[rows]
        X = np.ascontiguousarray(self.X[rows])
        taken = Samples.of(X, self.y[rows], self.weights[rows], Z)
        equal = None if self.equal is None else self.equal[rows]
        return replace(taken, table=self.table, equal=equal)


def spread_out(index: Index) -> Array:
    """Pseudo-random numbers in [0, 1), computed as a hash of the indices of samples."""
    return np.asarray((index.astype(np.uint64) * np.uint64(0x9E3779B1)) % 2**32 / 2.0**32)


def equal_samples(X: NDArray[Any], Z: Array | None) -> Index:
    """An integer for each of n samples, equal for equal samples with equal covariates."""
    flat, equal = X.reshape(len(X), -1), np.arange(len(X))
    # Equal samples have equal sums: if no sum repeats, there is nothing to compare.
    if len(np.unique(flat.sum(axis=1))) == len(X):
        return equal
    if Z is not None:
        flat = np.column_stack([flat, Z])
    seen: dict[int, int] = {}
    for i in range(len(X)):
        first = seen.setdefault(hash((flat[i] + 0).tobytes()), i)  # -0.0 + 0 is 0.0
        if np.array_equal(flat[first], flat[i], equal_nan=True):
            equal[i] = first
    return equal


def merge_duplicates(
    X: NDArray[Any], y: Array, weights: Array, Z: Array | None = None, equal: Index | None = None
) -> Samples:
    """Merge equal samples with equal labels, and drop samples of weight zero.

    From MANY_SAMPLES samples on, they are not merged, because a copy would be large, unless some
    have weight zero. `equal` is the result of :func:`equal_samples`, if it is known.
    """
    if len(y) >= MANY_SAMPLES and weights.min() > 0.0:
        return Samples.of(X, y, weights, Z)
    kept = weights > 0.0
    if equal is None:
        equal = equal_samples(X, Z)
    pairs = np.unique(y, return_inverse=True)[1] + len(y) * np.unique(equal, return_inverse=True)[1]
    _, firsts, own = np.unique(pairs[kept], return_index=True, return_inverse=True)
    if len(firsts) == len(y):
        return replace(Samples.of(X, y, weights, Z), equal=equal)
    firsts = np.flatnonzero(kept)[firsts]
    # Samples are sorted, so that weights and copies give the same order and therefore the same
    # rounding. Sorting the bytes, with the exponent first, gives an order that does not depend on
    # the units.
    values = [
        (X[i] if Z is None else np.append(X[i], Z[i])).astype(">f8").tobytes() for i in firsts
    ]
    order = sorted(range(len(firsts)), key=lambda g: (y[firsts[g]], values[g]))
    group = np.full(len(y), -1, dtype=np.intp)
    group[kept] = np.argsort(order)[own]
    total = np.zeros(len(firsts))
    np.add.at(total, group[kept], weights[kept])
    share = np.where(kept, weights / total[group], 0.0)
    index = firsts[order]
    Z = None if Z is None else Z[index]
    X = np.ascontiguousarray(X[index])
    return Samples(X, y[index], total, group, share, Z, equal=equal[index])
