"""The model of ours inside of what a user has fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def unwrap(estimator: Any) -> Any:
    """Fitted model with coefficients: a pipeline's last step, a search's best, a regressor's own.

    Raises NotFittedError before `fit`, and TypeError if there is no such model.
    """
    return unwrap_with_data(estimator, None, None)[0]


def unwrap_with_data(
    estimator: Any, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[Any, ArrayLike | None, ArrayLike | None]:
    """The model as :func:`unwrap` finds it, and the samples and labels as it sees them."""
    while not hasattr(estimator, "coef_"):
        if isinstance(estimator, Pipeline):
            X = X if X is None else estimator[:-1].transform(X)
            estimator = estimator[-1]
        elif isinstance(estimator, TransformedTargetRegressor):
            check_is_fitted(estimator)
            y = y if y is None else _transformed(estimator.transformer_, y)
            estimator = estimator.regressor_
        elif hasattr(estimator, "best_estimator_"):
            estimator = estimator.best_estimator_
        else:
            if isinstance(estimator, BaseEstimator):
                check_is_fitted(estimator)
            raise TypeError(
                "estimator must be a fitted model with coefficients, or a Pipeline, a search or a "
                f"TransformedTargetRegressor around one; got {type(estimator).__name__}."
            )
    return estimator, X, y


def _transformed(transformer: Any, y: ArrayLike) -> ArrayLike:
    return np.asarray(transformer.transform(np.reshape(y, (-1, 1)))).ravel()
