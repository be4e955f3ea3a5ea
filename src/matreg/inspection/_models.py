"""What the maps need of a model: its linear part, the samples that it sees, how to fit it again."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..estimators._base import MatrixEstimator
from ..estimators._classifier import coef_of
from ..estimators._stored import refuse_streamed


@dataclass(frozen=True)
class LinearPart:
    """The model with coefficients inside of a fitted model, and what comes before it.

    Attributes
    ----------
    model : estimator
        The fitted model whose `coef_` is drawn.
    steps : tuple of transformers
        Fitted steps that samples go through first.
    problem : int or None
        Which matrix of coefficients, where a classifier has several.
    """

    model: Any
    steps: tuple[Any, ...] = ()
    problem: int | None = None

    @property
    def coef(self) -> Array:
        """W, of shape (p, q)."""
        return coef_of(self.model, self.problem)

    def samples(self, X: ArrayLike) -> Array:
        """Samples (n, p, q) as the coefficients meet them: after all steps, and clean."""
        refuse_streamed("This", X)
        for step in self.steps:
            X = step.transform(X)
        if hasattr(self.model, "transform"):
            X = self.model.transform(X)
        return np.asarray(X, dtype=float).reshape(len(np.asarray(X)), *self.coef.shape)


def linear_part(model: Any, problem: int | None = None) -> LinearPart:
    """Find the fitted model with coefficients in a pipeline, a search or the like."""
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        inner = linear_part(model[-1], problem)
        before = tuple(step for _, step in model.steps[:-1] if step not in (None, "passthrough"))
        return LinearPart(inner.model, before + inner.steps, problem)
    if isinstance(model, TransformedTargetRegressor):
        check_is_fitted(model, "regressor_")
        return linear_part(model.regressor_, problem)
    if isinstance(model, MatrixEstimator):
        check_is_fitted(model, "coef_")
        return LinearPart(model, problem=problem)
    if hasattr(model, "best_estimator_"):
        return linear_part(model.best_estimator_, problem)
    check_is_fitted(model)
    raise TypeError(
        "model must be a fitted model of matreg, or a Pipeline, a search or a "
        f"TransformedTargetRegressor that ends with one; got {type(model).__name__}."
    )


def at_chosen_parameters(model: Any) -> Any:
    """An unfitted copy of a fitted model that chooses nothing: its parameters are numbers."""
    if isinstance(model, Pipeline):
        steps = [(name, clone(step)) for name, step in model.steps[:-1]]
        return Pipeline([*steps, (model.steps[-1][0], at_chosen_parameters(model[-1]))])
    if isinstance(model, TransformedTargetRegressor):
        return clone(model).set_params(regressor=at_chosen_parameters(model.regressor_))
    if hasattr(model, "best_estimator_"):
        return at_chosen_parameters(model.best_estimator_)
    return _without_choice(model)


def _without_choice(model: Any) -> Any:
    import matreg

    name = type(model).__name__
    plain = getattr(matreg, name.removesuffix("CV"))() if name.endswith("CV") else clone(model)
    own, given = plain.get_params(), model.get_params()
    for key in own:
        fitted = getattr(model, f"{key}_", None)
        if isinstance(fitted, Number) or key == "matrix_shape":
            plain.set_params(**{key: fitted})
        elif key in given:
            plain.set_params(**{key: given[key]})
    return plain.set_params(verbose=0)
