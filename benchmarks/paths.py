"""Whole paths against single fits, and cross-validation against a grid search.

    python -m benchmarks.paths [--quick]

A path of 50 points is compared with the mean time of cold fits at its points, all but the first,
where W = 0, and the median of three such ratios is taken; RMRCV, RGLMCV and GRMRCV, the median of
three fits, with scikit-learn's GridSearchCV over the same grid. Ratios are of one run.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.model_selection import GridSearchCV

import matreg
from benchmarks.timing import print_table, wall_time
from matreg import GRMR, GRMRCV, RGLM, RGLMCV, RMR, RMRCV, tau_max
from matreg.datasets import make_matrix_regression, make_shape

SEEDS = "0; noise of samples 1"

REPEATS, TAUS = 3, 25


def path_row(name, path, model, data, every):
    """A path, and cold fits at one in `every` of its points, side by side a few times."""
    runs = []
    for _ in range(REPEATS):
        took, solved = wall_time(path)
        taus = solved.taus[1::every]
        cold = [wall_time(lambda tau=tau: model(tau).fit(data.X, data.y))[0] for tau in taus]
        runs.append([took, np.mean(cold), took / np.mean(cold)])
    middle = [float(value) for value in np.median(runs, axis=0)]
    return [name, *middle, str(int(solved.n_iters.sum())), f"{solved.gaps.max():.1e}"]


def paths(sizes, every):
    rows = []
    for size in sizes:
        data = make_matrix_regression(500, coef=make_shape("cross", size), random_state=0)
        for C in (1.0, 1e3):
            rows.append(
                path_row(
                    f"RMR {size} x {size}, C = {C:g}",
                    lambda data=data, C=C: matreg.path(RMR(C=C, epsilon=1e-2), data.X, data.y),
                    lambda tau, C=C: RMR(tau, C=C, epsilon=1e-2),
                    data,
                    every,
                )
            )
        rows.append(
            path_row(
                f"R-GLM {size} x {size}",
                lambda data=data: matreg.path(RGLM(), data.X, data.y),
                RGLM,
                data,
                every,
            )
        )
    header = ["path of 50 points", "seconds", "cold fit", "ratio", "steps", "worst gap"]
    print_table("Paths to a gap of 1e-6", header, rows)


def choice_row(name, ours, single, data):
    """A model that chooses tau, a few times, and a grid search for the same values of it."""
    runs = [wall_time(lambda: ours.fit(data.X, data.y)) for _ in range(REPEATS)]
    took, chosen = float(np.median([run[0] for run in runs])), runs[-1][1]
    table = chosen.cv_results_
    grid = {"tau": table["param_tau"]}
    grid_took, search = wall_time(lambda: GridSearchCV(single, grid).fit(data.X, data.y))
    off = np.abs(search.cv_results_["mean_test_score"] - table["mean_test_score"]).max()
    same = "same tau" if search.best_params_["tau"] == chosen.tau_ else "another tau"
    return [name, took, grid_took, grid_took / took, same, f"{off:.1e}"]


def values(data, model):
    """Values of tau: all that are given are tried, not from coarse to fine."""
    return tau_max(model, data.X, data.y) * np.geomspace(1.0, 1e-3, TAUS)


def rmr_row(size, n, C, noise_scale):
    data = make_matrix_regression(
        n, coef=make_shape("cross", size), noise_scale=noise_scale, random_state=0
    )
    name = f"RMR {size} x {size}, N = {n}, C = {C:g}, noise {noise_scale:g}"
    single = RMR(C=C, epsilon=1e-2)
    ours = RMRCV(values(data, single), C=C, epsilon=1e-2)
    return choice_row(name, ours, single, data)


def rglm_row(size, n):
    data = make_matrix_regression(n, coef=make_shape("cross", size), random_state=0)
    ours = RGLMCV(values(data, RGLM()), ridge=0.0)
    return choice_row(f"R-GLM {size} x {size}, N = {n}", ours, RGLM(), data)


def grmr_row(size, n, x_noise):
    """Samples of low rank with outliers; on top of that, noise on all entries."""
    data = make_matrix_regression(
        n, coef=make_shape("cross", size), x_rank=8, x_corruption=0.05, random_state=0
    )
    data.X = data.X + x_noise * np.random.default_rng(1).standard_normal(data.X.shape)
    taus = values(data, RMR())
    name = f"G-RMR {size} x {size}, N = {n}, noise on X {x_noise:g}"
    return choice_row(name, GRMRCV(taus), GRMR(), data)


def selection(quick):
    sizes, n = ((16,), 300) if quick else ((32, 64), 500)
    rows = [rmr_row(size, n, C, noise) for size in sizes for C, noise in ((1e3, 0.01), (1.0, 1.0))]
    rows += [rglm_row(size, n) for size in sizes]
    rows += [] if quick else [grmr_row(24, 150, x_noise) for x_noise in (0.1, 0.0)]
    header = [f"{TAUS} taus, 5 folds", "ours", "GridSearchCV", "ratio", "", "scores differ by"]
    print_table("Choosing tau", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="small samples, fewer cold fits, no G-RMR"
    )
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # advice about single points of a grid
    paths((32,) if args.quick else (32, 64), 5 if args.quick else 1)
    selection(args.quick)


if __name__ == "__main__":
    main()
