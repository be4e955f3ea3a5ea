"""Weights of the nuclear norm and of the outliers in G-RMR that fit data of any scale."""

from __future__ import annotations

import numpy as np

from ..._typing import Array


def weighted_median(x: Array, s: Array) -> float:
    """Smallest value with at least half of the weight at or below it."""
    order = np.argsort(x, kind="stable")
    rise = np.cumsum(s[order])
    # A repeated sample and one of weight two must give the same, whatever the rounding.
    return float(x[order[np.searchsorted(rise, 0.5 * rise[-1] * (1.0 - 1e-12))]])


def typical_size(A: Array, s: Array) -> float:
    """Robust size of the entries of weighted rows; of all of them if most are zero, 1 if all."""
    size = weighted_median(np.median(np.abs(A), axis=1), s)
    if size == 0.0:
        size = float(s @ np.abs(A).mean(axis=1) / s.sum())
    return size if size > 0.0 else 1.0


def default_weights(
    D: Array, y: Array, s: Array, C: float, gamma: float | None, lam: float | None
) -> tuple[float, float]:
    """``gamma`` and ``lam`` where they are not given.

    ``lam / gamma = 1 / sqrt(max(N, pq))`` is the rule of robust principal component analysis. The
    remaining factor sets the price of an outlier against the loss: one typical entry of a sample
    costs ``lam`` times its size, a label off by the typical spread costs C times that spread, and
    ``lam = C spread(y) / size(D)`` makes the two equal. So no label is explained by outliers
    unless a coefficient is larger than spread over size.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        Samples as rows.
    y : ndarray of shape (n,)
        Labels.
    s : ndarray of shape (n,)
        Positive sample weights.
    C : float
        Weight of the loss.
    gamma, lam : float or None
        The given ones are kept.

    Returns
    -------
    gamma, lam : float

    Examples
    --------
    >>> import numpy as np
    >>> D, y, s = np.full((3, 4), 2.0), np.array([0.0, 3.0, 6.0]), np.ones(3)
    >>> default_weights(D, y, s, 1.0, None, None)
    (3.0, 1.5)
    """
    ratio = float(np.sqrt(max(s.sum(), D.shape[1])))
    if lam is None and gamma is None:
        spread = typical_size((y - weighted_median(y, s))[:, None], s)
        lam = C * spread / typical_size(D, s)
    if lam is None:
        assert gamma is not None
        lam = gamma / ratio
    return (lam * ratio if gamma is None else gamma), lam
