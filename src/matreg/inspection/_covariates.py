"""Fits and predictions with covariates, of a model or of a pipeline around one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if

from .._typing import Array
from ..estimators._fit.base import MatrixEstimator
from ..estimators._input.covariates import new_covariates
from ..estimators._linear_part import linear_part


def as_numbers(model: Any, covariates: Any, n: int) -> Array | None:
    """Covariates of a fitted model as an array (n, m); None without any."""
    part = linear_part(model)
    if covariates is not None and part.target_steps:
        raise ValueError(
            "covariates go with a model or a Pipeline, not with a TransformedTargetRegressor: "
            "transform the labels before fit."
        )
    return new_covariates(part.model, covariates, n)


def rows_of(Z: Any, rows: Any) -> Any:
    """Covariates of some of the samples: of an array, a table, a dict of columns or None."""
    if Z is None:
        return None
    if isinstance(Z, Mapping):
        return {name: np.asarray(column)[rows] for name, column in Z.items()}
    return Z.iloc[rows] if hasattr(Z, "iloc") else np.asarray(Z)[rows]


def fit_with(model: Any, X: Any, y: Any, Z: Array | None) -> Any:
    """Fit a model or a pipeline to samples with covariates, if there are any."""
    if Z is None:
        return model.fit(X, y)
    if not isinstance(model, Pipeline):
        return model.fit(X, y, covariates=Z)
    with sklearn.config_context(enable_metadata_routing=False):
        return model.fit(X, y, **{f"{model.steps[-1][0]}__covariates": Z})


class Bound(BaseEstimator):
    """A fitted model, or a pipeline around one, with the covariates of the samples to predict.

    Scorers pass samples without covariates.
    """

    def __init__(self, model: Any, Z: Any) -> None:
        self.model, self.Z = model, Z

    def __sklearn_tags__(self) -> Any:
        return self.inner.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def inner(self) -> MatrixEstimator:
        """The model itself."""
        found: MatrixEstimator = linear_part(self.model).model
        return found

    @property
    def classes_(self) -> Any:
        """Classes of a classifier."""
        return self.inner.classes_

    def _call(self, method: str, X: Any, *y: Any) -> Any:
        X = linear_part(self.model).transformed(X)
        return getattr(self.inner, method)(X, *y, covariates=self.Z)

    def predict(self, X: ArrayLike) -> Any:
        """Predictions with the covariates."""
        return self._call("predict", X)

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Score with the covariates."""
        return float(self._call("score", X, y))

    @available_if(lambda self: hasattr(self.inner, "decision_function"))
    def decision_function(self, X: ArrayLike) -> Any:
        """Decisions with the covariates."""
        return self._call("decision_function", X)

    @available_if(lambda self: hasattr(self.inner, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> Any:
        """Probabilities with the covariates."""
        return self._call("predict_proba", X)


def bound(model: Any, Z: Any) -> Any:
    """A fitted model with the covariates of the samples to predict; the model itself without."""
    return model if Z is None else Bound(model, Z)
