"""The samples as one linear operator.

Solvers see samples through the protocol :class:`Design` alone: a class with its methods is a new
kind of data.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ._typing import Array

# Entries that are copied, or converted to float64, at a time: they stay in cache.
CONVERTED = 2**18
# Matrices up to which a product with one after the other, of samples in cache, takes less time than
# one with all of them.
FEW = 4


def slices(n: int, m: int, *, entries: int = 2**15, least: int = 1) -> Iterator[slice]:
    """Slices of n rows of m entries with about so many entries, by default so few that they stay in
    the cache, and at least so many rows.
    """
    rows = max(least, entries // max(m, 1))
    return (slice(i, min(i + rows, n)) for i in range(0, n, rows))


class Design(Protocol):
    """Linear map ``A : W -> (<X_i, W>)_i`` of n samples of shape (p, q)."""

    n: int
    p: int
    q: int

    @property
    def size(self) -> int:
        """Number of all entries, ``n p q``."""
        ...

    def forward(self, W: Array) -> Array:
        """``(<X_i, W>)_i``, of shape (n,)."""
        ...

    def forward_each(self, *Ws: Array) -> Array:
        """Images of k matrices in one pass over the samples, of shape (k, n)."""
        ...

    def adjoint(self, beta: Array) -> Array:
        """``sum_i beta_i X_i``, of shape (p, q)."""
        ...

    def take(self, index: NDArray[Any] | slice) -> Design:
        """Some of the samples, in memory."""
        ...

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Slices with their samples (k, p, q) in float64, few enough to stay in cache.

        The samples may be in the same array each time: the next slice overwrites them.
        """
        ...

    def stack(self) -> Array:
        """All samples (n, p, q) in float64."""
        ...

    @property
    def gram(self) -> Array:
        """Inner products ``<X_i, X_j>``, of shape (n, n)."""
        ...

    @property
    def norms(self) -> Array:
        """Frobenius norms of the samples, of shape (n,)."""
        ...

    @property
    def norm(self) -> float:
        """Largest singular value of the map."""
        ...


class ArrayDesign:
    """Samples in an array.

    Parameters
    ----------
    X : ndarray of shape (n, p, q)
        The samples, C-contiguous. They are not copied and keep their dtype; products are in
        float64, for which samples of another dtype are converted piece by piece.

    Examples
    --------
    >>> import numpy as np
    >>> design = ArrayDesign(np.arange(12.0).reshape(2, 2, 3))
    >>> design.forward(np.ones((2, 3)))
    array([15., 51.])
    >>> design.adjoint(np.array([1.0, -1.0]))
    array([[-6., -6., -6.],
           [-6., -6., -6.]])
    """

    def __init__(self, X: NDArray[Any]) -> None:
        self.X = X
        self.n, self.p, self.q = X.shape
        self.size = X.size
        self._flat = X.reshape(self.n, self.p * self.q)
        self._double = X.dtype == np.float64

    def forward(self, W: Array) -> Array:
        """``(<X_i, W>)_i``."""
        return self._flat @ W.reshape(-1) if self._double else self.forward_each(W)[0]

    def forward_each(self, *Ws: Array) -> Array:
        """Images of several matrices in one pass over the samples, one row per matrix."""
        columns, out = np.stack([W.reshape(-1) for W in Ws]), np.empty((len(Ws), self.n))
        for part, X in self.blocks(CONVERTED):
            rows = X.reshape(len(X), -1)
            if len(Ws) > FEW:
                np.matmul(columns, rows.T, out=out[:, part])
                continue
            for image, column in zip(out, columns, strict=True):
                np.matmul(rows, column, out=image[part])
        return out

    def adjoint(self, beta: Array) -> Array:
        """``sum_i beta_i X_i``."""
        return self.adjoint_each(beta)[0]

    def adjoint_each(self, *betas: Array) -> Array:
        """Sums of k multipliers in one pass over the samples, of shape (k, p, q)."""
        rows = np.array(betas)
        if self._double:
            out = rows @ self._flat
        else:
            out = np.zeros((len(betas), self.p * self.q))
            for part, X in self.blocks(CONVERTED):
                out += rows[:, part] @ X.reshape(len(X), -1)
        return out.reshape(-1, self.p, self.q)

    def take(self, index: NDArray[Any] | slice) -> Self:
        """Some of the samples."""
        return type(self)(self.X[index])

    def blocks(self, entries: int = 2**16) -> Iterator[tuple[slice, Array]]:
        """Slices of about so many entries with their samples in float64."""
        room: Array | None = None
        for part in slices(self.n, self.p * self.q, entries=entries):
            X = self.X[part]
            if not self._double:
                # One array for all: new ones are slow where memory goes back to the system at once.
                room = np.empty(X.shape) if room is None else room[: len(X)]
                room[:] = X
                X = room
            yield part, X

    def stack(self) -> Array:
        """All samples in float64."""
        return self.X.astype(np.float64, copy=False)

    @cached_property
    def gram(self) -> Array:
        """Inner products ``<X_i, X_j>``."""
        flat = self.stack().reshape(self.n, self.p * self.q)
        return flat @ flat.T

    @cached_property
    def norms(self) -> Array:
        """Frobenius norms of the samples."""
        out = np.empty(self.n)
        for part, X in self.blocks():
            flat = X.reshape(len(X), -1)
            out[part] = np.sqrt(np.einsum("ij,ij->i", flat, flat))
        return out

    @cached_property
    def norm(self) -> float:
        """Largest singular value of the map."""
        if self.n <= self.p * self.q:
            small = self.gram
        else:
            flat = self.stack().reshape(self.n, self.p * self.q)
            small = flat.T @ flat
        if not np.isfinite(small).all():  # squares of huge numbers
            return float("inf")
        return float(np.sqrt(max(np.linalg.eigvalsh(small)[-1], 0.0)))
