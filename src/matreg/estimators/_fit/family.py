"""Families of generalised linear models: labels, predictions and scores.

The linear predictor ``f = <B, X_i> + b`` is the mean for "normal", the log-odds of the second class
for "binomial" and the logarithm of the mean for "poisson".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from ..._typing import Array, Covariates, Values, Weights
from ..._validation.arrays import question_two_values, validate_labels
from ..._validation.classes import check_two_classes, classes_at, encode_classes
from ...data.dask_blocks import on_blocks
from ...losses.families import GLM_FAMILIES, LossFamily, family_of
from ...losses.smooth import Logistic
from .._input.parameters import parametrised
from .base import MatrixEstimator, problems_last


def probabilities(f: Array, multinomial: bool = False) -> Array:
    """Probabilities of both classes from log-odds (n,), or of k classes from those of each (n, k).

    Those of each class against the rest are divided by their sum; with `multinomial` the predictors
    are those of the family "multinomial".
    """
    if f.ndim == 2:
        return np.exp(log_probabilities(f, multinomial))
    return np.column_stack([Logistic.mean(-f), Logistic.mean(f)])


def log_probabilities(f: Array, multinomial: bool = False) -> Array:
    """Their logarithms, without underflow."""
    if f.ndim == 2:
        each = f if multinomial else -np.logaddexp(0.0, -f)
        return np.asarray(each - np.logaddexp.reduce(each, axis=1, keepdims=True))
    return -np.logaddexp(0.0, np.column_stack([f, -f]))


# Families whose labels are classes.
CLASSES = ("binomial", "multinomial")


def _of_classes(model: MatrixEstimator) -> bool:
    if model.family not in CLASSES:
        raise AttributeError(
            f'family must be "binomial" or "multinomial" for this; got {model.family!r}.'
        )
    return True


@parametrised
class FamilyEstimator(MatrixEstimator):
    """Base of estimators with a parameter `family`: a classifier for "binomial"."""

    family: str | LossFamily = "normal"
    joint: str | None = None
    max_iter: int = 10_000

    @property
    def _several_labels(self) -> bool:  # type: ignore[override]
        return self.family not in CLASSES

    def _loss(self) -> LossFamily:
        two = self.family == "multinomial" and len(vars(self).get("classes_", ())) == 2
        return family_of("binomial" if two else self.family, GLM_FAMILIES)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.family in CLASSES:
            tags.estimator_type = "classifier"
            several = self.joint is not None or self.family == "multinomial"
            tags.classifier_tags = ClassifierTags(multi_class=several)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.positive_only = self.family == "poisson"
            # scikit-learn's check of several labels passes negative ones, which are no counts.
            tags.target_tags.multi_output = self.family != "poisson"
        return tags

    def _validate_labels(self, y: ArrayLike, n: int) -> Array:
        """Numbers, class 0 or 1, or counts."""
        if self.family in CLASSES:
            self.classes_, y = encode_classes(y, n)
            remedy = (
                'For more, take family="multinomial", joint="rows" or "columns", or wrap it in '
                "sklearn.multiclass.OneVsRestClassifier."
            )
            if self.joint is None and self.family == "binomial":
                check_two_classes(self.classes_, remedy)
            return y
        y = validate_labels(y, n)
        if self.family == "poisson" and y.min() < 0.0:
            raise ValueError(f'y must not be negative for family="poisson"; got {y.min()}.')
        if self.family != "poisson":
            question_two_values(y)
        self._loss().check(y, np.ones(n))
        return y

    def _decode(self, y: Array) -> Values:
        return self.classes_[y.astype(int)] if self.family in CLASSES else y

    def _labels(self, f: Array) -> Values:
        """Predictions from linear predictors."""
        if self.family in CLASSES:
            index = (f > 0.0).astype(int) if f.ndim == 1 else f.argmax(axis=-1)
            return classes_at(self.classes_, index)
        return on_blocks(self._loss().mean, f)

    def _probabilities(self, f: Array) -> Array:
        """Probabilities of the classes, of shape (n, k)."""
        return probabilities(f, self.family == "multinomial")

    def _combiner(self) -> tuple[Callable[[Array], Array], int | None]:
        k = len(vars(self).get("classes_", ()))
        return (problems_last, k) if k > 2 else super()._combiner()

    @available_if(_of_classes)
    def decision_function(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Log-odds of the second class, or decisions on each of more, for families of classes.

        Parameters
        ----------
        X, covariates
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            ``<coef_, X_i> + intercept_``; of more than two classes each against the rest, or, for
            "multinomial", logarithms of odds that add up to any number.
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
            In the order of `classes_`; those of more than two, each against the rest, are divided
            by their sum.
        """
        function = partial(probabilities, multinomial=self.family == "multinomial")
        return on_blocks(function, self._decide(X, covariates), len(self.classes_))

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
        function = partial(log_probabilities, multinomial=self.family == "multinomial")
        return on_blocks(function, self._decide(X, covariates), len(self.classes_))

    def _score_labels(self, y: ArrayLike, predicted: Values, sample_weight: Weights) -> float:
        if self.family != "poisson":
            return super()._score_labels(y, predicted, sample_weight)
        rows = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0.0
        labels = np.asarray(y)[rows]
        if len(labels) and np.ptp(labels) == 0.0:  # as R^2 of labels that are all the same
            return float(np.array_equal(labels, predicted[rows]))
        from sklearn.metrics import d2_tweedie_score  # late: it takes long to import

        return float(d2_tweedie_score(y, predicted, sample_weight=sample_weight, power=1))

    def _score_all(self, y: Values, decisions: Array, sample_weight: Array | None) -> Array:
        if self.family not in (*CLASSES, "poisson"):
            return self._loss().score(y, decisions, sample_weight)
        return np.array([self._score_labels(y, self._labels(f), sample_weight) for f in decisions])
