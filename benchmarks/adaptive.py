"""Adaptive low rank, bases, ridge and sparse terms: what they cost beside the plain fit.

    python -m benchmarks.adaptive [--quick] [--growth]
    python -m benchmarks.adaptive [--ranks SEEDS] [--spinner SAMPLES ... --replicates R]

The cost is processor time of one path, at the same number of values of tau. With ``--growth`` it is
single fits to more and more samples, with the memory at its peak. With ``--ranks`` it is
planted ranks 1 to 5, with ``--spinner`` the setting of Brzyski et al. (60 x 60 symmetric samples,
three blocks) with both parameters by five folds.
"""

from __future__ import annotations

import argparse
import time
import tracemalloc
import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.timing import print_table
from matreg import RGLM, RGLMCV, RMR
from matreg.adaptive import adaptive_steps, reweighted_bases
from matreg.bases import Bases, in_bases, smooth_basis
from matreg.datasets import make_shape
from matreg.design import ArrayDesign
from matreg.losses.piecewise import epsilon_insensitive, squared
from matreg.penalties.sparse import SparseLowRank
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import problem_tau_max, tau_grid
from matreg.solvers.dispatch import next_result
from matreg.solvers.neighbours import walk

RATIOS = (0.03, 0.08, 0.2)  # of the weights of the entries to that of the nuclear norm
TOL = 1e-3
# Means of 100 replicates that SpINNEr stores, by the number of samples.
STORED = {150: 0.725, 200: 0.419, 250: 0.024, 300: 0.003}


def path(problem, count, tol=1e-4, ratio=1e-2):
    """CPU seconds and results of a path."""
    start = time.process_time()
    taus = tau_grid(problem_tau_max(problem), count, ratio)
    results = list(walk(problem, taus, partial(next_result, tol=tol)))
    return time.process_time() - start, results


def solve_in(problem, tau, bases):
    """The solution of a problem in bases."""
    return next_result(in_bases(problem, bases), None, tol=1e-4)


def row(name, run):
    seconds, results = run
    gap = max(result.gap for result in results)
    steps = str(sum(result.n_iter for result in results))
    return [name, seconds, steps, f"{gap:.1e}", str(results[-1].W.rank)]


def shapes(size, n):
    rng = np.random.default_rng(0)
    X, B = rng.standard_normal((n, size, size)), make_shape("cross", size)
    return X, np.tensordot(X, B, 2) + 0.5 * rng.standard_normal(n)


