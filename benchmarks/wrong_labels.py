"""Planted wrong labels: which score finds them.

    python -m benchmarks.wrong_labels [--seeds 6]

A tenth of the labels is moved by three standard deviations, or swapped among each other (those that
a swap moves by less than half a standard deviation do not count as wrong). Each number is the area
under the ROC curve of a score of all samples, a mean over the seeds: of `label_outlier_score_`, of
the leave-one-out residuals, and of the residuals of the fit. All models are `RMR()` and `SMM()`.
Real data comes from the folder that the environment variable MATREG_DATA names.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Iterator

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.timing import print_table
from matreg import RMR, SMM
from matreg.datasets import (
    load_cmu_faces,
    load_eem_cells,
    load_mnist,
    load_sugar,
    make_matrix_regression,
)

SEEDS = "{seeds} from 0 on; those of the wrong labels are larger by 100"

SIMULATED = ((40, 16, 1, 1.0), (60, 8, 2, 1.0), (150, 12, 2, 1.0), (250, 16, 3, 2.0))
REAL = {"EEM": (load_eem_cells, 38), "faces": (load_cmu_faces, 150), "sugar": (load_sugar, 150)}


def numbers(seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Samples with numbers as labels."""
    for n, size, rank, noise in SIMULATED:
        data = make_matrix_regression(
            n, (size, size), rank=rank, noise_scale=noise, random_state=seed
        )
        yield f"rank {rank}, {n} of {size} x {size}", data.X, data.y
    for name, (load, n) in REAL.items():
        data = load()
        rows = np.random.default_rng(seed).permutation(len(data.y))[:n]
        yield f"{name}, {n}", np.asarray(data.X[rows], dtype=float), data.y[rows].astype(float)


def classes(seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Samples of two classes."""
    for n, size in ((60, 8), (200, 12)):
        data = make_matrix_regression(n, (size, size), rank=2, noise_scale=1.0, random_state=seed)
        yield f"classes, {n} of {size} x {size}", data.X, (data.y > 0.0).astype(int)
    data = load_mnist()
    for one, other, n in ((3, 8, 100), (4, 9, 200)):
        rows = np.flatnonzero(np.isin(data.y_train, (one, other)))
        rows = np.random.default_rng(seed).permutation(rows)[:n]
        X = data.X_train[rows].reshape(n, 14, 2, 14, 2).mean(axis=(2, 4))
        yield f"digits {one} and {other}, {n}", X, (data.y_train[rows] == other).astype(int)


def planted(y: np.ndarray, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of which some are wrong, and which."""
    rng, n = np.random.default_rng(seed + 100), len(y)
    rows = rng.permutation(n)[: max(2, n // 10)]
    given = y.copy()
    if kind == "flipped":
        given[rows] = 1 - y[rows]
    elif kind == "swapped":
        given[rows] = np.roll(y[rows], 1)
    else:
        given[rows] += 3.0 * y.std() * rng.choice([-1.0, 1.0], len(rows))
    return given, np.abs(given - y) > 0.5 * y.std()


def areas(X: np.ndarray, y: np.ndarray, wrong: np.ndarray, kind: str) -> list[float]:
    """Areas under the curves of the scores."""
    if kind == "flipped":
        model, side = SMM().fit(X, y), np.where(y == 1, 1.0, -1.0)
        left_out = -side * model.leave_one_out(X, y).decisions
        seen = -side * model.decision_function(X)
    else:
        model = RMR().fit(X, y)
        left_out, seen = np.abs(model.leave_one_out(X, y).residuals), np.abs(y - model.predict(X))
    return [roc_auc_score(wrong, one) for one in (model.label_outlier_score_, left_out, seen)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=6)
    seeds = parser.parse_args().seeds
    warnings.simplefilter("ignore")
    found = defaultdict(list)
    for seed in range(seeds):
        drawn = [(one, kind) for one in numbers(seed) for kind in ("moved", "swapped")]
        drawn += [(one, "flipped") for one in classes(seed)]
        for (name, X, y), kind in drawn:
            given, wrong = planted(y, kind, seed)
            if wrong.any():
                found[name, kind].append(areas(X, given, wrong, kind))
    means = {key: np.mean(rows, axis=0) for key, rows in found.items()}
    means["all", ""] = np.mean(list(means.values()), axis=0)
    rows = [[*key, *(f"{one:.3f}" for one in mean)] for key, mean in means.items()]
    head = ["samples", "wrong labels", "label_outlier_score_", "leave-one-out", "residual"]
    print_table(f"Areas under the ROC curve of planted wrong labels, {seeds} seeds", head, rows)


if __name__ == "__main__":
    main()
