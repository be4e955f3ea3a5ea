"""Large-margin classifiers: several classes as problems of two classes with combined decisions.

A problem of two classes has the labels -1 and 1. More classes are separated one against one, with
a problem for each pair on the samples of both, or one against the rest, with a problem for each
class on all samples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function

from ..._typing import Array, Covariates
from ..._validation.classes import encode_classes
from ...data.samples import Samples, SampleSet
from ...losses.families import MARGIN_LOSSES, LossFamily, check_weighted_classes, family_of
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...solvers import SolverResult
from .._input.parameters import parametrised
from .base import MatrixEstimator
from .convex import Part, joint_part
from .several import problems_last


@parametrised
class MatrixClassifier(ClassifierMixin, MatrixEstimator):
    """Base of classifiers by a margin, whose samples are matrices."""

    C: float | str | ArrayLike = "scale"
    loss: str | LossFamily = "hinge"
    class_weight: dict[object, float] | str | None = None
    multi_class: str = "one_vs_one"

    _losses: ClassVar[Mapping[str, type[LossFamily]]] = MARGIN_LOSSES

    def _loss(self) -> LossFamily:
        return family_of(self.loss, MARGIN_LOSSES)

    def _validate_labels(self, y: ArrayLike, n: int) -> Array:
        """Index of the class of each sample."""
        self.classes_, index = encode_classes(y, n)
        return index

    def _weigh(self, y: Array, weights: Array) -> Array:
        k = len(self.classes_)
        check_weighted_classes(y, weights, k)
        if self.class_weight is None:
            return weights
        index = y.astype(int)
        if isinstance(self.class_weight, dict):
            labels = self.classes_[index]
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
            if not (np.isfinite(factors) & (factors > 0.0)).all():
                raise ValueError(
                    f"class_weight must have positive weights; got {self.class_weight!r}."
                )
        else:  # every class has the same total weight
            factors = weights.sum() / (k * np.bincount(index, weights=weights, minlength=k))
        return weights * factors[index]

    def _parts(self, samples: SampleSet) -> list[Part]:
        """The problems of two classes, with labels -1 and 1, in the order of `coef_`."""
        y, k = samples.given[0], len(self.classes_)
        if one_vs_rest(self) and k > 2:
            parts = [Part(samples.part(None, np.where(y == c, 1.0, -1.0))) for c in range(k)]
            return parts if getattr(self, "joint", None) is None else joint_part(self, parts)
        pairs = ((one, other) for one, other in combinations(range(k), 2))
        rows = [(np.flatnonzero((y == one) | (y == other)), other) for one, other in pairs]
        return [
            Part(samples.part(index, np.where(y[index] == other, 1.0, -1.0)), index)
            for index, other in rows
        ]

    def _combiner(self) -> tuple[Callable[[Array], Array], int | None]:
        k = len(self.classes_)
        if k == 2 or one_vs_rest(self):
            return problems_last, None if k == 2 else k
        return partial(votes, k=k), k

    def _label_scores(self, model: Model, samples: Samples, result: SolverResult) -> Array:
        """How much each label of two classes, -1 and 1, looks wrong, (n,), in margins.

        A sample on the right side of the margin scores zero. On the margin it scores its multiplier
        relative to the bound of the multiplier, or zero if there is no bound. Beyond the margin it
        scores ``2 - y f``: more than 2 on the wrong side. Samples of weight zero get NaN.
        """
        decisions = samples.design.forward(result.W.matrix)
        decisions += samples.unpenalised(model.fit_intercept).times(result.gamma)
        beyond = np.maximum(1.0 - samples.y * decisions, 0.0)
        loss = model.losses(samples.y, samples.weights)
        share = (beyond > 0.0).astype(float)
        if isinstance(loss, PiecewiseLoss) and loss.bounded:
            share = np.abs(result.beta) / loss.size
        scores = share * (1.0 + beyond)
        return np.where(samples.group >= 0, scores[samples.group], np.nan)

    def decision_function(self, X: ArrayLike, covariates: Covariates = None) -> Array:
        """Decisions on samples.

        Parameters
        ----------
        X, covariates
            As in :meth:`predict`.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            For two classes ``<coef_, X_i> + intercept_``, positive for the second one. For more
            classes, one column per class, with the largest value for the predicted class: with
            "one_vs_rest" the decision of the class; with "one_vs_one" the number of its votes plus
            the sum of its decisions, scaled to less than 1/2, which breaks ties.
        """
        return self._decide(X, covariates)

    score = MatrixEstimator.score  # the score of the mixin takes no covariates


def one_vs_rest(model: MatrixEstimator) -> bool:
    """Whether more than two classes are separated one against the rest, not one against one.

    With `joint` they always are, whatever `multi_class` is.
    """
    joint = getattr(model, "joint", None) is not None
    return joint or getattr(model, "multi_class", "one_vs_rest") == "one_vs_rest"


def votes(f: Array, k: int) -> Array:
    """Decisions (..., n, k) on k classes from those of their pairs, (m, ..., n)."""
    flat = f.reshape(len(f), -1).T
    counted = _ovr_decision_function(flat > 0.0, flat, k)
    return np.asarray(counted).reshape(*f.shape[1:], k)


def problem_names(model: MatrixEstimator) -> dict[str, list[object]]:
    """Name and classes of each problem of a model with several, in the order of `coef_`."""
    every = list(model.classes_)
    if one_vs_rest(model):
        return {f"{one}": every for one in every}
    return {f"{one} or {other}": [one, other] for one, other in combinations(every, 2)}


def coef_of(model: MatrixEstimator, problem: int | None = None) -> Array:
    """W of a fitted model, of shape (p, q); with several problems, that of index `problem`."""
    coef = np.asarray(model.coef_)
    coefs = coef if coef.ndim == 3 else coef[None]
    if problem is None and len(coefs) == 1:
        return coefs[0]
    if problem is not None and 0 <= problem < len(coefs):
        return coefs[problem]
    if len(coefs) == 1:
        raise ValueError(f"problem must be 0 or None for a model with one W; got {problem}.")
    if not hasattr(model, "classes_"):
        raise ValueError(
            f"problem must say which of the {len(coefs)} labels is meant, from 0 to "
            f"{len(coefs) - 1}; got {problem}. Functions without the parameter problem need a "
            "model of one label."
        )
    names = list(problem_names(model))
    listed = ", ".join(f"{k} ({name})" for k, name in enumerate(names[:3]))
    raise ValueError(
        f"problem must say which of the {len(coefs)} matrices of coefficients is meant: "
        f"{listed}{', ...' if len(names) > 3 else ''}; got {problem}. Functions without the "
        "parameter problem need a model of two classes."
    )
