"""What a report says, as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._typing import Array
from ..estimators._classifier import problem_names
from ..estimators._linear_part import LinearPart, linear_part
from ..inspection import Components, MapAxes, components, pattern
from ..inspection._chosen import at_chosen_parameters
from ..inspection._refits import as_samples, folds_of, take
from ..solvers import robust_scale

SHOWN = 6  # samples whose pictures are shown
SHOWN_MAPS = 6  # problems of two classes whose maps are shown, where there are more
GROSS = 4.0  # robust standard deviations from which on a label looks wrong


@dataclass(frozen=True)
class Maps:
    """What is drawn of one matrix of coefficients.

    Attributes
    ----------
    title : str
        The two classes that it tells apart, where a model has several; else empty.
    coef, pattern : ndarray of shape (p, q)
        W and the pattern.
    components : Components
        Rank-one terms of W.
    """

    title: str
    coef: Array
    pattern: Array
    components: Components


@dataclass(frozen=True)
class Facts:
    """A fitted model, its data, and what was found out about both.

    Attributes
    ----------
    model : fitted model
        As it was given, with the steps around it.
    X, y : array
        Samples and labels.
    predicted : ndarray of shape (n,)
        Predictions for samples that were left out, or in the training where nothing was refitted.
    tested : ndarray of bool, shape (n,)
        Which samples have a prediction.
    scores : ndarray of shape (k,)
        Scores of the folds; empty where nothing was refitted.
    grouped : bool
        Whether folds keep groups together.
    names : MapAxes
        Labels of rows and columns.
    target : str
        What the label is called.
    """

    model: Any
    X: Any
    y: NDArray[Any]
    predicted: NDArray[Any]
    tested: NDArray[np.bool_]
    scores: Array
    grouped: bool
    names: MapAxes
    target: str

    @cached_property
    def part(self) -> LinearPart:
        """The linear model and the steps before it."""
        return linear_part(self.model)

    @property
    def inner(self) -> Any:
        """The linear model itself."""
        return self.part.model

    @property
    def kind(self) -> str:
        """Name of its class."""
        return type(self.inner).__name__

    @cached_property
    def samples(self) -> Array:
        """Samples (n, p, q) as they were given; scaled if the model is fitted to scaled ones.

        In units of their own the largest column would be all that is seen of them.
        """
        X = self.part.transformed(self.X) if self.part.scalers else self.X
        return np.asarray(X, dtype=float).reshape(len(self.y), *self.inner.coef_.shape[-2:])

    @cached_property
    def maps(self) -> list[Maps]:
        """Of the model, or of its first problems of two classes where it has several."""
        if self.inner.coef_.ndim == 2:
            return [
                Maps(
                    "", self.part.coef_in_units, pattern(self.model, self.X), components(self.model)
                )
            ]
        problems = list(problem_names(self.inner).items())
        return [self._problem(k, *one) for k, one in enumerate(problems[:SHOWN_MAPS])]

    def _problem(self, k: int, title: str, classes: list[Any]) -> Maps:
        """Maps of a problem, with the pattern of the samples that are in its classes."""
        rows = np.flatnonzero(np.isin(self.y, classes))
        return Maps(
            title,
            linear_part(self.model, k).coef_in_units,
            pattern(self.model, take(self.X, rows), problem=k),
            components(self.model, problem=k),
        )

    @property
    def history(self) -> Any:
        """One row for each iteration; with several classes, of the longest fit."""
        history = getattr(self.inner, "history_", ())
        return max(history, key=len) if isinstance(history, list) else history

    @property
    def score_name(self) -> str:
        """What the score is called."""
        return "accuracy" if is_classifier(self.inner) else "R²"

    @cached_property
    def label_scores(self) -> Array:
        """How wrong each label looks, in robust standard deviations: as the model itself says.

        For models that do not say it, and for samples of which they know nothing, the distance of
        the label to its prediction. A class that was not predicted looks wrong in any case, the
        more so the farther it is from the decision.
        """
        found = self._of_training("label_outlier_score_")
        if is_classifier(self.inner):
            size = np.zeros(len(self.y)) if found is None else np.nan_to_num(found, nan=0.0)
            return np.where(self.tested & (self.predicted != self.y), 2.0 * GROSS + size, 0.0)
        if found is not None:
            return np.nan_to_num(found, nan=0.0)
        scores = np.zeros(len(self.y))
        scores[self.tested] = np.abs(_deviations((self.y - self.predicted)[self.tested]))
        return scores

    @cached_property
    def suspects(self) -> NDArray[np.intp]:
        """Samples whose labels look wrong, the worst first."""
        order = np.argsort(-self.label_scores, kind="stable")
        return order[self.label_scores[order] > GROSS]

    @cached_property
    def sample_scores(self) -> Array:
        """How unlike the others each sample is, in robust standard deviations.

        The share of outliers for models that find them; the distance to the entrywise median for
        others.
        """
        found = self._of_training("sample_outlier_score_")
        if found is None:
            centre = np.nanmedian(self.samples, axis=0)
            found = np.sqrt(np.nansum((self.samples - centre) ** 2, axis=(1, 2)))
        return _deviations(found)

    def _of_training(self, name: str) -> Array | None:
        """What the model knows of each of its samples; None where these are not its samples."""
        found = getattr(self.inner, name, None)
        return found if found is not None and len(found) == len(self.y) else None


def _deviations(values: Array) -> Array:
    """Distances from the median, in robust standard deviations."""
    scale = robust_scale(values, np.ones(len(values)))
    return (values - np.median(values)) / max(scale, np.finfo(float).tiny)


def gather(model: Any, X: Any, y: Any, groups: Any, cv: Any, names: MapAxes, target: str) -> Facts:
    """Predict, in folds if there are any, and keep what a report needs."""
    part = linear_part(model)
    X, y = as_samples(X), np.asarray(y)
    if y.shape != (len(X),):
        raise ValueError(f"y must have one label for each of the {len(X)} samples; got {y.shape}.")
    names.check(part.model.coef_.shape[-2:])
    tested, scores = np.ones(len(y), dtype=bool), np.zeros(0)
    if cv is None:
        predicted = np.asarray(model.predict(X))
    else:
        predicted, tested, scores = _in_folds(model, X, y, groups, cv)
    return Facts(model, X, y, predicted, tested, scores, groups is not None, names, target)


def _in_folds(
    model: Any, X: Any, y: NDArray[Any], groups: Any, cv: Any
) -> tuple[NDArray[Any], NDArray[np.bool_], Array]:
    """Predictions for samples that were left out, which have one, and scores of the folds."""
    from sklearn.metrics import accuracy_score, r2_score

    classes = is_classifier(linear_part(model).model)
    predicted = np.zeros(len(y), dtype=y.dtype if classes else float)
    tested = np.zeros(len(y), dtype=bool)
    scores = []
    for train, test in folds_of(cv, model, X, y, groups):
        fitted = at_chosen_parameters(model).fit(take(X, train), y[train])
        predicted[test], tested[test] = fitted.predict(take(X, test)), True
        score = accuracy_score if classes else r2_score
        scores.append(score(y[test], predicted[test]) if len(test) > 1 or classes else np.nan)
    return predicted, tested, np.array(scores)
