"""Regularised matrix regression: generalised linear models on matrices."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array, Values
from ..data.samples import Samples, SampleSet
from ..model import Model
from ..penalties.spectral import SpectralElasticNet
from ..solvers import SolverResult, mean_curvature, tau_max
from ._fit.convex import ConvexEstimator, Part, joint_part
from ._fit.family import FamilyEstimator
from ._fit.units import RGLM_TAU, Units
from ._input.parameters import parametrised
from ._search.block_by_block import tried_by_moments
from ._search.candidates import number_list
from ._search.path_search import PathSearch

# Shares of a ridge that RGLMCV tries.
RIDGES = (0.0, 0.9, 0.99)


@parametrised
class RGLM(FamilyEstimator, ConvexEstimator):
    """Regularised matrix regression: generalised linear models with a nuclear norm.

    Minimises over the matrix B and the number b, with ``f_i = <B, X_i> + b``,

        sum_i s_i l(y_i, f_i) + tau ||B||_*,

    where l is half the deviance of the family:

    - "normal": ``1/2 (y - f)^2``,
    - "binomial": ``log(1 + exp(f)) - y f`` with y = 0 for the first class and 1 for the second,
    - "multinomial": ``log sum_c exp(f_c) - f_y`` with a matrix and a number for each class c,
    - "poisson": ``exp(f) - y f + y log y - y``.

    The squared loss suits light-tailed noise. A few grossly wrong labels spoil the fit: use
    :class:`RMR` for them.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm. With 0 the model is least squares (the solution of smallest
        norm) or maximum likelihood; at :func:`tau_max` and above, B is zero. "scale" is 0.02 of
        tau_max, "2*scale" twice as much, and so on: predictions then do not depend on the units of
        X and y.
    family : str or LossFamily, default="normal"
        One of "normal", "gaussian", "binomial", "multinomial" and "poisson". Distribution of the
        labels: numbers, two classes of any names, more than two classes, or counts. With "binomial"
        and "multinomial", which are the same for two classes, the model is a classifier.
        "multinomial" has no ridge, needs memory for one copy of the samples per class, and has no
        certificate with tau = 0. A family of your own is an object of a subclass of
        :class:`matreg.losses.LossFamily`.
    ridge : float, default=0.0
        Share of a ridge in the penalty, at least 0 and below 1, for effects that are dense and not
        of low rank: ``ridge / (1 - ridge) (tau / tau_max) m / 2 ||B||_F^2`` is added, with m the
        mean of the nonzero eigenvalues of the Hessian of the loss at B = 0. Predictions do not
        depend on units.
    l1, adaptive, row_basis, column_basis, fit_intercept, covariate_ridge, tol, matrix_shape
        As in :class:`RMR`.
    max_iter : int, default=10000
        Largest number of iterations: those of the proximal gradient method plus the Newton steps
        that take over from it.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last `fit`, if they have the shape of the
        samples.
    joint : {"rows", "columns"} or None, default=None
        Whether several labels share row profiles or column profiles: the nuclear norm is then that
        of their matrices side by side, or on top of each other, and each label is divided by its
        spread, `label_scale_`. With None each label is fitted separately. With the family
        "binomial" and more than two classes, each class against the rest is such a label, and
        `predict_proba` divides their probabilities by the sum. The classes of "multinomial" are
        always one problem; with None their nuclear norms are added up.
    n_jobs : int, default=None
        Number of labels that are fitted in parallel, if there are several.
    verbose : int, default=0
        Whether to print one line per check of the gap.

    Attributes
    ----------
    coef_ : ndarray of shape (p, q)
        B, exactly of rank `rank_`.
    intercept_, rank_, objective_, dual_gap_, solver_
        As in :class:`RMR`.
    dual_coef_ : ndarray of shape (n,)
        Dual point that proves `dual_gap_`: the largest singular value of
        ``sum_i dual_coef_i X_i`` is at most tau.
    n_iter_ : int
        Number of iterations; 0 if B = 0 is optimal, and for least squares with tau = 0, which is
        solved directly.
    history_ : structured ndarray
        One row per check of the gap: iteration, time, primal, dual, gap, rank and method. Every
        tenth iteration of the proximal gradient method and every Newton step is checked; for the
        families "binomial" and "poisson", every reweighted least squares problem.
    tau_, l1_, adaptive_, steps_, matrix_shape_, n_features_in_
        As in :class:`RMR`.
    ridge_ : float
        The given share.
    classes_ : ndarray of shape (n_classes,)
        The classes; only for the families "binomial" and "multinomial".

    See Also
    --------
    RMR : The model for wrong labels.
    GRMR : The model for corrupted samples.

    References
    ----------
    H. Zhou and L. Li, Regularized matrix regression, Journal of the Royal Statistical Society B
    76 (2014) 463-483.

    B. O'Donoghue and E. Candes, Adaptive restart for accelerated gradient schemes, Foundations of
    Computational Mathematics 15 (2015) 715-732.

    X. Li, D. Sun and K.-C. Toh, A highly efficient semismooth Newton augmented Lagrangian method
    for solving Lasso problems, SIAM Journal on Optimization 28 (2018) 433-458.

    J. D. Lee, Y. Sun and M. A. Saunders, Proximal Newton-type methods for minimizing composite
    functions, SIAM Journal on Optimization 24 (2014) 1420-1443.

    Examples
    --------
    >>> from matreg import RGLM
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(200, (8, 6), noise="gaussian", random_state=0)
    >>> model = RGLM(tau=10.0).fit(data.X, data.y)
    >>> model.coef_.shape, model.rank_
    ((8, 6), 2)
    >>> bool(model.dual_gap_ <= 1e-6)
    True

    Two classes, and the probabilities of both:

    >>> large = data.y > 0.0
    >>> model = RGLM(tau=5.0, family="binomial").fit(data.X, large)
    >>> model.predict_proba(data.X).shape, model.score(data.X, large) > 0.9
    ((200, 2), True)
    """

    ridge: float = 0.0
    warm_start: bool = False

    def _parts(self, samples: SampleSet) -> list[Part]:
        k = len(vars(self).get("classes_", ()))
        if k <= 2:
            return super()._parts(samples)
        if self._multinomial:
            return joint_part(self, self._classes_of_each(samples.distinct(), k))
        y = samples.given[0]
        parts = [Part(samples.part(None, (y == c).astype(float))) for c in range(k)]
        return joint_part(self, parts)

    def _classes_of_each(self, samples: Any, k: int) -> list[Part]:
        """One part per class: all samples in the same order, with labels 1 in the class, else 0."""
        for name in ("ridge", "covariate_ridge"):
            if getattr(self, name) > 0.0:
                raise ValueError(
                    f'{name} must be 0 for family="multinomial"; got {getattr(self, name)}. '
                    'Take family="binomial" with joint="rows" or "columns".'
                )
        for c, name in enumerate(self.classes_.tolist()):
            if not np.any(samples.weights[samples.y == c] > 0.0):
                raise ValueError(
                    f'every class must have a weight for family="multinomial"; class {name!r} has '
                    "none. Leave its samples out, or give one of them a positive weight."
                )
        return [Part(replace(samples, y=(samples.y == c).astype(float))) for c in range(k)]

    def _nuclear(self) -> SpectralElasticNet:
        return SpectralElasticNet(0.0, ridge=0.0)

    def _with_ridge(self, model: Model, samples: SampleSet, parts: list[Part]) -> Model:
        if self.ridge == 0.0:
            return model
        (part,) = parts
        largest = tau_max(model, part.samples)
        if largest == 0.0:  # W = 0 for any penalty
            return model
        unit = mean_curvature(model, part.samples) / largest
        penalty = replace(model.penalty, ridge_per_tau=self.ridge / (1.0 - self.ridge) * unit)
        return replace(model, penalty=penalty)

    def _tau_share(self, units: Units) -> float:
        return RGLM_TAU

    def _last_dual(self, samples: Samples) -> Array:
        return np.zeros(samples.n)  # the coefficients alone are a start, whatever the samples

    def _advice(self, model: Model, part: Part, result: SolverResult) -> str:
        if result.n_iter >= self.max_iter:
            return "Raise max_iter or tol."
        if self._has_classes and self.tau_ == 0.0:
            return "There is no optimum if some W separates the classes without error: raise tau."
        if self._has_classes and hasattr(self, "covariate_coef_"):
            return (
                "There is no optimum if the covariates alone separate two classes, as they have no "
                "penalty: leave out the covariates that do, or merge rare categories."
            )
        return (
            "More iterations do not help: rounding errors alone leave a gap above tol here. Raise "
            "tol or tau; tau=0 is least squares, which is solved directly."
        )


@parametrised
class RGLMCV(FamilyEstimator, PathSearch):
    """R-GLM with tau chosen by cross-validation, from coarse to fine as by :class:`RMRCV`.

    Parameters
    ----------
    family : {"normal", "gaussian", "binomial", "multinomial", "poisson"}, default="normal"
        As in :class:`RGLM`. The score of the folds is R^2 or D^2 by default, and for "binomial"
        minus the log loss, which is more sensitive than accuracy; its folds are stratified.
    ridge : float or list of float, default=None
        Shares of a ridge to try, as in :class:`RGLM`. None tries 0, 0.9 and 0.99; with the last the
        nuclear norm has little effect, for W that is not of low rank. With `l1`, or with the family
        "multinomial", None tries only 0.
    l1 : float, matrix, or a list of them, default=0.0
        Values to try, relative to tau, as in :class:`RGLM`; `ridge` must be 0 with them.
    taus, n_taus, tau_min_ratio, adaptive, row_basis, column_basis, fit_intercept, covariate_ridge
        As in :class:`RMRCV`.
    cv, scoring, one_standard_error, tau_per_label, n_jobs, verbose, matrix_shape
        As in :class:`RMRCV`.
    joint : {"rows", "columns"}, default=None
        For several labels, as in :class:`RMRCV`, and for more than two classes of the family
        "binomial", as in :class:`RGLM`.
    tol, max_iter
        As in :class:`RGLM`.

    Attributes
    ----------
    tau_, ridge_, l1_ : float
        Chosen values.
    cv_results_, best_index_, best_score_, taus_, adaptive_
        As in :class:`RMRCV`.
    coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_, steps_, solver_
        Attributes of the chosen model, fitted to all the data, as in :class:`RGLM`.
    classes_, matrix_shape_, n_features_in_
        As in :class:`RGLM`.

    Examples
    --------
    >>> from matreg import RGLMCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), rank=1, noise_scale=0.5, random_state=0)
    >>> RGLMCV(n_taus=8, cv=3).fit(data.X, data.y).coef_.shape
    (6, 5)
    """

    _plain = RGLM
    _searched = ("ridge", "l1")

    ridge: float | ArrayLike | None = None
    n_taus: int = 50
    tau_per_label: bool = True

    def _values(self, name: str, units: Units) -> list[float]:
        if name != "ridge":
            return super()._values(name, units)
        plain = np.any(self.l1) or self._multinomial
        default = (0.0,) if plain else RIDGES
        values = number_list(name, default if self.ridge is None else self.ridge, positive=False)
        if max(values) >= 1.0:
            raise ValueError(f"ridge must be shares of at least 0 and below 1; got {values}.")
        return values

    def _score_all(self, y: Values, decisions: Array, sample_weight: Array | None) -> Array:
        if not self._has_classes:
            return super()._score_all(y, decisions, sample_weight)
        own = np.arange(len(y)), np.searchsorted(self.classes_, y)
        logarithms = np.array([self._log_probabilities(f)[own] for f in decisions])
        return np.asarray(np.average(logarithms, axis=1, weights=sample_weight))

    _try_on_blocks = tried_by_moments
