"""Intervals of nine in ten new labels: jackknife+ from one fit beside MAPIE's CV+ with five folds.

    python -m benchmarks.intervals [--data-sets 20]

Simulated samples of 8 x 8, 80 for the fit and 500 new ones, each data set with another matrix of
rank 2; the noise of the labels is normal, of heavy tails, or normal with a tenth of the training
labels grossly wrong. All models are `RMR()`. New labels are correct. Jackknife+ needs no folds and
no held-out samples; a few samples are refitted from the solution.
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import numpy as np

from benchmarks.timing import cpu_time, print_table
from matreg import RMR
from matreg.datasets import make_matrix_regression

SEEDS = "{data_sets} from 0 on"

CONFIDENCE = 0.9
NOISES = ("normal", "heavy tails", "a tenth wrong")


def drawn(seed: int, kind: str):
    """Training samples and new ones."""
    rng = np.random.default_rng(seed)
    data = make_matrix_regression(580, (8, 8), rank=2, noise="gaussian", noise_scale=0.0,
                                  random_state=seed)  # fmt: skip
    scale = 0.3 * data.y.std()
    heavy = kind == "heavy tails"
    noise = rng.standard_t(2.0, 580) if heavy else rng.standard_normal(580)
    y = data.y + scale * noise
    if kind == "a tenth wrong":
        y[:8] += 5.0 * data.y.std() * rng.choice([-1.0, 1.0], 8)
    return data.X[:80], y[:80], data.X[80:], y[80:]


def jackknife_plus(X, y, X_new):
    """One fit."""
    return RMR().fit(X, y).leave_one_out(X, y).predict_interval(X_new, CONFIDENCE)


def cv_plus(X, y, X_new):
    """Six fits."""
    from mapie.regression import CrossConformalRegressor

    shape = X.shape[1:]
    model = CrossConformalRegressor(
        RMR(matrix_shape=shape), confidence_level=CONFIDENCE, method="plus", cv=5
    )
    model.fit_conformalize(X.reshape(len(X), -1), y)
    _, ends = model.predict_interval(X_new.reshape(len(X_new), -1))
    return ends[:, 0, 0], ends[:, 1, 0]


METHODS = {"jackknife+ from one fit": jackknife_plus, "MAPIE, CV+": cv_plus}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data-sets", type=int, default=20)
    number = parser.parse_args().data_sets
    warnings.simplefilter("ignore")
    found = []
    for kind in NOISES:
        sets = [drawn(seed, kind) for seed in range(number)]
        for name, method in METHODS.items():
            rows = []
            for X, y, X_new, y_new in sets:
                seconds, (lower, upper) = cpu_time(partial(method, X, y, X_new))
                covered = np.mean((lower <= y_new) & (y_new <= upper))
                rows.append([covered, np.median(upper - lower) / y_new.std(), seconds])
            table = np.array(rows)
            covered, width, seconds = table.mean(axis=0)
            least = table[:, 0].min()
            numbers = (f"{covered:.3f}", f"{least:.3f}", f"{width:.2f}", f"{seconds:.2f}")
            found.append([kind, name, *numbers])
    title = f"New labels covered at a confidence of {CONFIDENCE}, {number} data sets for each noise"
    print_table(title, ["noise", "method", "covered", "least", "width", "CPU s"], found)


if __name__ == "__main__":
    main()
