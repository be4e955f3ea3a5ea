"""Generalised robust matrix regression with its parameters chosen by cross-validation."""

from __future__ import annotations

from ._fit.regressor import MatrixRegressor
from ._input.parameters import parametrised
from ._search.joint_search import JointSearch
from .grmr import GRMR


@parametrised
class GRMRCV(JointSearch, MatrixRegressor):
    """G-RMR with tau, gamma and what counts as an outlier chosen by cross-validation.

    By default ten values of tau, two of gamma and three of limit are tried, for data of any scale.
    In each fold robust principal component analysis is done once for all of them. Along tau each
    fit starts from the fit before: from its regression, its split of the samples, and its clean
    signals of the samples that are left out. Therefore long lists of tau are cheap, and long lists
    of the other parameters are not. `halving` and rough folds (`fold_tol`, `fold_split_tol`) save
    time where fits are long; the last fit, to all the data, is always as tight as that of
    :class:`GRMR`.

    Parameters
    ----------
    taus, n_taus, tau_min_ratio
        As in :class:`RMRCV`; the sequence begins at about the smallest tau with W = 0.
    gamma : float, array-like or None, default=None
        Values to try. None is a half of the default of :class:`GRMR` and the default itself; with
        ``outliers="split"`` a quarter of it too.
    lam : float, array-like or None, default=None
        Values to try; None is the default of :class:`GRMR`.
    outliers : {"replace", "split"}, default="replace"
        As in :class:`GRMR`.
    noise : float, "tails", None or a list of them, default=None
        Values to try: numbers for all cells, or ways to measure it as in :class:`GRMR`.
    limit : float, array-like or None, default=None
        Values to try; None is 3, 4 and 6.
    adaptive : int or list of int, default=0
        Numbers of further steps to try, as in :class:`RMRCV`: each costs about as much as one of
        the candidates of the plain search.
    C, epsilon : float, str or a list of them, default="scale"
        Values to try: numbers, or words as in :class:`GRMR`. Only one epsilon may be given with
        losses that do not depend on it.
    loss, delta, quantile, coupling, row_basis, column_basis, fit_intercept, covariate_ridge
        As in :class:`GRMR`.
    clean_predict, tol, split_tol, max_iter, matrix_shape
        As in :class:`GRMR`.
    fold_tol, fold_split_tol : float or None, default=None
        `tol` and `split_tol` of the fits in the folds. None is as tight as the last fit. 1.0 and
        1e-2, one alternation with a rough split, take a half to nine tenths of the time, and may
        choose another model where scores are close.
    halving : bool, default=False
        Whether to drop the worse half of the candidates after each fold. A candidate is a
        combination of all parameters but tau; it counts by its best tau on the folds so far. The
        choice is between the candidates that are left after the last fold.
    cv, scoring, one_standard_error, tau_per_label, n_jobs, verbose
        As in :class:`RMRCV`. "loo" leaves single samples out of the regression alone: the clean
        signals are those of a fit to all of them.

    Attributes
    ----------
    tau_, gamma_, lam_, limit_, C_, epsilon_ : float
        Chosen values.
    delta_ : float
        Number used.
    cv_results_, best_index_, best_score_
        As in :class:`RMRCV`. With `halving`, a candidate that was dropped has a score of NaN on the
        later folds, and a mean of NaN.
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
