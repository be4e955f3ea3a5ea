"""Fits and predictions with covariates, of a model or of a pipeline around one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn
from sklearn.pipeline import Pipeline

from .._typing import Array
from ..estimators._fit.fitted import deciding
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


def take(Z: Any, rows: Any) -> Any:
    """Some of the samples, or their covariates: an array, a table, a dict of columns or None."""
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


def bound(model: Any, Z: Any) -> Any:
    """A fitted model that predicts with covariates Z of the samples, as scorers pass none."""
    if Z is None:
        return model
    part = linear_part(model)
    inner = deciding(part.model, lambda X: part.model._decide(X, Z))
    steps = [(str(k), one) for k, one in enumerate((*part.steps, inner))]
    return Pipeline(steps) if part.steps else inner
