"""Models with flat coefficients, for libraries that expect samples to be vectors."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ._typing import Array
from .estimators._linear_part import linear_part
from .inspection import pattern

__all__ = ["FlatModel"]


def _has(method: str) -> Any:
    def check(model: Any) -> bool:
        getattr(getattr(model, "estimator_", model.estimator), method)  # says what is wrong
        return True

    return check


class FlatModel(MetaEstimatorMixin, BaseEstimator):
    """A model of matreg with flat coefficients, like those of scikit-learn's linear models.

    ``mne.decoding.LinearModel`` and others multiply `coef_` by flat samples. `coef_` of matreg's
    models is a matrix; here it is a vector. The model can also replace ``LinearModel``:
    ``mne.decoding.get_coef`` finds `filters_` and `patterns_`, in the shape of the samples.

    Parameters
    ----------
    estimator : model
        A model of matreg. If the samples are flat, its `matrix_shape` must be set.

    Attributes
    ----------
    estimator_ : model
        The fitted model.
    coef_ : ndarray of shape (p*q,), or (n_problems, p*q) for a classifier
        Coefficients W, row after row.
    intercept_ : float or ndarray of shape (n_problems,)
        Intercepts.
    filters_ : ndarray of shape (n_problems, p, q) or (n_problems, p*q)
        W in the shape of the samples of `fit`. There is one problem unless there are more than
        two classes.
    patterns_ : ndarray of the same shape
        Patterns of the filters: how the samples change per unit of the prediction
        (:func:`matreg.inspection.pattern`), computed from all samples of `fit`.
    classes_ : ndarray of shape (n_classes,)
        Classes; only for a classifier.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.adapters import FlatModel
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (6, 5), random_state=0)
    >>> model = FlatModel(RMR(tau=1.0)).fit(data.X, data.y)
    >>> model.coef_.shape, model.filters_.shape, model.patterns_.shape
    ((30,), (1, 6, 5), (1, 6, 5))
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def __sklearn_tags__(self) -> Any:
        return self.estimator.__sklearn_tags__()

    def fit(self, X: ArrayLike, y: ArrayLike, **fit_params: Any) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.
        y : array-like of shape (n,)
            Labels.
        **fit_params
            Further arguments of the estimator's `fit`.

        Returns
        -------
        self
            The fitted model.
        """
        self.estimator_ = clone(self.estimator).fit(X, y, **fit_params)
        problems = len(self._rows())
        shape = (problems, *np.shape(X)[1:])  # the inverse transforms of MNE take the first axis
        self.filters_ = self._rows().reshape(shape)
        patterns = [pattern(self.estimator_, X, problem=k) for k in range(problems)]
        self.patterns_ = np.reshape(patterns, shape)
        return self

    def _rows(self) -> Array:
        """Coefficients of shape (n_problems, p*q)."""
        return self._fitted().coef_.reshape(-1, self.n_features_in_)

    @property
    def coef_(self) -> Array:
        """Coefficients W, row after row, of shape (p*q,) or (n_problems, p*q)."""
        rows = self._rows()
        return rows if hasattr(self.estimator_, "classes_") else rows[0]

    @property
    def intercept_(self) -> Any:
        """Intercepts: a float, or an array of shape (n_problems,) for a classifier."""
        b = self._fitted().intercept_
        return np.atleast_1d(b) if hasattr(self.estimator_, "classes_") else b

    @property
    def classes_(self) -> Any:
        """Classes; only for a classifier."""
        return self.estimator_.classes_

    @property
    def n_features_in_(self) -> int:
        """Number of entries of a sample."""
        return int(self._fitted().n_features_in_)

    def _fitted(self) -> Any:
        check_is_fitted(self, "estimator_")
        return linear_part(self.estimator_, 0).model

    def predict(self, X: ArrayLike) -> Any:
        """Predict the labels of samples.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.

        Returns
        -------
        ndarray of shape (n,)
            Predictions of the estimator.
        """
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> Array:
        """Decision function of a classifier.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Values of the estimator's decision function.
        """
        return self.estimator_.decision_function(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the classes, for a classifier that has `predict_proba`.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities, in the order of `classes_`.
        """
        return self.estimator_.predict_proba(X)

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Score of the predictions, by the `score` method of the estimator.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples.

        Returns
        -------
        float
            R^2 or the accuracy, for most models.
        """
        check_is_fitted(self, "estimator_")
        return float(self.estimator_.score(X, y, sample_weight=sample_weight))
