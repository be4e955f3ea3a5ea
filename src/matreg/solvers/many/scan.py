"""One pass over the samples: what is seen of them at a given W and b.

At (W, b) the samples near a kink of their loss are kept as they are. Of the others only sums are:

* their slopes' sums ``G = sum beta_i X_i`` and ``g = sum beta_i``, for the exact gradient;
* the two groups "above" and "below", in which all multipliers move together.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array, Index
from ...blocks import Block
from ...losses import PiecewiseLoss
from .ramps import edge_distances
from .sums import spread_out

# Labels and weights of some samples to their losses; it travels to the workers of a cluster.
LossOf = Callable[[Array, Array], PiecewiseLoss]

# Edges of the histogram of distances, relative to the scale of the residuals.
EDGES = np.geomspace(1e-9, 1e3, 241)


@dataclass(frozen=True)
class ScanSettings:
    """Numbers of a pass.

    Attributes
    ----------
    piece : int
        Rows that are treated at a time, in float64.
    heavy : float
        Weights above this multiple of the mean are no part of any group or sample.
    most : float
        A block may keep at most this multiple of its share of the rows.
    """

    piece: int = 2048
    heavy: float = 20.0
    most: float = 3.0


DEFAULT = ScanSettings()


@dataclass(frozen=True)
class Lens:
    """Where to look and what to keep.

    Attributes
    ----------
    W : ndarray of shape (p*q,)
        Coefficients.
    b : float
        Intercept.
    loss_of : callable
        Labels and weights to losses.
    near : float
        Distance from a kink up to which every sample is kept.
    far : float
        Distance up to which some are: at distance x with probability ``near / x``. Not larger than
        `near` for none.
    rows, n : int
        Number of rows to keep of all, and number of all.
    mean_weight : float
        Mean of the sample weights.
    unit : float
        Scale of the residuals, for the histogram.
    seed : int
        Of the sampling, which is a function of the index of a sample and nothing else.
    settings : ScanSettings, default=DEFAULT
        Numbers of the pass.
    """

    W: Array
    b: float
    loss_of: LossOf
    near: float
    far: float
    rows: int
    n: int
    mean_weight: float
    unit: float
    seed: int
    settings: ScanSettings = DEFAULT

    @property
    def graded(self) -> bool:
        """Whether samples beyond `near` may be kept, too."""
        return self.far > self.near

    def __call__(self, block: Block) -> Seen:
        """Look at a block."""
        whole = nothing_seen(len(self.W))
        rows = self.settings.piece
        for start in range(0, len(block.y), rows):
            part = slice(start, start + rows)
            index = block.start + np.arange(len(block.y))[part]
            piece = self.look(block.X[part], block.y[part], block.weights[part], index)
            whole = whole.merge(piece)
        return whole

    def look(self, X: NDArray[Any], y: Array, weights: Array, index: Index) -> Seen:
        """Look at a few rows."""
        F = X.astype(np.float64, copy=False)
        with np.errstate(invalid="ignore"):  # samples that are not finite are reported
            r = y - F @ self.W - self.b
        bad = index[~np.isfinite(r)]
        loss = self.loss_of(y, weights)
        beta = loss.gradient(r)
        distance = edge_distances(loss, r)
        distance = np.where(weights > self.settings.heavy * self.mean_weight, 0.0, distance)
        keep = self.probability(distance)
        kept = spread_out(index + self.seed) < keep
        # The slopes above and below of what is not sure to be kept, and those of what is.
        grouped = np.where(keep < 1.0, beta, 0.0)
        columns = np.stack([np.maximum(grouped, 0.0), np.minimum(grouped, 0.0), beta - grouped])
        with np.errstate(invalid="ignore"):
            Z = columns @ F
        bins = np.searchsorted(EDGES * self.unit, distance[weights > 0.0])
        counts = np.bincount(bins, minlength=len(EDGES) + 1)
        return Seen(
            loss=loss.value(r) if len(bad) == 0 else np.nan,
            G=Z.sum(axis=0),
            g=float(beta.sum()),
            groups=Z[:2],
            labels=columns[:2] @ y,
            slopes=columns[:2].sum(axis=1),
            tubes=np.abs(columns[:2]) @ loss.epsilon,
            counts=counts,
            bad=int(bad[0]) if len(bad) else -1,
            X=[X[kept]],
            index=index[kept],
            y=y[kept],
            weights=weights[kept],
            keep=keep[kept],
        )

    def probability(self, distance: Array) -> Array:
        """With what probability a sample is kept."""
        keep = np.where(distance <= self.near, 1.0, 0.0)
        if self.graded:
            some = (distance > self.near) & (distance <= self.far)
            keep = np.where(some, self.near / np.where(some, distance, 1.0), keep)
        ours = self.settings
        most = ours.most * self.rows * len(distance) / self.n + ours.piece / 8
        if keep.sum() <= most:
            return keep
        if self.graded:
            return keep * (most / keep.sum())
        nearest = np.argpartition(distance, int(most))[: int(most)]
        keep[:] = 0.0
        keep[nearest] = 1.0
        return keep


@dataclass(frozen=True)
class Seen:
    """Sums over some samples, and the rows that were kept. Two of them merge in any order.

    Attributes
    ----------
    loss, G, g : float, ndarray (p*q,), float
        Sums of the losses, of ``beta_i X_i`` and of ``beta_i``, over all samples.
    groups, labels, slopes, tubes : ndarray (2, p*q), (2,), (2,), (2,)
        Sums of ``beta_i X_i``, ``beta_i y_i``, ``beta_i`` and ``|beta_i| epsilon_i`` over the
        samples above and below that are not sure to be kept.
    counts : ndarray of int
        Histogram of the distances from the kinks, of the samples of positive weight.
    bad : int
        Index of the first sample that is not finite, -1 if all are.
    X, index, y, weights, keep : list of ndarray (k, p*q), ndarray (k,) ...
        The rows that were kept, their indices, labels, weights and the probabilities of it.
    """

    loss: float
    G: Array
    g: float
    groups: Array
    labels: Array
    slopes: Array
    tubes: Array
    counts: Index
    bad: int
    X: list[NDArray[Any]]
    index: Index
    y: Array
    weights: Array
    keep: Array

    def merge(self, other: Seen) -> Seen:
        """What is seen of two parts of the samples."""
        found = [bad for bad in (self.bad, other.bad) if bad >= 0]
        return Seen(
            self.loss + other.loss,
            self.G + other.G,
            self.g + other.g,
            self.groups + other.groups,
            self.labels + other.labels,
            self.slopes + other.slopes,
            self.tubes + other.tubes,
            self.counts + other.counts,
            min(found, default=-1),
            self.X + other.X,
            np.concatenate([self.index, other.index]),
            np.concatenate([self.y, other.y]),
            np.concatenate([self.weights, other.weights]),
            np.concatenate([self.keep, other.keep]),
        )

    def rows(self) -> tuple[Array, Seen]:
        """The rows that were kept, in float64 and in order, with the rest sorted like them."""
        order = np.argsort(self.index, kind="stable")
        parts = [part for part in self.X if len(part)]
        X = np.concatenate(parts)[order].astype(np.float64) if parts else np.zeros((0, len(self.G)))
        fields = ("index", "y", "weights", "keep")
        return X, replace(self, X=[], **{name: getattr(self, name)[order] for name in fields})


def nothing_seen(size: int) -> Seen:
    """What is seen of no samples of `size` numbers: merged with another one it changes nothing."""
    none = np.zeros(0)
    two, counts = np.zeros(2), np.zeros(len(EDGES) + 1, dtype=np.intp)
    return Seen(
        loss=0.0,
        G=np.zeros(size),
        g=0.0,
        groups=np.zeros((2, size)),
        labels=two,
        slopes=two,
        tubes=two,
        counts=counts,
        bad=-1,
        X=[],
        index=np.zeros(0, dtype=np.intp),
        y=none,
        weights=none,
        keep=none,
    )


def width_for(counts: Array, unit: float, rows: int, far: float) -> float:
    """The `near` with which about so many rows are kept, from the histogram of the distances.

    Parameters
    ----------
    counts, unit : ndarray, float
        Histogram and its unit.
    rows : int
        Number of rows wanted.
    far : float
        Distance beyond which none is kept; 0 if none beyond `near`.
    """
    middle = unit * np.concatenate([EDGES[:1], np.sqrt(EDGES[1:] * EDGES[:-1]), EDGES[-1:]])

    def expected(near: float) -> float:
        keep = np.where(middle <= max(far, near), np.minimum(1.0, near / middle), 0.0)
        if far <= near:
            keep = np.where(middle <= near, 1.0, 0.0)
        return float(counts @ keep)

    found = [near for near in middle if expected(near) <= rows]
    return float(found[-1]) if found else float(middle[0])
