"""One G-RMR fit against one robust principal component analysis (PCA) of the same samples.

The rival is the inexact augmented Lagrangian method as it is usually written: a full singular value
decomposition per iteration (and, to be fair, a second version on the smaller Gram matrix), the
penalty growing by 1.5, until ``||D - L - E||_F <= 1e-7 ||D||_F``.

Accuracy is how far the robust-PCA objective ``||X||_* + ||E||_1 / sqrt(max(N, pq))`` of the exactly
feasible split ``X = D - E`` is above a certified lower bound of its optimum, relative to that. (The
labels pull G-RMR slightly away from that optimum; this counts against it.) Costs are compared at
the same accuracy, once at the rival's and once at that of G-RMR:

- the rival runs to its end, and G-RMR has the largest `split_tol` of 1e-3, 1e-4, ... with which it
  is at least as accurate;
- G-RMR has its default `split_tol`, and the rival is stopped, as if it knew the optimum, at the
  first iteration that is at least as accurate, with whichever growth of its penalty needs the
  fewest.

That is the paper's form, ``outliers="split"``. The default, which replaces outliers, solves another
problem: its time is compared with that of the rival run to its end, and no accuracy is.

Seconds are those of the processor, best on one thread (``OPENBLAS_NUM_THREADS=1``).

Run: ``python -m benchmarks.grmr_speed [--small]`` (a quarter of an hour, or a few seconds)
"""

from __future__ import annotations

import argparse
import multiprocessing
import tempfile
import tracemalloc
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.timing import cpu_time
from matreg import GRMR
from matreg.datasets import make_matrix_regression
from matreg.losses.piecewise import epsilon_insensitive
from matreg.solvers.grmr.decompose import decompose
from matreg.solvers.grmr.split import SplitProblem

CASES = {"low rank": 0.0, "low rank + dense noise": 0.05}
SHAPES = {"700 x 1024": (700, (32, 32)), "500 x 4096": (500, (64, 64))}
SMALL = {"100 x 144": (100, (12, 12))}
GROWTH = (1.5, 1.3, 1.2, 1.1)
TOLERANCES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)
DEFAULT = GRMR().split_tol


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


def inexact_alm(D, threshold, growth, tol, max_iter=500):
    """Outliers after every iteration of robust PCA."""
    lam = 1.0 / np.sqrt(max(D.shape))
    norm, size = np.linalg.norm(D, 2), np.linalg.norm(D)
    Y = D / max(norm, np.abs(D).max() / lam)
    mu, mu_max = 1.25 / norm, 1.25e7 / norm
    L = np.zeros_like(D)
    for _ in range(max_iter):
        G = D - L + Y / mu
        E = G - np.clip(G, -lam / mu, lam / mu)
        L = threshold(D - E + Y / mu, 1.0 / mu)
        gap = D - L - E
        Y += mu * gap
        mu = min(growth * mu, mu_max)
        yield E
        if np.linalg.norm(gap) <= tol * size:
            break


def rival(D, threshold, growth=1.5, n_iter=None):
    """Outliers of the rival at its end, or after so many iterations."""
    tol = 1e-7 if n_iter is None else 0.0
    *_, E = islice(inexact_alm(D, threshold, growth, tol), n_iter)
    return E


class Accuracy:
    """Relative excess of the robust-PCA objective over a certified bound of its optimum."""

    def __init__(self, D):
        n, m = D.shape
        one, self.D, self.lam = np.ones(n), D, 1.0 / np.sqrt(max(n, m))
        problem = SplitProblem(
            D, one, 0 * one, np.zeros(m), epsilon_insensitive(one, 0.1), 1.0, self.lam
        )
        reference = decompose(problem, tol=1e-8, max_iter=300)
        self.bound, self.gap = reference.dual, reference.gap

    def __call__(self, E):
        """Accuracy of a split with outliers E."""
        nuclear = np.linalg.svd(self.D - E, compute_uv=False).sum()
        return (nuclear + self.lam * np.abs(E).sum()) / self.bound - 1.0


