"""Generalised robust matrix regression with its parameters chosen by cross-validation."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import OneToOneFeatureMixin, TransformerMixin

from ._base import Distinct, flatten
from ._selection import COMMON_CONSTRAINTS, NUMBER_OR_LIST, Candidate, SelectorCV, number_list
from .grmr import GRMR
from .path import check_taus

Array = NDArray[np.float64]


class GRMRCV(OneToOneFeatureMixin, TransformerMixin, SelectorCV):
    """G-RMR with tau, gamma and lam chosen by cross-validation.

    Along tau each fit starts from the last, its split of the samples included; other than that
    G-RMR has no path, so that short lists are in order.

    Parameters
    ----------
    tau : float or array-like, default=1.0
        Values of tau to try.
    gamma, lam : float, array-like or None, default=None
        Values to try; None is the rule of :class:`GRMR`.
    C, epsilon : float or array-like, default=1.0 and 0.1
        Values to try.
    coupling, fit_intercept, clean_predict, tol, max_iter, matrix_shape
        As in :class:`GRMR`.
    cv, scoring, one_standard_error, n_jobs
        As in :class:`RMRCV`.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Attributes
    ----------
    tau_, gamma_, lam_, C_, epsilon_ : float
        Chosen values.
    cv_results_, best_index_, best_score_
        As in :class:`RMRCV`.
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
        self.max_iter = max_iter
        self.verbose = verbose
        self.matrix_shape = matrix_shape

    def _candidates(self, distinct: Distinct) -> list[Candidate]:
        def optional(name: str, given: Any) -> list[Any]:
            return [None] if given is None else number_list(name, given, positive=True)

        taus = check_taus(self.tau, lambda: np.ones(1))
        grids: dict[str, list[Any]] = {
            "gamma": optional("gamma", self.gamma),
            "lam": optional("lam", self.lam),
            "C": number_list("C", self.C, positive=True),
            "epsilon": number_list("epsilon", self.epsilon, positive=False),
        }
        return [
            Candidate(dict(zip(grids, values, strict=True)), taus)
            for values in product(*grids.values())
        ]

    def _model(self, candidate: Candidate, **other: Any) -> GRMR:
        return GRMR(
            coupling=self.coupling,
            fit_intercept=self.fit_intercept,
            clean_predict=self.clean_predict,
            tol=self.tol,
            max_iter=self.max_iter,
            **candidate.parameters,
            **other,
        )

    def _predict_path(
        self, train: Distinct, candidate: Candidate, X_test: Array
    ) -> tuple[Array, Array]:
        model = self._model(candidate, warm_start=True)
        predictions, ranks = [], []
        for tau in candidate.taus:
            model.set_params(tau=float(tau)).fit(train.X, train.y, train.weights)
            predictions.append(model.predict(X_test))
            ranks.append(model.rank_)
        return np.array(predictions), np.array(ranks, dtype=float)

    def _refit(self, X: Array, y: Array, weights: Array, candidate: Candidate, chosen: int) -> None:
        model = self._model(candidate, tau=float(candidate.taus[chosen])).fit(X, y, weights)
        self.best_estimator_ = model
        self.tau_, self.C_, self.epsilon_ = model.tau, model.C, model.epsilon
        for name in _GRMR_ATTRIBUTES:
            setattr(self, name, getattr(model, name))

    def predict(self, X: ArrayLike) -> Array:
        """Predict with the chosen model."""
        D = self._validate_samples(X)
        return self.best_estimator_.predict(D)

    def transform(self, X: ArrayLike) -> Array:
        """Clean new samples with the chosen model."""
        D = self._validate_samples(X)
        cleaned = self.best_estimator_.transform(D)
        return cleaned if flatten(X)[1] is not None else cleaned.reshape(len(D), -1)


_GRMR_ATTRIBUTES = (
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
