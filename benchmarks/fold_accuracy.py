"""How accurate fits in folds must be for a search to choose what exact ones choose.

Every search runs twice: with fits in the folds at their default tolerance and with far tighter
ones, GRMRCV and GSMMCV with rough ones and with their default, as tight as the last fit. The errors
are those of the chosen models on new samples; labels of classifiers are the signs around a median.

    python -m benchmarks fold_accuracy --rounds 1
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from benchmarks.timing import cpu_time, print_table
from matreg import GRMRCV, GSMMCV, RGLMCV, RMRCV, SMMCV
from matreg.datasets import load_istanbul, make_matrix_regression
from matreg.experiments.methods import rae

SEEDS = "the planted problems: {rounds} from 0 on"

ROUGH = {"fold_tol": 1.0, "fold_split_tol": 1e-2}


def problems(rounds: int) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Name, training samples, their labels, new samples and their labels."""
    data = load_istanbul()
    yield "Istanbul", data.X_train, data.y_train, data.X_test, data.y_test
    for seed in range(rounds):
        for n, noise in ((60, 0.3), (100, 2.0)):
            planted = {"x_rank": 3, "x_corruption": 0.05, "label_outliers": 0.1}
            drawn = make_matrix_regression(
                n + 500, (8, 8), noise_scale=noise, random_state=seed, **planted
            )
            X, y, new = drawn.X, drawn.y, drawn.y_clean
            yield f"planted, noise {noise:g}, seed {seed}", X[:n], y[:n], X[n:], new[n:]


def searches() -> Iterator[tuple[str, Any, dict[str, dict[str, Any]]]]:
    """Name, class, and how its folds may be fitted; the last is the most accurate."""
    small = {"cv": 3, "n_taus": 4}
    tols: dict[str, dict[str, Any]] = {"default": small, "tight": small | {"tol": 1e-8}}
    yield "RMRCV", RMRCV, tols
    yield "RGLMCV", RGLMCV, tols
    yield "SMMCV", SMMCV, tols
    for outliers in ("replace", "split"):
        grid = small | {"outliers": outliers}
        # Said for both: the default of a search is what this decides.
        ways = {"rough": grid | ROUGH, "tight": grid | dict.fromkeys(ROUGH)}
        yield f"GRMRCV, {outliers}", GRMRCV, ways
        yield f"GSMMCV, {outliers}", GSMMCV, ways


def compare(search: Any, ways: dict[str, dict[str, Any]], problem: Any) -> Iterator[list[Any]]:
    """CPU seconds, whether the choice is that of the last way, and the error, of every way."""
    _, X, y, X_new, y_new = problem
    classes = is_classifier(search())
    if classes:
        y, y_new = np.where(y > np.median(y), 1, -1), np.where(y_new > np.median(y), 1, -1)
    found = {}
    for way, options in ways.items():
        seconds, model = cpu_time(partial(search(**options).fit, X, y))
        guess = model.predict(X_new)
        error = np.mean(guess != y_new) if classes else rae(guess, y_new)
        found[way] = (model.best_index_, seconds, float(error))
    last = found[list(ways)[-1]]
    for way, (index, seconds, error) in found.items():
        yield [way, index == last[0], seconds / last[1], error / last[2]]


def main() -> None:
    """Compare and print one row per search and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=1, help="seeds of the planted problems")
    parser.add_argument("--only", default="", help="searches whose names begin so")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name, search, ways in searches():
        if not name.startswith(args.only):
            continue
        outcomes: dict[str, list[list[Any]]] = {way: [] for way in ways}
        for problem in problems(args.rounds):
            for way, *outcome in compare(search, ways, problem):
                outcomes[way].append(outcome)
        for way, values in outcomes.items():
            same, seconds, errors = map(np.array, zip(*values, strict=True))
            ends = f"{errors.min():.3f} to {errors.max():.3f}"
            counts = f"{same.sum()} of {len(same)}"
            rows.append([name, way, counts, f"{np.median(seconds):.2f}", ends])
        print(name, "is done", flush=True)
    header = ["search", "folds", "same choice as tight", "CPU time / tight", "error / tight"]
    print_table("Choices with fits in the folds of several accuracies", header, rows)


if __name__ == "__main__":
    main()
