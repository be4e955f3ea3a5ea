"""The score of a report: that which the model was chosen by, in words and with a sign."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from .._typing import Array
from ..estimators._linear_part import linear_part
from ..scoring import BOUNDED, check_score_name, score_in_print, score_of_search


@dataclass(frozen=True)
class Scoring:
    """A score and how to speak of it.

    Attributes
    ----------
    name : str
        What it is called on the page.
    scorer : callable
        Takes a fitted model, samples and labels; more is better.
    is_error : bool
        Whether the scorer gives an error times -1. The page shows the error itself.
    """

    name: str
    scorer: Callable[..., float]
    is_error: bool = False

    @property
    def by_medians(self) -> bool:
        """Whether single wrong labels do not spoil it."""
        return "median" in self.name or "bounded" in self.name

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """Score of a model, more is better; NaN where it is not defined."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                return float(self.scorer(model, X, y))
            except (ValueError, AttributeError):  # one sample, one class, no probabilities
                return float("nan")

    def shown(self, score: float) -> float:
        """The number that a reader expects: an error is positive."""
        return -score if self.is_error else score

    def mean(self, scores: Array) -> float:
        """Mean over the folds in which it is defined, as it is shown; NaN where there is none."""
        known = scores[np.isfinite(scores)]
        return self.shown(float(known.mean())) if len(known) else float("nan")


def scoring_of(model: Any, given: Any = None) -> Scoring:
    """The score that was asked for, or else that of the model.

    Parameters
    ----------
    model : fitted model
        A model of matreg, or a pipeline or search around one.
    given : str or callable, default=None
        As in scikit-learn. By default the `scoring` of the search that chose the parameters; of a
        model that was not chosen, what its `score` gives.
    """
    if given is None:
        given = _of_search(model)
    if given is None:
        return default_scoring(linear_part(model).model)
    if isinstance(given, Scoring):
        return given
    return _named(given) if isinstance(given, str) else _callable(given)


def _of_search(model: Any) -> Any:
    """Scoring of the outermost search; None where there is none or it has several scores."""
    while model is not None:
        scoring = getattr(model, "scoring", None)
        if scoring == BOUNDED:  # its scale is known to the search alone
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
    """What `score` of a model gives."""
    from sklearn.metrics import d2_pinball_score, d2_tweedie_score, get_scorer, make_scorer

    if is_classifier(inner):
        return Scoring("accuracy", get_scorer("accuracy"))
    if getattr(inner, "family", None) == "poisson":
        return Scoring("D² of the Poisson deviance", make_scorer(d2_tweedie_score, power=1))
    if getattr(inner, "loss", None) == "quantile":
        scorer = make_scorer(d2_pinball_score, alpha=inner.quantile)
        return Scoring("D² of the pinball loss", scorer)
    return Scoring("R²", get_scorer("r2"))


def _named(name: str) -> Scoring:
    from sklearn.metrics import get_scorer

    check_score_name(name)
    words, is_error = score_in_print(name)
    return Scoring(words, get_scorer(name), is_error)


def _callable(scorer: Any) -> Scoring:
    if not callable(scorer):
        raise ValueError(f"scoring must be a name or a function; got {scorer!r}.")
    function = getattr(scorer, "_score_func", scorer)
    name = getattr(function, "__name__", type(scorer).__name__)
    return Scoring(name.replace("_", " "), scorer, getattr(scorer, "_sign", 1) < 0)
