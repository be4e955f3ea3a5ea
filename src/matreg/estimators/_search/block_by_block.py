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
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..._typing import Array, Parameters
from ..._validation.arrays import check_grid
from ..._validation.classes import check_classes_of_part
from ..._validation.stored import working_memory
from ...data.moments import Moments
from ...data.samples import Samples
from ...solvers import moments, path
from ...thresholds import MANY_SAMPLES
from .._fit.convex import Part
from .._input.fit_input import FitInput
from .adaptive_search import further_steps, step_counts
from .candidates import Candidate, SearchOutcome
from .folds import fold_of_each

# Memory that a sample takes in the solvers of the folds, relative to the sample in float64.
OVERHEAD = 4


def tried_on_part(search: Any, blocks: Any, given: FitInput) -> SearchOutcome:
    """Scores of the candidates of RMRCV or SMMCV on a subsample, with taus for all samples."""
    rows = min(int(working_memory() / (OVERHEAD * 8 * blocks.p * blocks.q)), blocks.n)
    block, index = blocks.sample(rows)
    search.cv_samples_ = index
    if is_classifier(search):
        check_classes_of_part(search.classes_, block.y, "the folds look at", blocks.n)
    noisier = float(np.sqrt(blocks.n / len(index)))
    on_part = copy(search)
    if search.taus is not None:
        on_part.taus = noisier * check_grid("taus", search.taus)
    X = block.X.reshape(-1, blocks.p, blocks.q)
    X = X if len(X) >= MANY_SAMPLES else X.astype(np.float64)
    Z = None if block.Z is None else blocks.columns.given(block.Z)
    part = Samples.of(X, block.y, blocks.n / len(index) * block.weights, Z)
    groups = None if given.groups is None else np.asarray(given.groups)[index]
    tried = on_part._score_candidates(part, groups, given.sample_weight is not None)
    if hasattr(on_part, "score_scale_"):
        search.score_scale_ = on_part.score_scale_
    return tried._replace(
        candidates=[one.scaled(1.0 / noisier) for one in tried.candidates],
        samples=blocks.reweighed(search._weigh(*blocks.given)),
    )


class RGLMFolds:
    """Folds of R-GLM as moments: `whole` of all samples, and `folds`, (folds, m, m), of each."""

    def __init__(self, search: Any, whole: Moments, folds: Array) -> None:
        self.search, self.whole, self.folds = search, whole, folds

    def candidates(self) -> list[Candidate]:
        """The paths to try, one per share of the ridge."""
        shares = self.search._values("ridge", None)
        return [self.candidate({"ridge": share, "l1": 0.0}) for share in shares]

    def candidate(self, parameters: Parameters) -> Candidate:
        """The path with the given parameters."""
        names = ("ridge", "l1", "adaptive")
        own = {name: parameters[name] for name in names if name in parameters}
        model, parts = self.search._single(tau=0.0, **own), [Part(self.whole)]
        return Candidate(own, self.search._tau_grid(model, self.whole, parts))

    def scores(self, fold: Array, candidate: Candidate) -> tuple[Array, Array]:
        """R^2 on a fold of the models fitted to the other folds, and their ranks, (k,) each."""
        train: Any = self.whole.without(fold)
        model = self.search._single(tau=0.0, **candidate.parameters)
        declared = model._declare(train, [Part(train)])
        limits: Parameters = {"tol": model.tol, "max_iter": model.max_iter}
        results = list(path(declared, train, "tau", candidate.values, **limits))
        scores = [train.r2(fold, one.W.matrix, one.gamma) for one in results]
        return np.array(scores), np.array([float(one.W.rank) for one in results])

    def cross_validate(self, candidates: list[Candidate]) -> tuple[Array, Array]:
        """Scores and ranks, each of shape (folds, points)."""
        found = [[self.scores(fold, candidate) for candidate in candidates] for fold in self.folds]
        scores, ranks = (
            np.array([np.concatenate([one[part] for one in row]) for row in found])
            for part in (0, 1)
        )
        return scores, ranks


def tried_by_moments(search: Any, blocks: Any, given: FitInput) -> SearchOutcome:
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
    count = int(folds.max()) + 1
    G = moments(seen, folds, count)
    whole = Moments(G.sum(axis=0), seen.n, seen.p, seen.q, seen.columns)
    if seen is blocks:
        blocks.moments = whole.moments
    known = RGLMFolds(search, whole, G)
    candidates = known.candidates()
    tried = further_steps(
        candidates,
        *known.cross_validate(candidates),
        most=step_counts(search.adaptive)[-1],
        one_standard_error=search.one_standard_error,
        next_candidate=known.candidate,
        cross_validate=known.cross_validate,
    )
    return SearchOutcome(*tried, blocks)
