"""Cross-validation on samples that are read block by block.

The parameters of RMR and SMM are chosen on a subsample that fits into memory, reweighted to the
size of the full data. The score of a candidate has a standard error of about n^-1/2, so that a
subsample is enough. The best tau is proportional to the noise in ``sum_i beta_i X_i``. On a
subsample of n of N samples, reweighted by N / n, this noise is sqrt(N / n) times larger. The
subsample is therefore fitted with so much more tau, and the tau of all samples is reported.

R-GLM needs the moments of the folds alone, which one pass gives, and so uses all samples.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from .._typing import Array, Index
from ..solvers import Reduced, check_blocks, moments, solve_moments, tau_grid
from ._classes import check_classes_of_part
from ._input import check_grid
from ._stored import working_memory

# Bytes that a sample takes in the folds' solvers, as a multiple of itself in float64.
OVERHEAD = 4


def choose_on_part(model: Any, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
    """Choose the parameters on a part of the samples, and fit the choice to all of them.

    Parameters
    ----------
    model : RMRCV or SMMCV
        Its fitted attributes are set.
    X, y, sample_weight, groups : stored array, array-like, array-like, array-like
        Samples, labels, weights and groups.
    """
    check_blocks(model._single()._sketch())
    blocks = model._read(X, y, sample_weight)
    rows = min(int(working_memory() / (OVERHEAD * 8 * blocks.p * blocks.q)), blocks.n)
    block, index = blocks.sample(rows, seed=0)
    if is_classifier(model):
        check_classes_of_part(model.classes_, block.y, "the folds look at", blocks.n)
    part = clone(model).set_params(matrix_shape=None)
    noisier = float(np.sqrt(blocks.n / len(index)))
    if model.taus is not None:
        part.set_params(taus=noisier * np.asarray(model.taus, dtype=float))
    weights = blocks.n / len(index) * block.weights
    some = None if groups is None else np.asarray(groups)[index]
    labels = model._decode(block.y)
    part.fit(block.X.reshape(-1, blocks.p, blocks.q), labels, sample_weight=weights, groups=some)
    chosen = {name: getattr(part, f"{name}_") for name in model._searched}
    single = model._single(**chosen, tau=part.tau_ / noisier).fit(X, y, sample_weight)
    model._adopt(single)
    for name in ("cv_results_", "best_index_", "best_score_"):
        setattr(model, name, getattr(part, name))
    model.taus_ = part.taus_ / noisier
    model.cv_results_["param_tau"] = part.cv_results_["param_tau"] / noisier
    model.cv_samples_ = index
    model.n_passes_ += len(index) / blocks.n


class RGLMFolds:
    """R-GLM on folds of samples of which only the moments are known.

    Parameters
    ----------
    G : ndarray of shape (k, m + 2, m + 2)
        Moments of the folds.
    model : RGLMCV
        Parameters.
    shape : tuple of int
        (p, q).
    """

    def __init__(self, G: Array, model: Any, shape: tuple[int, int]) -> None:
        self.G, self.model, self.shape = G, model, shape
        self.total = G.sum(axis=0)

    def taus(self) -> Array:
        """Values of tau to try."""
        model = self.model
        largest = Reduced(self.total, self.shape, model.fit_intercept).tau_max
        if model.taus is not None:
            return check_grid("taus", model.taus)
        return tau_grid(largest, model.n_taus, model.tau_min_ratio)

    def scores(self, fold: int, taus: Array) -> tuple[Array, Array]:
        """R^2 on a fold of the models of the others, and their ranks."""
        model = self.model
        reduced = Reduced(self.total - self.G[fold], self.shape, model.fit_intercept)
        results = solve_moments(reduced, taus, model.tol, model.max_iter)
        m = len(self.total) - 2
        test = self.G[fold]
        spread = test[m + 1, m + 1] - test[m, m + 1] ** 2 / test[m, m]
        scores = []
        for result in results:
            W = result.W.matrix.reshape(-1)
            b = float(reduced.gamma(W).sum())  # of the ones, or of no column
            residual = np.concatenate([-W, [-b, 1.0]])
            scores.append(1.0 - float(residual @ test @ residual) / spread)
        return np.array(scores), np.array([float(result.W.rank) for result in results])


def choose_by_moments(
    model: Any, X: Any, y: Any, sample_weight: Any, folds: Index, candidate_of: Any
) -> None:
    """RGLMCV on all samples in two passes.

    Parameters
    ----------
    model : RGLMCV
        Its fitted attributes are set.
    X, y, sample_weight : stored array, array-like, array-like
        Samples, labels and weights.
    folds : ndarray of shape (n,)
        Fold of each sample.
    candidate_of : callable
        Values of tau to a candidate.
    """
    check_blocks(model._single()._sketch())
    if model.scoring not in (None, "r2"):
        raise ValueError(
            f"scoring must be None or 'r2' for samples that are read block by block, of which only "
            f"moments are known; got {model.scoring!r}."
        )
    blocks = model._read(X, y, sample_weight)
    count = int(folds.max()) + 1
    known = RGLMFolds(moments(blocks, folds, count), model, (blocks.p, blocks.q))
    blocks.moments = known.total
    taus = known.taus()
    found = [known.scores(fold, taus) for fold in range(count)]
    scores, ranks = (np.array(part) for part in zip(*found, strict=True))
    candidate = candidate_of(taus)
    _, chosen = model._select([candidate], scores, ranks)
    model._refit(blocks, candidate, chosen)
