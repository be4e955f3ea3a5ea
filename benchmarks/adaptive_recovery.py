"""Adaptive low rank: its recovery beside the plain penalty, and when searches choose it.

Planted ranks, the sparse setting of Brzyski et al. (60 x 60 symmetric samples, three blocks) with
both parameters by five folds, real data, and a ridge in R-GLM on dense effects. CPU seconds.

    python -m benchmarks adaptive_recovery --ranks 20 --replicates 4 --first 1000
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score

from benchmarks.timing import cpu_time, print_table
from matreg import RGLMCV, RMRCV
from matreg.datasets import load_cmu_faces, load_eem_cells, load_sugar

SEEDS = "{ranks} and {replicates} from {first} on, ridge 10; real data {splits} from 0 on"

RATIOS = (0.03, 0.08, 0.2)  # of the weights of the entries to that of the nuclear norm
# Means of 100 replicates that SpINNEr stores, by the number of samples: its own and those of the
# nuclear norm alone.
STORED = {150: (0.725, 0.848), 200: (0.419, 0.592), 250: (0.024, 0.323), 300: (0.003, 0.198)}


def timed(search: Any, X: Any, y: Any) -> tuple[Any, float]:
    """A search that is fitted without warnings, and its CPU seconds."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, fitted = cpu_time(lambda: search.fit(X, y))
    return fitted, seconds


# -- planted ranks


def rank_row(seeds: int, first: int, rank: int) -> list[str]:
    """In how many of some seeds the planted rank is found, by the plain and the adaptive search."""
    right = np.zeros(2, dtype=int)
    for seed in range(first, first + seeds):
        rng = np.random.default_rng([rank, seed])
        U, V = (np.linalg.qr(rng.standard_normal((k, rank)))[0] for k in (12, 10))
        B = (U * rng.uniform(5.0, 10.0, rank)) @ V.T
        X = rng.standard_normal((5 * rank * (22 - rank), 12, 10))
        y = np.tensordot(X, B, 2) + rng.standard_normal(len(X))
        for k, adaptive in enumerate((0, 1)):
            given = {"one_standard_error": True, "ridge": 0.0, "n_taus": 12}
            right[k] += timed(RGLMCV(adaptive=adaptive, **given), X, y)[0].rank_ == rank
    return [str(rank), str(seeds), *map(str, right)]


# -- sparse and low rank


def connectomes(n: int, seed: int, size: int = 60, block: int = 8) -> tuple[Any, Any, Any]:
    """Samples, labels and coefficients as Brzyski et al. simulate them."""
    rng = np.random.default_rng(seed)
    above = np.triu_indices(size, 1)
    entries = rng.standard_normal((n, len(above[0])))
    entries = (entries - entries.mean(axis=0)) / entries.std(axis=0, ddof=1)
    X = np.zeros((n, size, size))
    X[:, above[0], above[1]] = entries
    X += X.transpose(0, 2, 1)
    B = np.zeros((size, size))
    for k, sign in enumerate((1.0, -1.0, 1.0)):
        B[k * block : (k + 1) * block, k * block : (k + 1) * block] = sign
    np.fill_diagonal(B, 0.0)
    return X, np.tensordot(X, B, 2) + 0.1 * rng.standard_normal(n), B


def error_off_diagonal(W: Any, B: Any) -> float:
    """Squared error of W relative to B, the diagonal aside."""
    off = W - B
    off = off - np.diag(np.diagonal(off))
    return float(np.sum(off**2) / np.sum(B**2))


def spinner(n: int, seed: int) -> list[float]:
    """Errors and CPU seconds of the plain search over both parameters and of the adaptive one."""
    X, y, B = connectomes(n, seed)
    free = np.ones_like(B) - np.eye(len(B))
    given: dict[str, Any] = {"n_taus": 5, "tau_min_ratio": 1e-2, "tol": 1e-3, "max_iter": 400}
    out = []
    for adaptive in (0, 2):
        search = RGLMCV(l1=[ratio * free for ratio in RATIOS], adaptive=adaptive, **given)
        model, seconds = timed(search, X, y)
        out += [error_off_diagonal(model.coef_, B), seconds]
    return out


def spinner_row(n: int, replicates: int, first: int) -> list[Any]:
    """Means over replicates, with the standard errors of those of the errors."""
    found = np.array([spinner(n, seed) for seed in range(first, first + replicates)])
    mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(max(replicates - 1, 1))
    cells = [f"{mean[k]:.4f} ± {error[k]:.4f}" for k in (0, 2)]
    stored = [f"{value:.3f}" for value in STORED[n]]
    return [str(n), str(replicates), *cells, *stored, mean[1], mean[3]]


# -- real data


