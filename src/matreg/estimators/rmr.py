"""Robust matrix regression."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import Array
from ..blocks import Blocks
from ..design import ArrayDesign
from ..penalties import SpectralElasticNet
from ..problem import RMRProblem
from ..solvers import SolverResult, rmr_tau_max, rounding_floor, solve_admm, solve_rmr
from ..unpenalised import intercept
from ._base import MatrixRegressor, warn_unless_converged
from ._duplicates import Distinct, merge_duplicates
from ._losses import LOSS_CONSTRAINTS, block_loss, rmr_loss
from ._report import warn_if_zero, warn_if_zero_on_blocks
from ._scale import Units
from ._stored import is_streamed
from ._streamed import MORE_MEMORY, UNIT_ROWS, fit_streamed, part_of_blocks, solve_on_blocks
from ._wrong_labels import label_outlier_score


class RMR(MatrixRegressor):
    """Robust matrix regression.

    Minimises over the matrix W and the number b

        1/2 ||W||_F^2 + tau ||W||_* + C sum_i s_i l(y_i - <W, X_i> - b)

    with a loss l of the residual r,

    - "epsilon_insensitive": ``max(|r| - epsilon, 0)``,
    - "absolute": ``|r|``,
    - "huber": ``r^2 / (2 delta)`` up to delta and ``|r| - delta / 2`` beyond,
    - "quantile": ``quantile r`` for r > 0 and ``(quantile - 1) r`` for r < 0.

    All grow linearly, so that a few grossly wrong labels do little harm; the nuclear norm makes W
    low rank: its rows, and its columns, share few patterns.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm. 0 is linear support vector regression; from :func:`tau_max` on
        W is zero. "scale" is 0.005 of that, or more where chance has a part in it: a quarter of
        ``sum_i ||X_i||_F^2 / ||sum_i s_i X_i||_F^2`` for samples around their mean and the signs
        s_i of the labels around their median.
    C : float or str, default="scale"
        Weight of the loss, a sum over the samples and not a mean. "scale" is three times the
        median absolute deviation of the labels over the squared median Frobenius norm of the
        samples around their entrywise median (around zero without an intercept).
    epsilon : float or str, default="scale"
        Errors up to this size cost nothing, with the loss "epsilon_insensitive". "scale" is a
        tenth of the median absolute deviation of the labels.
    loss : {"epsilon_insensitive", "absolute", "huber", "quantile"}, default="epsilon_insensitive"
        "huber" is the most accurate where small errors are normal and only large ones are not;
        "quantile" predicts a quantile of the labels, "absolute" their median.
    delta : float or str, default="scale"
        Where the loss "huber" goes from a parabola to a line, in the units of y. "scale" is a
        third of the median absolute deviation of the labels. For tau, C, epsilon and delta
        "0.1*scale" and the like are multiples, and numbers are absolute, as in the paper; with the
        words predictions do not depend on the units of X and y.
    quantile : float, default=0.5
        Which quantile, between 0 and 1, the loss "quantile" predicts.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    solver : {"auto", "newton", "admm"}, default="auto"
        "newton" is an interior point method with second-order steps, "admm" the algorithm of the
        paper, for the losses "epsilon_insensitive" and "absolute"; "auto" takes "newton".
    rho : float, default=1.0
        Penalty parameter of "admm".
    eta : float, default=0.999
        Restart parameter of "admm", between 0 and 1.
    tol : float, default=1e-6
        Relative duality gap (objective - bound) / objective at which the solver stops.
    max_iter : int, default=1000
        Largest number of iterations: Newton steps of "newton", each of which solves a linear
        system of about the size of the samples, or iterations of "admm".
    warm_start : bool, default=False
        Whether to start from the last `fit`, if that had as many samples of the same shape. Where
        it does not lead to a solution "newton" starts again from scratch.
    verbose : int, default=0
        Whether to print one line per iteration.
    matrix_shape : tuple of int, default=None
        (p, q) for samples that come flattened. Without it a flat sample is an m x 1 matrix.

    Attributes
    ----------
    coef_ : ndarray of shape (p, q)
        W, exactly of rank `rank_`.
    intercept_ : float
        b, zero without `fit_intercept`.
    rank_ : int
        Rank of W.
    dual_coef_ : ndarray of shape (n,)
        Dual point that proves `dual_gap_`: ``|dual_coef_| <= C sample_weight``; for the loss
        "quantile" from ``(quantile - 1) C sample_weight`` to ``quantile C sample_weight``.
    label_outlier_score_ : ndarray of shape (n,)
        How much each label looks wrong, from the residuals in robust standard deviations and the
        multipliers; 0 inside of the loss' tube, NaN for samples of weight zero.
    objective_ : float
        Objective at (W, b).
    dual_gap_ : float
        Relative duality gap: the objective is at most this fraction of itself above the optimum.
    n_iter_ : int
        Iterations done, counted as in `max_iter`, from the last fit and from scratch together.
    history_ : structured ndarray
        One row per iteration: iteration, time, primal, dual, gap, rank, and the method that was at
        work.
    tau_, C_, epsilon_, delta_ : float
        Numbers used.
    matrix_shape_ : tuple of int
        (p, q).
    n_features_in_ : int
        p * q.

    See Also
    --------
    GRMR : The same while it cleans corrupted samples.
    RGLM : Squared loss, for labels without outliers.
    SMM : Classifier with the same penalty, for labels of two or more classes.

    References
    ----------
    H. Zhang, F. Zhu and S. Li, Robust Matrix Regression.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(200, (8, 6), label_outliers=0.1, random_state=0)
    >>> model = RMR(tau=40.0, C=1.0).fit(data.X, data.y)
    >>> model.coef_.shape, model.rank_
    ((8, 6), 2)
    >>> bool(model.dual_gap_ <= 1e-6)
    True

    Nine labels in ten are below the prediction of the quantile 0.9:

    >>> upper = RMR(tau=10.0, C=1.0, loss="quantile", quantile=0.9).fit(data.X, data.y)
    >>> round(float((data.y <= upper.predict(data.X)).mean()), 1)
    0.9
    """

    _keeps_dtype = True
    _parameter_constraints: dict[str, list[Any]] = {
        "tau": [Interval(Real, 0, None, closed="left"), str],
        "C": [Interval(Real, 0, None, closed="neither"), str],
        "epsilon": [Interval(Real, 0, None, closed="left"), str],
        **LOSS_CONSTRAINTS,
        "fit_intercept": ["boolean"],
        "solver": [StrOptions({"auto", "newton", "admm"})],
        "rho": [Interval(Real, 0, None, closed="neither")],
        "eta": [Interval(Real, 0, 1, closed="neither")],
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
        C: float | str = "scale",
        epsilon: float | str = "scale",
        loss: str = "epsilon_insensitive",
        delta: float | str = "scale",
        quantile: float = 0.5,
        fit_intercept: bool = True,
        solver: str = "auto",
        rho: float = 1.0,
        eta: float = 0.999,
        tol: float = 1e-6,
        max_iter: int = 1000,
        warm_start: bool = False,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.tau = tau
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.delta = delta
        self.quantile = quantile
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.rho = rho
        self.eta = eta
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
        RMR
            The fitted model itself.
        """
        if is_streamed(X):
            return self._fit_streamed(X, y, sample_weight)
        with self._fitting():
            X, y, weights = self._validate_fit(X, y, sample_weight)
            distinct = merge_duplicates(X, y, weights)
            problem = self._problem(distinct)
            result = self._solve(problem, self._last_fit(distinct))
        self._store(result, distinct)
        self.label_outlier_score_ = score_labels(problem, result, distinct)
        advice = "" if result.converged else self._advice(problem, result)
        warn_unless_converged("RMR", result, self.tol, advice)
        warn_if_zero(
            self.rank_, distinct.y, self.tau_, partial(rmr_tau_max, problem), self.epsilon_
        )
        return self

    def _problem(self, distinct: Distinct) -> RMRProblem:
        units = Units(distinct, self.fit_intercept)
        self.C_, self.epsilon_ = units.C(self.C), units.epsilon(self.epsilon)
        self.delta_ = units.delta(self.delta)
        problem = rmr_problem(
            distinct,
            self.C_,
            self.fit_intercept,
            loss=self.loss,
            epsilon=self.epsilon_,
            delta=self.delta_,
            quantile=self.quantile,
        )
        self.tau_ = units.tau(self.tau, partial(rmr_tau_max, problem))
        return replace(problem, penalty=SpectralElasticNet(self.tau_))

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit to samples that are read block by block."""
        self._check_streamed()
        with self._fitting():
            result = fit_streamed(self, X, y, sample_weight, self._solve_streamed)
        warn_unless_converged("RMR", result, self.tol, MORE_MEMORY)
        warn_if_zero_on_blocks(self.rank_, self.tau_)
        return self

    def _check_streamed(self) -> None:
        """Refuse what needs all samples in memory."""
        if self.solver == "admm" or self.loss == "huber":
            name = "solver" if self.solver == "admm" else "loss"
            raise ValueError(
                f"{name}={getattr(self, name)!r} needs all samples in memory, but X is read block "
                f"by block: take another {name}, or load X if it fits."
            )

    def _solve_streamed(self, blocks: Blocks) -> SolverResult:
        words = any(isinstance(given, str) for given in (self.tau, self.C, self.epsilon))
        part = part_of_blocks(blocks, UNIT_ROWS if words else 1)
        problem = self._problem(part)  # what "scale" is, from a part
        loss_of = partial(
            block_loss, C=self.C_, loss=self.loss, epsilon=self.epsilon_, quantile=self.quantile
        )
        return solve_on_blocks(self, blocks, loss_of, problem.penalty)

    def _solve(self, problem: RMRProblem, start: SolverResult | None) -> SolverResult:
        limits: dict[str, Any] = {
            "tol": self.tol,
            "max_iter": self.max_iter,
            "verbose": self.verbose,
        }
        if self.solver == "admm":
            return solve_admm(problem, start=start, rho=self.rho, eta=self.eta, **limits)
        return solve_rmr(problem, start=start, **limits)

    def _advice(self, problem: RMRProblem, result: SolverResult) -> str:
        """What to change when the gap is too large."""
        floor = rounding_floor(problem, result.W.d) / result.primal
        if floor > 0.1 * self.tol:
            return (
                "Rounding errors of the residuals in float64, multiplied by C, are worth a gap of "
                f"up to {floor:.0e} here: lower C or scale X down."
            )
        if self.solver == "admm":
            return 'Raise max_iter, change rho, or take solver="newton".'
        return "Raise max_iter or tol, or lower C."


def score_labels(problem: RMRProblem, result: SolverResult, distinct: Distinct) -> Array:
    """`label_outlier_score_` of a fit."""
    residual = problem.y - problem.design.forward(result.W.matrix) - result.b
    return label_outlier_score(residual, problem.loss, result, distinct)


def rmr_problem(
    distinct: Distinct, C: float, fit_intercept: bool, tau: float = 0.0, **loss: Any
) -> RMRProblem:
    """RMR on distinct samples; `loss` is what :func:`rmr_loss` takes besides the slopes."""
    cost = rmr_loss(c=float(C) * distinct.weights, **loss)
    penalty = SpectralElasticNet(float(tau))
    return RMRProblem(ArrayDesign(distinct.X), distinct.y, cost, penalty, intercept(fit_intercept))
