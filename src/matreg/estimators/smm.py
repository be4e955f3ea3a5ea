"""The support matrix machine, plain and with parameters chosen by cross-validation."""

from __future__ import annotations

from numpy.typing import ArrayLike

from ..penalties.base import Penalty
from ._fit.classifier import MatrixClassifier
from ._fit.convex import ConvexEstimator
from ._input.parameters import parametrised
from ._search.path_search import PathSearch


@parametrised
class SMM(MatrixClassifier, ConvexEstimator):
    """Support matrix machine: a classifier with a large margin and low rank.

    Minimises over the matrix W and the number b, for labels y of -1 and 1,

        1/2 ||W||_F^2 + tau ||W||_* + C sum_i s_i max(0, 1 - y_i (<W, X_i> + b)).

    With more than two classes, several such problems are solved.

    Parameters
    ----------
    tau : float or str, default="scale"
        Weight of the nuclear norm. With 0 the model is the linear support vector machine; at
        :func:`tau_max` and above, W is zero. "scale" is 0.005 of tau_max.
    C : float or str, default="scale"
        Weight of the loss, a sum over the samples and not a mean. "scale" is three, divided by the
        squared median Frobenius norm of the samples around their entrywise median (around zero
        without an intercept). "0.1*scale" is a tenth of it; with such words predictions do not
        depend on the units of X.
    loss : {"hinge", "squared_hinge"} or LossFamily, default="hinge"
        "squared_hinge" is ``max(0, 1 - y f)^2``, which has no kink and more support vectors. A loss
        of your own, for labels of -1 and 1, is an object of a subclass of
        :class:`matreg.losses.LossFamily`.
    penalty : Penalty, default=None
        Penalty of W in place of ``1/2 ||W||_F^2 + tau ||W||_*``, as in :class:`RMR`.
    l1, adaptive, row_basis, column_basis
        As in :class:`RMR`.
    class_weight : dict or "balanced", default=None
        Factors of the sample weights by class; "balanced" gives all classes the same total weight.
    multi_class : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        With more than two classes: one problem for each pair, on the samples of both classes, or
        one problem for each class against the rest, on all samples.
    joint : {"rows", "columns"}, default=None
        Whether more than two classes are one problem, with each class against the rest, whatever
        `multi_class` is. The nuclear norm is that of all W side by side, so that they share row
        profiles, or on top of each other, so that they share column profiles. `rank_`, `dual_gap_`
        and `objective_` are then one number. k classes take k^2 times the memory of the samples.
    fit_intercept, covariate_ridge, tol, max_iter, verbose, matrix_shape
        As in :class:`RMR`; `max_iter` holds for each problem.
    n_jobs : int, default=None
        Number of problems that are solved in parallel, if there are more than two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in order.
    coef_ : ndarray of shape (p, q) or (m, p, q)
        W, exactly of rank `rank_`. With more than two classes the first axis of this and of the
        next attributes is that of the m problems: pairs (0, 1), (0, 2), ..., or classes.
    intercept_, rank_, objective_, dual_gap_, n_iter_, solver_ : number, or m of them
        As in :class:`RMR`.
    dual_coef_ : ndarray of shape (n,) or (m, n)
        Dual point that proves `dual_gap_`: between 0 and ``C sample_weight``, with the sign of the
        label; not zero for the support vectors.
    label_outlier_score_ : ndarray of shape (n,)
        How wrong each label looks, in margins: 0 on the right side of the margin, up to 1 on it,
        and ``2 - y f`` beyond it, with f the decision; more than 2 is on the wrong side. With more
        than two classes, the largest score of all problems. NaN for samples of weight zero.
    history_, steps_ : structured ndarray, or a list of m of them
        One row per iteration, and per convex problem of an adaptive model, as in :class:`RMR`.
    tau_, C_, l1_, adaptive_, matrix_shape_, n_features_in_
        As in :class:`RMR`.

    See Also
    --------
    SMMCV : SMM with tau and C chosen by cross-validation.
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

    penalty: Penalty | None = None


@parametrised
class SMMCV(MatrixClassifier, PathSearch):
    """SMM with tau, and if asked C, chosen by cross-validation.

    If `taus` is None, the grid of tau and C is searched from coarse to fine, as by :class:`RMRCV`.
    If `taus` are given, all of them are tried with every C: on paths along tau, or along C if there
    are more values of C than of tau.

    Parameters
    ----------
    taus, n_taus, tau_min_ratio
        As in :class:`RMRCV`.
    C : float, str or a list of them
        Values to try: numbers, or words as in :class:`SMM`. By default 0.1, 1 and 10 times "scale".
    loss, penalty, class_weight, multi_class, joint, fit_intercept, covariate_ridge, tol, max_iter
        As in :class:`SMM`.
    l1, adaptive, row_basis, column_basis, n_jobs, verbose, matrix_shape
        As in :class:`RMRCV`.
    cv : int, splitter, iterable or "loo", default=None
        Folds, as in scikit-learn; 5 stratified ones by default. With a number of folds, the groups
        of `fit` stay together. "loo" as in :class:`RMRCV`.
    scoring : str or callable, default=None
        Score to maximise; accuracy by default. Any score of classes or decisions is possible, such
        as "balanced_accuracy" or, for two classes, "roc_auc".
    one_standard_error : bool, default=False
        Whether to take the most regularised model whose score is within one standard error of the
        best: the largest tau, or along C the smallest C.

    Attributes
    ----------
    tau_, C_, l1_ : float
        Chosen values; `l1_` may be a matrix.
    cv_results_, best_index_, best_score_, taus_, adaptive_
        As in :class:`RMRCV`.
    coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_, steps_, solver_
        Attributes of the chosen model, fitted to all the data, as in :class:`SMM`.
    classes_, label_outlier_score_, matrix_shape_, n_features_in_
        As in :class:`SMM`.

    Examples
    --------
    >>> from matreg import SMMCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), rank=1, noise_scale=1.0, random_state=0)
    >>> model = SMMCV(n_taus=8, cv=3).fit(data.X, data.y > 0.0)
    >>> model.coef_.shape, bool(model.tau_ in model.taus_)
    ((6, 5), True)
    """

    _plain = SMM
    _searched = ("C", "l1")

    C: float | str | ArrayLike = ("0.1*scale", "scale", "10*scale")
    penalty: Penalty | None = None
    joint: str | None = None
