"""Adaptive low rank, bases, ridge and sparse terms: what they cost beside the plain fit.

    python -m benchmarks adaptive [--quick]

The cost is processor time of one path, at the same number of values of tau, and of single fits to
more and more samples, with the memory at its peak.
"""

from __future__ import annotations

import argparse
import tracemalloc
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.timing import cpu_time, print_table
from matreg import RGLM, RMR
from matreg.adaptive import adaptive_steps, reweighted_bases
from matreg.bases import Bases, images, smooth_basis
from matreg.datasets import make_shape
from matreg.design import ArrayDesign
from matreg.losses.piecewise import epsilon_insensitive, squared
from matreg.penalties.sparse import SparseLowRank
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import problem_tau_max, tau_grid
from matreg.solvers.dispatch import next_result
from matreg.solvers.neighbours import follow

SEEDS = "0"


def path(problem, count, tol=1e-4, ratio=1e-2):
    """CPU seconds and results of a path."""

    def run():
        taus = tau_grid(problem_tau_max(problem), count, ratio)
        problems = (replace(problem, penalty=problem.penalty.at(float(one))) for one in taus)
        return list(follow(problems, partial(next_result, tol=tol)))

    return cpu_time(run)


def in_bases(problem, bases):
    """The problem with its samples in bases."""
    return replace(problem, design=ArrayDesign(images(problem.design, bases)))


def solve_in(problem, tau, bases):
    """The solution of a problem in bases."""
    return next_result(in_bases(problem, bases), None, tol=1e-4)


def reweighted(problem, W):
    """The problem in the bases of a step after W."""
    return in_bases(problem, reweighted_bases(W))


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
        middle = plain[1][count // 2].W
        made, adapted = cpu_time(partial(reweighted, problem, middle))
        rows.append(row(f"{name}, reweighted once", path(adapted, count)))
        rows.append([f"{name}, its bases and samples", made, "", "", ""])
        smooth = in_bases(problem, Bases(smooth_basis(size, 8.0), smooth_basis(size, 8.0)))
        rows.append(row(f"{name}, smooth rows and columns", path(smooth, count)))
        tau = problem_tau_max(problem) / 10.0
        one = replace(problem, penalty=problem.penalty.at(tau))
        for steps in (0, 2):
            fit = partial(adaptive_steps, (tau,) * (1 + steps), partial(solve_in, one))
            took, found = cpu_time(fit)
            gap = max(step.result.gap for step in found)
            rank = str(found[-1].W.rank)
            rows.append([f"{name}, one fit and {steps} steps", took, "", f"{gap:.1e}", rank])
    ridged = replace(squares, penalty=SpectralElasticNet(1.0, float(n)))
    rows.append(row("R-GLM, ridge", path(ridged, count)))
    penalty = SparseLowRank(1.0, 0.3)
    sparse = replace(squares, penalty=penalty)
    rows.append(row("sparse and low rank", path(sparse, count, 1e-3)))
    title = f"{n} samples of {size} x {size}, the cross, {count} values of tau"
    print_table(title, ["", "CPU s", "iterations", "largest gap", "last rank"], rows)


def growth_row(kind, n, adaptive):
    """CPU seconds of a fit to n samples, and its peak memory as a multiple of the samples."""
    X, y = shapes(24, n)
    seconds, _ = cpu_time(lambda: kind(adaptive=adaptive).fit(X, y))
    tracemalloc.start()
    kind(adaptive=adaptive).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return [kind.__name__, str(n), str(adaptive), seconds, peak / X.nbytes]


def main():
    """Print the tables of cost, growth and memory."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    costs(*((16, 120, 6) if quick else (32, 300, 12)))
    sizes = [
        (kind, n) for kind in (RMR, RGLM) for n in ((100, 250) if quick else (250, 1000, 4000))
    ]
    rows = [growth_row(*size, steps) for size in sizes for steps in (0, 1)]
    columns = ["model", "samples", "adaptive", "CPU s", "peak / samples"]
    print_table("Fits to samples of 24 x 24, the cross", columns, rows)


if __name__ == "__main__":
    main()
