"""Robust matrix regression, and the same with its parameters chosen by cross-validation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..losses.piecewise import PiecewiseLoss
from ..model import Model
from ..penalties.base import Penalty
from ..solvers import SolverResult, rounding_floor
from ._fit.convex import ConvexEstimator, Part
from ._fit.regressor import MatrixRegressor
from ._fit.units import Units
from ._input.parameters import parametrised
from ._search.path_search import PathSearch

# Default epsilon of a search relative to the noise; results hardly change between 1/3 and 1.
NOISE_SHARE = 0.5


@parametrised
class RMR(MatrixRegressor, ConvexEstimator):
    """Robust matrix regression.

    Minimises over the matrix W and the number b

        1/2 ||W||_F^2 + tau ||W||_* + C sum_i s_i l(y_i - <W, X_i> - b)

    with a loss l of the residual r,

    - "epsilon_insensitive": ``max(|r| - epsilon, 0)``,
    - "absolute": ``|r|``,
    - "huber": ``r^2 / (2 delta)`` up to delta and ``|r| - delta / 2`` beyond,
    - "quantile": ``quantile r`` for r > 0 and ``(quantile - 1) r`` for r < 0.

    All losses grow linearly, so that a few grossly wrong labels do little harm. The nuclear norm
    makes the rank of W low: W is a sum of a few products of a row profile and a column profile.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm. With 0 the model is linear support vector regression; at
        :func:`tau_max` and above, W is zero. "scale" is a share of tau_max: the larger of 0.005 and
        a quarter of the share that is expected by chance,
        ``sum_i ||X_i||_F^2 / ||sum_i s_i X_i||_F^2`` for samples around their mean and the signs
        s_i of the labels around their median.
    C : float or str, default="scale"
        Weight of the loss, a sum over the samples and not a mean. "scale" is three times the median
        absolute deviation of the labels, divided by the squared median Frobenius norm of the
        samples around their entrywise median (around zero without an intercept).
    epsilon : float or str, default="scale"
        With the loss "epsilon_insensitive", errors up to this size cost nothing. "scale" is a tenth
        of the median absolute deviation of the labels.
    loss : {"epsilon_insensitive", "absolute", "huber", "quantile"} or LossFamily
        "huber" is the most accurate if most errors are normally distributed; "quantile" predicts a
        quantile of the labels, "absolute" their median. A loss of your own is an object of a
        subclass of :class:`matreg.losses.LossFamily`.
    penalty : Penalty, default=None
        Penalty of W in place of ``1/2 ||W||_F^2 + tau ||W||_*``, such as an object of a subclass of
        :class:`matreg.penalties.SpectralPenalty`; `tau` is its weight, and must be a number.
    l1 : float or array-like of shape (p, q), default=0.0
        Adds ``tau sum_jk l1_jk |W_jk|`` to the penalty, which makes W both sparse and of low rank:
        one number, or one for each entry, with 0 for entries without this penalty. A first-order
        method solves the problem, which takes many iterations if `tol` is small.
    adaptive : int or array-like of float, default=0
        Number of further convex problems. In each the penalty is smaller along the singular vectors
        of the previous solution, so that large singular values are shrunk less than small ones
        (:mod:`matreg.adaptive`). All problems have the same tau; a list holds a tau for each
        problem before the last, as :class:`RMRCV` chooses them. With `l1` the steps lower the
        weights of large entries instead.
    row_basis : array-like of shape (p, k), default=None
        Known structure of the rows: the columns of W are combinations of the columns of this
        matrix, and the penalty is that of the coefficients in this basis. :mod:`matreg.bases` has
        bases for smooth axes, graphs and noise with a known covariance. None is the identity.
    column_basis : array-like of shape (q, l), default=None
        The same for the columns: the rows of W are combinations of the columns of this matrix.
    delta : float or str, default="scale"
        Residual, in the units of y, at which the loss "huber" changes from a parabola to a line.
        "scale" is a third of the median absolute deviation of the labels. For tau, C, epsilon and
        delta, "0.1*scale" is a tenth of "scale"; with such words predictions do not depend on the
        units of X and y. Numbers are absolute, as in the paper.
    quantile : float, default=0.5
        Which quantile, between 0 and 1, the loss "quantile" predicts.
    fit_intercept : bool, default=True
        Whether to fit b, which is never penalised.
    covariate_ridge : float, default=0.0
        Weight of ``|gamma|^2 / 2``, with gamma the coefficients of covariates in their units. 0 is
        no penalty; without covariates the parameter has no effect.
    solver : str, default="auto"
        "auto" chooses by n samples and pq entries of W. From scratch it takes the augmented
        Lagrangian ("augmented") if n >= 2 pq, and otherwise, or where that fails, the interior
        point method ("interior"), which the active set may finish. From a start (`warm_start`,
        paths) it takes the active set ("active-set") up to 2,896 samples, and beyond these what it
        takes from scratch. From the third point of a path on, if n^2 > 2^14 pq or n > 2,896 and the
        loss has no curvature, it takes "working-set": the active set for the samples near an edge
        of the tube. Other problems have other solvers: "sparse" if `l1` is not 0, "least-squares"
        for a squared loss and "reweighted" for other smooth ones, as in :class:`RGLM`; for samples
        that are read block by block "passes", or "moments" with a squared loss; and "first-order",
        which accepts anything convex, for losses or penalties of your own that none of these takes.
        "interior", "active-set", "augmented" and "first-order" force these solvers. "admm" is the
        algorithm of the paper, for the losses "epsilon_insensitive" and "absolute".
    rho : float, default=1.0
        Penalty parameter of "admm".
    eta : float, default=0.999
        Restart parameter of "admm", between 0 and 1.
    tol : float, default=1e-6
        Relative duality gap (objective - bound) / objective at which the solver stops.
    max_iter : int, default=1000
        Number of iterations at which the solver stops. The augmented Lagrangian completes the
        minimisation that is under way, and a forced active set takes at least one step.
    warm_start : bool, default=False
        Whether to start from the solution of the last `fit`, if that had samples of the same shape
        and at most as many; further samples must be appended at the end. If the solver does not
        converge from there, it starts again from scratch.
    joint : {"rows", "columns"} or None, default=None
        Whether several labels share row profiles or column profiles: the nuclear norm is then that
        of their matrices side by side, or on top of each other, and each label is divided by its
        spread, `label_scale_`. With None each label is fitted separately.
    n_jobs : int, default=None
        Number of labels that are fitted in parallel, if there are several.
    verbose : int, default=0
        Whether to print one line per iteration.
    matrix_shape : tuple of int, default=None
        (p, q) for flat samples. Without it a flat sample is an m x 1 matrix.

    Attributes
    ----------
    coef_ : ndarray of shape (p, q)
        W, exactly of rank `rank_`.
    intercept_ : float
        b; 0 without `fit_intercept`.
    rank_ : int
        Rank of W.
    dual_coef_ : ndarray of shape (n,)
        Dual point that proves `dual_gap_`: ``|dual_coef_| <= C sample_weight``; for the loss
        "quantile" from ``(quantile - 1) C sample_weight`` to ``quantile C sample_weight``.
    label_outlier_score_ : ndarray of shape (n,)
        How wrong each label looks, in robust standard deviations: the size of its residual times
        that of its multiplier relative to the bound. 0 inside the tube of the loss, NaN for samples
        of weight zero.
    objective_ : float
        Objective at (W, b).
    dual_gap_ : float
        Relative duality gap: the objective exceeds the optimum by at most this fraction of the
        objective.
    n_iter_ : int
        Number of iterations, counted as in `max_iter`; the sum of both runs if a warm start failed.
    history_ : structured ndarray
        One row per check of the gap: iteration, time, primal, dual, gap, rank, and method (the
        stage of the solver).
    solver_ : str
        The solver that ended the fit, by its name in `solver`.
    tau_, C_, epsilon_, delta_, l1_
        Numbers used.
    loss_ : LossFamily
        A loss object with the numbers used; absent if `loss` is a name.
    adaptive_ : tuple of float
        Tau of the steps before the last; empty if there are none.
    steps_ : structured ndarray
        One row per convex problem of an adaptive model: tau, primal, dual, gap, rank, n_iter. All
        other attributes are those of the last problem. Each problem is solved to a certified gap.
        With the same tau, the steps lead to a critical point of an objective with a concave
        penalty; the gap says nothing about that objective.
    matrix_shape_, n_features_in_ : tuple of int, int
        (p, q) and p * q.

    See Also
    --------
    GRMR : The same model, for corrupted samples, which it cleans.
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

    Nine in ten labels are below the predicted quantile 0.9:

    >>> upper = RMR(tau=10.0, C=1.0, loss="quantile", quantile=0.9).fit(data.X, data.y)
    >>> round(float((data.y <= upper.predict(data.X)).mean()), 1)
    0.9
    """

    penalty: Penalty | None = None
    solver: str = "auto"
    rho: float = 1.0
    eta: float = 0.999
    warm_start: bool = False

    def _advice(self, model: Model, part: Part, result: SolverResult) -> str:
        own = part.samples.in_memory
        if own and isinstance(model.losses(own.y[:1], own.weights[:1]), PiecewiseLoss):
            floor = rounding_floor(model.on(own), result.W.d) / result.primal
            if floor > 0.1 * self.tol:
                return (
                    "Rounding errors of the residuals in float64, multiplied by C, cause a gap of "
                    f"up to {floor:.0e} here: lower C or scale X down."
                )
        if self.solver == "admm":
            return 'Raise max_iter, change rho, or take solver="auto".'
        return super()._advice(model, part, result)


@parametrised
class RMRCV(PathSearch, MatrixRegressor):
    """RMR with tau, and if asked C and epsilon, chosen by cross-validation.

    If `taus` is None, the grid is searched from coarse to fine: first a coarse path with the lower
    middle C, then the neighbours of the best point, until the best point has no untried neighbour.
    Each fit starts from a previous one. If `taus` are given, all of them are tried with every C,
    along paths.

    Parameters
    ----------
    taus : float or array-like, default=None
        Values of tau to try. By default, for each C and epsilon, a geometric sequence that begins
        at the smallest tau with W = 0 on all the data.
    n_taus : int, default=16
        Length of that sequence.
    tau_min_ratio : float, default=1e-3
        Ratio of its last value to its first.
    C, epsilon : float, str or a list of them
        Values to try: numbers, or words as in :class:`RMR`. By default C is 0.1, 3, 100 and 3000
        times "scale"; for larger C the ridge has no effect. By default epsilon is "noise": half of
        the scale of the leave-one-out residuals of a first fit without a tube, and at most "scale".
        Losses that do not depend on epsilon take only one value.
    loss, delta, quantile, penalty
        As in :class:`RMR`.
    l1 : float, matrix, or a list of them, default=0.0
        Values to try, relative to tau, as in :class:`RMR`.
    adaptive : int or list of int, default=0
        Numbers of further steps to try: 0 to k for a number k, or the entries of a list; 0 is the
        plain penalty. Each step is one more path along tau in all folds. More steps are taken
        only if they improve the score by more than a standard error of the folds. To find the right
        rank, set `one_standard_error=True`: more steps are then taken if they lower the rank at a
        score at most one standard error lower, as the model with the best score keeps small
        singular values that hardly change its predictions.
    row_basis, column_basis, fit_intercept, covariate_ridge, tol, max_iter, matrix_shape
        As in :class:`RMR`.
    cv : int, splitter, iterable or "loo", default=None
        Folds, as in scikit-learn; 5 by default. With a number of folds, the groups of `fit` stay
        together. "loo" computes leave-one-out predictions from one fit for each point, with a few
        refits: use it for fewer than about fifty samples without wrong labels. Its standard errors
        are a jackknife over tenths of the samples, and `cv_results_["loo_doubt"]` estimates the
        mean error of its residuals relative to their mean size.
    scoring : str or callable, default=None
        Score to maximise; by default R^2, and with the loss "quantile" the explained part of the
        pinball loss. If labels may be wrong, use "neg_bounded_absolute_error": minus the mean of
        ``min(|r|, 3 s)``, with s the scale of the leave-one-out residuals of a first fit. The
        attribute `scorer_` is then this scorer.
    one_standard_error : bool, default=False
        Whether to take the largest tau whose score is within one standard error of the best.
    tau_per_label : bool, default=True
        Whether all searched parameters are chosen separately for each of several labels.
        False tries all points of the grid and takes the one with the best mean score over the
        labels: the same numbers if numbers are given, otherwise the same multiples of "scale" and
        of the smallest tau with W = 0 of each label. Use a score without units.
    joint : {"rows", "columns"} or None, default=None
        Whether several labels share row or column profiles, as in :class:`RMR`. There is then one
        choice for all labels, by the mean of their scores in units of their spread.
    n_jobs : int, default=None
        Number of folds that are fitted in parallel.
    verbose : int, default=0
        Whether to report progress without a terminal, too.

    Attributes
    ----------
    tau_, C_, epsilon_ : float
        Chosen values.
    delta_, l1_
        The number used, and the chosen value.
    adaptive_ : tuple of float
        Tau of the steps before the last, one for each further step that was chosen; empty for the
        plain penalty. ``len(model.adaptive_)`` is the number of steps.
    cv_results_ : dict of ndarray
        One row per combination: parameters, scores of the folds, their mean, standard deviation and
        standard error, and the mean rank of W; NaN where a combination was not tried.
        ``pandas.DataFrame(cv_results_).dropna()`` is a table of those that were.
    best_index_, best_score_ : int, float
        Chosen row and its mean score.
    taus_ : ndarray
        The grid of tau of the chosen C and epsilon.
    coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_, steps_, solver_
        Attributes of the chosen model, fitted to all the data, as in :class:`RMR`.
    label_outlier_score_, matrix_shape_, n_features_in_
        As in :class:`RMR`.

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

    _plain = RMR
    _searched = ("C", "epsilon", "l1")

    C: float | str | ArrayLike = ("0.1*scale", "3*scale", "100*scale", "3000*scale")
    epsilon: float | str | ArrayLike = "noise"
    penalty: Penalty | None = None
    joint: str | None = None
    tau_per_label: bool = True

    def _values(self, name: str, units: Units) -> list[float]:
        """As in other searches; "noise" is half of the noise, and at most "scale"."""
        if name != "epsilon" or not isinstance(self.epsilon, str) or self.epsilon != "noise":
            return super()._values(name, units)
        scale = units.number(name, "scale", self._loss_units[name])
        if not hasattr(self._single()._loss(), name):
            return [scale]
        return [min(scale, NOISE_SHARE * self._noise(units.samples))]
