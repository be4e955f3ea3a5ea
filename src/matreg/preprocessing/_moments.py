"""Mean and variance of each unit in one pass over blocks of samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array
from ..data.samples import Block


@dataclass(frozen=True)
class Moments:
    """Number, mean and squared deviations of the entries that share a unit; two of them merge."""

    # Number of observed entries, their mean, and the sum of their squared deviations from it.
    count: Array
    mean: Array
    squares: Array

    def merge(self, other: Moments) -> Moments:
        """Moments of both parts together."""
        count = self.count + other.count
        share = other.count / np.maximum(count, 1.0)
        step = other.mean - self.mean
        squares = self.squares + other.squares + step**2 * self.count * share
        return Moments(count, self.mean + step * share, squares)

    @property
    def std(self) -> Array:
        """Standard deviation of each unit."""
        return np.sqrt(self.squares / np.maximum(self.count, 1.0))


@dataclass(frozen=True)
class MomentsOf:
    """Reduces a block of samples to the moments of its units."""

    shape: tuple[int, int]  # (p, q)
    axes: tuple[int, ...]  # axes of (n, p, q) along which entries share a unit

    def __call__(self, block: Block) -> Moments:
        """Moments of the entries of a block; NaN are left out."""
        X = block.X.reshape(-1, *self.shape).astype(np.float64, copy=False)
        known = ~np.isnan(X)
        count = known.sum(axis=self.axes, keepdims=True).astype(np.float64)
        mean = X.sum(axis=self.axes, keepdims=True, where=known) / np.maximum(count, 1.0)
        squares = np.square(X - mean).sum(axis=self.axes, keepdims=True, where=known)
        return Moments(count[0], mean[0], squares[0])