def costs(size, n, count):
    X, y = shapes(size, n)
    rows = []
    squares = Problem(ArrayDesign(X), y, squared(np.ones(n)), SpectralElasticNet(1.0, 0.0))
    tubes = replace(
        squares, loss=epsilon_insensitive(np.full(n, 10.0), 0.1), penalty=SpectralElasticNet(1.0)
    )
    for name, problem in (("R-GLM", squares), ("RMR", tubes)):
        plain = path(problem, count)
        rows.append(row(f"{name}, plain", plain))
        middle = plain[1][count // 2]
        start = time.process_time()
        adapted = in_bases(problem, reweighted_bases(middle.W))
        made = time.process_time() - start
        rows.append(row(f"{name}, reweighted once", path(adapted, count)))
        rows.append([f"{name}, its bases and samples", made, "", "", ""])
        smooth = in_bases(problem, Bases(smooth_basis(size, 8.0), smooth_basis(size, 8.0)))
        rows.append(row(f"{name}, smooth rows and columns", path(smooth, count)))
        tau = problem_tau_max(problem) / 10.0
        one = replace(problem, penalty=problem.penalty.at(tau))
        for steps in (0, 2):
            start = time.process_time()
            found = adaptive_steps((tau,) * (1 + steps), partial(solve_in, one))
            took = time.process_time() - start
            gap = max(step.result.gap for step in found)
            rank = str(found[-1].W.rank)
            rows.append([f"{name}, one fit and {steps} steps", took, "", f"{gap:.1e}", rank])
    ridged = replace(squares, penalty=SpectralElasticNet(1.0, float(n)))
    rows.append(row("R-GLM, ridge", path(ridged, count)))
    penalty = SparseLowRank(1.0, 0.3)
    sparse = replace(squares, penalty=penalty)
    rows.append(row("sparse and low rank", path(sparse, count, TOL)))
    title = f"{n} samples of {size} x {size}, the cross, {count} values of tau"
    print_table(title, ["", "CPU s", "iterations", "largest gap", "last rank"], rows)


def connectomes(n, seed, size=60, block=8):
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


def spinner(n, seed, steps):
    """Errors off the diagonal and CPU seconds of searches over both parameters, by five folds."""
    X, y, B = connectomes(n, seed)
    free = np.ones_like(B) - np.eye(len(B))
    given = {"n_taus": 5, "tau_min_ratio": 1e-2, "tol": TOL, "max_iter": 400}
    out = []
    for adaptive in (0, steps):
        start = time.process_time()
        model = RGLMCV(l1=[ratio * free for ratio in RATIOS], adaptive=adaptive, **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the folds take the smallest tau
            off = model.fit(X, y).coef_ - B
        np.fill_diagonal(off, 0.0)
        out += [float(np.sum(off**2) / np.sum(B**2)), time.process_time() - start]
    return [*out, len(model.adaptive_)]


def spinner_row(n, replicates, steps):
    """Means over replicates, with the standard errors of those of the errors."""
    found = np.array([spinner(n, seed, steps) for seed in range(replicates)])
    mean, error = found.mean(axis=0), found.std(axis=0) / np.sqrt(max(replicates - 1, 1))
    cells = [f"{mean[k]:.4f} ± {error[k]:.4f}" for k in (0, 2)]
    stored = f"{STORED[n]:.3f}" if n in STORED else ""
    return [str(n), str(replicates), *cells, stored, mean[1], mean[3], f"{mean[4]:.1f}"]


def ranks(seeds, rank, n_taus=12):
    """In how many of some seeds the planted rank is found, by the plain and the adaptive search."""
    right = np.zeros(2, dtype=int)
    for seed in range(seeds):
        rng = np.random.default_rng(1000 * rank + seed)
        U, V = (np.linalg.qr(rng.standard_normal((k, rank)))[0] for k in (12, 10))
        B = (U * rng.uniform(5.0, 10.0, rank)) @ V.T
        X = rng.standard_normal((5 * rank * (22 - rank), 12, 10))
        y = np.tensordot(X, B, 2) + rng.standard_normal(len(X))
        for k, adaptive in enumerate((0, 1)):
            given = {"one_standard_error": True, "ridge": 0.0, "n_taus": n_taus}
            right[k] += RGLMCV(adaptive=adaptive, **given).fit(X, y).rank_ == rank
    return [str(rank), str(seeds), *map(str, right)]


def growth_row(kind, n, adaptive):
    """CPU seconds of a fit to n samples, and its peak memory as a multiple of the samples."""
    X, y = shapes(24, n)
    start = time.process_time()
    kind(adaptive=adaptive).fit(X, y)
    seconds = time.process_time() - start
    tracemalloc.start()
    kind(adaptive=adaptive).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [kind.__name__, str(n), str(adaptive), seconds, peak / X.nbytes]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--spinner", type=int, nargs="+", default=[], metavar="SAMPLES")
    parser.add_argument("--replicates", type=int, default=1)
    parser.add_argument("--steps", type=int, default=2, help="adaptive steps of --spinner")
    parser.add_argument("--ranks", type=int, default=0, metavar="SEEDS")
    parser.add_argument("--growth", action="store_true")
    chosen = parser.parse_args()
    if chosen.spinner:
        columns = ["n", "replicates", "l1", "l1 and adaptive", "stored", "CPU s", "CPU s", "steps"]
        rows = [spinner_row(n, chosen.replicates, chosen.steps) for n in chosen.spinner]
        print_table("sparse and low rank, both parameters by five folds", columns, rows)
    elif chosen.ranks:
        rows = [ranks(chosen.ranks, rank) for rank in range(1, 6)]
        print_table("planted ranks found", ["rank", "seeds", "plain", "adaptive"], rows)
    elif chosen.growth:
        sizes = [(kind, n) for kind in (RMR, RGLM) for n in (250, 1000, 4000)]
        rows = [growth_row(*size, steps) for size in sizes for steps in (0, 1)]
        columns = ["model", "samples", "adaptive", "CPU s", "peak / samples"]
        print_table("fits to samples of 24 x 24, the cross", columns, rows)
    else:
        costs(*((16, 120, 6) if chosen.quick else (32, 300, 12)))
