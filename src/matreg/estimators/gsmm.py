"""The support matrix machine on corrupted samples, plain and with cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike

from .._runtime.parallel import in_parallel
from .._runtime.progress import span, track
from .._typing import Array, Parameters
from ..data.samples import Samples
from ..solvers import Decomposition, GRMRProblem, GRMRResult, SolverResult, clean_alone, path, solve
from ._fit.classifier import MatrixClassifier
from ._fit.cleaning import CleanedFit, JointFit
from ._fit.convex import Part
from ._input.parameters import parametrised
from ._search.joint_search import JointSearch


@parametrised
class GSMM(JointFit, MatrixClassifier):
    """Support matrix machine on samples that are corrupted or incomplete themselves.

    The model of :class:`GRMR` with the loss of :class:`SMM`. With two classes the classifier and
    the clean signals are found together: minimise over W, b, X and E with ``D = X + E``, for
    labels y of -1 and 1,

        ``||W||_F^2/2 + tau ||W||_* + C sum_i s_i max(0, 1 - y_i (<W, X_i> + b))
        + gamma ||diag(sqrt(s)) X||_* + lam sum_i s_i ||E_i||_1``

    with ``outliers="split"``; by default outliers are replaced, as in :class:`GRMR`. With more than
    two classes the samples are cleaned once, without their labels, and each problem of two classes
    is fitted to the same clean signals.

    Parameters
    ----------
    tau, C : float or str, default="scale"
        Weights of the nuclear norm and of the loss, as in :class:`SMM`; "scale" of tau is measured
        on the samples as robust principal component analysis cleans them.
    gamma : float, default=None
        Weight of the nuclear norm of the samples, as in :class:`GRMR`.
    lam : float, default=None
        Weight of the outliers. By default it follows from a given `gamma` by the rule of
        :class:`GRMR`. If neither is given, `lam` is ``C`` divided by the typical absolute entry of
        the samples: an outlier of the size of a typical entry costs as much as a decision that is
        wrong by one margin.
    loss : {"hinge", "squared_hinge"} or LossFamily, default="hinge"
        As in :class:`SMM`; a loss of your own must return a :class:`matreg.losses.PiecewiseLoss`.
    outliers, limit
        What is done with outliers, and what an outlier is, as in :class:`GRMR`.
    noise : float, array-like of shape (p, q), "tails" or None, default="tails"
        As in :class:`GRMR`. Use None if samples are of low rank except for their outliers.
    adaptive : int or array-like of float, default=0
        As in :class:`GRMR`; with more than two classes the clean signals are the same in all steps.
    row_basis, column_basis, multi_class, fit_intercept, covariate_ridge, matrix_shape, n_jobs
        As in :class:`SMM`.
    class_weight : dict or "balanced", default=None
        Factors of the sample weights by class, in the cleaning too; "balanced" gives all classes
        the same total weight.
    clean_predict : bool, default=True
        Whether :meth:`predict` and :meth:`decision_function` clean new samples first, as
        :meth:`transform` does. Missing entries are filled in in either case.
    tol, max_iter
        As in :class:`GRMR`, for two classes; with more classes there is no alternation.
    regression_tol, regression_max_iter, split_tol, split_max_iter, verbose
        As in :class:`GRMR`; the regressions are the problems of two classes.

    Attributes
    ----------
    coef_ : ndarray of shape (p, q) or (m, p, q)
        W, exactly of low rank. With more than two classes this, `intercept_`, `rank_`, `dual_coef_`
        and `dual_gap_` have a first axis of m problems, as in :class:`SMM`.
    classes_, intercept_, rank_, dual_gap_, solver_, dual_coef_, label_outlier_score_, adaptive_
        As in :class:`SMM`, for the classifiers on the clean signals.
    matrix_shape_, n_features_in_
        As in :class:`RMR`.
    X_clean_, outliers_, clean_rank_, outlier_fraction_, sample_outlier_score_, noise_, split_gap_
        The clean signals and what describes them, as in :class:`GRMR`.
    tau_, C_, gamma_, lam_ : float
        Numbers used.
    objective_ : float
        Objective reached; with more than two classes the sum of all problems and of the cleaning.
    n_iter_ : int
        Number of alternations; 1 with more than two classes.
    history_ : structured ndarray, or a list of m of them
        One row per half-step as in :class:`GRMR`; with more than two classes those of the problems.
    steps_ : structured ndarray, or a list of m of them
        One row per step of an adaptive model, as in :class:`GRMR` and :class:`SMM`.

    See Also
    --------
    SMM : The same model without cleaning.
    GRMR : Regression on corrupted samples.

    Notes
    -----
    Labels contribute little to the cleaning: on digits and faces with corrupted samples, cleaning
    without labels hardly changed the accuracy on new samples. Samples of more than two classes are
    therefore cleaned without labels.

    References
    ----------
    Q. Zheng, F. Zhu and P.-A. Heng, Robust support matrix machine for single trial EEG
    classification, IEEE Transactions on Neural Systems and Rehabilitation Engineering 26 (2018)
    551-562.

    Examples
    --------
    >>> from matreg import GSMM
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(
    ...     100, (8, 8), x_rank=3, x_corruption=0.05, random_state=0
    ... )
    >>> model = GSMM().fit(data.X, data.y > 0.0)
    >>> model.score(data.X, data.y > 0.0) > 0.9
    True
    >>> model.transform(data.X[:5]).shape
    (5, 8, 8)
    """

    _plain_name = "SMM"
    noise: float | str | ArrayLike | None = "tails"

    def _label_spread(self, distinct: Samples) -> float:
        return 1.0  # a margin

    @property
    def _alone(self) -> bool:
        """Whether there are two classes, which one problem separates."""
        return len(self.classes_) == 2

    def _labelled(self, distinct: Samples) -> Samples:
        """Labels -1 and 1 in place of 0 and 1; all 1 for more classes, whose labels are unused."""
        return replace(distinct, y=2.0 * distinct.y - 1.0 if self._alone else np.ones(distinct.n))

    _parts = MatrixClassifier._parts

    def _apart(
        self, problem: GRMRProblem, distinct: Samples, pca: Decomposition | None
    ) -> tuple[list[Part], Callable[[Sequence[SolverResult]], CleanedFit]]:
        """The problems of two classes, on samples that are cleaned without labels.

        The second value is a function that combines the results of these problems into a fit.
        """
        problem, split = clean_alone(problem, self._limits(), pca)
        parts = self._parts(replace(problem.cleaned(split.E), y=distinct.y))

        def fit(results: Sequence[SolverResult]) -> CleanedFit:
            worst = max(results, key=lambda one: one.gap)
            done = split.gap <= self.split_tol and worst.converged
            value = split.cost + sum(one.primal for one in results)
            histories: Any = [one.history for one in results]
            whole = GRMRResult(problem, worst, split, value, 0.0, 1, done, histories)
            return CleanedFit(parts, [*results], whole)

        return parts, fit

    def _solve(
        self,
        problem: GRMRProblem,
        distinct: Samples,
        start: Parameters | None,
        pca: Decomposition | None,
    ) -> CleanedFit:
        if self._alone:
            return super()._solve(problem, distinct, start, pca)
        with span(0.0, 0.8):
            parts, fit = self._apart(problem, distinct, pca)
        ends: Parameters = {"tol": self.regression_tol, "max_iter": self.regression_max_iter}
        tasks = (delayed(solve)(problem.model, one.samples, **ends) for one in parts)
        with span(0.8, 1.0):
            solving = in_parallel(tasks, self.n_jobs)
            return fit(list(track(solving, type(self).__name__, len(parts))))

    def _along(
        self, problem: GRMRProblem, distinct: Samples, taus: Array, pca: Decomposition | None
    ) -> Iterator[CleanedFit]:
        if self._alone:
            yield from super()._along(problem, distinct, taus, pca)
            return
        parts, fit = self._apart(problem, distinct, pca)
        ends: Parameters = {"tol": self.regression_tol, "max_iter": self.regression_max_iter}
        paths = (path(problem.model, one.samples, "tau", taus, **ends) for one in parts)
        yield from map(fit, zip(*map(list, paths), strict=True))


@parametrised
class GSMMCV(JointSearch, MatrixClassifier):
    """GSMM with tau, gamma and what counts as an outlier chosen by cross-validation.

    The search is that of :class:`GRMRCV`, with accuracy as the default score. With more than two
    classes the whole grid is tried: the samples of a fold are cleaned once for each gamma, lam,
    limit and noise, and all values of tau are a path.

    Parameters
    ----------
    taus, n_taus, tau_min_ratio, gamma, lam, outliers, limit, adaptive, row_basis, column_basis
        As in :class:`GRMRCV`.
    noise : float, "tails", None or a list of them, default="tails"
        Values to try; the words are those of :class:`GSMM`.
    C : float, str or a list of them, default="scale"
        Values to try: numbers, or words as in :class:`GSMM`.
    loss, class_weight, multi_class, fit_intercept, covariate_ridge, clean_predict, matrix_shape
        As in :class:`GSMM`.
    tol, split_tol, max_iter
        As in :class:`GSMM`.
    fold_tol, fold_split_tol, halving, cv, scoring, one_standard_error, n_jobs, verbose
        As in :class:`GRMRCV`; folds are stratified by class.

    Attributes
    ----------
    tau_, gamma_, lam_, limit_, C_ : float
        Chosen values.
    cv_results_, best_index_, best_score_, taus_
        As in :class:`GRMRCV`.
    best_estimator_ : GSMM
        The chosen model, fitted to all the data. This estimator has its attributes too.

    Examples
    --------
    >>> from matreg import GSMMCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), x_rank=3, x_corruption=0.05, random_state=0)
    >>> model = GSMMCV([0.1, 1.0], limit=4.0, cv=3).fit(data.X, data.y > 0.0)
    >>> model.X_clean_.shape
    (60, 6, 5)
    """

    _plain = GSMM
    _searched = ("C",)

    @property
    def _tries_all(self) -> bool:  # with more classes, samples are cleaned once for a whole path
        return super()._tries_all or len(self.classes_) > 2

    noise: float | str | ArrayLike | None = "tails"
