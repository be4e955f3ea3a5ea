"""The support matrix machine on corrupted samples, chosen by cross-validation."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array
from ..bases import samples_in
from ..data.samples import Samples
from ..solvers import Decomposition, GRMRProblem, NewSamples, clean_alone, learned_space, path
from ._fit.classifier import MatrixClassifier
from ._fit.cleaning import JointFit
from ._fit.units import earlier_taus
from ._input.parameters import parametrised
from ._input.streamed import linear
from ._search.joint_search import JointSearch
from ._search.left_out import leave_out
from .gsmm import GSMM


@parametrised
class GSMMCV(JointSearch, MatrixClassifier):
    """GSMM with tau, gamma and what counts as an outlier chosen by cross-validation.

    The search is that of :class:`GRMRCV`, by accuracy. With more than two classes the samples of a
    fold are cleaned once for each gamma, lam, limit and noise, and all values of tau are a path.

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
        As in :class:`GRMRCV`; folds have the classes in the same shares.

    Attributes
    ----------
    tau_, gamma_, lam_, limit_, C_ : float
        Chosen values.
    cv_results_, best_index_, best_score_
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

    noise: float | str | ArrayLike | None = "tails"

    def _predict_taus(
        self,
        model: JointFit,
        problem: GRMRProblem,
        samples: Samples,
        taus: Array,
        X_test: Array,
        Z_test: Array | None,
        pca: Decomposition | None,
    ) -> tuple[Array, Array]:
        if len(self.classes_) == 2:
            return super()._predict_taus(model, problem, samples, taus, X_test, Z_test, pca)
        problem, split = clean_alone(problem, model._limits(), None if pca is None else pca.copy())
        space = learned_space(problem, split)
        rows = self._completed_rows(space, NewSamples(X_test.reshape(len(X_test), -1)))
        clean = Samples.of(problem.clean(split.E), samples.y, samples.weights, samples.Z)
        bases, declared = problem.bases, model._declare(0.0, earlier_taus(model.adaptive, 0.0))
        tol, most = model.regression_tol, model.regression_max_iter
        decisions, ranks, doubts = [], [], np.zeros(len(taus))
        for part in model._parts(samples_in(clean, bases)):
            points = list(path(declared, part.samples, "tau", taus, tol=tol, max_iter=most))
            W = np.array([bases.expand(point.W.matrix).reshape(-1) for point in points])
            f = linear(rows, W, np.array([point.b for point in points]))
            if Z_test is not None:
                f += np.array([point.covariate_coef for point in points]) @ Z_test.T
            if self._leaves_one_out:
                for k, (tau, point) in enumerate(zip(taus, points, strict=True)):
                    posed = model._declare(float(tau)).on(part.samples)
                    doubt = leave_out(f[k], posed, part, samples, point)
                    doubts[k] = np.maximum(doubts[k], doubt)
            decisions.append(f)
            ranks.append([float(point.W.rank) for point in points])
        facts = np.array([np.mean(ranks, axis=0), doubts])
        return model._combiner()[0](np.array(decisions)), facts
