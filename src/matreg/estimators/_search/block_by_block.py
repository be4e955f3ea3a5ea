"""Cross-validation on samples that are read block by block.

The parameters of RMR and SMM are chosen on a subsample that fits into memory, reweighted to the
size of the full data. The score of a candidate has a standard error of about n^-1/2, so that a
subsample is enough. The best tau is proportional to the noise in ``sum_i beta_i X_i``. On a
subsample of n of N samples, reweighted by N / n, this noise is sqrt(N / n) times larger. The
subsample is therefore fitted with so much more tau, and the tau of all samples is reported.

R-GLM needs only the moments of the folds. One pass over all samples computes them.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from ..._typing import Array, Parameters
from ..._validation.arrays import check_grid
from ..._validation.classes import check_classes_of_part
from ..._validation.stored import working_memory
from ...data.blocks import Blocks
from ...data.moments import Moments
from ...solvers import moments, path
from .._fit.convex import Part
from .._input.fit_input import FitInput
from .adaptive_search import further_steps, step_counts
from .candidates import Candidate, SearchOutcome
from .folds import fold_of_each

if TYPE_CHECKING:
    from ..rglm import RGLMCV
    from .search import Search

# Memory that a sample takes in the solvers of the folds, relative to the sample in float64.
OVERHEAD = 4


def tried_on_part(search: Search, blocks: Blocks, given: FitInput) -> SearchOutcome:
    """Scores of the candidates of RMRCV or SMMCV on a subsample, with taus for all samples."""
    rows = min(int(working_memory() / (OVERHEAD * 8 * blocks.p * blocks.q)), blocks.n)
    part, index = blocks.subsample(rows)
    search.cv_samples_ = index
    if is_classifier(search):
        check_classes_of_part(search.classes_, part.y, "the folds look at", blocks.n)
    noisier = float(np.sqrt(blocks.n / len(index)))
    on_part = copy(search)
    if search.taus is not None:
        on_part.taus = noisier * check_grid("taus", search.taus)
    groups = None if given.groups is None else np.asarray(given.groups)[index]
    tried = on_part._score_candidates(part, groups, given.sample_weight is not None)
    if hasattr(on_part, "score_scale_"):
        search.score_scale_ = on_part.score_scale_
    return tried._replace(
        candidates=[one.scaled(1.0 / noisier) for one in tried.candidates],
        samples=blocks.reweighed(search._weigh(*blocks.given)),
    )


def tested_by_moments(
    search: RGLMCV, train: Any, fold: Array, candidates: list[Candidate]
) -> tuple[list[float], list[float]]:
    """R^2 on a fold of the models fitted to the other folds, and their ranks, one per point."""
    scores, ranks = [], []
    for one in candidates:
        model = search._single(tau=0.0, **one.parameters)
        declared = model._declare(train, [Part(train)])
        limits: Parameters = {"tol": model.tol, "max_iter": model.max_iter}
        for result in path(declared, train, "tau", one.values, **limits):
            scores.append(train.r2(fold, result.W.matrix, result.gamma))
            ranks.append(float(result.W.rank))
    return scores, ranks


def tried_by_moments(search: RGLMCV, blocks: Blocks, given: FitInput) -> SearchOutcome:
    """Scores of the candidates of RGLMCV on all samples, in one pass."""
    folds = fold_of_each(search.cv, given)
    if np.any(search.l1):
        raise ValueError("l1 must be 0 for samples that are read block by block.")
    if search.scoring not in (None, "r2"):
        raise ValueError(
            f"scoring must be None or 'r2' for samples that are read block by block, of which only "
            f"moments are known; got {search.scoring!r}."
        )
    seen = search._structured(blocks)
    G = moments(seen, folds, int(folds.max()) + 1)
    whole: Any = Moments(G.sum(axis=0), seen.n, seen.p, seen.q, seen.columns)
    if seen is blocks:
        blocks.moments = whole.moments

    def cross_validate(candidates: list[Candidate]) -> tuple[Array, Array]:
        tested = [tested_by_moments(search, whole.without(one), one, candidates) for one in G]
        return np.array([scores for scores, _ in tested]), np.array([ranks for _, ranks in tested])

    candidates = search._candidates(whole)
    tried = further_steps(
        candidates,
        *cross_validate(candidates),
        most=step_counts(search.adaptive)[-1],
        one_standard_error=search.one_standard_error,
        next_candidate=partial(search._next_candidate, whole, candidates[0]),
        cross_validate=cross_validate,
    )
    return SearchOutcome(*tried, blocks)
