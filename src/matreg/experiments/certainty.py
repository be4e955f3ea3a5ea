"""How sure a table is: other choices that were as good, and other test samples."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from .._typing import Array, Index


def near_ties(search: Any, X: Array, y: Array) -> list[Any]:
    """Fit every candidate of a search that scored within one standard error of the best.

    Parameters
    ----------
    search : estimator
        A fitted search such as :class:`matreg.RMRCV`.
    X : ndarray of shape (n, p, q)
        Samples that it was fitted to.
    y : ndarray of shape (n,)
        Their labels.

    Returns
    -------
    list of estimators
        The fitted candidates; the chosen one is among them.
    """
    table = search.cv_results_
    best = int(np.nanargmax(table["mean_test_score"]))
    enough = table["mean_test_score"][best] - table["se_test_score"][best]
    columns = {key.removeprefix("param_"): key for key in table if key.startswith("param_")}
    models = []
    for k in np.flatnonzero(table["mean_test_score"] >= enough):
        chosen = {name: table[key][k] for name, key in columns.items()}
        models.append(clone(search.best_estimator_).set_params(**chosen))
    with warnings.catch_warnings():
        # The largest tau, where W is zero, may be as good as any.
        warnings.filterwarnings("ignore", message="W = 0", category=UserWarning)
        return [model.fit(X, y) for model in models]


def block_bootstrap(n: int, length: int, draws: int, seed: int) -> Index:
    """Indices of days drawn in blocks, so that days that depend on each other stay together.

    Parameters
    ----------
    n : int
        Number of days.
    length : int
        Days of a block; the first day follows on the last one (circular blocks).
    draws : int
        Number of samples to draw.
    seed : int
        Of the random numbers.

    Returns
    -------
    ndarray of shape (draws, n)
        Indices of the days of each sample.
    """
    starts = np.random.default_rng(seed).integers(n, size=(draws, -(-n // length), 1))
    return np.asarray(((starts + np.arange(length)) % n).reshape(draws, -1)[:, :n])
