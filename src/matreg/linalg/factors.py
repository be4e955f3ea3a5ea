"""Matrices in factored form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Array


@dataclass(frozen=True)
class Factors:
    """Thin singular value decomposition ``U diag(d) Vt`` of a matrix (p, q).

    With k singular values d (k,), U has the shape (p, k) and Vt (k, q).
    """

    U: Array
    d: Array
    Vt: Array

    @property
    def matrix(self) -> Array:
        """The matrix (p, q); zero singular values are left out, so that its rank is exact."""
        r = self.rank
        return (self.U[:, :r] * self.d[:r]) @ self.Vt[:r]

    @property
    def rank(self) -> int:
        """Number of positive singular values."""
        return int(np.count_nonzero(self.d))


def zero_factors(p: int, q: int) -> Factors:
    """The zero matrix (p, q)."""
    return Factors(np.zeros((p, 0)), np.zeros(0), np.zeros((0, q)))


def svd(Z: Array) -> Factors:
    """Thin singular value decomposition that succeeds for every finite matrix.

    If Z is not finite, all factors are NaN, so that a tracker never prefers them.
    """
    if not np.isfinite(Z).all():
        (p, q), r = Z.shape, min(Z.shape)
        return Factors(np.full((p, r), np.nan), np.full(r, np.nan), np.full((r, q), np.nan))
    try:
        return Factors(*np.linalg.svd(Z, full_matrices=False))
    except np.linalg.LinAlgError:  # divide and conquer failed: QR iteration is more reliable
        import scipy.linalg

        return Factors(*scipy.linalg.svd(Z, full_matrices=False, lapack_driver="gesvd"))


def truncated(Z: Array, r: int) -> Factors:
    """The matrix of rank r that is nearest to Z."""
    f = svd(Z)
    return Factors(f.U[:, :r], f.d[:r], f.Vt[:r])


def without_rounding(Z: Array) -> Factors:
    """The matrix without the singular values that are rounding errors."""
    f = svd(Z)
    noise = max(Z.shape) * float(np.finfo(float).eps) * f.d.max(initial=0.0)
    r = int(np.count_nonzero(f.d > noise))
    return Factors(f.U[:, :r], f.d[:r], f.Vt[:r])


def singular_values(Z: Array, tol: float = 0.0) -> Array:
    """Singular values in descending order; the relative error of their sum is far below `tol`.

    If `tol` allows, they are computed from the Gram matrix, in a third of the time; this is
    inaccurate for the smallest ones.
    """
    if not np.isfinite(Z).all():
        return svd(Z).d
    # The Gram matrix loses values below the root of eps times the largest one.
    if min(Z.shape) * np.sqrt(np.finfo(float).eps) <= 0.1 * tol:
        return np.sqrt(np.maximum(np.linalg.eigvalsh(smaller_gram(Z))[::-1], 0.0))
    try:
        return np.linalg.svdvals(Z).astype(np.float64, copy=False)
    except np.linalg.LinAlgError:
        return svd(Z).d


def spectral_norm(Z: Array) -> float:
    """Largest singular value."""
    return float(np.linalg.norm(Z, 2)) if Z.size else 0.0


def smaller_gram(A: Array) -> Array:
    """``A A'`` or ``A'A``, whichever is smaller."""
    return A @ A.T if A.shape[0] <= A.shape[1] else A.T @ A


def gram_norm(A: Array) -> float:
    """Largest singular value of a large matrix, from the smaller Gram matrix."""
    return float(np.sqrt(max(np.linalg.eigvalsh(smaller_gram(A))[-1], 0.0)))
