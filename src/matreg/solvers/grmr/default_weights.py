"""Default weights of the nuclear norm and of the outliers in G-RMR, for data of any scale."""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...robust import TO_DEVIATION, typical_size, weighted_median
from .row_prox import blocks


def noise_scale(E: Array, D: Array, s: Array, tails: bool = False) -> Array:
    """Standard deviation of the detail in every cell of the samples.

    What is left of the samples without their low-rank part is mostly detail. Its typical size in
    the cell and over all cells are added as variances, so that a cell without detail of its own has
    the overall size. The noise is at least a thousandth of a typical entry.

    Parameters
    ----------
    E, D : ndarray of shape (n, m)
        What is left of the samples, and the samples, as rows; NaN where entries are missing.
    s : ndarray of shape (n,)
        Positive sample weights.
    tails : bool, default=False
        Whether what is rare in the cells but there in all samples is detail, such as ink in the
        corners of images, as long as it is no larger than nine tenths of the entries of a typical
        sample.

    Returns
    -------
    ndarray of shape (m,)
        Noise of each cell in the units of D.
    """
    some = ~np.isnan(E).all(axis=1)
    middle = np.array([np.nanmedian(np.abs(row)) for row in E[some]])
    overall = float(weighted_median(middle, s[some])) if some.any() else 0.0
    columns = blocks(E.shape[1], len(E))  # medians need copies: a few columns at a time
    cells = np.concatenate([weighted_median(np.abs(E[:, j]), s) for j in columns])
    noise = TO_DEVIATION * np.hypot(cells, overall)
    if tails and some.any():
        far = np.nanquantile(np.abs(E[some]), 0.99, axis=1)
        far = np.minimum(far, np.nanquantile(np.abs(D[some]), 0.9, axis=1))
        # Detail is at most 4 times its noise, the usual limit, away from the low-rank part.
        noise = np.maximum(noise, float(weighted_median(far, s[some])) / 4.0)
    return np.maximum(noise, 1e-3 * typical_size(D, s))


def default_ratio(outliers: str, n: float, m: int) -> float:
    """``gamma / lam`` for n samples of m entries.

    ``sqrt(max(n, m))`` is the rule of robust principal component analysis. Where outliers are
    replaced, ``(sqrt(n) + sqrt(m)) / 3`` thresholds singular values at a third of what noise
    alone has.
    """
    if outliers == "split":
        return float(np.sqrt(max(n, m)))
    return float(np.sqrt(n) + np.sqrt(m)) / 3.0


def default_weights(
    D: Array,
    s: Array,
    worth: float,
    gamma: float | None,
    lam: float | None,
    outliers: str = "split",
) -> tuple[float, float]:
    """``gamma`` and ``lam`` where they are not given.

    Their ratio is :func:`default_ratio`. The remaining factor sets the price of an outlier against
    the loss: one typical entry of a sample costs ``lam`` times its size, a label off by the typical
    spread costs C times that spread, and ``lam = C spread(y) / size(D)`` makes the two equal. So no
    label is explained by outliers unless a coefficient is larger than spread over size.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        Samples as rows, NaN where entries are missing.
    s : ndarray of shape (n,)
        Positive sample weights.
    worth : float
        What a label off by the typical spread costs: C times that spread.
    gamma, lam : float or None
        Weights that are given stay as they are.
    outliers : {"split", "replace"}, default="split"
        What is done with outliers.

    Returns
    -------
    gamma, lam : float

    Examples
    --------
    >>> import numpy as np
    >>> default_weights(np.full((3, 4), 2.0), np.ones(3), 3.0, None, None)
    (3.0, 1.5)
    """
    ratio = default_ratio(outliers, float(s.sum()), D.shape[1])
    if lam is None and gamma is None:
        lam = worth / typical_size(D, s)
    if lam is None:
        assert gamma is not None
        lam = gamma / ratio
    return (lam * ratio if gamma is None else gamma), lam
