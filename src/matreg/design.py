"""The samples as one linear operator."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from ._typing import Array


class Design:
    """Linear map ``A : W -> (<X_i, W>)_i`` of samples held in memory.

    Parameters
    ----------
    X : ndarray of shape (n, p, q)
        The samples, C-contiguous and of dtype float64. They are not copied.

    Examples
    --------
    >>> import numpy as np
    >>> design = Design(np.arange(12.0).reshape(2, 2, 3))
    >>> design.forward(np.ones((2, 3)))
    array([15., 51.])
    >>> design.adjoint(np.array([1.0, -1.0]))
    array([[-6., -6., -6.],
           [-6., -6., -6.]])
    """

    def __init__(self, X: Array) -> None:
        self.X = X
        self.n, self.p, self.q = X.shape
        self.flat = X.reshape(self.n, -1)

    def forward(self, W: Array) -> Array:
        """``(<X_i, W>)_i``."""
        return self.flat @ W.reshape(-1)

    def forward_each(self, *Ws: Array) -> Array:
        """Images of several matrices in one pass over the samples, one a row."""
        return (self.flat @ np.stack([W.reshape(-1) for W in Ws], axis=1)).T

    def adjoint(self, beta: Array) -> Array:
        """``sum_i beta_i X_i``."""
        return (beta @ self.flat).reshape(self.p, self.q)

    @cached_property
    def gram(self) -> Array:
        """Matrix of the inner products ``<X_i, X_j>``."""
        return self.flat @ self.flat.T

    @cached_property
    def norm(self) -> float:
        """Largest singular value of the map."""
        small = self.gram if self.n <= self.p * self.q else self.flat.T @ self.flat
        return float(np.sqrt(max(np.linalg.eigvalsh(small)[-1], 0.0)))
