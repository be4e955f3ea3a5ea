"""Spans of many samples by a system of the order of their coordinates.

With ``G = I + F_V' D^-1 F_V`` and ``h_i = F_i' G^-1 F_i``

    S_i = h_i                      for i not in V,
    S_i = h_i / (1 - h_i / D_i)    for i in V,

which are the spans of :mod:`.residuals` where D is positive; at a kink D is tiny instead of 0.
"""

from __future__ import annotations

import numpy as np

from ..._typing import Array, Mask
from ...linalg.bordered import cholesky


def spans(F: Array, D: Array, free: Mask) -> Array:
    """S (n,), from coordinates F (n, d) with ``K = F F'``, D (n,) and the mask of V (n,)."""
    edge = np.flatnonzero(free)
    weighted = F[edge] / np.sqrt(D[edge])[:, None]
    G = weighted.T @ weighted
    G[np.diag_indices(len(G))] += 1.0
    h = np.einsum("ij,ij->i", F, cholesky(G)(np.ascontiguousarray(F.T)).T)
    left = 1.0 - h[edge] / D[edge]
    h[edge] /= np.maximum(left, np.finfo(float).eps)
    return h
