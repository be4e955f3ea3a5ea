"""The summary of a pass: sums over all samples, and a few samples that are kept as rows.

Summaries can be merged in any order, and the result does not depend on the division of the samples
into blocks: sums are added, and the rows with the smallest keys are kept, up to a given number. A
sample is either in the sums or a row: subtracting a heavy row from the sums would leave its
rounding error there.

If the key of a sample is its distance from a kink, the nearest rows are kept. If the key is the
distance times a pseudo-random number u in [0, 1), a sample at distance x is kept with probability
``limit / x``, where `limit` is the smallest key of those that are not kept: priority sampling.

References
----------
N. Duffield, C. Lund and M. Thorup, Priority sampling for estimation of arbitrary subset sums,
Journal of the ACM 54 (2007), 32.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array, Index, Mask
from ...data.samples import spread_out
from ...design import CONVERTED, ArrayDesign

# Number of groups of samples with a common share: above, below, on an upper and on a lower kink.
GROUPS = 4
# Data of a row, except its entries: among others its multiplier in each group, the epsilon of its
# loss ("tube"), and its distance from a kink.
ROW = np.dtype(
    [
        ("index", np.int64),
        ("y", np.float64),
        ("weight", np.float64),
        ("beta", np.float64, GROUPS),
        ("tube", np.float64),
        ("distance", np.float64),
        ("key", np.float64),
    ]
)
# Names of the sums over samples, which are per group.
SUMS = ("sums", "columns", "sizes", "labels", "slopes", "squared_slopes", "tubes")


def added_up(beta: Array, X: NDArray[Any], Z: Array, y: Array, epsilon: Array) -> dict[str, Any]:
    """The sums over samples X (k, p*q) with columns Z (k, m) and multipliers beta (4, k).

    The sum of the squared norms is over all samples, whatever their multipliers.
    """
    some, sums = range(GROUPS if beta[2:].any() else 2), np.zeros((GROUPS, X.shape[1]))
    squares, size = 0.0, np.abs(beta)
    for part, entries in ArrayDesign(X[:, :, None]).blocks(CONVERTED):
        flat = entries[:, :, 0]
        squares += float(np.vdot(flat, flat))
        for k in some:  # four vector products are faster than one with such a small matrix
            sums[k] += beta[k, part] @ flat
    return {
        "sums": sums,
        "columns": beta @ Z,
        "sizes": size @ np.abs(Z),
        "labels": beta @ y,
        "slopes": beta.sum(axis=1),
        "squared_slopes": np.einsum("ij,ij->i", beta, beta),
        "tubes": size @ epsilon,
        "squared_norms": squares,
    }


@dataclass(frozen=True)
class PassSummary:
    """Sums over the samples that were not kept, and the rows of those that were kept.

    Sums are per group, with multipliers ``beta_i``: the slopes of the losses of the samples above
    (positive) and below (negative), and the largest and the smallest slope of those on a kink.
    """

    loss: float  # sum of the losses of all samples
    # (4, p*q), (4, k), (4, k): sums of ``beta_i X_i``, ``beta_i Z_i`` and ``|beta_i Z_i|`` of each
    # group, without the rows that were kept.
    sums: Array
    columns: Array
    sizes: Array
    # (4,): sums of ``beta_i y_i``, ``beta_i``, ``beta_i^2`` and ``|beta_i| epsilon_i`` of each
    # group, without the rows that were kept.
    labels: Array
    slopes: Array
    squared_slopes: Array
    tubes: Array
    squared_norms: float  # sum of ``||X_i||_F^2`` of all samples
    counts: Index  # histogram of the distances from the kinks, of all samples of positive weight
    # Index of the first sample that is not finite or too large; infinite if there is none.
    bad: float
    X: list[NDArray[Any]]  # each (k, p*q): the rows that were kept, in the dtype of the samples
    Z: list[Array]  # each (k, m): their columns without a penalty; empty without covariates
    rows: NDArray[Any]  # of dtype ROW: their labels, weights, multipliers, ...
    most: int  # largest number of rows; there are up to twice as many until :meth:`capped`
    limit: float  # all samples with a smaller key were kept

    @property
    def gradient(self) -> tuple[Array, Array]:
        """Minus the derivatives of the total loss with respect to W (p*q,) and gamma (k,)."""
        every = self.with_rows(np.ones(len(self.rows), dtype=bool))
        return every["sums"][:2].sum(axis=0), every["columns"][:2].sum(axis=0)

    def with_rows(self, some: Mask) -> dict[str, Any]:
        """The sums, with some of the kept rows added; `some` is a mask of the rows."""
        every = {name: getattr(self, name).copy() for name in SUMS}
        ends = np.cumsum([len(part) for part in self.X])[:-1]
        parts = zip(self.X, np.split(self.rows, ends), np.split(some, ends), strict=True)
        for k, (X, rows, own) in enumerate(parts):
            if own.any():
                beta, y = np.ascontiguousarray(rows["beta"][own].T), rows["y"][own]
                Z = self.Z[k][own] if self.Z else np.ones((len(y), self.columns.shape[1]))
                added = added_up(beta, X[own], Z, y, rows["tube"][own])
                for name in SUMS:
                    every[name] += added[name]
        return every

    def merge(self, other: PassSummary) -> PassSummary:
        """The summary of two parts of the samples together."""
        added = (*SUMS, "squared_norms", "loss", "counts", "X", "Z")
        both = replace(
            self,
            **{name: getattr(self, name) + getattr(other, name) for name in added},
            bad=min(self.bad, other.bad),
            rows=np.concatenate([self.rows, other.rows]),
            limit=min(self.limit, other.limit),
        )
        # Capping is rare, as it copies all rows.
        return both.capped() if len(both.rows) > 2 * self.most else both

    def capped(self) -> PassSummary:
        """The summary with at most `most` rows: those with the smallest keys."""
        if len(self.rows) <= self.most:
            return self
        # Among equal keys the choice is pseudo-random, but depends only on the samples' indices.
        order = np.lexsort((spread_out(self.rows["index"]), self.rows["key"]))
        kept = np.zeros(len(order), dtype=bool)
        kept[order[: self.most]] = True
        ends = np.cumsum([len(part) for part in self.X])[:-1]
        stays = np.split(kept, ends)
        return replace(
            self,
            **self.with_rows(~kept),
            X=[part[stay] for part, stay in zip(self.X, stays, strict=True) if stay.any()],
            Z=[part[stay] for part, stay in zip(self.Z, stays, strict=False) if stay.any()],
            rows=self.rows[kept],
            limit=min(self.limit, float(self.rows["key"][order[self.most]])),
        )

    def sorted(self) -> tuple[Array, Array | None, NDArray[Any]]:
        """The kept rows in the order of samples: entries (k, p*q), columns (k, m) or None, rest."""
        order = np.argsort(self.rows["index"], kind="stable")
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        X = np.empty((len(order), self.sums.shape[1]))
        start = 0
        for part in self.X:
            X[place[start : start + len(part)]] = part
            start += len(part)
        Z = np.concatenate(self.Z)[order] if self.Z else None
        return X, Z, self.rows[order]
