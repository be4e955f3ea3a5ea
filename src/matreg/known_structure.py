"""Bases of rows and columns whose structure is known, for :class:`matreg.bases.Bases`.

known structure                                 metric M of an axis, basis M^-1/2
---------------------------------------------   ------------------------------------------
smooth along time, wavelength, ...              I + (scale / 2 pi)^4 D'D, D second differences
neighbours in a graph of channels are alike     I + strength * Laplacian / mean degree
noise of the samples with a known covariance    the covariance
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ._typing import Array


def smooth_basis(length: int, scale: float) -> Array:
    """Basis of an ordered axis along which the coefficients are smooth.

    The penalty of a wave of length s along the axis is ``sqrt(1 + (scale / s)^4)`` times that of a
    constant: waves much longer than `scale` cost as much as a constant, short waves much more.

    Parameters
    ----------
    length : int
        Number of points along the axis.
    scale : float
        Wavelength, in points, below which waves are penalised more; 0 gives the identity.

    Returns
    -------
    ndarray of shape (length, length)
        ``(I + (scale / 2 pi)^4 D'D)^(-1/2)`` with the second differences D, a symmetric matrix.

    Examples
    --------
    >>> import numpy as np
    >>> basis = smooth_basis(50, scale=10.0)
    >>> bool(np.allclose(basis @ np.ones(50), 1.0))  # a straight line costs nothing more
    True
    >>> waves = (-1.0) ** np.arange(50)
    >>> float(abs(basis @ waves)[20:30].max().round(2))
    0.1
    """
    if not (np.isfinite(scale) and scale >= 0.0):
        raise ValueError(f"scale must be a finite number of at least 0; got {scale!r}.")
    if length < 3:  # no second difference
        return np.eye(length)
    D = np.diff(np.eye(length), n=2, axis=0)
    return inverse_root(np.eye(length) + (scale / (2.0 * np.pi)) ** 4 * (D.T @ D))


def graph_basis(adjacency: ArrayLike, strength: float = 1.0) -> Array:
    """Basis of an axis whose points are nodes of a graph, such as channels on a head.

    Parameters
    ----------
    adjacency : array-like of shape (k, k)
        Weights of the edges: symmetric, at least 0; the diagonal does not matter.
    strength : float, default=1.0
        How much differences between neighbours cost; 0 gives the identity. The units of the
        edge weights do not matter.

    Returns
    -------
    ndarray of shape (k, k)
        ``(I + strength * Laplacian / mean degree)^(-1/2)``, a symmetric matrix.

    Examples
    --------
    >>> import numpy as np
    >>> ring = np.roll(np.eye(6), 1, axis=0) + np.roll(np.eye(6), -1, axis=0)
    >>> basis = graph_basis(ring, strength=4.0)
    >>> np.round(basis @ np.ones(6), 6)
    array([1., 1., 1., 1., 1., 1.])
    """
    A = symmetric("adjacency", adjacency)
    if not (np.isfinite(strength) and strength >= 0.0):
        raise ValueError(f"strength must be a finite number of at least 0; got {strength!r}.")
    np.fill_diagonal(A, 0.0)
    if A.min(initial=0.0) < 0.0:
        raise ValueError("adjacency must not have negative weights.")
    degrees = A.sum(axis=1)
    mean = float(degrees.mean()) or 1.0
    return inverse_root(np.eye(len(A)) + strength / mean * (np.diag(degrees) - A))


def whitening(covariance: ArrayLike) -> Array:
    """Basis in which noise along an axis of the samples is white.

    Parameters
    ----------
    covariance : array-like of shape (k, k)
        Covariance of the noise along the axis: symmetric and positive definite.

    Returns
    -------
    ndarray of shape (k, k)
        ``covariance^(-1/2)``, a symmetric matrix.

    Examples
    --------
    >>> import numpy as np
    >>> whitening(np.diag([4.0, 0.25]))
    array([[0.5, 0. ],
           [0. , 2. ]])
    """
    return inverse_root(symmetric("covariance", covariance))


def symmetric(name: str, given: ArrayLike) -> Array:
    """A copy of a symmetric matrix; others are refused."""
    A = np.array(given, dtype=float)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or not np.allclose(A, A.T):
        raise ValueError(f"{name} must be a symmetric matrix; got one of shape {A.shape}.")
    return A


def inverse_root(M: Array) -> Array:
    """``M^(-1/2)`` of a symmetric positive definite matrix."""
    values, U = np.linalg.eigh(0.5 * (M + M.T))
    if values[0] <= len(M) * np.finfo(float).eps * values[-1]:
        raise ValueError(
            f"the matrix must be positive definite; its eigenvalues go from {values[0]:.3g} to "
            f"{values[-1]:.3g}. Add a multiple of the identity."
        )
    return (U / np.sqrt(values)) @ U.T
