"""The matrix K of the box-constrained quadratic problems, dense or as a product.

With more samples than coordinates ``K = Phi Phi' + diag(diagonal)`` is never formed: products with
K take ``n d`` numbers instead of ``n^2``, and a system of the few free samples is formed from their
rows of Phi.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array, Index
from ...linalg.bordered import Solve, shifted, system


class DenseKernel:
    """K (n, n) as an array.

    Examples
    --------
    >>> import numpy as np
    >>> K = DenseKernel(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> K.times(np.array([1.0, 0.0]))
    array([2., 1.])
    """

    def __init__(self, K: Array) -> None:
        self.K, self.n = K, len(K)
        self._work: Array | None = None

    def times(self, x: Array) -> Array:
        """``K x``."""
        return self.K @ x

    def block(self, rows: Index, columns: Index) -> Array:
        """``K[rows][:, columns]``."""
        return self.K.take(rows, axis=0).take(columns, axis=1)

    def plus(self, diagonal: Array) -> DenseKernel:
        """``K + diag(diagonal)``."""
        K = self.K.copy()
        np.einsum("ii->i", K)[:] += diagonal
        return DenseKernel(K)

    def solver(self, D: Array) -> Solve:
        """Solver of ``(K + diag(D)) x = rhs``."""
        if self._work is None:  # allocating memory each time is slow
            self._work = np.empty_like(self.K)
        np.copyto(self._work, self.K)
        return shifted(self._work, D)


class FactoredKernel:
    """K as a product and a diagonal, ``Phi Phi' + diag(diagonal)``.

    Phi (n, d) holds the coordinates of the samples; the diagonal is at least 0.

    Examples
    --------
    >>> import numpy as np
    >>> K = FactoredKernel(np.array([[1.0], [1.0], [2.0]]), np.ones(3))
    >>> K.times(np.array([1.0, 0.0, 0.0]))
    array([2., 1., 2.])
    """

    def __init__(self, Phi: Array, diagonal: Array) -> None:
        self.Phi, self.diagonal, self.n = Phi, diagonal, len(Phi)

    def times(self, x: Array) -> Array:
        """``K x``."""
        return self.Phi @ (self.Phi.T @ x) + (self.diagonal * x.T).T

    def block(self, rows: Index, columns: Index) -> Array:
        """``K[rows][:, columns]``."""
        left = self.Phi[rows]
        # The product of a matrix with itself takes half the time of other products.
        out = left @ (left if rows is columns else self.Phi[columns]).T
        row, column = np.nonzero(rows[:, None] == columns)
        out[row, column] += self.diagonal[rows[row]]
        return out

    def plus(self, diagonal: Array) -> FactoredKernel:
        """``K + diag(diagonal)``."""
        return FactoredKernel(self.Phi, self.diagonal + diagonal)

    def solver(self, D: Array) -> Solve:
        """Solver of ``(K + diag(D)) x = rhs``, by a system of order d."""
        return system(self.Phi, D + self.diagonal, refine=False)


Kernel = DenseKernel | FactoredKernel
"""A symmetric positive semidefinite matrix K of order n."""