def fastest_rival(D, accuracy, goal):
    """Growth and number of iterations with which the rival is first as accurate as `goal`."""
    best = None, 500
    for growth in GROWTH:
        iterates = inexact_alm(D, threshold_gram, growth, tol=0.0)
        for k, E in enumerate(islice(iterates, best[1] - 1), 1):
            if accuracy(E) <= goal:
                best = growth, k
                break
    return best


def fit(X, y, split_tol=DEFAULT, outliers="split"):
    return GRMR(tau=10.0, C=1.0, epsilon=0.1, split_tol=split_tol, outliers=outliers).fit(X, y)


def outliers(model):
    return model.outliers_.reshape(len(model.outliers_), -1)


def _peak(folder, outliers, queue):
    fit(*make(30, (8, 8), 0.1))  # so that imports do not count
    tracemalloc.start()
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    fit(X, y, outliers=outliers)
    queue.put(tracemalloc.get_traced_memory()[1] / X.nbytes)


def peak_memory(X, y, outliers):
    """Peak of a fit with its samples in another process, in arrays of their size."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as folder:
        np.save(Path(folder) / "X.npy", X)
        np.save(Path(folder) / "y.npy", y)
        process = context.Process(target=_peak, args=(Path(folder), outliers, queue))
        process.start()
        arrays = queue.get()
        process.join()
    return arrays


class Table:
    """Lines of one set of samples, printed as they are found."""

    def __init__(self, title, accuracy):
        self.accuracy, self.rival = accuracy, {}
        print(f"{title}, optimum known to {accuracy.gap:.0e}")

    def rivals(self, D, name, **options):
        """Time both versions of the rival; return their accuracy."""
        for key, threshold in {"full": threshold_full, "Gram": threshold_gram}.items():
            self.rival[key], E = cpu_time(partial(rival, D, threshold, **options))
            self._line(f"RPCA {key}, {name}", self.rival[key], E)
        return self.accuracy(E)

    def grmr(self, split_tol, model, seconds):
        """Compare a fit with the last rivals."""
        note = self._ratios(seconds)
        self._line(f"G-RMR, split_tol {split_tol:g}", seconds, outliers(model), note)

    def default(self, seconds):
        """Compare a fit that replaces outliers with the last rivals."""
        print(f"  {'G-RMR, replace':<32} {seconds:8.2f} s, {self._ratios(seconds)}", flush=True)

    def _ratios(self, seconds):
        return ", ".join(f"{seconds / t:.2f} x {key}" for key, t in self.rival.items())

    def _line(self, method, seconds, E, note=""):
        print(f"  {method:<32} {seconds:8.2f} s, off by {self.accuracy(E):.1e}  {note}", flush=True)


def compare(title, X, y):
    D = X.reshape(len(X), -1)
    accuracy = Accuracy(D)
    table = Table(title, accuracy)
    goal = table.rivals(D, "to its end")
    table.default(cpu_time(lambda: fit(X, y, outliers="replace"))[0])
    for split_tol in TOLERANCES:
        seconds, model = cpu_time(partial(fit, X, y, split_tol))
        if accuracy(outliers(model)) <= goal:
            break
    table.grmr(split_tol, model, seconds)
    seconds, model = cpu_time(lambda: fit(X, y))
    growth, k = fastest_rival(D, accuracy, accuracy(outliers(model)))
    table.rivals(D, f"growth {growth:g}, {k} steps", growth=growth, n_iter=k)
    table.grmr(DEFAULT, model, seconds)
    for form in ("split", "replace"):
        arrays = peak_memory(X, y, form)
        print(f"  peak memory, {form}: {arrays:.1f} arrays of the size of D", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a small case, in seconds")
    shapes = SMALL if parser.parse_args().small else SHAPES
    for name, (n, shape) in shapes.items():
        for case, noise in CASES.items():
            compare(f"{name}, {case}", *make(n, shape, noise))


if __name__ == "__main__":
    main()
