"""Estimators that choose their parameters by cross-validation over whole paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import product
from numbers import Integral, Real
from typing import Any

from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..problem import RMRProblem
from ..solvers import (
    RGLMPathSolver,
    RMRPathSolver,
    SolverResult,
    rglm_tau_max,
    rmr_tau_max,
    tau_grid,
    walk,
)
from ._base import warn_unless_converged
from ._duplicates import Distinct, merge_duplicates
from ._family import FAMILY_CONSTRAINT, FamilyEstimator, rglm_problem
from ._folds import make_splitter
from ._losses import LOSS_CONSTRAINTS
from ._losses_cv import LossSelector
from ._scale import Units
from ._selection import COMMON_CONSTRAINTS, NUMBER_OR_LIST, Candidate, SelectorCV, number_list
from ._streamed_cv import choose_by_moments, choose_on_part, fold_of_each
from .path import check_taus, rglm_path, rmr_path
from .regularization_path import RegularizationPath
from .rmr import RMR, rmr_problem, score_labels

PATH_CONSTRAINTS: dict[str, list[Any]] = {
    "taus": ["array-like", None],
    "n_taus": [Interval(Integral, 1, None, closed="left")],
    "tau_min_ratio": [Interval(Real, 0, 1, closed="neither")],
}


class PathCV(SelectorCV):
    """Selection along paths that are solved point by point from each other."""

    # What the subclasses define: how to fit a path, what is chosen besides tau, what is given.
    _fit_path: Callable[..., RegularizationPath]
    _others: tuple[str, ...] = ()
    _fixed: tuple[str, ...] = ()
    taus: ArrayLike | None
    n_taus: int
    tau_min_ratio: float
    fit_intercept: bool
    tol: float
    max_iter: int

    def path(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> RegularizationPath:
        """Fit all values of tau that were tried, with all else as it was chosen.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples, such as those of `fit`.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses.

        Returns
        -------
        RegularizationPath
            Solutions with their certificates, largest tau first.
        """
        check_is_fitted(self, "taus_")
        return self._fit_path(
            X,
            y,
            taus=self.taus_,
            fit_intercept=self.fit_intercept,
            sample_weight=sample_weight,
            tol=self.tol,
            max_iter=self.max_iter,
            matrix_shape=self.matrix_shape_,
            verbose=self.verbose,
            **{name: getattr(self, f"{name}_") for name in self._others},
            **{name: getattr(self, name) for name in self._fixed},
        )

    def _path(self, distinct: Distinct, candidate: Candidate) -> list[SolverResult]:
        """Solutions of a candidate."""
        raise NotImplementedError

    def _taus(self, largest: Callable[[], float]) -> Array:
        """The given values of tau, or a sequence from the largest that is worth a try."""
        return check_taus(self.taus, lambda: tau_grid(largest(), self.n_taus, self.tau_min_ratio))

    def _predict_path(
        self, train: Distinct, candidate: Candidate, X_test: Array
    ) -> tuple[Array, Array]:
        path = RegularizationPath(candidate.taus, self._path(train, candidate), X_test.shape[1:])
        return path.decision_function(X_test), path.ranks.astype(float)

    def _refit(self, X: Array, y: Array, weights: Array, candidate: Candidate, chosen: int) -> None:
        distinct = merge_duplicates(X, y, weights)
        taus = candidate.taus
        (result,) = self._path(distinct, replace(candidate, values=taus[chosen : chosen + 1]))
        self.tau_, self.taus_ = float(taus[chosen]), taus
        for name, value in candidate.parameters.items():
            setattr(self, f"{name}_", value)
        warn_unless_converged(
            type(self).__name__, result, self.tol, "Raise max_iter or tol, or lower C."
        )
        self._store(result, distinct)
        self._judge_labels(distinct, result)

    def _judge_labels(self, distinct: Distinct, result: SolverResult) -> None:
        """Say which labels look wrong, where the model is robust against them."""


class RMRCV(LossSelector, PathCV):
    """RMR with tau, and if asked C and epsilon, chosen by cross-validation.

    Each fold solves whole paths of tau, every point from its neighbour, instead of single fits.

    Parameters
    ----------
    taus : array-like, default=None
        Values of tau to try. By default a geometric sequence from the smallest tau with W = 0 on
        all the data, for each C and epsilon.
    n_taus : int, default=50
        Length of that sequence.
    tau_min_ratio : float, default=1e-3
        Its last value relative to its first.
    C, epsilon : float, str or a list of them
        Values to try: numbers, or words as in :class:`RMR`. By default C is a tenth of "scale" and
        3, 100 and 3000 times it, beyond which the ridge is of no account, and epsilon is "scale".
        Of epsilon only one with losses that do not depend on it.
    loss, delta, quantile
        As in :class:`RMR`.
    fit_intercept : bool, default=True
        Whether to fit an intercept.
    cv : int, splitter or iterable, default=None
        Folds, as everywhere in scikit-learn; 5 by default. A number of folds keeps the groups
        of `fit` together.
    scoring : str or callable, default=None
        Score to maximise; by default R^2, and with the loss "quantile" the explained part of the
        pinball loss. With wrong labels among the samples take a robust one, such as
        "neg_median_absolute_error".
    one_standard_error : bool, default=False
        Whether to take the largest tau whose score is within one standard error of the best.
    n_jobs : int, default=None
        Number of folds at a time.
    tol, max_iter, matrix_shape
        As in :class:`RMR`.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Attributes
    ----------
    tau_, C_, epsilon_ : float
        Chosen values.
    delta_ : float
        Number used.
    cv_results_ : dict of ndarray
        One row per combination: parameters, scores of the folds, their mean, standard deviation and
        standard error, and the mean rank of W. ``pandas.DataFrame(cv_results_)`` is a table.
    best_index_, best_score_ : int, float
        Chosen row and its mean score.
    taus_ : ndarray
        Values of tau that were tried with the chosen C and epsilon.
    coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_
        Of the chosen model on all the data, as in :class:`RMR`.
    label_outlier_score_ : ndarray of shape (n,)
        How much each label looks wrong, as in :class:`RMR`.

    Examples
    --------
    >>> from matreg import RMRCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), rank=1, noise_scale=0.5, random_state=0)
    >>> model = RMRCV(n_taus=8, cv=3).fit(data.X, data.y)
    >>> model.coef_.shape, bool(model.tau_ in model.taus_)
    ((6, 5), True)
    >>> model.path(data.X, data.y).ranks.shape
    (8,)
    """

    _fit_path = staticmethod(rmr_path)
    _others = ("C", "epsilon", "delta")
    _chosen_on_part = ("tau", "C", "epsilon")
    _fixed = ("loss", "quantile")
    _parameter_constraints: dict[str, list[Any]] = {
        **PATH_CONSTRAINTS,
        **COMMON_CONSTRAINTS,
        "C": NUMBER_OR_LIST,
        "epsilon": NUMBER_OR_LIST,
        **LOSS_CONSTRAINTS,
    }

    def __init__(
        self,
        taus: ArrayLike | None = None,
        *,
        n_taus: int = 50,
        tau_min_ratio: float = 1e-3,
        C: float | str | ArrayLike = ("0.1*scale", "3*scale", "100*scale", "3000*scale"),
        epsilon: float | str | ArrayLike = "scale",
        loss: str = "epsilon_insensitive",
        delta: float | str = "scale",
        quantile: float = 0.5,
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
        self.epsilon = epsilon
        self.loss = loss
        self.delta = delta
        self.quantile = quantile
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
        units = Units(distinct, self.fit_intercept)
        self.delta_ = units.delta(self.delta)
        Cs = number_list("C", self.C, positive=True, scaled=units.C)
        candidates = []
        for C, epsilon in product(Cs, self._epsilons(units)):
            parameters = {"C": C, "epsilon": epsilon}
            taus = self._taus(partial(rmr_tau_max, self._problem(distinct, parameters)))
            candidates.append(Candidate(parameters, taus))
        return candidates

    def _problem(self, distinct: Distinct, parameters: dict[str, Any]) -> RMRProblem:
        given = {name: getattr(self, name) for name in self._fixed}
        given |= {"fit_intercept": self.fit_intercept, "delta": self.delta_}
        return rmr_problem(distinct, **parameters, **given)

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        names = set(RMR().get_params()) & set(self.get_params()) - set(self._chosen_on_part)
        single = RMR(**{name: getattr(self, name) for name in names})
        choose_on_part(self, single, X, y, sample_weight, groups)

    def _path(self, distinct: Distinct, candidate: Candidate) -> list[SolverResult]:
        problem = self._problem(distinct, candidate.parameters)
        solver = RMRPathSolver(self.tol, self.max_iter)
        return list(walk(problem, candidate.taus, solver.solve))

    def _judge_labels(self, distinct: Distinct, result: SolverResult) -> None:
        problem = self._problem(distinct, {"C": self.C_, "epsilon": self.epsilon_})
        self.label_outlier_score_ = score_labels(problem, result, distinct)


class RGLMCV(FamilyEstimator, PathCV):
    """R-GLM with tau chosen by cross-validation.

    Parameters
    ----------
    family : {"normal", "binomial", "poisson"}, default="normal"
        As in :class:`RGLM`. The score is R^2, accuracy or D^2 by default, and the folds of
        "binomial" are stratified.
    taus, n_taus, tau_min_ratio, fit_intercept, cv, scoring, one_standard_error, n_jobs
        As in :class:`RMRCV`.
    tol, max_iter, matrix_shape
        As in :class:`RGLM`.
    verbose : int, default=0
        Whether to report progress where there is no terminal too.

    Attributes
    ----------
    tau_ : float
        Chosen value.
    cv_results_, best_index_, best_score_, taus_
        As in :class:`RMRCV`.
    coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_
        Of the chosen model on all the data, as in :class:`RGLM`.

    Examples
    --------
    >>> from matreg import RGLMCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), rank=1, noise_scale=0.5, random_state=0)
    >>> RGLMCV(n_taus=8, cv=3).fit(data.X, data.y).coef_.shape
    (6, 5)
    """

    _fit_path = staticmethod(rglm_path)
    _fixed = ("family",)
    _parameter_constraints: dict[str, list[Any]] = {
        **PATH_CONSTRAINTS,
        **COMMON_CONSTRAINTS,
        "family": FAMILY_CONSTRAINT,
    }

    def __init__(
        self,
        taus: ArrayLike | None = None,
        *,
        family: str = "normal",
        n_taus: int = 50,
        tau_min_ratio: float = 1e-3,
        fit_intercept: bool = True,
        cv: Any = None,
        scoring: Any = None,
        one_standard_error: bool = False,
        n_jobs: int | None = None,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.taus = taus
        self.family = family
        self.n_taus = n_taus
        self.tau_min_ratio = tau_min_ratio
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
        problem = rglm_problem(distinct, self.family, self.fit_intercept)
        taus = self._taus(partial(rglm_tau_max, problem))
        return [Candidate({}, taus)]

    def _path(self, distinct: Distinct, candidate: Candidate) -> list[SolverResult]:
        problem = rglm_problem(distinct, self.family, self.fit_intercept)
        solver = RGLMPathSolver(self.tol, self.max_iter)
        return list(walk(problem, candidate.taus, solver.solve))

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        splitter = make_splitter(self.cv, y, groups, classifier=False)
        folds = fold_of_each(splitter, int(X.shape[0]), groups)
        choose_by_moments(self, X, y, sample_weight, folds)
