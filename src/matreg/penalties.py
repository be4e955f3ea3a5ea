"""Spectral penalties of the coefficient matrix, functions of its singular values alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Factors:
    """Thin singular value decomposition ``U diag(d) Vt`` of a matrix."""

    U: Array
    d: Array
    Vt: Array

    @property
    def matrix(self) -> Array:
        """The matrix itself; zero singular values are left out, so its rank is exact."""
        r = self.rank
        return (self.U[:, :r] * self.d[:r]) @ self.Vt[:r]

    @property
    def rank(self) -> int:
        """Number of positive singular values."""
        return int(np.count_nonzero(self.d))


def svd(Z: Array) -> Factors:
    """Thin singular value decomposition that does not give up on a finite matrix.

    That of one with overflows is not a number, and so no solution that anything is better than.
    """
    if not np.isfinite(Z).all():
        (p, q), r = Z.shape, min(Z.shape)
        return Factors(np.full((p, r), np.nan), np.full(r, np.nan), np.full((r, q), np.nan))
    try:
        return Factors(*np.linalg.svd(Z, full_matrices=False))
    except np.linalg.LinAlgError:  # divide and conquer failed: QR iteration is slower and surer
        import scipy.linalg

        return Factors(*scipy.linalg.svd(Z, full_matrices=False, lapack_driver="gesvd"))


def singular_values(Z: Array) -> Array:
    """Singular values in descending order."""
    if not np.isfinite(Z).all():
        return svd(Z).d
    try:
        return np.linalg.svdvals(Z).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return svd(Z).d


class SpectralElasticNet:
    """``ridge/2 ||W||_F^2 + tau ||W||_*``, with ``ridge`` 1 (RMR) or 0 (R-GLM).

    Parameters
    ----------
    tau : float
        Weight of the nuclear norm.
    ridge : float, default=1.0
        Weight of half the squared Frobenius norm.

    Examples
    --------
    >>> import numpy as np
    >>> penalty = SpectralElasticNet(tau=1.0)
    >>> W = np.diag([3.0, 0.5])
    >>> penalty.value(np.array([3.0, 0.5]))
    8.125
    >>> penalty.prox(W, step=0.5).matrix
    array([[1.66666667, 0.        ],
           [0.        , 0.        ]])
    """

    def __init__(self, tau: float, ridge: float = 1.0) -> None:
        self.tau = tau
        self.ridge = ridge

    def value(self, d: Array) -> float:
        """Penalty of a matrix with singular values `d`."""
        return float(0.5 * self.ridge * (d @ d) + self.tau * d.sum())

    def prox(self, Z: Array, step: float = 1.0) -> Factors:
        """Minimiser of ``step * penalty(W) + ||W - Z||_F^2 / 2``, in factors."""
        f = svd(Z)
        d = np.maximum(f.d - step * self.tau, 0.0) / (1.0 + step * self.ridge)
        return Factors(f.U, d, f.Vt)

    def conjugate(self, d: Array) -> float:
        """Conjugate at a matrix with singular values `d`, where it is finite.

        With a ridge it is ``||SVT_tau(Z)||_F^2 / (2 ridge)``; without, the indicator of the
        spectral ball of radius tau, in which :meth:`shrink_factor` brings a point.
        """
        if self.ridge == 0.0:
            return 0.0
        over = np.maximum(d - self.tau, 0.0)
        return float(over @ over) / (2.0 * self.ridge)

    def gradient_conjugate(self, Z: Array) -> Factors:
        """``SVT_tau(Z) / ridge``: the W that belongs to a dual point with ``A'beta = Z``."""
        f = svd(Z)
        return Factors(f.U, np.maximum(f.d - self.tau, 0.0) / self.ridge, f.Vt)

    def shrink_factor(self, d: Array) -> float:
        """Largest factor of at most 1 that brings a matrix into the domain of the conjugate."""
        largest = float(d.max(initial=0.0))
        if self.ridge > 0.0 or largest <= self.tau:
            return 1.0
        return self.tau / largest
