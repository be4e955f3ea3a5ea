"""Adaptive low rank, bases, ridge and sparse terms: what they cost beside the plain fit.

    python -m benchmarks.adaptive [--quick] [--spinner SAMPLES ...]

The cost is processor time of one path, at the same number of values of tau. With ``--spinner`` the
setting of Brzyski et al. (60 x 60 symmetric samples, three blocks) is run once per number of
samples, with both parameters by five folds.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from functools import partial

import numpy as np
from sklearn.model_selection import KFold

from benchmarks.timing import print_table
from matreg.adaptive import adaptive_steps, reweighted_bases
from matreg.bases import Bases, in_bases, smooth_basis
from matreg.datasets import make_shape
from matreg.design import ArrayDesign
from matreg.losses import epsilon_insensitive, squared
from matreg.penalties import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import problem_tau_max, tau_grid
from matreg.solvers.dispatch import next_result
from matreg.solvers.neighbours import follow, walk
from matreg.sparse_penalty import SparseLowRank

SHARES = (0.9, 0.6, 0.3)  # of the nuclear norm in the penalty
TOL = 1e-3


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


def shared_path(X, y, share, scales):
    """Solutions for decreasing penalties of a share of the nuclear norm."""
    n, size = len(y), X.shape[1]
    free = np.ones((size, size)) - np.eye(size)
    problem = Problem(ArrayDesign(X), y, squared(np.ones(n)), SparseLowRank(1.0, free))
    penalty = SparseLowRank(1.0, (1.0 - share) / share * free / 8.0)
    problems = (replace(problem, penalty=penalty.at(s * share * n)) for s in scales)
    return follow(problems, partial(next_result, tol=TOL, max_iter=400))


def spinner(n, seed=0, count=8):
    """Error off the diagonal with both parameters by five folds, and CPU seconds."""
    X, y, B = connectomes(n, seed)
    y = (y - y.mean()) / (unit := y.std(ddof=1))
    largest = np.linalg.norm(np.tensordot(y, X, 1), 2) / n
    scales = tau_grid(2.0 * largest, count, 3e-3)
    start, errors = time.process_time(), np.zeros((len(SHARES), count))
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        for i, share in enumerate(SHARES):
            for k, found in enumerate(shared_path(X[train], y[train], share, scales)):
                left = y[test] - np.tensordot(X[test], found.W.matrix, 2) - found.b
                errors[i, k] += left @ left / n
    i, k = np.unravel_index(errors.argmin(), errors.shape)
    *_, last = shared_path(X, y, SHARES[i], scales[: k + 1])
    off = unit * last.W.matrix - B
    np.fill_diagonal(off, 0.0)
    error = float(np.sum(off**2) / np.sum(B**2))
    seconds = time.process_time() - start
    return [str(n), f"{error:.4f}", f"{SHARES[i]}", str(k), f"{errors[i, k]:.4f}", seconds]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--spinner", type=int, nargs="+", default=[])
    chosen = parser.parse_args()
    if chosen.spinner:
        header = ["n", "error", "share", "scale", "held-out error", "CPU s"]
        for n in chosen.spinner:
            print_table("sparse and low rank, two parameters by five folds", header, [spinner(n)])
    else:
        costs(*((16, 120, 6) if chosen.quick else (32, 300, 12)))
