"""The score of a report: the one by which the model was chosen, with its name and sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .._typing import Array
from ..estimators._linear_part import linear_part
from ..scoring import BOUNDED, check_score_name, score_in_print, score_of_search


@dataclass(frozen=True)
class Scoring:
    """A score with its name on the page."""

    name: str
    scorer: Callable[..., float]  # of a fitted model, samples and labels; more is better
    is_error: bool = False  # whether it is minus an error; the page shows the error itself

    @property
    def by_medians(self) -> bool:
        """Whether a few wrong labels hardly change the score."""
        return "median" in self.name or "bounded" in self.name

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """Score of a model, more is better; NaN where it is not defined."""
        try:
            return float(self.scorer(model, X, y))
        except (ValueError, AttributeError):  # one sample, one class, no probabilities
            return float("nan")

    def shown(self, score: float) -> float:
        """The number that a reader expects: an error is positive."""
        return -score if self.is_error else score

    def mean(self, scores: Array) -> float:
        """Mean over the folds on which the score is defined, as it is shown; NaN without any."""
        known = scores[np.isfinite(scores)]
        return self.shown(float(known.mean())) if len(known) else float("nan")


def scoring_of(model: Any, given: Any = None) -> Scoring:
    """The given score; by default that of the search that chose the model, or of its loss."""
    if given is None:
        given = _of_search(model)
    if given is None:
        return default_scoring(linear_part(model).model)
    if isinstance(given, Scoring):
        return given
    if isinstance(given, str):
        check_score_name(given, bounded=False)
        words, is_error = score_in_print(given)
        return Scoring(words, metrics.get_scorer(given), is_error)
    if not callable(given):
        raise ValueError(f"scoring must be a name or a function; got {given!r}.")
    function = getattr(given, "_score_func", given)
    name = getattr(function, "__name__", type(given).__name__)
    return Scoring(name.replace("_", " "), given, getattr(given, "_sign", 1) < 0)


def _of_search(model: Any) -> Any:
    """Scoring of the outermost search; None without a search, or if it has several scores."""
    while model is not None:
        scoring = getattr(model, "scoring", None)
        if scoring == BOUNDED:  # the search has determined its scale
            return Scoring("bounded absolute error", model.scorer_, is_error=True)
        if isinstance(scoring, str) or callable(scoring):
            return scoring
        if hasattr(model, "cv_results_") and score_of_search(model) == ("log loss", True):
            return "neg_log_loss"
        if isinstance(model, Pipeline):
            model = model[-1]
        else:
            model = getattr(model, "best_estimator_", getattr(model, "regressor_", None))
    return None


def default_scoring(inner: Any) -> Scoring:
    """Accuracy for classes, otherwise the score that belongs to the loss."""
    if is_classifier(inner):
        return Scoring("accuracy", metrics.get_scorer("accuracy"))
    loss = inner._loss()

    def score(y: Any, predicted: Any, sample_weight: Any = None) -> float:
        return float(loss.score(np.asarray(y), np.asarray(predicted)[None], sample_weight)[0])

    return Scoring(loss.score_name, metrics.make_scorer(score))
