"""One pass over the samples at a given W and gamma.

The samples near a kink of their loss are kept as they are. For all others, sums are accumulated in
four groups: above and below the tube, and on its upper and lower edge up to rounding. There may be
more samples on an edge than can be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ..._typing import Array
from ...data.samples import Block, spread_out
from ...data.units import LARGEST
from ...losses.piecewise import PiecewiseLoss
from .summary import GROUPS, ROW, PassSummary, added_up

# Labels and weights of some samples to their losses; it travels to the workers of a cluster.
LossOf = Callable[[Array, Array], PiecewiseLoss]

# Edges of the histogram of distances, relative to the scale of the residuals.
EDGES = np.geomspace(1e-9, 1e3, 241)
MIDDLES = np.concatenate([EDGES[:1], np.sqrt(EDGES[1:] * EDGES[:-1]), EDGES[-1:]])


@dataclass(frozen=True)
class PassSpec:
    """Where to evaluate the samples, and which of them to keep."""

    W: Array  # (p*q,): coefficients
    gamma: Array  # (k,): coefficients of the columns without a penalty
    fit_intercept: bool  # whether ones are that column, for blocks without covariates
    loss_of: LossOf  # labels and weights to losses
    near: float  # distance from a kink up to which every sample is kept
    # Distance up to which some samples are kept, at distance x with probability ``near / x``; none
    # if it is not larger than `near`.
    far: float
    floor: float  # samples nearer to a kink than this have the probability of this distance
    most: int  # largest number of rows to keep; if there are more, `near` is made smaller
    mean_weight: float  # mean of the sample weights
    unit: float  # scale of the residuals, for the histogram
    rounding: float  # residuals this near to a kink are on it
    seed: int  # seed of the sampling, which depends on nothing else but the index of a sample

    @property
    def graded(self) -> bool:
        """Whether some samples beyond `near` are kept, too."""
        return self.far > self.near

    def __call__(self, block: Block) -> PassSummary:
        """The summary of a block, piece by piece, so that the numbers of a piece stay in cache."""
        starts = range(0, max(len(block.y), 1), 2**13)
        return reduce(
            PassSummary.merge, (self.look(block.part(start, start + 2**13)) for start in starts)
        )

    def residuals(self, block: Block) -> Array:
        """Residuals of the samples of a block."""
        fitted = block.design.forward(self.W) + block.basis(self.fit_intercept).times(self.gamma)
        return np.asarray(block.y - fitted)

    def look(self, piece: Block) -> PassSummary:
        """The summary of some rows."""
        y, weights = piece.y, piece.weights
        index = piece.start + np.arange(len(y))
        # Samples that are not finite, or too large, are reported.
        with np.errstate(invalid="ignore", over="ignore"):
            r = self.residuals(piece)
            loss = self.loss_of(y, weights)
            beta, distance = self.groups(loss, r)
            # Heavy samples are kept, as if they were on a kink: no group holds them.
            heavy = weights > 20.0 * self.mean_weight
            apart = np.where(heavy, 0.0, np.maximum(distance, self.floor))
            key = apart * spread_out(index + self.seed) if self.graded else apart
            kept = np.flatnonzero((key <= self.near) & (apart <= max(self.near, self.far)))
            rows = np.empty(len(kept), dtype=ROW)
            columns = (index, y, weights, beta.T, loss.epsilon, apart, key)
            for name, column in zip(ROW.names or (), columns, strict=True):
                rows[name] = column[kept]
            beta[:, kept] = 0.0  # the sums are of the others
            Z = piece.basis(self.fit_intercept).columns(len(y))
            sums = added_up(beta, piece.X, Z, y, loss.epsilon)
            wrong = ~np.isfinite(r)
            if not sums["squared_norms"] <= LARGEST**2:
                wrong |= ~(np.abs(piece.X).max(axis=1) <= LARGEST)
        bad = index[wrong]
        bins = np.searchsorted(EDGES * self.unit, distance[weights > 0.0])
        return PassSummary(
            **sums,
            loss=loss.value(r) if len(bad) == 0 else np.nan,
            counts=np.bincount(bins, minlength=len(EDGES) + 1),
            bad=min(bad.tolist(), default=np.inf),
            X=[piece.X[kept]],
            Z=[] if piece.Z is None else [piece.Z[kept]],
            rows=rows,
            most=self.most,
            limit=self.near,
        )

    def groups(self, loss: PiecewiseLoss, r: Array) -> tuple[Array, Array]:
        """Multipliers (4, k) at the residuals in each group, and distances from the nearest kink.

        No distance is below `rounding`. On a kink the slope is zero: rounding decides on which side
        of it the residual is.
        """
        upper = (np.abs(r - loss.epsilon) <= self.rounding) & (loss.upper > 0.0)
        lower = (np.abs(r + loss.epsilon) <= self.rounding) & (loss.lower < 0.0)
        slope = np.where(upper | lower, 0.0, loss.gradient(r))
        beta = np.zeros((GROUPS, len(r)))
        np.maximum(slope, 0.0, out=beta[0])
        np.minimum(slope, 0.0, out=beta[1])
        beta[2, upper], beta[3, lower] = loss.upper[upper], loss.lower[lower]
        return beta, np.maximum(loss.distances(r), self.rounding)


def width_for(counts: Array, unit: float, rows: int, far: float, floor: float = 0.0) -> float:
    """The `near` with which about this number of rows is kept, from the histogram of the distances.

    The histogram has the counts of distances relative to `unit`; `far` and `floor` are those of
    :class:`PassSpec`.
    """
    middle = unit * MIDDLES

    def expected(near: float) -> float:
        if far <= near:
            return float(counts @ (middle <= near))
        keep = np.minimum(1.0, near / np.maximum(middle, floor))
        return float(counts @ np.where(middle <= far, keep, 0.0))

    found = [near for near in middle if expected(near) <= rows]
    return float(found[-1]) if found else float(middle[0])


def floor_for(counts: Array, unit: float, far: float) -> float:
    """The `floor` with which half of the rows are for samples on a kink, if there are many."""
    apart = unit * MIDDLES[1:]
    others = float(np.sum(np.where(apart <= far, counts[1:] / apart, 0.0)))
    return float(counts[0]) / others if others > 0.0 else far
