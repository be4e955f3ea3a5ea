"""Scores and errors of the model and of its baselines, side by side."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from .._typing import Array
from ._facts import Facts
from ._outcomes import Outcome


def rmse(y: Array, predicted: Array) -> float:
    """Root of the mean squared error."""
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def mae(y: Array, predicted: Array) -> float:
    """Mean absolute error."""
    return float(np.mean(np.abs(y - predicted)))


def median_error(y: Array, predicted: Array) -> float:
    """Median absolute error."""
    return float(np.median(np.abs(y - predicted)))


def r2(y: Array, predicted: Array) -> float:
    """1 minus the mean squared error over that of the mean."""
    return _explained(rmse(y, predicted), rmse(y, np.full_like(predicted, y.mean())))


def r2_of_medians(y: Array, predicted: Array) -> float:
    """The same by medians, which a minority of wrong labels does not spoil.

    ``1 - (median |y - predicted| / median |y - median y|)^2``.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 500.0])
    >>> predicted = np.array([1.1, 2.1, 3.1, 4.1, 5.1])
    >>> round(r2_of_medians(y, predicted), 2), r2(y, predicted) < 0.0
    (0.99, True)
    """
    centre = np.full_like(predicted, np.median(y))
    return _explained(median_error(y, predicted), median_error(y, centre))


def _explained(error: float, total: float) -> float:
    return 1.0 - (error / total) ** 2 if total > 0.0 else float("nan")


def accuracy(y: NDArray[np.generic], predicted: NDArray[np.generic]) -> float:
    """Share of right classes."""
    return float(np.mean(y == predicted))


def balanced_accuracy(y: NDArray[np.generic], predicted: NDArray[np.generic]) -> float:
    """Mean over the classes of the share of right ones."""
    return float(np.mean([np.mean(predicted[y == one] == one) for one in np.unique(y)]))


OF_CLASSES: dict[str, Callable[..., float]] = {
    "accuracy": accuracy,
    "balanced accuracy": balanced_accuracy,
}


def of_numbers(unit: str, by_medians: bool) -> dict[str, Callable[..., float]]:
    """Measures of predicted numbers, the names of which say their unit; medians first or last."""
    means = {f"RMSE, {unit}": rmse, f"MAE, {unit}": mae, "R²": r2}
    medians = {f"median absolute error, {unit}": median_error, "R² of medians": r2_of_medians}
    return medians | means if by_medians else means | medians


def of_all(facts: Facts, measure: Callable[..., float], one: Outcome) -> float:
    """A measure of all predictions together."""
    y, predicted = facts.y[facts.tested], one.predicted[facts.tested]
    return measure(y, predicted) if facts.classes else measure(y.astype(float), predicted)


def value(facts: Facts, one: Outcome) -> float:
    """Mean score of the folds; of all predictions where single folds have none, as one sample."""
    mean = facts.scoring.mean(one.scores)
    if np.isnan(mean) and facts.scoring.name == "R²":
        return of_all(facts, r2, one)
    return mean


def table(facts: Facts) -> list[list[str]]:
    """One column for each model, one row for each measure, with a head."""
    outcomes = facts.test.outcomes
    rows = [["", *(one.name for one in outcomes)]]
    folds = f", mean of {facts.test.n_folds} folds" if facts.test.n_folds else ""
    scored = [_mean_and_spread(facts, one) for one in outcomes]
    rows.append([f"{facts.scoring.name}{folds}", *scored])
    measures = (
        OF_CLASSES
        if facts.classes
        else of_numbers(f"units of {facts.target}", facts.scoring.by_medians)
    )
    for name, measure in measures.items():
        if not (facts.classes and name == facts.scoring.name):
            rows.append([name, *(f"{of_all(facts, measure, one):.3g}" for one in outcomes)])
    chosen = [one.chosen for one in outcomes]
    return [*rows, ["chosen on the folds", *chosen]] if any(chosen) else rows


def _mean_and_spread(facts: Facts, one: Outcome) -> str:
    known = one.scores[np.isfinite(one.scores)]
    spread = f" ± {known.std():.2g}" if len(known) > 1 else ""
    return f"{value(facts, one):.3g}{spread}"
