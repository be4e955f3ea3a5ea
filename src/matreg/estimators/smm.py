"""The support matrix machine."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import Array, Index
from ..blocks import Blocks
from ..design import ArrayDesign
from ..interruption import may_keep
from ..losses import PiecewiseLoss, hinge, squared_hinge
from ..penalties import SpectralElasticNet
from ..problem import RMRProblem
from ..progress import track
from ..solvers import SolverResult, rmr_tau_max, solve_rmr
from ..unpenalised import intercept
from ._base import warn_unless_converged
from ._callbacks import callback_context, watched
from ._classes import check_classes_of_part
from ._classifier import CLASSIFIER_CONSTRAINTS, MatrixClassifier, TwoClasses
from ._duplicates import Distinct, merge_duplicates
from ._report import warn_if_zero, warn_if_zero_on_blocks
from ._scale import Units, scaled_tau
from ._stored import is_streamed
from ._streamed import (
    MORE_MEMORY,
    as_blocks,
    part_of_blocks,
    solve_on_blocks,
    store_streamed,
    unsolved,
    validate_stored,
    warn_if_interrupted,
)

LOSS_CONSTRAINT = [StrOptions({"hinge", "squared_hinge"})]


def smm_loss(loss: str, signs: Array, c: Array) -> PiecewiseLoss:
    """Loss of labels -1 and 1 with weights c, C times those of the samples."""
    return hinge(signs, c) if loss == "hinge" else squared_hinge(signs, 2.0 * c)


def smm_problem(
    distinct: Distinct, loss: str, C: float, fit_intercept: bool, tau: float = 0.0
) -> RMRProblem:
    """SMM of two classes, -1 and 1, on distinct samples."""
    cost = smm_loss(loss, distinct.y, float(C) * distinct.weights)
    penalty = SpectralElasticNet(float(tau))
    return RMRProblem(ArrayDesign(distinct.X), distinct.y, cost, penalty, intercept(fit_intercept))


class SMM(MatrixClassifier):
    """Support matrix machine: a classifier with a large margin and low rank.

    Minimises over the matrix W and the number b, for labels y of -1 and 1,

        1/2 ||W||_F^2 + tau ||W||_* + C sum_i s_i max(0, 1 - y_i (<W, X_i> + b)).

    More than two classes are told apart by several such problems.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm. 0 is the linear support vector machine; from some value on W
        is zero, and "scale" is 0.005 of that.
    C : float or str, default="scale"
        Weight of the loss, a sum over the samples and not a mean. "scale" is three over the squared
        median Frobenius norm of the samples around their entrywise median (around zero without an
        intercept). "0.1*scale" and the like are multiples; with the words predictions do not
        depend on the units of X.
    loss : {"hinge", "squared_hinge"}, default="hinge"
        "squared_hinge" is ``max(0, 1 - y f)^2``, which has no kink and more support vectors.
    class_weight : dict or "balanced", default=None
        Factors of the weights of the samples by class; "balanced" gives every class the same
        weight in all.
    multi_class : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        What to do with more than two classes: one problem for each pair, on the samples of both, or
        one for each class, on all samples.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    tol : float, default=1e-6
        Relative duality gap (objective - bound) / objective at which the solver stops.
    max_iter : int, default=1000
        Largest number of iterations, for each problem.
    n_jobs : int, default=None
        Number of problems at a time, if there are more than two classes.
    verbose : int, default=0
        Whether to print one line per iteration.
    matrix_shape : tuple of int, default=None
        (p, q) for samples that come flattened. Without it a flat sample is an m x 1 matrix.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in order.
    coef_ : ndarray of shape (p, q) or (m, p, q)
        W, exactly of rank `rank_`. With more than two classes this and all that follows has a first
        axis of m problems: pairs in the order (0, 1), (0, 2), ..., or classes.
    intercept_ : float or ndarray of shape (m,)
        b, zero without `fit_intercept`.
    rank_ : int or ndarray of shape (m,)
        Rank of W.
    dual_coef_ : ndarray of shape (n,) or (m, n)
        Dual point that proves `dual_gap_`: between 0 and ``C sample_weight``, with the sign of the
        label; not zero for the support vectors.
    objective_ : float or ndarray of shape (m,)
        Objective at (W, b).
    dual_gap_ : float or ndarray of shape (m,)
        Relative duality gap: the objective is at most this fraction of itself above the optimum.
    n_iter_ : int or ndarray of shape (m,)
        Iterations done.
    label_outlier_score_ : ndarray of shape (n,)
        How much each label looks wrong, in margins: 0 on the right side of the margin, up to 1 on
        it, and ``2 - y f`` beyond it, with f the decision: more than 2 on the wrong side. With more
        than two classes the largest of the problems'. NaN where the weight is zero.
    history_ : structured ndarray, or a list of m of them
        One row an iteration: iteration, time, primal, dual, gap, rank.
    matrix_shape_ : tuple of int
        (p, q).
    n_features_in_ : int
        p * q.

    See Also
    --------
    SMMCV : With tau and C by cross-validation.
    RGLM : Logistic regression, with probabilities: ``RGLM(family="binomial")``.
    sklearn.calibration.CalibratedClassifierCV : Probabilities from the decisions of SMM.

    References
    ----------
    L. Luo, Y. Xie, Z. Zhang and W.-J. Li, Support matrix machines, International Conference on
    Machine Learning (2015) 938-947.

    Examples
    --------
    >>> from matreg import SMM
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(200, (8, 6), rank=1, random_state=0)
    >>> labels = ["small", "large"]
    >>> y = [labels[int(value > 0.0)] for value in data.y]
    >>> model = SMM(tau=3.0).fit(data.X, y)
    >>> model.coef_.shape, bool(model.dual_gap_ <= 1e-6)
    ((8, 6), True)
    >>> model.classes_.tolist(), model.score(data.X, y) > 0.9
    (['large', 'small'], True)
    """

    _parameter_constraints: dict[str, list[Any]] = {
        **CLASSIFIER_CONSTRAINTS,
        "tau": [Interval(Real, 0, None, closed="left"), str],
        "C": [Interval(Real, 0, None, closed="neither"), str],
        "loss": LOSS_CONSTRAINT,
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "matrix_shape": [tuple, list, None],
    }

    def __init__(
        self,
        tau: float | str = "scale",
        *,
        C: float | str = "scale",
        loss: str = "hinge",
        class_weight: dict[Any, float] | str | None = None,
        multi_class: str = "one_vs_one",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 1000,
        n_jobs: int | None = None,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.tau = tau
        self.C = C
        self.loss = loss
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.matrix_shape = matrix_shape

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples; a list of n matrices will do.
        y : array-like of shape (n,)
            Classes: numbers, strings or anything that can be sorted.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses; weight 2 is the same as the sample twice.

        Returns
        -------
        SMM
            The fitted model itself.
        """
        if is_streamed(X):
            return self._fit_streamed(X, y, sample_weight)
        with callback_context(self, None) as context, self._unchanged_on_failure():
            X, y, weights = self._validate_fit(X, y, sample_weight)
            weights = self._weigh_classes(y, weights)
            parts = [(two, two.distinct(X, weights)) for two in self._problems(y)]
            tau_max = self._set_scale(X, y, weights, [part for _, part in parts])
            tasks = (delayed(self._solve)(two, part) for two, part in parts)
            solved = Parallel(n_jobs=self.n_jobs, return_as="generator")(tasks)
            several = len(parts) > 1 and not self.verbose
            with watched(self, context, alone=not several):
                results = list(track(solved, "SMM", len(parts)) if several else solved)
            self._store_all(results, len(y))
        worst = max((result for _, _, result in results), key=lambda result: result.gap)
        warn_unless_converged("SMM", worst, self.tol, "Raise max_iter or tol, or lower C.")
        warn_if_zero(int(np.max(self.rank_)), y, self.tau_, tau_max)
        return self

    def _set_scale(
        self, X: Array, y: Array, weights: Array, parts: list[Distinct]
    ) -> Callable[[], float]:
        """C and tau as numbers, the same for all pairs of classes; and how to compute tau_max."""
        units = Units(merge_duplicates(X, y, weights), self.fit_intercept, classes=True)
        self.C_ = units.C(self.C)

        def tau_max() -> float:
            problems = [smm_problem(part, self.loss, self.C_, self.fit_intercept) for part in parts]
            return max(rmr_tau_max(problem) for problem in problems)

        self.tau_ = scaled_tau(self.tau, tau_max)
        return tau_max

    def _solve(self, two: TwoClasses, part: Distinct) -> tuple[TwoClasses, Distinct, SolverResult]:
        problem = smm_problem(part, self.loss, self.C_, self.fit_intercept, self.tau_)
        result = solve_rmr(problem, tol=self.tol, max_iter=self.max_iter, verbose=self.verbose)
        return two, part, result

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to samples that are read block by block, one problem of two classes after another."""
        self._check_streamed()
        with self._fitting():
            y, weights = validate_stored(self, X, y, sample_weight)
            weights = self._weigh_classes(y, weights)
            self._set_streamed_scale(as_blocks(X, y, weights, self.matrix_shape_))
            results: list[tuple[Blocks, SolverResult]] = []
            for two in self._problems(y):
                signs, some = two.everywhere(weights)
                part = as_blocks(X, signs, some, self.matrix_shape_)
                begun = not any(result.interrupted for _, result in results)
                results.append((part, self._solve_two(part, signs, some, begun, not results)))
            warn_if_interrupted([result for _, result in results])
            store_streamed(self, results)
        worst = max((result for _, result in results), key=lambda result: result.gap)
        warn_unless_converged("SMM", worst, self.tol, MORE_MEMORY)
        warn_if_zero_on_blocks(int(np.max(self.rank_)), self.tau_)
        return self

    def _solve_two(
        self, blocks: Blocks, signs: Array, weights: Array, begin: bool, first: bool
    ) -> SolverResult:
        """One of the problems of two classes, or W = 0 if it is not to begin after Ctrl-C."""
        loss_of = partial(block_hinge, C=self.C_)
        try:
            if begin:
                penalty, rare = SpectralElasticNet(self.tau_), smaller_class(signs, weights)
                return solve_on_blocks(self, blocks, loss_of, penalty, rare=rare)
        except KeyboardInterrupt:  # before its first pass
            if first or not may_keep():
                raise
        return unsolved(loss_of(signs, weights).value(signs), self.matrix_shape_)

    def _check_streamed(self) -> None:
        """Refuse what needs all samples in memory."""
        if self.loss == "squared_hinge":
            raise ValueError(
                "loss='squared_hinge' needs all samples in memory, but X is read block by block: "
                "take loss='hinge', or load X if it fits."
            )

    def _set_streamed_scale(self, blocks: Blocks) -> None:
        """C and tau as numbers, from a part of the samples where they are words."""
        if not any(isinstance(given, str) for given in (self.tau, self.C)):
            self.tau_, self.C_ = float(self.tau), float(self.C)
            return
        part = part_of_blocks(blocks)
        check_classes_of_part(self.classes_, part.y, "'scale' is measured on", blocks.n)
        parts = [two.distinct(part.X, part.weights) for two in self._problems(part.y)]
        self._set_scale(part.X, part.y, part.weights, parts)


def block_hinge(y: Array, weights: Array, C: float) -> PiecewiseLoss:
    """Losses of the samples of a block, of labels -1 and 1."""
    return hinge(y, C * weights)


def smaller_class(signs: Array, weights: Array) -> Index:
    """Indices of the samples of positive weight of the smaller of two classes."""
    classes = [np.flatnonzero((signs == sign) & (weights > 0.0)) for sign in (-1.0, 1.0)]
    return min(classes, key=len)
