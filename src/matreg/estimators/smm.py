"""The support matrix machine, and the same with its parameters chosen by cross-validation."""

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
    loss : {"hinge", "squared_hinge"} or LossFamily, default="hinge"
        "squared_hinge" is ``max(0, 1 - y f)^2``, which has no kink and more support vectors. A loss
        of your own, for labels of -1 and 1, is an object of a subclass of
        :class:`matreg.losses.LossFamily`.
    penalty : Penalty, default=None
        Penalty of W in place of ``1/2 ||W||_F^2 + tau ||W||_*``, as in :class:`RMR`.
    l1, adaptive, row_basis, column_basis
        As in :class:`RMR`.
    class_weight : dict or "balanced", default=None
        Factors of the weights of the samples by class; "balanced" gives every class the same
        weight in all.
    multi_class : {"one_vs_one", "one_vs_rest"}, default="one_vs_one"
        What to do with more than two classes: one problem for each pair, on the samples of both, or
        one for each class, on all samples.
    joint : {"rows", "columns"}, default=None
        Whether more than two classes are one problem, each class against the rest whatever
        `multi_class` is: the nuclear norm is that of all W side by side, so that they share row
        profiles, or on top of each other, so that they share column profiles. `rank_` and all that
        belongs to a problem is then of that one. It takes k^2 times the memory of the samples.
    fit_intercept, covariate_ridge, tol, max_iter, verbose, matrix_shape
        As in :class:`RMR`; `max_iter` is for each problem.
    n_jobs : int, default=None
        Number of problems at a time, if there are more than two classes.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in order.
    coef_ : ndarray of shape (p, q) or (m, p, q)
        W, exactly of rank `rank_`. With more than two classes this and all that follows has a first
        axis of m problems: pairs in the order (0, 1), (0, 2), ..., or classes.
    intercept_, rank_, objective_, dual_gap_, n_iter_, solver_ : number, or m of them
        As in :class:`RMR`.
    dual_coef_ : ndarray of shape (n,) or (m, n)
        Dual point that proves `dual_gap_`: between 0 and ``C sample_weight``, with the sign of the
        label; not zero for the support vectors.
    label_outlier_score_ : ndarray of shape (n,)
        How much each label looks wrong, in margins: 0 on the right side of the margin, up to 1 on
        it, and ``2 - y f`` beyond it, with f the decision: more than 2 on the wrong side. With more
        than two classes the largest of the problems'. NaN where the weight is zero.
    history_, steps_ : structured ndarray, or a list of m of them
        One row per iteration, and per convex problem of an adaptive model, as in :class:`RMR`.
    tau_, C_, l1_, adaptive_, matrix_shape_, n_features_in_
        As in :class:`RMR`.

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

    penalty: Penalty | None = None


@parametrised
class SMMCV(MatrixClassifier, PathSearch):
    """SMM with tau, and if asked C, chosen by cross-validation.

    Where `taus` is None the grid of tau and C is searched from coarse to fine, as by
    :class:`RMRCV`. Values of `taus` that are given are all tried, with every C: on paths along tau,
    or along C if there are more values of C than of tau.

    Parameters
    ----------
    taus, n_taus, tau_min_ratio
        As in :class:`RMRCV`.
    C : float, str or a list of them
        Values to try: numbers, or words as in :class:`SMM`. By default a tenth of "scale", "scale"
        and ten times it.
    loss, penalty, class_weight, multi_class, joint, fit_intercept, covariate_ridge, tol, max_iter
        As in :class:`SMM`.
    l1, adaptive, row_basis, column_basis, n_jobs, verbose, matrix_shape
        As in :class:`RMRCV`.
    cv : int, splitter, iterable or "loo", default=None
        Folds, as everywhere in scikit-learn; 5 stratified ones by default. A number of folds
        keeps the groups of `fit` together. "loo" as in :class:`RMRCV`.
    scoring : str or callable, default=None
        Score to maximise; accuracy by default. Any score of classes or decisions will do, such as
        "balanced_accuracy" or, for two classes, "roc_auc".
    one_standard_error : bool, default=False
        Whether to take the most regularisation, the largest tau or along C the smallest C, whose
        score is within one standard error of the best.

    Attributes
    ----------
    tau_, C_, l1_ : float
        Chosen values; `l1_` may be a matrix.
    cv_results_, best_index_, best_score_, taus_, adaptive_
        As in :class:`RMRCV`.
    coef_, intercept_, rank_, dual_coef_, objective_, dual_gap_, n_iter_, history_, steps_, solver_
        Those of the chosen model on all the data, as in :class:`SMM`.
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
