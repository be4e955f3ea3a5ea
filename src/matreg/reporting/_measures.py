"""Scores and errors of the model and of its baselines, side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from sklearn import metrics

from .._typing import Array
from ._facts import Facts
from ._outcomes import Outcome

Measure = Callable[[Array, Array], float]


def r2_of_medians(y: Array, predicted: Array) -> float:
    """R² by medians, which a minority of wrong labels does not spoil.

    ``1 - (median |y - predicted| / median |y - median y|)^2``.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 500.0])
    >>> predicted = np.array([1.1, 2.1, 3.1, 4.1, 5.1])
    >>> round(r2_of_medians(y, predicted), 2)
    0.99
    """
    error, total = np.median(np.abs(y - predicted)), np.median(np.abs(y - np.median(y)))
    return float(1.0 - (error / total) ** 2) if total > 0.0 else float("nan")


def balanced_accuracy(y: NDArray[np.generic], predicted: NDArray[np.generic]) -> float:
    """Mean of the accuracies of the classes, without a warning for classes that y does not have."""
    return float(metrics.recall_score(y, predicted, labels=np.unique(y), average="macro"))


def _measures(facts: Facts) -> dict[str, Measure]:
    """Measures by name and unit; those by medians come first if the score resists wrong labels."""
    if facts.classes:
        return {"accuracy": metrics.accuracy_score, "balanced accuracy": balanced_accuracy}
    unit = f"units of {facts.target}"
    means: dict[str, Measure] = {
        f"RMSE, {unit}": metrics.root_mean_squared_error,
        f"MAE, {unit}": metrics.mean_absolute_error,
        "R²": metrics.r2_score,
    }
    medians: dict[str, Measure] = {
        f"median absolute error, {unit}": metrics.median_absolute_error,
        "R² of medians": r2_of_medians,
    }
    return medians | means if facts.scoring.by_medians else means | medians


def of_all(facts: Facts, measure: Measure, one: Outcome) -> float:
    """A measure of all predictions together."""
    y, predicted = facts.y[facts.tested], one.predicted[facts.tested]
    return measure(y if facts.classes else y.astype(float), predicted)


def value(facts: Facts, one: Outcome) -> float:
    """Mean score of the folds; R² of all predictions if it is undefined on every fold."""
    mean = facts.scoring.mean(one.scores)
    if np.isnan(mean) and facts.scoring.name == "R²":
        return of_all(facts, metrics.r2_score, one)
    return mean


def table(facts: Facts) -> list[list[str]]:
    """One column per model, one row per measure, with a head."""
    outcomes = facts.test.outcomes
    folds = f", mean of {facts.test.n_folds} folds" if facts.test.n_folds else ""
    rows = [
        ["", *(one.name for one in outcomes)],
        [f"{facts.scoring.name}{folds}", *(_mean_and_spread(facts, one) for one in outcomes)],
    ]
    for name, measure in _measures(facts).items():
        if not (facts.classes and name == facts.scoring.name):
            rows.append([name, *(f"{of_all(facts, measure, one):.3g}" for one in outcomes)])
    chosen = [one.chosen for one in outcomes]
    return [*rows, ["chosen on the folds", *chosen]] if any(chosen) else rows


def _mean_and_spread(facts: Facts, one: Outcome) -> str:
    known = one.scores[np.isfinite(one.scores)]
    spread = f" ± {known.std():.2g}" if len(known) > 1 else ""
    return f"{value(facts, one):.3g}{spread}"
