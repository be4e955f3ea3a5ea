"""Predictions and scores of the model and of the baselines on samples that were left out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .._runtime.progress import track
from .._runtime.warn import without
from .._typing import Array
from ..estimators._fit.classifier import one_vs_rest
from ..estimators._fit.fitted import deciding
from ..estimators._input.covariates import new_covariates
from ..estimators._linear_part import linear_part
from ..inspection._covariates import bound, fit_with, take
from ..inspection._refits import at_chosen_parameters, folds_of
from ._baselines import Baseline, fold_of
from ._scoring import Scoring


@dataclass(frozen=True)
class Outcome:
    """Predictions and scores of one model."""

    name: str
    predicted: NDArray[Any]  # (n,), for left-out samples if there are folds
    scores: Array  # one per fold, or one without folds; more is better
    chosen: str = ""  # its parameter with the chosen value, in words
    on_flat: bool = False  # whether it is a model of flat samples


@dataclass(frozen=True)
class Test:
    """Results on samples that were left out."""

    __test__ = False  # pytest must not collect it

    outcomes: list[Outcome]  # the model, then the baselines
    tested: NDArray[np.bool_]  # (n,), which samples have a prediction
    margins: Array | None  # (n,), for classes: margins of samples, negative on the wrong side
    n_folds: int  # 0 if nothing was fitted again
    single: Any = None  # LeaveOneOutResult from which the predictions of the model are, if any


def without_folds(model: Any, X: Any, y: NDArray[Any], covariates: Any, scoring: Scoring) -> Test:
    """Predictions and scores of the model on its training samples, without new fits."""
    whole, name = bound(model, covariates), type(linear_part(model).model).__name__
    outcome = Outcome(name, np.asarray(whole.predict(X)), np.array([scoring(whole, X, y)]))
    margins = margins_of(model, X, y, covariates)
    return Test([outcome], np.ones(len(y), dtype=bool), margins, 0)


def in_folds(
    model: Any,
    X: Any,
    y: NDArray[Any],
    Z: Array | None,
    groups: Any,
    cv: Any,
    scoring: Scoring,
    baselines: list[Baseline],
    single: Any,
) -> Test:
    """Fit the model, with the parameters that were chosen, and the baselines to every fold.

    With leave-one-out predictions the model is not fitted again; they are scored fold by fold.
    """
    inner = linear_part(model).model
    classes = is_classifier(inner)
    folds = folds_of(cv, model, X, y, groups)
    predicted = np.zeros(len(y), dtype=y.dtype if classes else float)
    tested, margins = np.zeros(len(y), dtype=bool), np.full(len(y), np.nan)
    scores, grids = [], [Grid(one, predicted) for one in baselines]
    for train, test in track(folds, "report", len(folds)):
        seen, left_out = take(X, train), take(X, test)
        beside = take(Z, train), take(Z, test)
        if single is None:
            # The fit of the model has warned of this already.
            with without("The columns of X differ"), without("The rows of X differ"):
                fitted = fit_with(at_chosen_parameters(model), seen, y[train], beside[0])
            whole, rows, Z_rows = bound(fitted, beside[1]), left_out, beside[1]
        else:
            # This model takes indices of samples and returns their leave-one-out decisions.
            fitted = whole = deciding(model, lambda rows: single.decisions[rows])
            rows, Z_rows = test, None
        predicted[test], tested[test] = whole.predict(rows), True
        scores.append(scoring(whole, rows, y[test]))
        if classes:
            margins[test] = margins_of(fitted, rows, y[test], Z_rows)
        part = linear_part(fitted)
        fold = fold_of(part.transformed(seen), part.transformed(left_out), y[train], *beside)
        for grid in grids:
            grid.add(fold, test, y[test], scoring)
    own = Outcome(type(inner).__name__, predicted, np.array(scores))
    outcomes = [own, *(grid.best() for grid in grids)]
    return Test(outcomes, tested, margins if classes else None, len(folds), single)


def left_out_singly(model: Any, X: Any, y: NDArray[Any], covariates: Any) -> Any:
    """LeaveOneOutResult of the fitted model; None if there is none, or if it is not trusted.

    A model in a pipeline has none, as its steps were fitted to all samples. A model that was fitted
    with weights refuses, as the weights are not known here. Leave-one-out gives no margins for
    several classes.
    """
    inner = linear_part(model).model
    if inner is not model or (is_classifier(inner) and len(inner.classes_) > 2):
        return None
    try:
        single = inner.leave_one_out(X, y, covariates=covariates)
    except ValueError:
        return None
    return single if single.trusted else None


class Grid:
    """Predictions and scores of a baseline for all values of its parameter."""

    def __init__(self, baseline: Baseline, like: NDArray[Any]) -> None:
        self.baseline, self.like = baseline, like
        self.predicted: dict[float, NDArray[Any]] = {}
        self.scores: dict[float, list[float]] = {}
        self.folds = 0

    def add(
        self, fold: Any, test: NDArray[np.intp], labels: NDArray[Any], scoring: Scoring
    ) -> None:
        """Fit to one more fold."""
        self.folds += 1
        for value, model in self.baseline.fits(fold):
            self.predicted.setdefault(value, np.zeros_like(self.like))
            self.predicted[value][test] = model.predict(fold.test)
            self.scores.setdefault(value, []).append(scoring(model, fold.test, labels))

    def best(self) -> Outcome:
        """Outcome of the value with the best mean score, among the values tried on all folds."""
        whole = {value: np.array(s) for value, s in self.scores.items() if len(s) == self.folds}
        means = {
            value: s[np.isfinite(s)].mean() if np.isfinite(s).any() else -np.inf
            for value, s in whole.items()
        }
        value = max(means, key=lambda one: means[one])
        chosen = f"{self.baseline.parameter} = {value:.3g}" if self.baseline.parameter else ""
        name, on_flat = self.baseline.name, self.baseline.on_flat
        return Outcome(name, self.predicted[value], whole[value], chosen, on_flat)


def margins_of(model: Any, X: Any, y: NDArray[Any], Z: Any) -> Array | None:
    """Margins (n,) of samples to the decision boundary: negative on the wrong side.

    With several problems of one class against one, it is the smallest margin of a sample.
    """
    inner = linear_part(model).model
    if not is_classifier(inner):
        return None
    if np.ndim(inner.coef_) == 2:
        return np.where(y == inner.classes_[1], 1.0, -1.0) * bound(model, Z).decision_function(X)
    own = y[:, None] == inner.classes_[None, :]
    if not one_vs_rest(inner):
        return _least_of_pairs(model, X, own, Z)
    decisions = bound(model, Z).decision_function(X)
    others = np.where(own, -np.inf, decisions).max(axis=1)
    return np.where(own, decisions, 0.0).sum(axis=1) - others


def _least_of_pairs(model: Any, X: Any, own: NDArray[np.bool_], Z: Any) -> Array:
    """Smallest margins (n,) over the pairs of classes; `own` (n, classes) marks the labels."""
    part = linear_part(model, 0)
    samples = part.samples(X).reshape(len(own), -1)
    coefs = np.asarray(part.model.coef_)
    decisions = samples @ coefs.reshape(len(coefs), -1).T + np.asarray(part.model.intercept_)
    if (numbers := new_covariates(part.model, Z, len(own))) is not None:
        decisions += numbers @ part.model.covariate_coef_.T
    least = np.full(len(own), np.inf)
    first, second = np.triu_indices(own.shape[1], 1)  # in the order of coef_
    for a, b, f in zip(first, second, decisions.T, strict=True):
        least = np.where(own[:, a], np.minimum(least, -f), least)
        least = np.where(own[:, b], np.minimum(least, f), least)
    return least
