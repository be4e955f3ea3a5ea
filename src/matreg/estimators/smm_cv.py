"""The support matrix machine with tau and C chosen by cross-validation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..solvers import RMRPathSolver, SolverResult, follow, rmr_tau_max, tau_grid
from ._base import warn_unless_converged
from ._classifier import CLASSIFIER_CONSTRAINTS, MatrixClassifier, TwoClasses
from ._duplicates import Distinct
from ._scale import Units
from ._selection import COMMON_CONSTRAINTS, NUMBER_OR_LIST, Candidate, SelectorCV, number_list
from ._streamed_cv import choose_on_part
from .cv import PATH_CONSTRAINTS
from .path import check_taus
from .regularization_path import RegularizationPath
from .smm import LOSS_CONSTRAINT, SMM, smm_problem
from .smm_path import smm_path, smm_problems


class SMMCV(MatrixClassifier, SelectorCV):
    """SMM with tau, and if asked C, chosen by cross-validation.

    Each fold solves whole paths, every point from its neighbour, instead of single fits: along tau,
    or along C if there are more values of C than of tau.

    Parameters
    ----------
    taus : float or array-like, default=None
        Values of tau to try. By default a geometric sequence from the smallest tau with W = 0 on
        all the data, for each C.
    n_taus : int, default=50
        Length of that sequence.
    tau_min_ratio : float, default=1e-3
        Its last value relative to its first.
    C : float, str or a list of them
        Values to try: numbers, or words as in :class:`SMM`. By default a tenth of "scale", "scale"
        and ten times it.
    loss, class_weight, multi_class, fit_intercept, tol, max_iter, matrix_shape
        As in :class:`SMM`.
    cv : int, splitter or iterable, default=None
        Folds, as everywhere in scikit-learn; 5 stratified ones by default. A number of folds
        keeps the groups of `fit` together.
    scoring : str or callable, default=None
        Score to maximise; accuracy by default. Any score of classes or decisions will do, such as
        "balanced_accuracy" or, for two classes, "roc_auc".
    one_standard_error : bool, default=False
        Whether to take the most regularisation, the largest tau or along C the smallest C, whose
        score is within one standard error of the best.
    n_jobs : int, default=None
        Number of folds at a time.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Attributes
    ----------
    tau_, C_ : float
        Chosen values.
    cv_results_ : dict of ndarray
        One row a combination: parameters, scores of the folds, their mean, standard deviation and
        standard error, and the mean rank of W. ``pandas.DataFrame(cv_results_)`` is a table.
    best_index_, best_score_ : int, float
        Chosen row and its mean score.
    taus_ : ndarray
        Values of tau that were tried with the chosen C.
    classes_, coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_
        Of the chosen model on all the data, as in :class:`SMM`.
    label_outlier_score_ : ndarray of shape (n,)
        How much each label looks wrong, as in :class:`SMM`.

    Examples
    --------
    >>> from matreg import SMMCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), rank=1, noise_scale=1.0, random_state=0)
    >>> model = SMMCV(n_taus=8, cv=3).fit(data.X, data.y > 0.0)
    >>> model.coef_.shape, bool(model.tau_ in model.taus_)
    ((6, 5), True)
    """

    _chosen_on_part = ("tau", "C")
    _parameter_constraints: dict[str, list[Any]] = {
        **PATH_CONSTRAINTS,
        **COMMON_CONSTRAINTS,
        **CLASSIFIER_CONSTRAINTS,
        "taus": [*NUMBER_OR_LIST, None],
        "C": NUMBER_OR_LIST,
        "loss": LOSS_CONSTRAINT,
    }

    def __init__(
        self,
        taus: float | ArrayLike | None = None,
        *,
        n_taus: int = 50,
        tau_min_ratio: float = 1e-3,
        C: float | str | ArrayLike = ("0.1*scale", "scale", "10*scale"),
        loss: str = "hinge",
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "one_vs_one",
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        one_standard_error: bool = False,
        n_jobs: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.taus = taus
        self.n_taus = n_taus
        self.tau_min_ratio = tau_min_ratio
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.n_jobs = n_jobs
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose
        self.matrix_shape = matrix_shape

    def _candidates(self, distinct: Distinct) -> list[Candidate]:
        units = Units(distinct, self.fit_intercept, classes=True)
        Cs = np.sort(number_list("C", self.C, positive=True, scaled=units.C))
        if self.taus is not None:
            taus = check_taus(self.taus, lambda: np.zeros(0))
            if len(taus) < len(Cs):
                return [Candidate({"tau": float(tau)}, Cs, along="C") for tau in taus]
            return [Candidate({"C": float(C)}, taus) for C in Cs]
        parts = [part for _, part in self._parts(distinct)]
        candidates = []
        for C in Cs:
            problems = [smm_problem(part, self.loss, C, self.fit_intercept) for part in parts]
            largest = max(rmr_tau_max(problem) for problem in problems)
            taus = tau_grid(largest, self.n_taus, self.tau_min_ratio)
            candidates.append(Candidate({"C": float(C)}, taus))
        return candidates

    def _parts(self, samples: Distinct) -> list[tuple[TwoClasses, Distinct]]:
        """The problems of two classes, with their samples."""
        weights = self._weigh_classes(samples.y, samples.weights)
        return [(two, two.distinct(samples.X, weights)) for two in self._problems(samples.y)]

    def _points(self, part: Distinct, candidate: Candidate) -> list[SolverResult]:
        """Solutions of a candidate for two classes."""
        problems = smm_problems(
            part,
            candidate.along,
            candidate.values,
            loss=self.loss,
            fit_intercept=self.fit_intercept,
            **candidate.parameters,
        )
        return list(follow(problems, RMRPathSolver(self.tol, self.max_iter).solve))

    def _predict_path(
        self, train: Distinct, candidate: Candidate, X_test: Array
    ) -> tuple[Array, Array]:
        paths = [
            RegularizationPath(candidate.taus, self._points(part, candidate), X_test.shape[1:])
            for _, part in self._parts(train)
        ]
        decisions = np.array([path.decision_function(X_test) for path in paths])
        return self._combine(decisions), np.mean([path.ranks for path in paths], axis=0)

    def _refit(self, X: Array, y: Array, weights: Array, candidate: Candidate, chosen: int) -> None:
        everyone = Distinct(X, y, weights, np.arange(len(y)), np.ones(len(y)))
        alone = replace(candidate, values=candidate.values[chosen : chosen + 1])
        results = [(two, part, self._points(part, alone)[0]) for two, part in self._parts(everyone)]
        self.taus_ = candidate.taus if candidate.along == "tau" else candidate.taus[:1]
        self.tau_ = float(candidate.column("tau")[chosen])
        self.C_ = float(candidate.column("C")[chosen])
        self._store_all(results, len(y))
        worst = max((result for _, _, result in results), key=lambda result: result.gap)
        advice = "Raise max_iter or tol, or lower C."
        warn_unless_converged(type(self).__name__, worst, self.tol, advice)

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        names = set(SMM().get_params()) & set(self.get_params()) - set(self._chosen_on_part)
        single = SMM(**{name: getattr(self, name) for name in names})
        choose_on_part(self, single, X, y, sample_weight, groups)

    def path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RegularizationPath:
        """Fit all values of tau that were tried to two classes, with C as it was chosen.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples, such as those of `fit`.
        y : array-like of shape (n,)
            Two classes.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses.

        Returns
        -------
        RegularizationPath
            Solutions with their certificates, largest tau first.
        """
        check_is_fitted(self, "taus_")
        return smm_path(
            X,
            y,
            taus=self.taus_,
            C=self.C_,
            loss=self.loss,
            class_weight=self.class_weight,
            fit_intercept=self.fit_intercept,
            sample_weight=sample_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            matrix_shape=self.matrix_shape_,
            verbose=self.verbose,
        )
