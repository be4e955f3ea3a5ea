"""Families of generalised linear models: labels, predictions and scores.

The linear predictor ``f = <B, X_i> + b`` is the mean for "normal", the log-odds of the second class
for "binomial" and the logarithm of the mean for "poisson".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from ..._typing import Array, Covariates, Values, Weights
from ..._validation.arrays import question_two_values, validate_labels
from ..._validation.classes import check_two_classes, encode_classes
from ...data.dask_blocks import on_blocks
from ...losses.families import GLM_FAMILIES, LossFamily, Multinomial, family_of
from .._input.parameters import parametrised
from .base import MatrixEstimator
from .several import problems_last


def _of_classes(model: MatrixEstimator) -> bool:
    if not model._has_classes:
        raise AttributeError(
            f'family must be "binomial" or "multinomial" for classes and their '
            f"probabilities; got {model.family!r}."
        )
    return True


@parametrised
class FamilyEstimator(MatrixEstimator):
    """Base of estimators with a parameter `family`: a classifier for "binomial"."""

    family: str | LossFamily = "normal"
    joint: str | None = None
    max_iter: int = 10_000

    @property
    def _kind(self) -> Any:
        """The family object, the class of a family by name, or None for an unknown name."""
        given = self.family
        return given if isinstance(given, LossFamily) else GLM_FAMILIES.get(str(given))

    @property
    def _has_classes(self) -> bool:
        return getattr(self._kind, "labels", "") == "classes"

    @property
    def _has_counts(self) -> bool:
        return getattr(self._kind, "labels", "") == "counts"

    @property
    def _multinomial(self) -> bool:
        return isinstance(self._kind, Multinomial) or self._kind is Multinomial

    @property
    def _several_labels(self) -> bool:  # type: ignore[override]
        return not self._has_classes

    def _loss(self) -> LossFamily:
        two = self._multinomial and len(vars(self).get("classes_", ())) == 2
        return family_of("binomial" if two else self.family, GLM_FAMILIES)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self._has_classes:
            tags.estimator_type = "classifier"
            several = self.joint is not None or self._multinomial
            tags.classifier_tags = ClassifierTags(multi_class=several)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.positive_only = self._has_counts
            # scikit-learn's check of several labels passes negative ones, which are no counts.
            tags.target_tags.multi_output = not self._has_counts
        return tags

    def _validate_labels(self, y: ArrayLike, n: int) -> Array:
        """Numbers, class 0 or 1, or counts."""
        if self._has_classes:
            self.classes_, y = encode_classes(y, n)
            remedy = (
                'For more, take family="multinomial", joint="rows" or "columns", or wrap it in '
                "sklearn.multiclass.OneVsRestClassifier."
            )
            if self.joint is None and not self._multinomial:
                check_two_classes(self.classes_, remedy)
            return y
        y = validate_labels(y, n)
        if not self._has_counts:
            question_two_values(y)
        elif y.min() < 0.0:
            raise ValueError(f"y must not be negative for family={self.family!r}; got {y.min()}.")
        self._loss().check(y, np.ones(n))
        return y

    @property
    def _log_probabilities(self) -> Callable[[Array], Array]:
        family: Any = self._loss()
        return family.log_probabilities

    def _combiner(self) -> tuple[Callable[[Array], Array], int | None]:
        k = len(vars(self).get("classes_", ()))
        return (problems_last, k) if k > 2 else super()._combiner()

    @available_if(_of_classes)
    def decision_function(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Log-odds of the second class or, for more classes, decisions on each class.

        Parameters
        ----------
        X, covariates
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            ``<coef_, X_i> + intercept_``; for more than two classes, each class against the rest;
            for "multinomial", log-probabilities up to a constant per sample.
        """
        return self._decide(X, covariates)

    @available_if(_of_classes)
    def predict_proba(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Probabilities of the classes, for the families "binomial" and "multinomial".

        Parameters
        ----------
        X, covariates
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            In the order of `classes_`. For more than two classes, probabilities of each class
            against the rest are divided by their sum.
        """
        return np.exp(self.predict_log_proba(X, covariates))

    @available_if(_of_classes)
    def predict_log_proba(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Logarithms of the probabilities, without underflow.

        Parameters
        ----------
        X, covariates
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n, n_classes)
            As in :meth:`predict_proba`.
        """
        decisions = self._decide(X, covariates)
        return on_blocks(self._log_probabilities, decisions, len(self.classes_))

    def _score_labels(self, y: ArrayLike, predicted: Values, sample_weight: Weights) -> float:
        if not self._has_counts:
            return super()._score_labels(y, predicted, sample_weight)
        weights = None if sample_weight is None else np.asarray(sample_weight)
        return float(self._loss().score(np.asarray(y), np.asarray(predicted)[None], weights)[0])
