"""p-values from permutations: of one statistic, and of many with family-wise control."""

from __future__ import annotations

import numpy as np

from .._typing import Array


def p_value(statistic: float, null: Array) -> float:
    """Share of the permutations, the identity included, with a statistic at least as large."""
    as_large = ~(null < statistic)  # NaN, where a statistic is not defined, counts as large
    return float((1.0 + as_large.sum()) / (1.0 + len(null)))


def stepwise_p_values(statistic: Array, null: Array) -> Array:
    """Corrected p-values (p, q) of entries, each against the largest of those not larger than it.

    The entries are tested from the largest to the smallest, without the larger ones as competitors;
    no p-value is smaller than that of a larger entry (Westfall and Young 1993). The permutations
    have the statistics `null` (n_permutations, p, q).
    """
    upwards = np.argsort(statistic, axis=None)
    values = statistic.ravel()[upwards]
    largest = np.maximum.accumulate(null.reshape(len(null), -1)[:, upwards], axis=1)
    alone = (1.0 + (largest >= values).sum(axis=0)) / (1.0 + len(null))
    corrected = np.empty_like(alone)
    corrected[upwards[::-1]] = np.maximum.accumulate(alone[::-1])
    return corrected.reshape(statistic.shape)


def threshold_of(null: Array, alpha: float) -> float:
    """Value above which an entry would be significant, at the family-wise error rate alpha.

    `null` (n_permutations, k) has the statistics of the k entries that are not significant.
    """
    if null.shape[1] == 0:
        return 0.0
    allowed = int(np.floor(alpha * (len(null) + 1))) - 1
    largest = np.sort(null.max(axis=1))
    return float(largest[len(null) - 1 - allowed]) if allowed >= 0 else float("inf")
