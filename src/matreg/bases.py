"""Penalties in other bases of the rows and columns.

With matrices L of shape (p, k) and R of shape (l, q) the coefficients are ``W = L V R``, and the
penalty is that of V: ``tau ||V||_*`` is small if W is of low rank and made of the long columns of L
and the long rows of R. As ``<X, L V R> = <L'X R', V>``, the problem in V is one with the samples
``L'X R'``, for any loss and any solver, with the same dual variables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._typing import Array, Index
from .data.blocks import Blocks
from .data.moments import Moments
from .data.samples import Block, SampleSet
from .design import Design
from .known_structure import graph_basis as graph_basis
from .known_structure import smooth_basis as smooth_basis
from .known_structure import whitening as whitening
from .linalg.factors import Factors, svd


@dataclass(frozen=True)
class Bases:
    """Bases of the rows and columns of coefficients ``W = L V R``.

    Examples
    --------
    >>> import numpy as np
    >>> bases = Bases(left=np.diag([1.0, 2.0]))
    >>> bases.image(np.ones((2, 3)))
    array([[1., 1., 1.],
           [2., 2., 2.]])
    """

    left: Array | None = None  # (p, k): L; None is the identity
    right: Array | None = None  # (l, q): R; None is the identity
    # (p, q): factors of the weights of the absolute entries, if the penalty has any; None is ones.
    entries: Array | None = None

    def shape(self, p: int, q: int) -> tuple[int, int]:
        """Shape (k, l) of V for coefficients of shape (p, q)."""
        for name, basis, axis, size in (("left", self.left, 0, p), ("right", self.right, 1, q)):
            if basis is not None and (basis.ndim != 2 or basis.shape[axis] != size):
                raise ValueError(
                    f"the {name} basis must have {size} {('rows', 'columns')[axis]} for samples of "
                    f"shape ({p}, {q}); it has the shape {basis.shape}."
                )
        k = p if self.left is None else self.left.shape[1]
        return k, q if self.right is None else self.right.shape[0]

    def image(self, X: Array) -> Array:
        """``L'X R'`` of a matrix (p, q) or of a stack of them."""
        if self.left is not None:
            X = np.matmul(self.left.T, X)
        return X if self.right is None else np.matmul(X, self.right.T)

    def expand(self, V: Array) -> Array:
        """``L V R``, of shape (p, q)."""
        return np.asarray(product(product(self.left, V), self.right))

    def invert(self, W: Array) -> Array:
        """The V of ``W = L V R``, or of the nearest W that is in the bases."""
        if self.left is not None:
            W = np.asarray(np.linalg.lstsq(self.left, W, rcond=None)[0], dtype=np.float64)
        if self.right is not None:
            W = np.asarray(np.linalg.lstsq(self.right.T, W.T, rcond=None)[0].T, dtype=np.float64)
        return W

    def inside(self, outer: Bases) -> Bases:
        """Bases of ``W = Lo (L V R) Ro``, for coefficients that are in other bases already."""
        return Bases(product(outer.left, self.left), product(self.right, outer.right))

    @property
    def plain(self) -> bool:
        """Whether both are identities."""
        return self.left is None and self.right is None

    def restore(self, V: Factors) -> Factors:
        """``L V R`` in factors, of the rank of V unless the bases lose some of it."""
        if self.plain:
            return V
        r = V.rank
        rows, columns = V.U[:, :r] * V.d[:r], V.Vt[:r]
        Q, small = np.linalg.qr(np.asarray(product(self.left, rows)))
        P, other = np.linalg.qr(np.asarray(product(columns, self.right)).T)
        f = svd(small @ other.T)
        return Factors(Q @ f.U, f.d, f.Vt @ P.T)


PLAIN = Bases()


def product(A: Array | None, B: Array | None) -> Array | None:
    """``A B``, where None is the identity."""
    return B if A is None else A if B is None else A @ B


def samples_in(samples: SampleSet, bases: Bases) -> Any:
    """Samples ``L'X_i R'``: a copy of those in memory, or computed whenever a block is read."""
    if bases.plain:
        return samples
    if (own := samples.in_memory) is not None:
        return replace(own, X=images(own.design, bases), equal=None)
    if isinstance(samples, Moments):
        p, q = bases.shape(samples.p, samples.q)
        G = moments_in(samples.moments, bases, (samples.p, samples.q))
        return replace(samples, moments=G, p=p, q=q)
    return BasisBlocks(samples, bases)


def images(design: Design, bases: Bases) -> Array:
    """All samples ``L'X_i R'``, in float64."""
    k, l = bases.shape(design.p, design.q)
    out = np.empty((design.n, k, l))
    for part, X in design.blocks():
        out[part] = bases.image(X)
    return out


def moments_in(G: Array, bases: Bases, shape: tuple[int, int]) -> Array:
    """Second moments of ``(vec(L'X_i R'), ...)`` from those of ``(vec(X_i), ...)``.

    G (pq + k, pq + k) has the moments of the entries, row by row, and of k other numbers.
    """
    p, q = shape
    L = np.eye(p) if bases.left is None else bases.left
    R = np.eye(q) if bases.right is None else bases.right
    T = np.kron(L.T, R)
    m, k = T.shape[0], len(G) - p * q
    out = np.empty((m + k, m + k))
    out[:m, :m] = T @ G[: p * q, : p * q] @ T.T
    out[:m, m:] = T @ G[: p * q, p * q :]
    out[m:, :m], out[m:, m:] = out[:m, m:].T, G[p * q :, p * q :]
    return out


@dataclass(frozen=True)
class ScanInBases:
    """A scan of blocks with samples ``L'X_i R'``."""

    scan: Callable[[Block], Any]
    bases: Bases
    shape: tuple[int, int]

    def __call__(self, block: Block) -> Any:
        """The scan of a block in the bases."""
        return self.scan(self.block(block))

    def block(self, block: Block) -> Block:
        """The block in the bases."""
        X = self.bases.image(block.X.reshape(-1, *self.shape).astype(np.float64, copy=False))
        return block._replace(X=np.ascontiguousarray(X).reshape(len(X), -1))


class BasisBlocks(Blocks):
    """Samples ``L'X_i R'`` of data that are read block by block."""

    def __init__(self, source: Any, bases: Bases) -> None:
        self.source, self.bases = source, bases
        self.n, self.nbytes = source.n, source.nbytes
        self.p, self.q = bases.shape(source.p, source.q)
        self.given, self.rare, self.columns = source.given, source.rare, source.columns

    @property
    def rows_read(self) -> int:  # type: ignore[override]
        """Number of samples read so far."""
        return self.source.rows_read

    def part(self, rows: Index | None, y: Array) -> BasisBlocks:
        """All samples with other labels; those that are not in `rows` have weight zero."""
        return BasisBlocks(self.source.part(rows, y), self.bases)

    def _of(self, scan: Callable[[Block], Any]) -> ScanInBases:
        return ScanInBases(scan, self.bases, (self.source.p, self.source.q))

    def map_reduce(self, scan: Callable[[Block], Any], summary_bytes: int = 0) -> Any:
        """Merged summaries of all blocks: one pass."""
        return self.source.map_reduce(self._of(scan), summary_bytes)

    def map_rows(self, scan: Callable[[Block], Array], columns: int | None = None) -> Any:
        """One number per sample, or `columns` of them, in the order of the samples."""
        return self.source.map_rows(self._of(scan), columns)

    def sample(self, rows: int) -> tuple[Block, Index]:
        """About this number of samples from all over the data, and their indices."""
        block, index = self.source.sample(rows)
        return self._of(lambda block: block)(block), index

    def take(self, runs: list[tuple[int, int]]) -> tuple[Block, Index]:
        """Samples of some runs (start, stop) in order, and their indices."""
        block, index = self.source.take(runs)
        return self._of(lambda block: block)(block), index
