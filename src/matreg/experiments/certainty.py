"""Uncertainty of a table: other choices of about the same score, and other test samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._runtime.warn import without
from .._typing import Array, Index


def near_ties(search: Any, X: Array, y: Array) -> list[Any]:
    """Fit every candidate of a fitted search that scored within one standard error of the best.

    X (n, p, q) and y (n,) are the samples of the search; the list includes the chosen candidate.
    """
    table = search.cv_results_
    best = int(np.nanargmax(table["mean_test_score"]))
    enough = table["mean_test_score"][best] - table["se_test_score"][best]
    columns = {key.removeprefix("param_"): key for key in table if key.startswith("param_")}
    near = [
        {name: table[key][k] for name, key in columns.items()}
        for k in np.flatnonzero(table["mean_test_score"] >= enough)
    ]
    with without("W = 0"):  # the largest tau, where W is zero, may be a near tie
        return [clone(search.best_estimator_).set_params(**one).fit(X, y) for one in near]


def block_bootstrap(n: int, length: int, draws: int, seed: int) -> Index:
    """Indices (draws, n) of days drawn in blocks, so that dependent days stay together.

    The first day follows the last one (circular blocks).
    """
    starts = np.random.default_rng(seed).integers(n, size=(draws, -(-n // length), 1))
    return np.asarray(((starts + np.arange(length)) % n).reshape(draws, -1)[:, :n])
