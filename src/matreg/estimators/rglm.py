"""Regularised matrix regression: generalised linear models on matrices."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from ..blocks import Blocks
from ..penalties import SpectralElasticNet
from ..solvers import (
    Reduced,
    RGLMState,
    SolverResult,
    moments,
    rglm_tau_max,
    solve_rglm,
    solve_streamed_rglm,
)
from ._base import warn_unless_converged
from ._duplicates import merge_duplicates
from ._family import FAMILY_CONSTRAINT, FamilyEstimator, rglm_problem
from ._report import warn_if_zero, warn_if_zero_on_blocks
from ._scale import RGLM_TAU, scaled_tau
from ._stored import is_streamed
from ._streamed import check_streamed_family, fit_streamed


class RGLM(FamilyEstimator):
    """Regularised matrix regression: generalised linear models with a nuclear norm.

    Minimises over the matrix B and the number b, with ``f_i = <B, X_i> + b``,

        sum_i s_i l(y_i, f_i) + tau ||B||_*,

    where l is half the deviance of the family:

    - "normal": ``1/2 (y - f)^2``,
    - "binomial": ``log(1 + exp(f)) - y f`` with y = 0 for the first class and 1 for the second,
    - "poisson": ``exp(f) - y f + y log y - y``.

    The squared loss is the right one for light-tailed noise. A few grossly wrong labels spoil the
    fit: :class:`RMR` is made for them.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm. 0 is least squares, of the solutions that of smallest norm, or
        maximum likelihood; from :func:`tau_max` on B is zero. "scale" is 0.02 of that, "2*scale"
        twice as much, and so on: predictions then do not depend on the units of X and y.
    family : {"normal", "binomial", "poisson"}, default="normal"
        Distribution of the labels: numbers, two classes of any names, or counts. With "binomial"
        the model is a classifier.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    tol : float, default=1e-6
        Relative duality gap (objective - bound) / objective at which the solver stops.
    max_iter : int, default=10000
        Largest number of iterations, those of the proximal gradient method and the Newton steps
        that take over from it together.
    warm_start : bool, default=False
        Whether to start from the coefficients of the last `fit`, if they have the shape of the
        samples.
    verbose : int, default=0
        Whether to print one line per check of the gap.
    matrix_shape : tuple of int, default=None
        (p, q) for samples that come flattened. Without it a flat sample is an m x 1 matrix.

    Attributes
    ----------
    coef_ : ndarray of shape (p, q)
        B, exactly of rank `rank_`.
    intercept_ : float
        b, zero without `fit_intercept`.
    rank_ : int
        Rank of B.
    dual_coef_ : ndarray of shape (n,)
        Dual point that proves `dual_gap_`: the largest singular value of
        ``sum_i dual_coef_i X_i`` is at most tau.
    objective_ : float
        Objective at (B, b).
    dual_gap_ : float
        Relative duality gap: the objective is at most this fraction of itself above the optimum.
    n_iter_ : int
        Iterations done; 0 if B = 0 is optimal and for least squares with tau = 0, which is solved
        directly.
    history_ : structured ndarray
        One row per check of the gap: iteration, time, primal, dual, gap, rank, and the method that
        was at work. Every tenth iteration of the proximal gradient method is checked and every
        Newton step; for the families "binomial" and "poisson" every reweighted least squares
        problem.
    tau_ : float
        Number used.
    classes_ : ndarray of shape (2,)
        The two classes, for the family "binomial" alone.
    matrix_shape_ : tuple of int
        (p, q).
    n_features_in_ : int
        p * q.

    See Also
    --------
    RMR : Robust against wrong labels.
    GRMR : Robust against corrupted samples, too.

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

    _parameter_constraints: dict[str, list[Any]] = {
        "tau": [Interval(Real, 0, None, closed="left"), str],
        "family": FAMILY_CONSTRAINT,
        "fit_intercept": ["boolean"],
        "tol": [Interval(Real, 0, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "matrix_shape": [tuple, list, None],
    }

    def __init__(
        self,
        tau: float | str = "scale",
        *,
        family: str = "normal",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int = 10_000,
        warm_start: bool = False,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.tau = tau
        self.family = family
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
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
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses; weight 2 is the same as the sample twice.

        Returns
        -------
        RGLM
            The fitted model itself.
        """
        if is_streamed(X):
            return self._fit_streamed(X, y, sample_weight)
        with self._fitting():
            X, y, weights = self._validate_fit(X, y, sample_weight)
            distinct = merge_duplicates(X, y, weights)
            problem = rglm_problem(distinct, self.family, self.fit_intercept)
            self.tau_ = scaled_tau(self.tau, partial(rglm_tau_max, problem), RGLM_TAU)
            problem = replace(problem, penalty=SpectralElasticNet(self.tau_, ridge=0.0))
            result = solve_rglm(
                problem,
                tol=self.tol,
                max_iter=self.max_iter,
                verbose=self.verbose,
                start=self._start(),
            )
        self._store(result, distinct)
        warn_unless_converged("RGLM", result, self.tol, self._advice(result))
        warn_if_zero(self.rank_, distinct.y, self.tau_, partial(rglm_tau_max, problem))
        return self

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to samples that are read block by block."""
        check_streamed_family(self.family)
        with self._fitting():
            result = fit_streamed(self, X, y, sample_weight, self._solve_streamed)
        warn_unless_converged("RGLM", result, self.tol, self._advice(result))
        warn_if_zero_on_blocks(self.rank_, self.tau_)
        return self

    def _solve_streamed(self, blocks: Blocks) -> SolverResult:
        (G,) = moments(blocks)
        shape, intercept = (blocks.p, blocks.q), self.fit_intercept
        self.tau_ = scaled_tau(self.tau, lambda: Reduced(G, shape, intercept).tau_max, RGLM_TAU)
        (result,) = solve_streamed_rglm(
            blocks,
            np.array([self.tau_]),
            fit_intercept=intercept,
            tol=self.tol,
            max_iter=self.max_iter,
            G=G,
        )
        return result

    def _start(self) -> RGLMState | None:
        """Coefficients of the last fit, if asked for."""
        if self.warm_start and hasattr(self, "coef_"):
            return RGLMState(self.coef_, self.tau_)
        return None

    def _advice(self, result: SolverResult) -> str:
        """What to change when the gap is too large."""
        if result.n_iter >= self.max_iter:
            return "Raise max_iter or tol."
        if self.family == "binomial" and self.tau_ == 0.0:
            return "There is no optimum if a matrix tells the classes apart: raise tau."
        return (
            "More iterations are of no use: rounding errors are worth more than tol here. Raise "
            "tol or tau; tau=0 is least squares, which is solved directly."
        )
