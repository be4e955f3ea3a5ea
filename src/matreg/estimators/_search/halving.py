"""Successive halving over folds: after each fold the worse half of the candidates is dropped."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._runtime.interruption import may_keep
from ..._typing import Array, Fold
from .search import Candidate, warn_interrupted

Scored = Callable[[list[Any], list[Candidate]], tuple[Array, Array]]


def halved(scored: Scored, folds: list[Fold], candidates: list[Candidate]) -> tuple[Array, Array]:
    """Scores and ranks by fold and candidate, NaN on the folds after a candidate was dropped.

    Parameters
    ----------
    scored : callable
        Function of folds and candidates. Returns their scores and ranks, of shape
        (folds, taus of all candidates).
    folds : list
        The folds, in the order in which they are used.
    candidates : list of Candidate
        Candidates; each counts by its best tau on the folds so far.

    Returns
    -------
    scores, ranks : ndarray of shape (folds, taus of all candidates)
        If the user stops the search and keeps what there is, of the finished folds alone.
    """
    owner = np.repeat(np.arange(len(candidates)), [len(one.taus) for one in candidates])
    scores, ranks = (np.full((len(folds), len(owner)), np.nan) for _ in range(2))
    kept = list(range(len(candidates)))
    for f, fold in enumerate(folds):
        columns = np.isin(owner, kept)
        try:
            found = scored([fold], [candidates[c] for c in kept])
        except KeyboardInterrupt:
            if f == 0 or not may_keep():
                raise
            warn_interrupted(f, len(folds))
            return scores[:f], ranks[:f]
        scores[f, columns], ranks[f, columns] = (values[0] for values in found)
        mean = scores[: f + 1].mean(axis=0)
        best = sorted(kept, key=lambda c: -mean[owner == c].max())
        kept = sorted(best[: (len(kept) + 1) // 2])
    return scores, ranks
