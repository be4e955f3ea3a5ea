"""Robust matrix regression on corrupted samples, plain and with cross-validation."""

from __future__ import annotations

import numpy as np

from ..data.samples import Samples
from ..losses.families import Quantile
from ..robust import typical_size, weighted_median
from ..solvers import GRMRProblem
from ._fit.cleaning import JointFit
from ._fit.regressor import MatrixRegressor
from ._input.parameters import parametrised
from ._search.joint_search import JointSearch


@parametrised
class GRMR(JointFit, MatrixRegressor):
    """Robust matrix regression on samples that are corrupted or incomplete themselves.

    Every observed sample ``D_i = X_i + E_i`` is a clean signal plus outliers. The clean signals,
    stacked as rows, have low rank; the outliers are sparse; the regression is on the clean signals.
    The model minimises over W, b, X and E with ``D = X + E``

        ``||W||_F^2/2 + tau ||W||_* + C sum_i s_i l(y_i - <W, X_i> - b)
        + gamma ||diag(sqrt(s)) X||_* + lam sum_i s_i ||E_i||_1``

    with a loss l of :class:`RMR`. This is the paper's model, ``outliers="split"``. By default
    outliers are replaced: X equals D except in flagged entries, whose values a low-rank part L
    predicts. The last two terms are then

        ``gamma ||diag(sqrt(s)) L||_* + lam / (2 n) sum_i s_i (||X_i - L_i||_F^2
        + sum_{j flagged} (limit noise_j)^2)``

    with n the median of the noise. Detail that is not of low rank stays in X. The regression and
    the split of the samples are solved in turn. Both are convex (the split for given flags, if
    outliers are replaced) and are solved to a certified gap. A sample of weight s counts as s
    copies. NaN in a sample means that the entry was not observed: its outlier costs nothing.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm of the coefficients. "scale" is 0.005 times the smallest tau at
        which they are zero, on the samples as robust principal component analysis cleans them.
    gamma : float, default=None
        Weight of the nuclear norm of the samples; by default ``lam (sqrt(N) + sqrt(p q)) / 3``, and
        ``lam sqrt(max(N, p q))`` with ``outliers="split"``, where N is the sum of the weights.
    lam : float, default=None
        Weight of the outliers. By default it follows from a given `gamma` by the rule above. If
        neither is given, `lam` is ``C`` times the median absolute deviation of the labels, divided
        by the typical absolute entry of the samples (median over the samples of their medians): an
        outlier of the size of a typical entry costs as much as a typical deviation of a label.
    C : float or str, default="scale"
        Weight of the loss.
    epsilon : float or str, default="scale"
        Half the width of the tube in which residuals cost nothing. For tau, C, epsilon and delta,
        "scale" and its multiples follow the units of X and y as in :class:`RMR`.
    loss, delta, quantile
        As in :class:`RMR`.
    outliers : {"replace", "split"}, default="replace"
        "replace" flags outliers and replaces them; all other entries stay as they are. "split"
        splits outliers off as in the paper, for samples that are low rank plus noise plus outliers.
    noise : float, array-like of shape (p, q), "tails" or None, default=None
        Standard deviation of the detail in the units of the samples: one number, or one per cell.
        It is used if outliers are replaced. None estimates the noise of each cell from the median
        residual of left-out samples from their low-rank part. "tails" is at least a quarter of the
        99th percentile of these residuals in a typical sample, or of the 90th percentile of the
        sample itself if that is smaller. Use "tails" for samples whose large entries are in other
        cells in each sample, such as images with ink in few places: None treats ink as outliers.
    limit : float, default=4.0
        An entry is an outlier if it differs from the low-rank part by more than this many times its
        noise. Raise the limit if clean new samples have peaks that the training samples do not
        have; :class:`GRMRCV` tries 3, 4 and 6.
    adaptive : int or array-like of float, default=0
        Number of further alternations with the same tau. In each the penalty is smaller along the
        singular vectors of the last regression (:mod:`matreg.adaptive`). A list holds a tau for
        each alternation before the last, as :class:`GRMRCV` chooses them.
    row_basis, column_basis, fit_intercept, covariate_ridge, matrix_shape, n_jobs
        As in :class:`RMR`.
    coupling : {"exact", "squared"}, default="exact"
        Loss that couples the samples to their labels in the split. "exact" is the loss of the
        regression: the alternation never raises the objective. "squared" is the loss of the paper,
        ``C sum_i s_i r_i^2``, with its Algorithm 2: the objective may rise. The squared loss is
        symmetric and therefore refused with ``loss="quantile"``.
    clean_predict : bool, default=True
        Whether :meth:`predict` cleans new samples first, as :meth:`transform` does.
    tol : float, default=1e-4
        The fit stops when an alternation lowers the objective by at most this fraction.
    max_iter : int, default=20
        Largest number of alternations.
    regression_tol, split_tol : float, default=1e-5, 1e-4
        Relative duality gaps of the regressions, and of the last split.
    regression_max_iter, split_max_iter : int, default=200, 1000
        Largest number of iterations of one regression, and of one split.
    warm_start : bool, default=False
        Whether `fit` starts from the last fit, if that had samples of the same shape; if outliers
        are replaced, the samples must be equal. Two arrays of the size of the samples are kept.
    verbose : int, default=0
        1 prints one line per half-step of the alternation, and one every few seconds in a long
        split; 2 prints their iterations too.

    Attributes
    ----------
    coef_ : ndarray of shape (p, q)
        Coefficients W, exactly of low rank.
    intercept_, rank_, label_outlier_score_, adaptive_, matrix_shape_, n_features_in_
        As in :class:`RMR`.
    dual_coef_ : ndarray of shape (n,)
        Dual variables of the regression on the clean signals.
    X_clean_, outliers_ : ndarray of shape (n, p, q)
        Clean signals and exactly sparse outliers of the training samples; their sum is the samples.
        For missing entries the clean signals are filled in and the outliers are NaN.
    clean_rank_ : int
        Rank of the stacked clean signals, up to the tolerance of the split.
    outlier_fraction_ : float
        Share of the known entries of all samples that are outliers.
    sample_outlier_score_ : ndarray of shape (n,)
        ``||E_i||_1 / ||D_i||_1``: samples with a large score look corrupted.
    tau_, C_, epsilon_, delta_, gamma_, lam_ : float
        Numbers used.
    noise_ : ndarray of shape (p, q) or None
        Noise of each cell, given or estimated; None with ``outliers="split"``.
    objective_ : float
        Objective reached.
    dual_gap_, solver_ : float, str
        Relative duality gap of the last regression, and the method that ended it.
    split_gap_ : float
        Relative duality gap of the last split, given the regression before it.
    n_iter_ : int
        Number of alternations.
    history_ : structured ndarray
        One row per half-step: iteration, half, time, objective, gap, rank, clean_rank,
        outlier_fraction. With the exact coupling `objective` never rises.
    steps_ : structured ndarray
        One row per step of an adaptive model: tau; primal, dual, gap and rank of its last
        regression; and n_iter, the number of its alternations. All other attributes are those of
        the last step. Steps have different penalties: their objectives cannot be compared.

    Notes
    -----
    The alternation starts at the robust principal component analysis of the samples (W = 0). The
    problem is convex in (W, b) and in (X, E), but not in both together: the result is a partial
    minimum.

    New samples are cleaned by default because clean samples of low rank lose nothing by it, others
    lose little, and corrupted samples gain much (measurements in
    ``docs/dev/measurements/grmr.md``).

    Examples
    --------
    >>> from matreg import GRMR
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(
    ...     100, (8, 8), x_rank=3, x_corruption=0.05, random_state=0
    ... )
    >>> model = GRMR(tau=1.0).fit(data.X, data.y)
    >>> model.clean_rank_, round(model.outlier_fraction_, 2)
    (3, 0.05)
    >>> model.transform(data.X[:5]).shape
    (5, 8, 8)
    """

    _plain_name = "RMR"
    coupling: str = "exact"
    warm_start: bool = False

    def _label_spread(self, distinct: Samples) -> float:
        y, s = distinct.y, distinct.weights
        return typical_size((y - weighted_median(y, s))[:, None], s)

    def _problem(self, distinct: Samples) -> GRMRProblem:
        problem = super()._problem(distinct)
        slopes, family = problem.loss.bounds, problem.model.loss
        uneven = isinstance(family, Quantile) or np.any(slopes[0] != -slopes[1])
        if self.coupling == "squared" and uneven:
            raise ValueError(
                'coupling="squared" fits the samples to their labels, not to a quantile of them: '
                f'take coupling="exact" with loss={self.loss!r}.'
            )
        return problem


