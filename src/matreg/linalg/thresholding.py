"""Smoothed singular value thresholding, and coordinates that factorise its derivative.

For ``Z = U diag(d) V'`` the smoothed thresholding is ``U diag(g(d)) V'`` with the odd function

    g(z) = h(z - tau) - h(-z - tau),   h(x) = (x + sqrt(x^2 + 4 m)) / 2,

which for ``m = 0`` is soft-thresholding. For ``m > 0`` its first term w solves
``(tau - l) w = m`` with ``l + w = z``: the central path of the pair (nuclear norm, spectral ball).

Its derivative J is self-adjoint with spectrum in [0, 1]. In the basis ``[G1 G2] = U'H[V V_rest]``
it multiplies the symmetric part of G1 by Os, the antisymmetric part by Oa and G2 by Oc, where

    Os_ij = (g_i - g_j)/(d_i - d_j),   Oa_ij = (g_i + g_j)/(d_i + d_j),   Oc_i = g_i/d_i,

and a function of J acts on the entries of Os, Oa and Oc only.

The function h is the smoothing of Chen and Harker (1993), Kanzow (1996) and Smale (1987).

References
----------
B. Chen and P. Harker, A non-interior-point continuation method for linear complementarity problems,
SIAM J. Matrix Anal. Appl. 1993.
C. Kanzow, Some noninterior continuation methods for linear complementarity problems, SIAM J. Matrix
Anal. Appl. 1996.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Array
from ..design import Design
from .factors import Factors, svd

Scalar = Callable[[Array], Array]
# Maps singular values and a smoothing to thresholded values and their derivatives.
Shrink = Callable[[Array, float], tuple[Array, Array]]


def soft_plus(x: Array, m: float) -> tuple[Array, Array]:
    """``h(x) = (x + sqrt(x^2 + 4 m)) / 2`` and its derivative, without cancellation."""
    if m == 0.0:
        return np.maximum(x, 0.0), (x > 0.0).astype(float)
    root = np.sqrt(x * x + 4.0 * m)
    h = np.where(x > 0.0, 0.5 * (x + root), 2.0 * m / (root - np.minimum(x, 0.0)))
    return h, h / root


def soft_threshold(d: Array, m: float, tau: float) -> tuple[Array, Array]:
    """Smoothed soft-thresholding of non-negative `d` and its derivative."""
    if m == 0.0:
        return np.maximum(d - tau, 0.0), (d > tau).astype(float)
    near, near_slope = soft_plus(d - tau, m)
    far, far_slope = soft_plus(-d - tau, m)
    slope = np.clip(near_slope + far_slope, 0.0, 1.0)
    # Near zero, where the difference would be mere rounding, the linear approximation is used.
    return np.where(d <= 1e-6 * (tau + np.sqrt(m)), slope * d, near - far), slope


def soft(A: Array, t: Array | float) -> Array:
    """Soft-thresholding: move every entry towards zero by `t`, but not beyond zero."""
    return A - np.clip(A, -t, t)


def stack_times(X: NDArray[Any], B: NDArray[Any]) -> NDArray[Any]:
    """Products of a stack of matrices (n, p, q) with B (q, k), computed as a single product."""
    return (X.reshape(-1, X.shape[2]) @ B).reshape(*X.shape[:2], B.shape[1])


class SmoothedThresholding:
    """Smoothed singular value thresholding around a point.

    Parameters
    ----------
    Z : ndarray of shape (p, q)
        Point at which to linearise.
    shrink : callable
        Maps singular values and a smoothing to thresholded values and their derivatives.
    m : float
        Smoothing; 0 gives plain thresholding.
    cut : float
        Singular values below the threshold with a derivative of at most `cut` count as thresholded
        to zero, with derivative zero. This keeps the number of coordinates small: about
        ``r (p + q)`` for the r remaining values.

    Attributes
    ----------
    d : ndarray
        Singular values of Z.
    r : int
        Number of singular values that are not cut.
    """

    def __init__(self, Z: Array, shrink: Shrink, m: float, cut: float) -> None:
        self.wide = Z.shape[0] <= Z.shape[1]
        factors = svd(Z if self.wide else Z.T)
        self.U, self.d, self.V = factors.U, factors.d, factors.Vt.T
        self.shrink = shrink
        g, slope = shrink(self.d, m)
        kept = (g > 0.0) if m == 0.0 else (shrink(self.d, 0.0)[0] > 0.0)
        self.r = int(np.count_nonzero(kept | (slope > cut)))
        g[self.r :] = 0.0
        slope[self.r :] = 0.0
        self.g, self.slope = g, slope
        self.has_rest = self.V.shape[0] > self.V.shape[1]

    @cached_property
    def Os(self) -> Array:
        """Multipliers of the symmetric part."""
        d, g, slope = self.d, self.g, self.slope
        gap = d[:, None] - d
        close = np.abs(gap) <= 1e-8 * (d[:, None] + d)
        middle = 0.5 * (slope[:, None] + slope)
        return np.clip(
            np.where(close, middle, (g[:, None] - g) / np.where(close, 1.0, gap)), 0.0, 1.0
        )

    @cached_property
    def Oa(self) -> Array:
        """Multipliers of the antisymmetric part."""
        d, g = self.d, self.g
        total = d[:, None] + d
        none = total == 0.0
        ratio = (g[:, None] + g) / np.where(none, 1.0, total)
        return np.clip(np.where(none, self.slope[:, None], ratio), 0.0, 1.0)

    @cached_property
    def Oc(self) -> Array:
        """Multipliers of the part outside of the thin basis V."""
        none = self.d == 0.0
        ratio = self.g / np.where(none, 1.0, self.d)
        return np.clip(np.where(none, self.slope, ratio), 0.0, 1.0)

    def value(self, m: float) -> Array:
        """Thresholded singular values for smoothing `m`, zero where they are cut."""
        g, _ = self.shrink(self.d, m)
        g[self.r :] = 0.0
        return g

    def compose(self, w: Array) -> Array:
        """``U diag(w) V'``, of shape (p, q)."""
        W = (self.U * w) @ self.V.T
        return W if self.wide else W.T

    def factors(self, w: Array) -> Factors:
        """``U diag(w) V'`` as factors, without the trailing zeros of `w`."""
        r = int(np.count_nonzero(w))
        left, right = (self.U, self.V) if self.wide else (self.V, self.U)
        return Factors(left[:, :r], w[:r], right[:, :r].T)

    def apply(self, H: Array, f: Scalar) -> Array:
        """``f(J)[H]``, of shape (p, q)."""
        B = self.U.T @ (H if self.wide else H.T)
        B1 = B @ self.V
        inner = 0.5 * (f(self.Os) * (B1 + B1.T) + f(self.Oa) * (B1 - B1.T))
        out = inner @ self.V.T
        if self.has_rest:
            out += f(self.Oc)[:, None] * (B - B1 @ self.V.T)
        out = self.U @ out
        return out if self.wide else out.T

    def coordinates(self, phi: Scalar) -> Coordinates:
        """Coordinates F with ``F'F = phi(J)``, for a phi with ``phi(0) = 0``."""
        return Coordinates(self, phi)


