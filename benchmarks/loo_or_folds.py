"""Searches by leave-one-out and by five folds: which choose better, by the number of samples.

    python -m benchmarks.loo_or_folds [--splits 4] [--scoring NAME] [--least 25] [--most 400]

`RMRCV` with eight values of tau and three of C, with honest labels and with a tenth of the training
labels moved by three standard deviations. The numbers are R^2 on at most 400 new samples with
honest labels, means over the splits, the mean difference with its standard error, and seconds of
one core. From 400 samples on there are half of the splits, from 2,000 on one. Real data comes from
the folder that the environment variable MATREG_DATA names.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from functools import partial

import numpy as np

from benchmarks.timing import cpu_time, print_table
from matreg import RMRCV
from matreg.datasets import load_cmu_faces, load_eem_cells, load_sugar, make_matrix_regression

SEEDS = "{splits} from 0 on"

C = ("0.1*scale", "3*scale", "100*scale")
REAL = {
    "EEM": (load_eem_cells, (26,)),
    "sugar": (load_sugar, (25, 50, 100, 180)),
    "faces": (load_cmu_faces, (25, 50, 100, 200)),
}
SIMULATED = {"rank 1": (1, 1.0), "rank 3": (3, 3.0)}
SIZES = (25, 50, 100, 400, 1000, 2000)


def drawn(name: str, n: int, seed: int):
    """Training samples and new ones."""
    if name in SIMULATED:
        rank, noise = SIMULATED[name]
        data = make_matrix_regression(
            n + 400, (8, 8), rank=rank, noise_scale=noise, random_state=seed
        )
        X, y = data.X, data.y
    else:
        data = REAL[name][0]()
        X, y = np.asarray(data.X, dtype=float), data.y.astype(float)
        if name == "faces":
            X = X[:, ::2, ::2]
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
    return X[:n], y[:n], X[n : n + 400], y[n : n + 400]


def spoiled(y: np.ndarray, seed: int) -> np.ndarray:
    """Labels of which a tenth is wrong."""
    rng, y = np.random.default_rng(seed), y.copy()
    rows = rng.permutation(len(y))[: len(y) // 10]
    y[rows] += 3.0 * y.std() * rng.choice([-1.0, 1.0], len(rows))
    return y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--scoring", default=None, help="by which to choose, R^2 by default")
    parser.add_argument("--least", type=int, default=25, help="smallest number of samples")
    parser.add_argument("--most", type=int, default=400, help="largest number of samples")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    tasks = [(name, n) for name, (_, sizes) in REAL.items() for n in sizes]
    tasks += [(name, n) for name in SIMULATED for n in SIZES]
    tasks = [one for one in tasks if given.least <= one[1] <= given.most]
    for name, n in sorted(tasks, key=lambda one: one[1]):
        splits = given.splits if n < 400 else max(1, given.splits // 2) if n < 2000 else 1
        for labels in ("honest", "a tenth wrong"):
            rows = []
            for seed in range(splits):
                X, y, X_new, y_new = drawn(name, n, seed)
                known = y if labels == "honest" else spoiled(y, seed)
                row = []
                for cv in (5, "loo"):
                    model = RMRCV(C=C, n_taus=8, cv=cv, scoring=given.scoring)
                    seconds, _ = cpu_time(partial(model.fit, X, known))
                    row += [model.score(X_new, y_new), seconds]
                rows.append(row)
            table = np.array(rows)
            folds, s_folds, loo, s_loo = table.mean(axis=0)
            gain = table[:, 2] - table[:, 0]
            error = gain.std(ddof=1) / np.sqrt(splits) if splits > 1 else np.nan
            scores = (f"{folds:.3f}", f"{loo:.3f}", f"{loo - folds:+.3f} ± {error:.3f}")
            cells = [name, str(n), labels, str(splits), *scores, f"{s_folds:.1f}", f"{s_loo:.1f}"]
            found.append(cells)
            print(" ".join(cells), file=sys.stderr, flush=True)
    head = [
        "data",
        "samples",
        "labels",
        "splits",
        "five folds",
        "leave-one-out",
        "difference",
        "s",
        "s, loo",
    ]
    print_table("R2 on new samples, CPU s", head, found)


if __name__ == "__main__":
    main()
