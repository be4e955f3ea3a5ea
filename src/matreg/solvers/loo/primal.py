"""Spans of many samples by a system of the order of their coordinates.

With ``G = I + F_V' D^-1 F_V`` and ``h_i = F_i' G^-1 F_i``

    S_i = h_i                      for i not in V,
    S_i = h_i / (1 - h_i / D_i)    for i in V,

which is that of :mod:`.residuals` where D is positive; at a kink D is tiny instead of 0.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array, Mask
from ...linalg.bordered import cholesky

# D at a kink relative to the diagonal of K: nothing beside it, far above rounding.
AT_KINK = 1e-6


def spans(F: Array, D: Array, free: Mask, size: float) -> Array:
    """S of all samples, of shape (n,).

    Parameters
    ----------
    F : ndarray of shape (n, d)
        Coordinates with ``K = F F'``.
    D : ndarray of shape (n,)
        Inverse second derivatives of the loss; 0 at a kink.
    free : ndarray of bool of shape (n,)
        The samples V.
    size : float
        Typical entry of the diagonal of K, without what is not penalised.
    """
    edge = np.flatnonzero(free)
    D = np.maximum(D, AT_KINK * size)
    weighted = F[edge] / np.sqrt(D[edge])[:, None]
    G = weighted.T @ weighted
    G[np.diag_indices(len(G))] += 1.0
    h = np.einsum("ij,ij->i", F, cholesky(G)(np.ascontiguousarray(F.T)).T)
    left = 1.0 - h[edge] / D[edge]
    h[edge] /= np.maximum(left, np.finfo(float).eps)
    return h
