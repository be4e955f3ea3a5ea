"""Generalised robust matrix regression with its parameters chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin, TransformerMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..solvers import (
    Cleaner,
    Decomposition,
    GRMRProblem,
    GRMRResult,
    SolverResult,
    warn_unless_clean,
)
from ._base import MatrixRegressor
from ._duplicates import Distinct
from ._input import flatten
from ._selection import (
    COMMON_CONSTRAINTS,
    NUMBER_OR_LIST,
    Candidate,
    FoldScore,
    SelectorCV,
    number_list,
    warn_interrupted,
)
from .grmr import GRMR
from .path import check_taus

_TOLERANCE = Interval(Real, 0, None, closed="left")


@dataclass(frozen=True)
class LamPath(Candidate):
    """Candidates that differ in lam alone, in ascending order; `taus` are those of all."""

    steps: tuple[Candidate, ...]


class GRMRCV(OneToOneFeatureMixin, TransformerMixin, MatrixRegressor, SelectorCV):
    """G-RMR with tau, gamma and lam chosen by cross-validation.

    Along tau each fit starts from the last: its regression, its split of the samples, and the clean
    signals of the samples that are left out. Fits without any outliers stand for those with a
    larger lam too, where the outliers are dearer still (unless new samples are cleaned, which
    depends on lam). Between values of gamma and lam nothing is shared: the problem is not convex,
    and a fit that starts from another one may end elsewhere than one from scratch. From a
    neighbouring tau it seldom does; from another lam it does often enough to change the choice.
    Therefore long lists of tau are cheap, and long lists of gamma and lam are not. Where fits are
    long, rough ones in the folds (`fold_tol`,
    `fold_split_tol`) and `halving` help; the last fit, to all the data, is as tight as ever.

    Parameters
    ----------
    tau : float or array-like, default=1.0
        Values of tau to try.
    gamma, lam : float, array-like or None, default=None
        Values to try; None is the rule of :class:`GRMR`.
    C, epsilon : float or array-like, default=1.0 and 0.1
        Values to try.
    coupling, fit_intercept, clean_predict, tol, split_tol, max_iter, matrix_shape
        As in :class:`GRMR`.
    fold_tol, fold_split_tol : float, default=None
        `tol` and `split_tol` of the fits in the folds, if they differ from those of the last fit.
        1.0 and 1e-2 mean one alternation with a rough split, often enough to choose by.
    halving : bool, default=False
        Whether to drop the worse half of the candidates after each fold. A candidate is a
        combination of all parameters but tau, and is as good as its best tau on the folds so far.
        The choice is between those that have seen all folds.
    cv, scoring, one_standard_error, n_jobs
        As in :class:`RMRCV`.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Attributes
    ----------
    tau_, gamma_, lam_, C_, epsilon_ : float
        Chosen values.
    cv_results_, best_index_, best_score_
        As in :class:`RMRCV`. With `halving` the scores of folds that a candidate has not seen, and
        its mean, are NaN.
    best_estimator_ : GRMR
        The chosen model, fitted to all the data; its attributes are those of this estimator too.

    Examples
    --------
    >>> from matreg import GRMRCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), x_rank=3, x_corruption=0.05, random_state=0)
    >>> model = GRMRCV(tau=[1.0, 10.0], cv=3).fit(data.X, data.y)
    >>> model.X_clean_.shape
    (60, 6, 5)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **COMMON_CONSTRAINTS,
        "tau": NUMBER_OR_LIST,
        "gamma": [*NUMBER_OR_LIST, None],
        "lam": [*NUMBER_OR_LIST, None],
        "C": NUMBER_OR_LIST,
        "epsilon": NUMBER_OR_LIST,
        "coupling": [str],
        "clean_predict": ["boolean"],
        "split_tol": [_TOLERANCE],
        "fold_tol": [_TOLERANCE, None],
        "fold_split_tol": [_TOLERANCE, None],
        "halving": ["boolean"],
    }

    def __init__(
        self,
        tau: float | ArrayLike = 1.0,
        *,
        gamma: float | ArrayLike | None = None,
        lam: float | ArrayLike | None = None,
        C: float | ArrayLike = 1.0,
        epsilon: float | ArrayLike = 0.1,
        coupling: str = "exact",
        fit_intercept: bool = True,
        clean_predict: bool = True,
        cv: Any = None,
        scoring: Any = None,
        one_standard_error: bool = False,
        n_jobs: int | None = None,
        tol: float = 1e-4,
        split_tol: float = 1e-4,
        fold_tol: float | None = None,
        fold_split_tol: float | None = None,
        halving: bool = False,
        max_iter: int = 20,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.tau = tau
        self.gamma = gamma
        self.lam = lam
        self.C = C
        self.epsilon = epsilon
        self.coupling = coupling
        self.fit_intercept = fit_intercept
        self.clean_predict = clean_predict
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.n_jobs = n_jobs
        self.tol = tol
        self.split_tol = split_tol
        self.fold_tol = fold_tol
        self.fold_split_tol = fold_split_tol
        self.halving = halving
        self.max_iter = max_iter
        self.verbose = verbose
        self.matrix_shape = matrix_shape

    def _candidates(self, distinct: Distinct) -> list[Candidate]:
        def optional(name: str, given: Any) -> list[Any]:
            return [None] if given is None else number_list(name, given, positive=True)

        taus = check_taus(self.tau, lambda: np.ones(1), "tau")
        # The last one varies fastest: candidates that differ in lam alone are neighbours.
        grids: dict[str, list[Any]] = {
            "gamma": optional("gamma", self.gamma),
            "C": number_list("C", self.C, positive=True),
            "epsilon": number_list("epsilon", self.epsilon, positive=False),
            "lam": sorted(optional("lam", self.lam)),
        }
        return [
            Candidate(dict(zip(grids, values, strict=True)), taus)
            for values in product(*grids.values())
        ]

    def _cross_validate(
        self,
        X: Array,
        y: Array,
        weights: Array,
        folds: list[Any],
        candidates: list[Candidate],
        score: FoldScore,
    ) -> tuple[Array, Array]:
        def scored(folds: list[Any], candidates: list[Candidate]) -> tuple[Array, Array]:
            grouped: list[Candidate] = [*_lam_paths(candidates)]
            return super(GRMRCV, self)._cross_validate(X, y, weights, folds, grouped, score)

        if not self.halving:
            return scored(folds, candidates)
        owner = np.repeat(np.arange(len(candidates)), [len(one.taus) for one in candidates])
        scores, ranks = (np.full((len(folds), len(owner)), np.nan) for _ in range(2))
        kept = list(range(len(candidates)))
        for f, fold in enumerate(folds):
            columns = np.isin(owner, kept)
            try:
                found = scored([fold], [candidates[c] for c in kept])
            except KeyboardInterrupt:
                if f == 0:
                    raise
                warn_interrupted(f, len(folds))
                return scores[:f], ranks[:f]
            scores[f, columns], ranks[f, columns] = (values[0] for values in found)
            mean = scores[: f + 1].mean(axis=0)
            best = sorted(kept, key=lambda c: -mean[owner == c].max())
            kept = sorted(best[: (len(kept) + 1) // 2])
        return scores, ranks

    def _model(self, candidate: Candidate, **other: Any) -> GRMR:
        return GRMR(
            coupling=self.coupling,
            fit_intercept=self.fit_intercept,
            clean_predict=self.clean_predict,
            max_iter=self.max_iter,
            **candidate.parameters,
            **other,
        )

    def _predict_path(
        self, train: Distinct, candidate: Candidate, X_test: Array
    ) -> tuple[Array, Array]:
        assert isinstance(candidate, LamPath)
        predictions = np.empty((len(candidate.steps), len(candidate.steps[0].taus), len(X_test)))
        ranks = np.empty(predictions.shape[:2])
        for i, step in enumerate(candidate.steps):
            model = self._model(
                step,
                tol=self.tol if self.fold_tol is None else self.fold_tol,
                split_tol=self.split_tol if self.fold_split_tol is None else self.fold_split_tol,
            )
            # Anew for each lam: from the samples of another one the alternation may end elsewhere.
            problem, cleaner = model._problem(train), Cleaner(X_test.reshape(len(X_test), -1))
            outliers = False
            for k, (fit, split) in enumerate(_along_tau(model, problem, step.taus)):
                clean = cleaner.D
                if self.clean_predict:
                    warn_unless_clean(cleaner.clean(problem.row_space(split)))
                    clean = cleaner.X
                predictions[i, k] = clean @ fit.W.matrix.reshape(-1) + fit.b
                ranks[i, k] = fit.W.rank
                outliers |= bool(split.E.any())
            if not outliers and not self.clean_predict:  # nor are there with a larger lam
                predictions[i + 1 :], ranks[i + 1 :] = predictions[i], ranks[i]
                break
        return predictions.reshape(ranks.size, -1), ranks.reshape(-1)

    def _refit(self, X: Array, y: Array, weights: Array, candidate: Candidate, chosen: int) -> None:
        tau = float(candidate.taus[chosen])
        model = self._model(candidate, tau=tau, tol=self.tol, split_tol=self.split_tol)
        model.fit(X, y, weights)
        self.tau_, self.C_, self.epsilon_ = model.tau, model.C, model.epsilon
        for name in _GRMR_ATTRIBUTES:
            setattr(self, name, getattr(model, name))

    @property
    def best_estimator_(self) -> GRMR:
        """The chosen model, fitted to all the data."""
        check_is_fitted(self, "coef_")
        chosen = {name: getattr(self, f"{name}_") for name in ("tau", "gamma", "lam")}
        candidate = Candidate({"C": self.C_, "epsilon": self.epsilon_}, np.empty(0))
        model = self._model(candidate, **chosen, tol=self.tol, split_tol=self.split_tol)
        for name in (
            *_GRMR_ATTRIBUTES,
            "matrix_shape_",
            "n_features_in_",
            "feature_names_in_",
            "_dims",
        ):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        return model

    def predict(self, X: ArrayLike) -> Array:
        """Predict with the chosen model."""
        D = self._validate_samples(X)
        return self.best_estimator_.predict(D)

    def transform(self, X: ArrayLike) -> Array:
        """Clean new samples with the chosen model."""
        D = self._validate_samples(X)
        cleaned = self.best_estimator_.transform(D)
        return cleaned if flatten(X)[1] is not None else cleaned.reshape(len(D), -1)


def _along_tau(
    model: GRMR, problem: GRMRProblem, taus: Array
) -> Iterator[tuple[SolverResult, Decomposition]]:
    """Regressions and splits, each from the last one, which is used up."""
    last: GRMRResult | None = None
    for tau in taus:
        last = model._solve(replace(problem, tau=float(tau)), last)
        if not last.converged:
            model._warn(last)
        yield last.fit, last.split


def _lam_paths(candidates: list[Candidate]) -> Iterator[LamPath]:
    """Neighbours that differ in lam alone, together."""

    def others(candidate: Candidate) -> dict[str, Any]:
        return {key: value for key, value in candidate.parameters.items() if key != "lam"}

    for parameters, group in groupby(candidates, others):
        steps = tuple(group)
        yield LamPath(parameters, np.concatenate([one.taus for one in steps]), steps)


_INPUT_ATTRIBUTES = ("matrix_shape_", "n_features_in_", "feature_names_in_", "_dims")
_GRMR_ATTRIBUTES = (
    "_row_space",
    "split_gap_",
    "coef_",
    "intercept_",
    "rank_",
    "dual_coef_",
    "gamma_",
    "lam_",
    "X_clean_",
    "outliers_",
    "clean_rank_",
    "outlier_fraction_",
    "sample_outlier_score_",
    "objective_",
    "dual_gap_",
    "n_iter_",
    "history_",
)
