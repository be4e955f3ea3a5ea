"""The matreg model inside a pipeline or a search, and the data as this model receives them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from .._validation.stored import refuse_streamed
from ._fit.base import MatrixEstimator
from ._fit.classifier import coef_of


@dataclass(frozen=True)
class LinearPart:
    """The model with coefficients inside a fitted pipeline or search, and the steps before it."""

    model: MatrixEstimator
    steps: tuple[TransformerMixin, ...] = ()  # fitted transformers that samples go through first
    target_steps: tuple[TransformerMixin, ...] = ()  # fitted transformers of the labels
    problem: int | None = None  # index of the matrix of coefficients, if there are several

    @property
    def coef(self) -> Array:
        """W of the model itself, of shape (p, q)."""
        return coef_of(self.model, self.problem)

    @property
    def scalers(self) -> list[TransformerMixin]:
        """Steps right before the model that can convert W to their input units, last one first."""
        return list(takewhile(lambda step: hasattr(step, "coef_in_units"), reversed(self.steps)))

    @property
    def coef_in_units(self) -> Array:
        """W for samples in the units before the scalers, of shape (p, q)."""
        return self._unscaled(self.coef)

    @property
    def every_coef_in_units(self) -> Array:
        """`coef_` of all problems in these units, of shape (p, q) or (k, p, q)."""
        return self._unscaled(np.asarray(self.model.coef_))

    def _unscaled(self, W: Array) -> Array:
        for step in self.scalers:
            W = step.coef_in_units(W)
        return W

    def in_units(self, samples: Array) -> Array:
        """Samples (n, p, q) that the model receives, converted to the units before the scalers."""
        for step in self.scalers:
            samples = step.inverse_transform(samples)
        return samples

    def transformed(self, X: ArrayLike) -> ArrayLike:
        """Samples after all steps."""
        refuse_streamed("This function", X)
        for step in self.steps:
            X = step.transform(X)
        return X

    def transformed_target(self, y: ArrayLike) -> ArrayLike:
        """Labels after all steps."""
        for step in self.target_steps:
            y = np.asarray(step.transform(np.reshape(y, (-1, 1)))).ravel()
        return y

    def samples(self, X: ArrayLike) -> Array:
        """Samples (n, p, q) to which W applies: after all steps, cleaned if the model cleans."""
        X = self.transformed(X)
        if hasattr(self.model, "transform"):
            X = self.model.transform(X)
        return self.model._validate_samples(X)


def linear_part(
    model: BaseEstimator, problem: int | None = None, argument: str = "model"
) -> LinearPart:
    """Find the fitted model with coefficients in a pipeline, a search or the like.

    `problem` is the index of the matrix of coefficients, if a classifier has several; `argument` is
    the name of the model in error messages. Raises NotFittedError before `fit`, and TypeError if
    there is no such model.
    """
    steps: tuple[TransformerMixin, ...] = ()
    target_steps: tuple[TransformerMixin, ...] = ()
    found = model
    while not isinstance(found, MatrixEstimator):
        if isinstance(found, Pipeline):
            check_is_fitted(found)
            before = (step for _, step in found.steps[:-1])
            steps += tuple(step for step in before if step not in (None, "passthrough"))
            found = found[-1]
        elif isinstance(found, TransformedTargetRegressor):
            check_is_fitted(found, "regressor_")
            target_steps += (found.transformer_,)
            found = found.regressor_
        elif hasattr(found, "best_estimator_"):
            found = found.best_estimator_
        else:
            if isinstance(found, BaseEstimator):
                check_is_fitted(found)
            raise TypeError(
                f"{argument} must be a fitted model of matreg, or a Pipeline, a search or a "
                f"TransformedTargetRegressor that ends with one; got {type(found).__name__}."
            )
    check_is_fitted(found, "coef_")
    return LinearPart(found, steps, target_steps, problem)
