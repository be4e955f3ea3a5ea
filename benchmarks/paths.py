"""Whole paths against single fits, and cross-validation against a grid search.

    python -m benchmarks.paths [--quick]

A path of 50 points is compared with the mean time of cold fits at points of the same path, but for
its first, where W = 0; RMRCV with scikit-learn's GridSearchCV over the same grid. Ratios are of one
run.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
from sklearn.model_selection import GridSearchCV

from benchmarks.timing import print_table
from matreg import RGLM, RMR, RMRCV, rglm_path, rmr_path
from matreg.datasets import make_matrix_regression, make_shape


def seconds(function):
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def path_row(name, path, model, data, every):
    """A path, and cold fits at some of its points."""
    took, solved = seconds(path)
    taus = solved.taus[every - 1 :: every]
    cold = [seconds(lambda tau=tau: model(tau).fit(data.X, data.y)) for tau in taus]
    mean = float(np.mean([one for one, _ in cold]))
    worst = f"{solved.gaps.max():.1e}"
    return [name, took, mean, took / mean, str(int(solved.n_iters.sum())), worst]


def paths(sizes, every):
    rows = []
    for size in sizes:
        data = make_matrix_regression(500, coef=make_shape("cross", size), random_state=0)
        for C in (1.0, 1e3):
            rows.append(
                path_row(
                    f"RMR {size} x {size}, C = {C:g}",
                    lambda data=data, C=C: rmr_path(data.X, data.y, C=C, epsilon=1e-2),
                    lambda tau, C=C: RMR(tau, C=C, epsilon=1e-2),
                    data,
                    every,
                )
            )
        rows.append(
            path_row(
                f"R-GLM {size} x {size}",
                lambda data=data: rglm_path(data.X, data.y),
                RGLM,
                data,
                every,
            )
        )
    header = ["path of 50 points", "seconds", "cold fit", "ratio", "steps", "worst gap"]
    print_table("paths to a gap of 1e-6 (goal: ratio at most 10)", header, rows)


def selection(size, n, C, noise_scale):
    data = make_matrix_regression(
        n, coef=make_shape("cross", size), noise_scale=noise_scale, random_state=0
    )
    ours, model = seconds(lambda: RMRCV(C=C, epsilon=1e-2).fit(data.X, data.y))
    grid, search = seconds(
        lambda: GridSearchCV(RMR(C=C, epsilon=1e-2), {"tau": model.path_.taus}).fit(data.X, data.y)
    )
    same = "same tau" if search.best_params_["tau"] == model.tau_ else "another tau"
    name = f"{size} x {size}, N = {n}, C = {C:g}, noise {noise_scale:g}"
    return [name, ours, grid, grid / ours, same]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="32 x 32 alone, fewer cold fits")
    args = parser.parse_args()
    paths((32,) if args.quick else (32, 64), 10 if args.quick else 5)
    sizes, n = ((16,), 300) if args.quick else ((32, 64), 500)
    rows = [
        selection(size, n, C, noise) for size in sizes for C, noise in ((1e3, 0.01), (1.0, 1.0))
    ]
    header = ["50 taus, 5 folds", "RMRCV", "GridSearchCV", "ratio", ""]
    print_table("choosing tau (goal: ratio at least 5)", header, rows)


if __name__ == "__main__":
    main()
