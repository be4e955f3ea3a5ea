"""One G-RMR fit against one robust principal component analysis of the same samples.

The rival is the inexact augmented Lagrangian method as it is usually written: a full singular value
decomposition an iteration (and, to be fair, a second version on the smaller Gram matrix), the
penalty growing by 1.5, until ``||D - L - E||_F <= 1e-7 ||D||_F``. Both end points are scored by the
robust-PCA objective of an exactly feasible split, relative to a certified lower bound.

Run: ``python benchmarks/grmr_speed.py [--small]``
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import time
import tracemalloc
from pathlib import Path

import numpy as np

from matreg import GRMR
from matreg.datasets import make_matrix_regression
from matreg.solvers.decompose import decompose
from matreg.solvers.rows import exact
from matreg.solvers.stacked import StackedProblem

CASES = {"low rank": 0.0, "low rank + dense noise": 0.05}
SHAPES = {"700 x 1024": (700, (32, 32)), "500 x 4096": (500, (64, 64))}
SMALL = {"100 x 144": (100, (12, 12))}


def make(n, shape, noise):
    data = make_matrix_regression(
        n, shape, x_rank=20, x_corruption=0.1, noise_scale=0.1, random_state=0
    )
    rng = np.random.default_rng(0)
    return data.X + noise * rng.standard_normal(data.X.shape), data.y


def threshold_full(M, t):
    U, d, Vt = np.linalg.svd(M, full_matrices=False)
    return (U * np.maximum(d - t, 0.0)) @ Vt


def threshold_gram(M, t):
    values, U = np.linalg.eigh(M @ M.T)
    d = np.sqrt(np.maximum(values, 0.0))
    U, d = U[:, d > t], d[d > t]
    return (U * (1.0 - t / d)) @ (U.T @ M)


def inexact_alm(D, threshold, tol=1e-7, growth=1.5):
    """Robust PCA, ``||L||_* + ||E||_1 / sqrt(max(n, m))``."""
    lam = 1.0 / np.sqrt(max(D.shape))
    norm = np.linalg.norm(D, 2)
    Y = D / max(norm, np.abs(D).max() / lam)
    mu, mu_max = 1.25 / norm, 1.25e7 / norm
    L = np.zeros_like(D)
    for _ in range(500):
        G = D - L + Y / mu
        E = G - np.clip(G, -lam / mu, lam / mu)
        L = threshold(D - E + Y / mu, 1.0 / mu)
        gap = D - L - E
        Y += mu * gap
        mu = min(growth * mu, mu_max)
        if np.linalg.norm(gap) <= tol * np.linalg.norm(D):
            break
    return E


def robust_pca_cost(D, E):
    nuclear = np.linalg.svd(D - E, compute_uv=False).sum()
    return nuclear + np.abs(E).sum() / np.sqrt(max(D.shape))


def lower_bound(D):
    """Certified bound of the robust-PCA optimum."""
    one = np.ones(len(D))
    zero = np.zeros(D.shape[1])
    lam = 1.0 / np.sqrt(max(D.shape))
    problem = StackedProblem(D, one, 0 * one, zero, exact(one, 0.1), 1.0, lam)
    return decompose(problem, tol=1e-6, max_iter=1000, warn=False).dual


def timed(function, *args):
    start = time.perf_counter()
    result = function(*args)
    return result, time.perf_counter() - start


def fit(X, y, split_tol=1e-4):
    return GRMR(tau=10.0, C=1.0, epsilon=0.1, split_tol=split_tol).fit(X, y)


def _peak(folder, queue):
    tracemalloc.start()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    fit(X, y)
    queue.put(tracemalloc.get_traced_memory()[1] / X.nbytes)


def peak_memory(X, y):
    """Peak of a fit with its samples, in arrays of their size, in a process of its own."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        process = context.Process(target=_peak, args=(Path(folder), queue))
        process.start()
        arrays = queue.get()
        process.join()
    return arrays


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a small case, in seconds")
    shapes = SMALL if parser.parse_args().small else SHAPES
    print(f"{'samples':>12} {'case':>24} {'method':>16} {'seconds':>8} {'off by':>8} {'ratio':>6}")
    for name, (n, shape) in shapes.items():
        for case, noise in CASES.items():
            X, y = make(n, shape, noise)
            D = X.reshape(n, -1)
            bound = lower_bound(D)

            def row(method, seconds, E, ratio="", name=name, case=case, D=D, bound=bound):
                off = robust_pca_cost(D, E) / bound - 1.0
                print(f"{name:>12} {case:>24} {method:>16} {seconds:8.2f} {off:8.1e} {ratio:>6}")

            E, full = timed(inexact_alm, D, threshold_full)
            row("RPCA, full SVD", full, E)
            E, gram = timed(inexact_alm, D, threshold_gram)
            row("RPCA, Gram", gram, E)
            for split_tol in (5e-4, 1e-4):  # the first is about as accurate as the rival
                model, seconds = timed(fit, X, y, split_tol)
                ratio = f"{seconds / full:.2f}/{seconds / gram:.2f}"
                row(f"G-RMR, {split_tol:g}", seconds, model.outliers_.reshape(n, -1), ratio)
            print(
                f"{'':>37} alternations {model.n_iter_}, peak memory "
                f"{peak_memory(X, y):.1f} arrays of the size of D",
                flush=True,
            )


if __name__ == "__main__":
    main()
