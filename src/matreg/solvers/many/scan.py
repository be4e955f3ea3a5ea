"""One pass over the samples at a given W and b.

The samples near a kink of their loss are kept as they are. Of all of them, sums by side: "above"
and "below", where the slopes of their losses are positive and negative.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array, Index
from ...blocks import Block
from ...losses import PiecewiseLoss
from .ramps import edge_distances
from .seen import ROW, Seen
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
        Weights above this multiple of the mean count as lying on a kink: no part of any group.
    """

    piece: int = 2048
    heavy: float = 20.0


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
    most : int
        Rows to keep at most; if there are more, `near` is made smaller.
    mean_weight : float
        Mean of the sample weights.
    unit : float
        Scale of the residuals, for the histogram.
    rounding : float
        Residuals this near to a kink are on it.
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
    most: int
    mean_weight: float
    unit: float
    rounding: float
    seed: int
    settings: ScanSettings = DEFAULT

    @property
    def graded(self) -> bool:
        """Whether samples beyond `near` may be kept, too."""
        return self.far > self.near

    @property
    def nothing(self) -> Seen:
        """What is seen of no samples: merged with another one it changes nothing."""
        two = np.zeros(2)
        return Seen(
            loss=0.0,
            sums=np.zeros((2, len(self.W))),
            labels=two,
            slopes=two,
            tubes=two,
            members=np.zeros(2, dtype=np.intp),
            counts=np.zeros(len(EDGES) + 1, dtype=np.intp),
            bad=-1,
            X=[],
            rows=np.zeros(0, dtype=ROW),
            most=self.most,
            limit=self.near,
        )

    def __call__(self, block: Block) -> Seen:
        """Look at a block."""
        whole, rows = self.nothing, self.settings.piece
        for start in range(0, len(block.y), rows):
            part = slice(start, start + rows)
            piece = Block(block.start + start, block.X[part], block.y[part], block.weights[part])
            whole = whole.merge(self.look(piece))
        return whole

    def look(self, piece: Block) -> Seen:
        """Look at a few rows."""
        F = piece.X.astype(np.float64, copy=False)
        y, weights = piece.y, piece.weights
        index = piece.start + np.arange(len(y))
        with np.errstate(invalid="ignore"):  # samples that are not finite are reported
            r = y - F @ self.W - self.b
            loss = self.loss_of(y, weights)
            beta, distance = self.slopes(loss, r)
            sides = np.stack([np.maximum(beta, 0.0), np.minimum(beta, 0.0)])
            sums = sides @ F
            heavy = weights > self.settings.heavy * self.mean_weight
            distance = np.where(heavy, self.rounding, distance)
            key = distance * spread_out(index + self.seed) if self.graded else distance
        bad = index[~np.isfinite(r)]
        kept = np.flatnonzero((key <= self.near) & (distance <= max(self.near, self.far)))
        columns = (index, y, weights, beta, distance, key)
        rows = np.empty(len(kept), dtype=ROW)
        for name, column in zip(ROW.names or (), columns, strict=True):
            rows[name] = column[kept]
        bins = np.searchsorted(EDGES * self.unit, distance[weights > 0.0])
        return Seen(
            loss=loss.value(r) if len(bad) == 0 else np.nan,
            sums=sums,
            labels=sides @ y,
            slopes=sides.sum(axis=1),
            tubes=np.abs(sides) @ loss.epsilon,
            members=np.count_nonzero(sides, axis=1),
            counts=np.bincount(bins, minlength=len(EDGES) + 1),
            bad=int(bad[0]) if len(bad) else -1,
            X=[piece.X[kept]],
            rows=rows,
            most=self.most,
            limit=self.near,
        )

    def slopes(self, loss: PiecewiseLoss, r: Array) -> tuple[Array, Array]:
        """Slopes at the residuals and distances from the nearest kink, none below `rounding`.

        On a kink the slope is zero, on whichever side of it rounding has put the residual.
        """
        distance = np.maximum(edge_distances(loss, r), self.rounding)
        return np.where(distance > self.rounding, loss.gradient(r), 0.0), distance


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