class Coordinates:
    """Linear map F from matrices to d numbers with ``F'F = phi(J)``.

    With the eigenvalues ``s = phi(Os)`` and ``t = phi(Oa)`` of a pair ``(G_kl, G_lk)`` and their
    mean ``e``, the pair goes to

        ((sqrt(s) + sqrt(t)) G_kl + (sqrt(s) - sqrt(t)) G_lk) / 2  and the same for (l, k),  l <= r,
        sqrt(e) G_kl + (s - t)/(2 sqrt(e)) G_lk  and  sqrt(s t / e) G_lk,                    l > r.

    The part outside of the thin basis V is stored as ``u_k'X (I - V V')``, which avoids an
    orthogonal complement that may be huge.
    """

    def __init__(self, at: SmoothedThresholding, phi: Scalar) -> None:
        r = at.r
        self.at = at
        s, t = phi(at.Os[:r]), phi(at.Oa[:r])
        root_s, root_t = np.sqrt(s), np.sqrt(t)
        self.own, self.other = 0.5 * (root_s + root_t), 0.5 * (root_s - root_t)
        e = 0.5 * (s + t)[:, r:]
        root_e = np.sqrt(e)
        some = np.where(e > 0.0, root_e, 1.0)
        self.own[:, r:] = root_e
        self.other[:, r:] = 0.5 * (s - t)[:, r:] / some
        self.alone = ((root_s * root_t)[:, r:] / some).T
        self.rest = np.sqrt(phi(at.Oc[:r]))
        small, large = at.U.shape[0], at.V.shape[0]
        self.size = r * small + (small - r) * r + (r * large if at.has_rest else 0)

    def of_samples(
        self, design: Design, precision: type[np.floating[Any]] = np.float64
    ) -> NDArray[Any]:
        """Coordinates (n, d) of all samples, one row per sample."""
        out = np.empty((design.n, self.size), dtype=precision)
        cast = self._cast(precision)
        for part, X in design.blocks():
            self._fill(out[part], self._turned(X).astype(precision, copy=False), *cast)
        return out

    def of(self, X: Array) -> Array:
        """Coordinates (n, d) of a stack of matrices (n, p, q), one row per matrix."""
        out = np.empty((len(X), self.size))
        self._fill(out, self._turned(X), *self._cast(np.float64))
        return out

    def _turned(self, X: Array) -> Array:
        return X if self.at.wide else X.transpose(0, 2, 1)

    def _cast(self, precision: type[np.floating[Any]]) -> list[NDArray[Any]]:
        parts = (self.at.U, self.at.V, self.own, self.other, self.alone, self.rest)
        return [part.astype(precision, copy=False) for part in parts]

    def _fill(
        self,
        out: NDArray[Any],
        X: NDArray[Any],
        U: NDArray[Any],
        V: NDArray[Any],
        own: NDArray[Any],
        other: NDArray[Any],
        alone: NDArray[Any],
        outside: NDArray[Any],
    ) -> None:
        r = self.at.r
        n, small, large = len(X), U.shape[0], V.shape[0]
        first, second = r * small, r * (2 * small - r)
        if 2 * r < small:
            rows = np.matmul(U[:, :r].T, X)
            G = stack_times(rows, V)
            if self.at.wide:
                turned = stack_times(X, V[:, :r]).transpose(0, 2, 1)
            else:
                turned = np.matmul(V[:, :r].T, X.transpose(0, 2, 1))
            turned = stack_times(turned, U)
            below = turned[:, :, r:].transpose(0, 2, 1)
        else:  # for half of the basis or more, using all of it takes fewer products
            rows = np.matmul(U.T, X)
            G = stack_times(rows, V)
            turned = G.transpose(0, 2, 1)[:, :r].copy()
            below = G[:, r:, :r]
        # Both are views, as only the last axis is split; NumPy is faster on long rows.
        top, left = out[:, :first], out[:, first:second].reshape(n, small - r, r)
        np.multiply(below, alone, out=left)
        np.multiply(G.reshape(n, -1)[:, :first], own.reshape(-1), out=top)
        turned = turned.reshape(n, first)
        turned *= other.reshape(-1)
        top += turned
        if self.at.has_rest:
            rows = rows[:, :r]
            rows -= stack_times(G[:, :r], V.T)
            rows *= outside[:, None]
            out[:, second:] = rows.reshape(n, r * large)

    def adjoint(self, f: Array) -> Array:
        """``F'f``, of shape (p, q)."""
        at, r = self.at, self.at.r
        small, large = at.U.shape[0], at.V.shape[0]
        top, left, rest = np.split(f, [r * small, r * small + (small - r) * r])
        top = top.reshape(r, small)
        B = np.zeros((small, small))
        B[:r] = self.own * top
        B[:, :r] += (self.other * top).T
        B[r:, :r] += self.alone * left.reshape(small - r, r)
        out = B @ at.V.T
        if at.has_rest:
            outside = self.rest[:, None] * rest.reshape(r, large)
            out[:r] += outside - (outside @ at.V) @ at.V.T
        out = at.U @ out
        return out if at.wide else out.T
