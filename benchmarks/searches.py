"""Searches of parameters beside each other: scores on new samples and seconds of one core.

    python -m benchmarks.searches [--splits 3] [--tasks EEM sugar digits] [--single] [--epsilon]

The multiple behind the seconds is that of the first search. "Whole grid" tries all combinations.
With `--single`, single fits beside those of SVR, and with words beside those with numbers. With
`--epsilon`, only the tube of RMRCV from the spread of the labels beside that from their noise.

Each task is split into training and new samples, the same for all; with wrong labels a tenth of the
training labels is another label of the task plus or minus three standard deviations. Real data
comes from the folder that the environment variable MATREG_DATA names; data that is not there is
left out.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVR, LinearSVC

from benchmarks.timing import cpu_time, print_table
from matreg import RMR, RMRCV, SMM, SMMCV
from matreg.datasets import (
    load_air_quality,
    load_cmu_faces,
    load_eem_cells,
    load_mnist,
    load_olive,
    load_sugar,
    make_matrix_regression,
    make_shape,
)
from matreg.experiments.methods import on_vectors

SEEDS = "{splits} from 0 on; simulated samples their number; single fits 0"


def real(load, standardise: bool = False):
    """Samples and labels in units of their spread, columns too if their units differ."""
    data = load()
    X, y = np.asarray(data.X, dtype=float), np.asarray(data.y, dtype=float)
    if standardise:
        X = (X - X.mean(axis=(0, 1))) / X.std(axis=(0, 1))
    return X / X.std(), (y - y.mean()) / y.std()


def shape(name: str, n: int, noise: float):
    """Simulated samples of 12 x 12 with a shape as coefficients, and 500 new ones."""
    coef = make_shape(name, 12)
    data = make_matrix_regression(n + 500, (12, 12), coef=coef, noise_scale=noise, random_state=n)
    return data.X, data.y


def digits():
    """Images of 8 x 8 with ten classes."""
    data = load_digits()
    return data.images / 16.0, data.target


def mnist():
    """Images of 28 x 28 with ten classes."""
    data = load_mnist()
    return data.X_train / 255.0, data.y_train


REPEATS = 3  # of single fits
# How to load a task, and how many samples to train on.
TASKS = {
    "faces": (lambda: real(load_cmu_faces), 250),
    "few faces": (lambda: real(load_cmu_faces), 60),
    "sugar": (lambda: real(load_sugar), 187),
    "EEM": (lambda: real(load_eem_cells), 26),
    "olive": (lambda: real(load_olive), 54),
    "air": (lambda: real(load_air_quality, True), 150),
    "cross": (lambda: shape("cross", 100, 2.0), 100),
    "square": (lambda: shape("square", 200, 0.5), 200),
    "digits": (digits, 300),
    "MNIST": (lambda: tuple(part[::20] for part in mnist()), 600),
}
CLASSES = ("digits", "MNIST")


def flat(model):
    """A linear model of the entries, C by five folds."""
    grid = {f"{type(model).__name__.lower()}__C": np.logspace(-3.0, 3.0, 7)}
    return GridSearchCV(on_vectors(model), grid, cv=5)


class WholeRMRCV(RMRCV):
    """RMRCV on the whole grid: all combinations instead of those from coarse to fine."""

    _tries_all = True


class WholeSMMCV(SMMCV):
    """SMMCV on the whole grid."""

    _tries_all = True


METHODS = {
    "GridSearchCV(SVR), 5 folds": lambda: flat(SVR(kernel="linear")),
    "RMRCV()": RMRCV,
    "whole grid": WholeRMRCV,
}
TUBES = {
    'epsilon="scale"': lambda: RMRCV(epsilon="scale"),
    'epsilon="noise"': lambda: RMRCV(epsilon="noise"),
}
CLASSIFIERS = {
    "GridSearchCV(LinearSVC), 5 folds": lambda: flat(LinearSVC()),
    "SMMCV()": SMMCV,
    "whole grid": WholeSMMCV,
}


def spoiled(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Labels a tenth of which are grossly wrong."""
    out = y.copy()
    wrong = rng.permutation(len(y))[: len(y) // 10]
    out[wrong] = rng.permutation(y)[wrong] + 3.0 * y.std() * rng.choice([-1.0, 1.0], len(wrong))
    return out


def compare(task: str, methods, splits: int, wrong: bool) -> dict[str, list[float]]:
    """Mean R2 and mean seconds of each method on a task."""
    load, n = TASKS[task]
    X, y = load()
    found: dict[str, list[list[float]]] = {name: [] for name in methods}
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        train, new = order[:n], order[n:]
        labels = spoiled(y[train], rng) if wrong else y[train]
        for name, make in methods.items():
            seconds, model = cpu_time(partial(make().fit, X[train], labels))
            found[name].append([float(model.score(X[new], y[new])), seconds])
    return {name: list(np.mean(rows, axis=0)) for name, rows in found.items()}


def singles() -> list[list[object]]:
    """Fits beside SVR's, and with words beside the same with numbers."""
    data = make_matrix_regression(500, (64, 64), coef=make_shape("cross", 64), random_state=0)
    entries = data.X.reshape(500, -1)
    limits = {"C": 1000.0, "epsilon": 0.01}
    pairs = [
        (
            "500 of 64 x 64: SVR(C=1000), RMR(100, C=1000), tube .01",
            lambda: SVR(kernel="linear", **limits).fit(entries, data.y),
            lambda: RMR(100.0, **limits).fit(data.X, data.y),
        ),
        (
            "500 of 64 x 64: SVR(), RMR()",
            lambda: SVR(kernel="linear").fit(entries, data.y),
            lambda: RMR().fit(data.X, data.y),
        ),
    ]
    many = make_matrix_regression(20_001, (20, 20), noise_scale=1.0, random_state=0)
    pairs.append(("20,001 of 20 x 20: numbers, words", *both(RMR(), many.X, many.y)))
    try:
        X, y = mnist()
        pairs.append(("60,000 of MNIST, even or odd: numbers, words", *both(SMM(), X, y % 2)))
    except (OSError, KeyError) as error:
        print(f"left out: MNIST ({error})")
    rows = []
    for name, first, second in pairs:
        seconds = [min(cpu_time(fit)[0] for _ in range(REPEATS)) for fit in (first, second)]
        rows.append([name, *(f"{one:.2f}" for one in seconds), f"{seconds[1] / seconds[0]:.2f}"])
    return rows


def both(model, X, y):
    """A fit with the numbers that its words mean, and a fit with the words."""
    fitted = clone(model).fit(X, y)
    names = [name for name in ("tau", "C", "epsilon") if hasattr(fitted, f"{name}_")]
    numbers = clone(model).set_params(**{name: getattr(fitted, f"{name}_") for name in names})
    return (lambda: numbers.fit(X, y)), (lambda: clone(model).fit(X, y))


def table(methods, tasks, splits: int) -> None:
    """Print scores on honest labels, with wrong ones, and seconds."""
    first, rows = next(iter(methods)), []
    for task in tasks:
        kinds = (False,) if task in CLASSES else (False, True)  # classes are honest
        try:
            found = [compare(task, methods, splits, kind) for kind in kinds]
        except (OSError, KeyError) as error:
            print(f"left out: {task} ({error})")
            continue
        cells = [f"{task}, {TASKS[task][1]}"]
        for name in methods:
            scores = " / ".join(f"{one[name][0]:.3f}" for one in found)
            times = " / ".join(f"{one[name][1] / one[first][1]:.1f}" for one in found)
            cells.append(f"{scores}, {found[0][name][1]:.2f} s, {times}")
        rows.append(cells)
    title = "Score on new samples (honest labels / a tenth wrong), CPU s, multiples of the first"
    print_table(title, ["task", *methods], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tasks", nargs="*", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--single", action="store_true", help="single fits, too")
    parser.add_argument("--epsilon", action="store_true", help="only the two tubes of RMRCV")
    parser.add_argument("--methods", nargs="*", default=list(METHODS), choices=list(METHODS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    regressions = [task for task in given.tasks if task not in CLASSES]
    if given.epsilon:
        table(TUBES, regressions, given.splits)
        return
    if regressions:
        table({name: METHODS[name] for name in given.methods}, regressions, given.splits)
    if classes := [task for task in given.tasks if task in CLASSES]:
        whole = "whole grid" in given.methods
        chosen = {name: one for name, one in CLASSIFIERS.items() if whole or name != "whole grid"}
        table(chosen, classes, 1)
    if given.single:
        print_table("Single fits, CPU s", ["fit", "first", "second", "second / first"], singles())


if __name__ == "__main__":
    main()