def real(splits: int) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Name, training samples and labels, new ones; at most 150 of them train."""
    sugar, eem, faces = load_sugar(), load_eem_cells(), load_cmu_faces()
    sets = {"EEM": (eem.X, eem.y), "sugar": (sugar.X, sugar.y)}
    sets["faces"] = (faces.X[:, ::2, ::2], faces.y)
    for name, (X, y) in sets.items():
        for split in range(splits):
            order = np.random.default_rng(split).permutation(len(y))
            n = min(150, int(0.7 * len(y)))
            X_old, X_new = X[order[:n]], X[order[n:]]
            y_old, y_new = np.asarray(y, dtype=float)[order[:n]], np.asarray(y)[order[n:]]
            yield f"{name}, split {split}", X_old, y_old, X_new, y_new
            wrong = y_old.copy()
            some = np.random.default_rng(100 + split).permutation(n)[: n // 10]
            wrong[some] = wrong[np.roll(some, 1)]
            yield f"{name}, split {split}, a tenth wrong", X_old, wrong, X_new, y_new


def real_row(name: str, X: Any, y: Any, X_new: Any, y_new: Any) -> list[Any]:
    """R2 of the plain search and of that with steps, how many it took, and the ratio of CPU."""
    cells: list[Any] = [name]
    for kind in (RMRCV, RGLMCV):
        plain, first = timed(kind(), X, y)
        model, second = timed(kind(adaptive=1), X, y)
        scores = [r2_score(y_new, one.predict(X_new)) for one in (plain, model)]
        steps = str(len(model.adaptive_))
        cells += [*(f"{score:.3f}" for score in scores), steps, f"{second / first:.1f}"]
    return cells


# -- dense effects


def ridge_row(dense: bool, n: int, noise: float, seeds: int, first: int) -> list[str]:
    """Mean R2 of noiseless new labels: RidgeCV, RGLMCV without a ridge, RGLMCV as it is."""
    found = []
    for seed in range(first, first + seeds):
        rng = np.random.default_rng(seed)
        B = rng.standard_normal((12, 10))
        if not dense:
            B = np.outer(B[:, 0], rng.standard_normal(10))
        X, X_new = rng.standard_normal((n, 12, 10)), rng.standard_normal((2000, 12, 10))
        signal, truth = np.tensordot(X, B, 2), np.tensordot(X_new, B, 2)
        y = signal + noise * np.linalg.norm(B) * rng.standard_normal(n)
        ridge = RidgeCV(np.logspace(-2, 5, 50)).fit(X.reshape(n, -1), y)
        scores = [r2_score(truth, ridge.predict(X_new.reshape(2000, -1)))]
        for given in ({"ridge": 0.0}, {}):
            model = timed(RGLMCV(n_taus=16, **given), X, y)[0]
            scores.append(r2_score(truth, model.predict(X_new)))
        found.append([*scores, scores[2] - scores[0], scores[2] - scores[1]])
    mean, error = np.mean(found, axis=0), np.std(found, axis=0) / np.sqrt(seeds - 1)
    apart = [f"{mean[k]:+.3f} ± {error[k]:.3f}" for k in (3, 4)]
    kind = "dense" if dense else "rank 1"
    return [f"{kind}, {n}, {noise:g}", *(f"{value:.3f}" for value in mean[:3]), *apart]


def main() -> None:
    """Run and print all tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=20, help="seeds of each planted rank")
    parser.add_argument("--replicates", type=int, default=4, help="seeds of the sparse setting")
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    parser.add_argument("--splits", type=int, default=2, help="of real data")
    args = parser.parse_args()
    rows: list[Any] = [rank_row(args.ranks, args.first, rank) for rank in range(1, 6)]
    print_table("Planted ranks found", ["rank", "seeds", "plain", "adaptive"], rows)
    rows = [spinner_row(n, args.replicates, args.first) for n in STORED]
    columns = ["n", "replicates", "`l1`", "`l1`, `adaptive=2`"]
    columns += ["stored: SpINNEr", "stored: nuclear norm", "CPU s", "CPU s, adaptive"]
    print_table("Sparse and of low rank: error off the diagonal", columns, rows)
    rows = [real_row(*task) for task in real(args.splits)]
    each = ["plain", "`adaptive=1`", "steps", "CPU ratio"]
    columns = ["", *(f"{kind}: {one}" for kind in ("RMRCV", "RGLMCV") for one in each)]
    print_table("Real data: R2 on new samples", columns, rows)
    kinds = [(dense, n, noise) for dense in (True, False) for n, noise in ((150, 1.0), (150, 2.0))]
    kinds += [(True, 400, 2.0), (False, 400, 2.0)]
    rows = [ridge_row(*kind, 10, args.first) for kind in kinds]
    columns = ["effects, samples, noise / signal", "RidgeCV", "`ridge=0`", "RGLMCV()"]
    columns += ["beyond RidgeCV", "beyond `ridge=0`"]
    print_table("A ridge in R-GLM: R2 of noiseless labels of new samples", columns, rows)


if __name__ == "__main__":
    main()
