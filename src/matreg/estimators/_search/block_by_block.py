"""Cross-validation on samples that are read block by block.

The parameters of RMR and SMM are chosen on a subsample that fits into memory, reweighted to the
size of the full data. The score of a candidate has a standard error of about n^-1/2, so that a
subsample is enough. The best tau is proportional to the noise in ``sum_i beta_i X_i``. On a
subsample of n of N samples, reweighted by N / n, this noise is sqrt(N / n) times larger. The
subsample is therefore fitted with so much more tau, and the tau of all samples is reported.

R-GLM needs the moments of the folds alone, which one pass gives, and so uses all samples.
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
from ...adaptive import Step, next_bases
from ...bases import Bases, moments_in
from ...covariate_ridge import ridge_block
from ...data.block import Block
from ...data.samples import Samples
from ...penalties.spectral import SpectralElasticNet
from ...solvers import Reduced, moments, solve_moments, tau_grid, with_ridge
from ...thresholds import MANY_SAMPLES
from .._fit.base import MatrixEstimator
from .._input.fit_input import FitInput
from .adaptive_search import further_steps, step_counts
from .candidates import Candidate, SearchOutcome
from .folds import fold_of_each

# Bytes that a sample takes in the folds' solvers, as a multiple of itself in float64.
OVERHEAD = 4


def tried_on_part(search: Any, blocks: Any, given: FitInput) -> SearchOutcome:
    """Scores of the candidates of RMRCV or SMMCV on a part, with the taus of all samples."""
    rows = min(int(working_memory() / (OVERHEAD * 8 * blocks.p * blocks.q)), blocks.n)
    block, index = blocks.sample(rows, seed=0)
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
    if hasattr(on_part, "scorer_"):
        search.scorer_ = on_part.scorer_
    return tried._replace(
        candidates=[one.scaled(1.0 / noisier) for one in tried.candidates],
        samples=blocks.reweighed(search._weigh(*blocks.given)),
    )


class RGLMFolds:
    """R-GLM on folds of n samples of which only the moments G (folds, m + 2, m + 2) are known.

    A ridge on the coefficients of covariates is a block of samples that all fits have.
    """

    def __init__(
        self,
        G: Array,
        model: MatrixEstimator,
        shape: tuple[int, int],
        n: int,
        ridge: Block | None,
    ) -> None:
        self.G, self.model, self.shape, self.n = G, model, shape, n
        self.total = with_ridge(G.sum(axis=0), ridge)

    def candidates(self) -> list[Candidate]:
        """Paths to try."""
        shares = self.model._values("ridge", None)
        return [self.candidate({"ridge": share, "l1": 0.0}) for share in shares]

    def candidate(self, parameters: Parameters) -> Candidate:
        """The path of some parameters."""
        names = ("ridge", "l1", "adaptive")
        own = {name: parameters[name] for name in names if name in parameters}
        if self.model.taus is not None:
            return Candidate(own, check_grid("taus", self.model.taus))
        _, reduced = self.adapted(self.total, own)
        model = self.model
        return Candidate(own, tau_grid(reduced.tau_max, model.n_taus, model.tau_min_ratio))

    def penalty(self, reduced: Reduced, share: float) -> SpectralElasticNet:
        """The penalty with a share of a ridge, as :class:`RGLM` has it."""
        fewest = min(self.n, self.shape[0] * self.shape[1])
        unit = reduced.curvature / fewest / (reduced.tau_max or 1.0)
        return SpectralElasticNet(0.0, ridge=0.0, ridge_per_tau=share / (1.0 - share) * unit)

    def adapted(self, G: Array, parameters: Parameters) -> tuple[Bases, Reduced]:
        """Bases that the steps before the last give, and the moments in them."""
        fit_intercept, tol = self.model.fit_intercept, self.model.tol
        reduced = Reduced(G, self.shape, fit_intercept)
        steps: list[Step] = []
        penalty = self.penalty(reduced, parameters["ridge"])
        for tau in parameters.get("adaptive", ()):
            one = np.array([tau])
            (result,) = solve_moments(reduced, one, tol, self.model.max_iter, penalty=penalty)
            steps.append(Step(result, next_bases(steps)))
            if result.W.rank == 0:
                break
            reduced = Reduced(
                moments_in(G, next_bases(steps), self.shape), self.shape, fit_intercept
            )
        return next_bases(steps), reduced

    def scores(self, fold: int, candidate: Candidate) -> tuple[Array, Array]:
        """R^2 on a fold of the models of the others, and their ranks."""
        model, parameters = self.model, candidate.parameters
        G = self.total - self.G[fold]
        bases, reduced = self.adapted(G, parameters)
        plain = Reduced(G, self.shape, model.fit_intercept)
        penalty = self.penalty(plain, parameters["ridge"])
        limits = (model.tol, model.max_iter)
        results = solve_moments(reduced, candidate.values, *limits, penalty=penalty)
        m, test = self.shape[0] * self.shape[1], self.G[fold]
        several = len(test) > m + 2  # columns of covariates, which have the ones among them
        spread = float(test[-1, -1] - test[m, -1] ** 2 / test[m, m])
        # Equal labels score as in scikit-learn: 1 for exact predictions, 0 for all others.
        rounding = 1e-14 * float(test[-1, -1])
        scores = []
        for result in results:
            W = bases.restore(result.W).matrix.reshape(-1)
            gamma = plain.gamma(W)
            b = 0.0 if several else float(gamma.sum())  # of the ones, or of no column
            residual = np.concatenate([-W, [-b], -gamma if several else [], [1.0]])
            error = float(residual @ test @ residual)
            equal = 0.0 if error <= rounding else 1.0
            scores.append(1.0 - (error / spread if spread > rounding else equal))
        return np.array(scores), np.array([float(result.W.rank) for result in results])

    def cross_validate(self, candidates: list[Candidate]) -> tuple[Array, Array]:
        """Scores and ranks, of shape (folds, points)."""
        found = [
            [self.scores(fold, candidate) for candidate in candidates]
            for fold in range(len(self.G))
        ]
        scores, ranks = (
            np.array([np.concatenate([one[part] for one in row]) for row in found])
            for part in (0, 1)
        )
        return scores, ranks


def tried_by_moments(search: Any, read: Any, given: FitInput) -> SearchOutcome:
    """Scores of the candidates of RGLMCV on all samples, in one pass."""
    folds = fold_of_each(search.cv, given)
    if np.any(search.l1):
        raise ValueError("l1 must be 0 for samples that are read block by block.")
    if search.scoring not in (None, "r2"):
        raise ValueError(
            f"scoring must be None or 'r2' for samples that are read block by block, of which only "
            f"moments are known; got {search.scoring!r}."
        )
    blocks = search._structured(read)
    count = int(folds.max()) + 1
    G, shape, beside = moments(blocks, folds, count), (blocks.p, blocks.q), search.covariate_ridge
    if blocks is read:
        blocks.moments = G.sum(axis=0)
    basis = blocks.unpenalised(search.fit_intercept)
    ridge = ridge_block(basis, beside, search.fit_intercept, blocks.p * blocks.q)
    known = RGLMFolds(G, search, shape, blocks.n, ridge)
    candidates = known.candidates()
    tried = further_steps(
        candidates,
        *known.cross_validate(candidates),
        most=step_counts(search.adaptive)[-1],
        one_standard_error=search.one_standard_error,
        next_candidate=known.candidate,
        cross_validate=known.cross_validate,
    )
    return SearchOutcome(*tried, read)
