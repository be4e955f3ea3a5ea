"""Estimators at their defaults, in raw units, with honest and with wrong labels.

python -m benchmarks.first_five_minutes [--units] [--search] [--task NAME ...]

R2 on samples that no model has seen, of ``RMR()`` and ``RMRCV()`` as they come, beside ridge
regression, partial least squares and linear support vector regression whose parameters are tuned by
cross-validation within the training samples. Once with honest labels, and once with a tenth of the
training labels moved by 3 to 8 standard deviations (RMRCV then takes the bounded score, as its
documentation says). ``--search`` adds RMRCV and the other tuned models, which take longer;
``--units`` says how far the predictions move if X or y are a million times larger or smaller, on
the first fold of each task. The median is over the tasks; single gases are listed below it. Real
data come from where ``matreg.datasets`` finds them.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVR

from benchmarks.timing import print_table
from matreg import RMR, RMRCV
from matreg.datasets import (
    load_cmu_faces,
    load_eem_cells,
    load_gas_sensors,
    load_sugar,
    make_matrix_regression,
    make_shape,
)
from matreg.experiments.methods import on_vectors

SEEDS = "0"

WRONG = 0.1
FACTORS = (1e6, 1e-6)


@dataclass(frozen=True)
class Task:
    """Samples, labels, folds for training and test, and the names of the folds, if any."""

    X: Any
    y: Any
    folds: list[tuple[Any, Any]]
    names: list[str] = field(default_factory=list)


def blocks(n: int, number: int) -> list[tuple[Any, Any]]:
    """Consecutive samples are left out together."""
    return list(KFold(number).split(np.zeros(n)))


def sugar() -> Task:
    data = load_sugar()
    return Task(data.X, data.y, blocks(len(data.y), 5))


def faces() -> Task:
    """Gray levels of 0 to 255; ten people train, the other ten test."""
    data = load_cmu_faces()
    people = np.random.default_rng(0).permutation(np.unique(data.person))
    train = np.isin(data.person, people[:10])
    return Task(255.0 * data.X, data.y, [(np.flatnonzero(train), np.flatnonzero(~train))])


def eem() -> Task:
    data = load_eem_cells()
    return Task(data.X, data.y, blocks(len(data.y), 6))


def gas() -> Task:
    """Each gas on its own; the first two batches train, the third tests, after some drift."""
    data = load_gas_sensors()
    folds, names = [], []
    for name in np.unique(data.gas):
        parts = [data.batch <= 2, data.batch == 3]
        train, test = (np.flatnonzero((data.gas == name) & part) for part in parts)
        if len(test):
            folds.append((train, test))
            names.append(str(name))
    return Task(data.X, data.y, folds, names)


def simulated() -> Task:
    """A square of 32 x 32 as the truth, fewer samples than entries."""
    made = make_matrix_regression(
        1200, coef=make_shape("square", 32), noise_scale=0.5, random_state=0
    )
    return Task(made.X, made.y, [(np.arange(600), np.arange(600, 1200))])


TASKS: dict[str, Callable[[], Task]] = {
    "sugar": sugar,
    "faces": faces,
    "EEM": eem,
    "gas": gas,
    "simulated": simulated,
}


def tuned(model: Any, **grid: Any) -> GridSearchCV:
    """A rival on flat samples, tuned by five folds."""
    name = type(model).__name__.lower()
    grid = {f"{name}__{key}": values for key, values in grid.items()}
    return GridSearchCV(on_vectors(model), grid, cv=5)


class InUnits:
    """A rival whose grids are meant for samples of size one and labels of spread one."""

    def __init__(self, search: GridSearchCV) -> None:
        self.search = search

    def fit(self, X: Any, y: Any) -> InUnits:
        """Fit in these units."""
        self.size = np.sqrt(np.sum((X - X.mean(axis=0)) ** 2) / len(X))
        self.centre, self.spread = np.median(y), np.std(y)
        self.search.fit(X / self.size, (y - self.centre) / self.spread)
        return self

    def predict(self, X: Any) -> Any:
        """Predict in those of the user."""
        return np.ravel(self.search.predict(X / self.size)) * self.spread + self.centre


def rivals() -> dict[str, InUnits]:
    return {
        "ridge": InUnits(tuned(Ridge(), alpha=np.logspace(-6, 2, 17))),
        "PLS": InUnits(tuned(PLSRegression(scale=False), n_components=range(1, 9))),
        "SVR": InUnits(tuned(SVR(kernel="linear", epsilon=0.1), C=np.logspace(-1, 3, 5))),
    }


def spoil(y: Any, share: float) -> Any:
    """Move the labels of some samples by 3 to 8 standard deviations."""
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(y), round(share * len(y)), replace=False)
    moved = y.astype(float).copy()
    sign = rng.choice([-1.0, 1.0], len(wrong))
    moved[wrong] += sign * rng.uniform(3.0, 8.0, len(wrong)) * y.std()
    return moved


def r2(model: Callable[[], Any], task: Task, share: float) -> list[float]:
    """R2 of all test samples together, then of the folds that have names."""
    found, truth = [], [task.y[test] for _, test in task.folds]
    for train, test in task.folds:
        fitted = model().fit(task.X[train], spoil(task.y[train], share))
        found.append(fitted.predict(task.X[test]))
    alone = zip(truth[: len(task.names)], found, strict=False)
    return [
        r2_score(np.concatenate(truth), np.concatenate(found)),
        *(r2_score(*one) for one in alone),
    ]


def models(share: float, search: bool) -> dict[str, Callable[[], Any]]:
    """What is compared; with wrong labels RMRCV takes a score that they cannot spoil."""
    scoring = "neg_bounded_absolute_error" if share else None
    cheap = {"RMR()": RMR, "ridge": lambda: rivals()["ridge"]}
    if not search:
        return cheap
    others = {name: lambda name=name: rivals()[name] for name in ("PLS", "SVR")}
    return {"RMR()": RMR, "RMRCV()": lambda: RMRCV(scoring=scoring), **cheap, **others}


def rows(name: str, task: Task, share: float, search: bool) -> list[list[Any]]:
    """Scores of all models on one task, and on its named folds."""
    columns = [r2(model, task, share) for model in models(share, search).values()]
    labels = [f"{name} {part}".strip() for part in ("", *task.names)]
    return [
        [f"{label}, {share:.0%} wrong", *scores]
        for label, *scores in zip(labels, *columns, strict=True)
    ]


def moved(model: Callable[[], Any], task: Task) -> float:
    """Largest change of a prediction by units, relative to the spread of the labels."""
    train, test = task.folds[0]
    X, y = task.X, spoil(task.y[train], WRONG)

    def predicted(a: float, c: float) -> Any:
        return model().fit(a * X[train], c * y).predict(a * X[test]) / c

    base = predicted(1.0, 1.0)
    changes = [(f, 1.0) for f in FACTORS] + [(1.0, f) for f in FACTORS]
    return max(float(np.abs(predicted(*one) - base).max()) for one in changes) / float(np.std(y))


def units(names: list[str]) -> None:
    """How far predictions move when the units change."""
    few = {"n_taus": 10, "cv": 3, "scoring": "neg_median_absolute_error"}
    table = [
        [name, f"{moved(RMR, task):.0e}", f"{moved(lambda: RMRCV(**few), task):.0e}"]
        for name in names
        for task in [TASKS[name]()]
    ]
    header = ["task", "RMR()", "RMRCV(n_taus=10, cv=3)"]
    print_table("Change of predictions in units a million times larger and smaller", header, table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", action="store_true")
    parser.add_argument("--search", action="store_true")
    parser.add_argument("--task", nargs="+", choices=list(TASKS), default=list(TASKS))
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # what is at the edge of a grid is not what is measured
    start = time.perf_counter()
    table = [
        rows(name, task, share, args.search)
        for name in args.task
        for task in [TASKS[name]()]
        for share in (0.0, WRONG)
    ]
    median = ["median", *np.median([whole[1:] for whole, *_ in table], axis=0)]
    header = ["task", *models(0.0, args.search)]
    parts = [part for _, *parts in table for part in parts]
    print_table("R2 on unseen samples", header, [*(one[0] for one in table), median, *parts])
    if args.units:
        units(args.task)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