@parametrised
class GRMRCV(JointSearch, MatrixRegressor):
    """G-RMR with tau, gamma and what counts as an outlier chosen by cross-validation.

    By default the grid has ten values of tau, two of gamma and three of limit, for data of any
    scale, and is searched from coarse to fine as by :class:`RMRCV`: a coarse path of tau with the
    lower middle values of the other parameters first, then the neighbours of the best point. If
    `taus` are given, or with `halving`, the whole grid is tried. Robust principal component
    analysis is done once per fold. Along tau each fit starts from the previous one: from its
    regression, its split of the samples, and its clean signals of the left-out samples. `halving`
    and, with outliers that are replaced, rough folds (`fold_tol`, `fold_split_tol`) save time; the
    last fit, to all the data, is always as tight as that of :class:`GRMR`.

    Parameters
    ----------
    taus, n_taus, tau_min_ratio
        As in :class:`RMRCV`; the sequence begins at about the smallest tau with W = 0.
    gamma : float, array-like or None, default=None
        Values to try. None is half of the default of :class:`GRMR` and the default itself; with
        ``outliers="split"`` also a quarter of it.
    lam : float, array-like or None, default=None
        Values to try; None is the default of :class:`GRMR`.
    outliers : {"replace", "split"}, default="replace"
        As in :class:`GRMR`.
    noise : float, "tails", None or a list of them, default=None
        Values to try: numbers for all cells, or ways to measure it as in :class:`GRMR`.
    limit : float, array-like or None, default=None
        Values to try; None is 3, 4 and 6.
    adaptive : int or list of int, default=0
        Numbers of further steps to try, as in :class:`RMRCV`; each costs about as much as a
        candidate of the plain search.
    C, epsilon : float, str or a list of them, default="scale"
        Values to try: numbers, or words as in :class:`GRMR`. Only one epsilon may be given with
        losses that do not depend on it.
    loss, delta, quantile, coupling, row_basis, column_basis, fit_intercept, covariate_ridge
        As in :class:`GRMR`.
    clean_predict, tol, split_tol, max_iter, matrix_shape
        As in :class:`GRMR`.
    fold_tol, fold_split_tol : float or None, default=None
        `tol` and `split_tol` of the fits in the folds; None takes those of the last fit. With 1.0
        and 1e-2, one alternation with a rough split, the search may choose another model of nearly
        the same score; with ``outliers="replace"`` it takes less time.
    halving : bool, default=False
        Whether to drop the worse half of the candidates after each fold. A candidate is a
        combination of all parameters except tau, ranked by its best tau on the folds so far. The
        choice is between the candidates that remain after the last fold.
    cv, scoring, one_standard_error, tau_per_label, n_jobs, verbose
        As in :class:`RMRCV`. "loo" leaves a sample out of the regression only: the clean signals
        are those of a fit to all samples.

    Attributes
    ----------
    tau_, gamma_, lam_, limit_, C_, epsilon_ : float
        Chosen values.
    delta_ : float
        Number used.
    cv_results_, best_index_, best_score_, taus_
        As in :class:`RMRCV`: scores of combinations that were not tried are NaN. With `halving`,
        the scores of a dropped candidate on later folds, and its mean, are NaN.
    best_estimator_ : GRMR
        The chosen model, fitted to all the data. This estimator has its attributes too.

    Examples
    --------
    >>> from matreg import GRMRCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), x_rank=3, x_corruption=0.05, random_state=0)
    >>> model = GRMRCV([1.0, 10.0], limit=4.0, cv=3).fit(data.X, data.y)
    >>> model.X_clean_.shape
    (60, 6, 5)
    """

    _plain = GRMR
    _searched = ("C", "epsilon")

    coupling: str = "exact"
    tau_per_label: bool = True
