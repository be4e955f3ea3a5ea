"""The sums of a pass for R-GLM with the squared loss: second moments, and a certificate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array, Index
from ...data.samples import Block
from ...data.units import largest

# Rows that are converted to float64 at a time.
PIECE = 2048


@dataclass(frozen=True)
class Moments:
    """Second moments of the samples, by fold."""

    # (folds, m + k + 2, m + k + 2): Gram matrices of ``sqrt(s_i) (vec(X_i), 1, Z_i, y_i)``, with k
    # covariates, of the folds.
    G: Array
    sizes: Array  # (3,): sizes of the largest entry, label and weight
    bad: float  # index of the first sample that is not finite, infinite if all are

    def merge(self, other: Moments) -> Moments:
        """Moments of two parts of the samples."""
        with np.errstate(over="ignore", invalid="ignore"):  # the sizes tell
            G = self.G + other.G
        return Moments(G, np.maximum(self.sizes, other.sizes), min(self.bad, other.bad))


@dataclass(frozen=True)
class MomentScan:
    """Moments of a block."""

    folds: Index | None = None  # (n,): fold of each sample
    count: int = 1  # number of folds

    def __call__(self, block: Block) -> Moments:
        """Moments of a block, of which some rows are converted to float64 at a time."""
        order = block.X.shape[1] + 2 + (0 if block.Z is None else block.Z.shape[1])
        G, bad = np.zeros((self.count, order, order)), np.inf
        sizes = np.array([0.0, largest(block.y), largest(block.weights)])
        for start in range(0, len(block.y), PIECE):
            piece = block.part(start, start + PIECE)
            high, low = float(piece.X.max()), float(piece.X.min())  # NaN if an entry is
            sizes[0] = max(sizes[0], high, -low)
            if not (np.isfinite(high) and np.isfinite(low)):
                wrong = ~np.isfinite(piece.X).all(axis=1)
                bad = min(bad, piece.start + int(np.argmax(wrong)))
            with np.errstate(over="ignore", invalid="ignore"):  # what is wrong is reported
                self.add(piece, G)
        return Moments(G, sizes, bad)

    def add(self, piece: Block, G: Array) -> None:
        """Add the moments of some rows to those of their folds."""
        n, m = piece.X.shape
        rows = np.ones((n, G.shape[1]))
        rows[:, :m], rows[:, -1] = piece.X, piece.y
        if piece.Z is not None:
            rows[:, m + 1 : -1] = piece.Z
        rows *= np.sqrt(piece.weights)[:, None]
        if self.folds is None:
            G[0] += rows.T @ rows
            return
        fold = self.folds[piece.start : piece.start + n]
        for k in np.unique(fold):
            some = rows[fold == k]
            G[k] += some.T @ some


@dataclass(frozen=True)
class Sums:
    """Sums over all samples that a certificate needs, for several coefficients."""

    # (taus,): sums of ``s r^2`` and ``s y r``.
    rr: Array
    yr: Array
    r: Array  # (taus, k): sums of ``s r`` times the columns without a penalty
    Z: Array  # (taus, m): sums of ``s r X``
    # (taus, k + 1): their sizes, to which rounding is relative: sums of ``s (|y| + |<W, X>| + |fit
    # of the columns|)`` times the sizes of the columns and, last, times ``|X|``.
    sizes: Array
    own: Array  # (taus,): sums of ``s |r| |X|``

    def merge(self, other: Sums) -> Sums:
        """Sums over two parts of the samples."""
        names = ("rr", "yr", "r", "Z", "sizes", "own")
        return Sums(*(getattr(self, name) + getattr(other, name) for name in names))


@dataclass(frozen=True)
class CertificateScan:
    """Sums over a block, at coefficients W (taus, m) and gamma (taus, k)."""

    W: Array
    gamma: Array
    fit_intercept: bool

    def __call__(self, block: Block) -> Sums:
        """Sums over a block."""
        samples, y = block.design, block.y
        columns = block.basis(self.fit_intercept).columns(len(y))
        fitted, beside = samples.forward_each(*self.W), self.gamma @ columns.T
        r = y - fitted - beside
        sr = block.weights * r
        Z = samples.adjoint_each(*sr)[:, :, 0]
        size = block.weights * (np.abs(y) + np.abs(fitted) + np.abs(beside))
        sizes = size @ np.column_stack([np.abs(columns), samples.norms])
        own = np.abs(sr) @ samples.norms
        return Sums(np.einsum("ij,ij->i", r, sr), sr @ y, sr @ columns, Z, sizes, own)


@dataclass(frozen=True)
class DualRows:
    """Dual variables ``t s_i (r_i - <step, X_i> - Z_i'dgamma)`` of the samples of a block.

    The residuals ``r_i`` are those of W and gamma, whose sums are known; with the step added to W
    their rounding would be another one.
    """

    W: Array
    gamma: Array
    step: Array
    dgamma: Array
    fit_intercept: bool
    t: float

    def __call__(self, block: Block) -> Array:
        """Dual variables of the samples of a block."""
        forward, basis = block.design.forward, block.basis(self.fit_intercept)
        r = block.y - forward(self.W) - basis.times(self.gamma)
        r = r - (forward(self.step) + basis.times(self.dgamma))
        return np.asarray(self.t * block.weights * r)
