"""Default weights of the nuclear norm and of the outliers in G-RMR, for data of any scale."""

from __future__ import annotations

import numpy as np

from ..._typing import Array
from ...robust import typical_size


def default_ratio(outliers: str, n: float, m: int) -> float:
    """``gamma / lam`` for n samples of m entries.

    ``sqrt(max(n, m))`` is the rule of robust principal component analysis. If outliers are
    replaced, ``(sqrt(n) + sqrt(m)) / 3`` thresholds singular values at a third of the largest one
    of pure noise.
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
    """``gamma`` and ``lam``, with defaults for those that are None.

    Their ratio is :func:`default_ratio`. The remaining factor balances the price of an outlier and
    the loss: an outlier of the size of a typical entry costs ``lam`` times this size, a label error
    of the typical spread costs C times this spread, and ``lam = C spread(y) / size(D)`` makes the
    two equal. Therefore outliers explain no label unless a coefficient is larger than spread over
    size.

    The samples D (n, m) are rows, NaN where entries are missing, with positive weights s (n,).
    `worth` is C times the typical spread of the labels.

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
