"""Equal samples, merged into one with the sum of their weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._typing import Array

# Samples from which on memory is dear.
MANY_SAMPLES = 20_000


@dataclass(frozen=True)
class Distinct:
    """Samples of positive weight, each once.

    Attributes
    ----------
    X, y, weights : ndarray
        Distinct samples with the sums of their weights.
    group : ndarray of shape (n,)
        For each of the n samples the index of its distinct one, -1 where the weight is zero.
    share : ndarray of shape (n,)
        What part each sample has in the weight of its distinct one.
    """

    X: Array
    y: Array
    weights: Array
    group: NDArray[np.intp]
    share: Array

    def gather(self, beta: Array) -> Array:
        """Dual variables of the distinct samples from those of all."""
        kept = self.group >= 0
        total = np.zeros(len(self.y))
        np.add.at(total, self.group[kept], beta[kept])
        return total

    def spread(self, beta: Array) -> Array:
        """Dual variables of all samples from those of the distinct ones."""
        return np.where(self.group >= 0, self.share * beta[self.group], 0.0)


def merge_duplicates(X: Array, y: Array, weights: Array) -> Distinct:
    """Merge equal samples, of which a bootstrap makes a third, and drop those of weight zero.

    Many samples stay as they are, for a copy of them would be large.
    """
    flat = X.reshape(len(X), -1)
    if len(y) >= MANY_SAMPLES and weights.min() > 0.0:
        return Distinct(X, y, weights, np.arange(len(y)), np.ones(len(y)))
    # Equal samples have equal sums: where none repeats there is nothing to compare.
    if weights.min() > 0.0 and len(np.unique(y + 1j * flat.sum(axis=1))) == len(y):
        return Distinct(X, y, weights, np.arange(len(y)), np.ones(len(y)))
    group = np.full(len(y), -1, dtype=np.intp)
    firsts: list[int] = []
    seen: dict[tuple[int, float], int] = {}
    for i in np.flatnonzero(weights > 0.0):
        g = seen.setdefault((hash(flat[i].tobytes()), y[i]), len(firsts))
        if g == len(firsts) or not np.array_equal(flat[firsts[g]], flat[i], equal_nan=True):
            g = len(firsts)
            firsts.append(int(i))
        group[i] = g
    if len(firsts) == len(y):
        return Distinct(X, y, weights, group, np.ones(len(y)))
    # In an order of their own, so that a solver whose rounding depends on it cannot tell weights
    # from copies.
    order = sorted(range(len(firsts)), key=lambda g: (y[firsts[g]], flat[firsts[g]].tobytes()))
    kept = group >= 0
    group[kept] = np.argsort(order)[group[kept]]
    total = np.zeros(len(firsts))
    np.add.at(total, group[kept], weights[kept])
    share = np.where(kept, weights / total[group], 0.0)
    index = np.array(firsts)[order]
    return Distinct(np.ascontiguousarray(X[index]), y[index], total, group, share)
