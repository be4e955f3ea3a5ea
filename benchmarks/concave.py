"""Reweighted bases or entries beside concave penalties, both from the same plain solution.

A concave penalty ``tau ||W||_* - h(W)`` changes the linear term of the next convex problem to
``-U diag(h'(s)) V'``; MCP has ``h'(s) = tau min(s / theta, 1)``, so that singular values above
theta are not shrunk. Each step solves one convex problem per tau and keeps that with the smallest
error on validation samples. Without `l1` the problems are those of RMR, with it (SpINNEr's setting)
they are least squares, by the alternating direction method of multipliers below, because no solver
of the library takes a linear term beside `l1`.

    python -m benchmarks concave --seeds 2
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.linalg

from benchmarks.adaptive_recovery import connectomes, error_off_diagonal
from benchmarks.timing import print_table
from matreg.adaptive import reweighted_bases
from matreg.bases import images
from matreg.datasets import load_cmu_faces, load_eem_cells, load_sugar, make_shape
from matreg.design import ArrayDesign
from matreg.experiments.methods import rae
from matreg.linalg.factors import Factors, svd
from matreg.losses.piecewise import epsilon_insensitive
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import problem_tau_max, tau_grid
from matreg.solvers.dispatch import next_result

SEEDS = "{seeds} from 0 on"

FLAT = 0.3  # MCP does not shrink singular values or entries above this share of the largest
STEPS, TAUS = 2, 10


@dataclass(frozen=True)
class Task:
    """Training samples, validation samples, and the error of a predictor W, b."""

    name: str
    X: Any
    y: Any
    X_valid: Any
    y_valid: Any
    error: Callable[[Any, float], float]

    def held_out(self, W: Any, b: float) -> float:
        """Mean absolute error on the validation samples."""
        return float(np.mean(np.abs(self.y_valid - np.tensordot(self.X_valid, W, 2) - b)))


def shape_task(name: str, wrong: float, seed: int) -> Task:
    """A planted shape; a share of the labels may belong to other samples."""
    rng = np.random.default_rng(seed)
    B = make_shape(name, 32)
    X = rng.standard_normal((350, 32, 32))
    y = np.tensordot(X, B, 2) + 0.5 * rng.standard_normal(350)
    some = rng.random(350) < wrong
    y[some] = rng.permutation(y[some])
    title = f"{name}, wrong labels" if wrong else name

    def error(W: Any, b: float) -> float:
        return rae(W, B)

    return Task(title, X[:250], y[:250], X[250:], y[250:], error)


def real_task(name: str, X: Any, y: Any, seed: int) -> Task:
    """Half of at most 300 samples, a fifth for validation, the others for the error, 1 - R2."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(y))[:300]
    X, y = np.asarray(X, dtype=float)[order], np.asarray(y, dtype=float)[order]
    X, y = (X - X.mean(axis=0)) / X.std(), (y - y.mean()) / y.std()
    first, second = int(0.5 * len(y)), int(0.7 * len(y))
    new_X, new_y = X[second:], y[second:]

    def error(W: Any, b: float) -> float:
        left = new_y - np.tensordot(new_X, W, 2) - b
        return float(left @ left / np.sum((new_y - new_y.mean()) ** 2))

    return Task(name, X[:first], y[:first], X[first:second], y[first:second], error)


def tasks(seed: int) -> Iterator[Task]:
    """Simulated and real ones."""
    for name in ("cross", "circle", "butterfly"):
        yield shape_task(name, 0.0, seed)
    yield shape_task("square", 0.2, seed)
    sugar, eem, faces = load_sugar(), load_eem_cells(), load_cmu_faces()
    yield real_task("sugar, 1 - R2", sugar.X[:, ::8], sugar.y, seed)
    yield real_task("EEM, 1 - R2", eem.X[:, ::2, ::2], eem.y, seed)
    yield real_task("faces, 1 - R2", faces.X[:, ::4, ::4], faces.y, seed)


def mcp(W: Factors, tau: float, flat: float) -> Any:
    """Gradient of the concave part at W, with the sign of a linear term."""
    return -(W.U * (tau * np.minimum(W.d / flat, 1.0))) @ W.Vt


def by_rmr(task: Task, concave: bool) -> list[tuple[float, int]]:
    """Error and rank of the plain solution and after each step."""
    n = len(task.y)
    problem: Any = Problem(
        ArrayDesign(task.X),
        task.y,
        epsilon_insensitive(np.full(n, 10.0), 0.1),
        SpectralElasticNet(1.0),
    )
    found, W, bases = [], None, None
    for _ in range(1 + STEPS):
        here = problem
        if bases is not None:
            here = replace(problem, design=ArrayDesign(images(problem.design, bases)))
        best = (np.inf, None, 0.0, None)
        for tau in tau_grid(problem_tau_max(here), TAUS, 1e-2):
            one = replace(here, penalty=here.penalty.at(tau))
            if concave and W is not None:
                one = replace(one, linear=mcp(W, tau, FLAT * W.d[0]))
            result = next_result(one, None, tol=1e-4)
            new = result.W if bases is None else bases.restore(result.W)
            score = task.held_out(new.matrix, result.b)
            best = min(best, (score, new, result.b, result.W), key=lambda point: point[0])
        _, W, b, V = best
        found.append((task.error(W.matrix, b), W.rank))
        if W.rank and not concave:
            bases = reweighted_bases(V, *([] if bases is None else [bases]))
    return found


# -- SpINNEr's setting


def least_squares(X: Any, y: Any, tau: float, l1: Any, T: Any, rounds: int = 300) -> Any:
    """Minimise ``||y - A W||^2 / 2 + <T, W> + tau ||W||_* + sum(l1 |W|)``."""
    n, p, q = X.shape
    flat = X.reshape(n, -1)
    rho = float(np.mean(np.sum(flat**2, axis=1))) / 20.0
    factor = scipy.linalg.cho_factor(flat @ flat.T + 2.0 * rho * np.eye(n))
    fixed = flat.T @ y - T.ravel()
    low, sparse = np.zeros((p, q)), np.zeros((p, q))
    dual_low, dual_sparse = np.zeros((p, q)), np.zeros((p, q))
    for _ in range(rounds):
        rhs = fixed + rho * (low - dual_low + sparse - dual_sparse).ravel()
        W = (rhs - flat.T @ scipy.linalg.cho_solve(factor, flat @ rhs)) / (2.0 * rho)
        W = W.reshape(p, q)
        f = svd(W + dual_low)
        low = (f.U * np.maximum(f.d - tau / rho, 0.0)) @ f.Vt
        moved = W + dual_sparse
        sparse = np.sign(moved) * np.maximum(np.abs(moved) - l1 / rho, 0.0)
        dual_low, dual_sparse = dual_low + W - low, dual_sparse + W - sparse
    return sparse


def entries_log(W: Any) -> Any:
    """Weights of entries after a step of :mod:`matreg.adaptive`, relative to those before."""
    return 1.0 / (1.0 + np.abs(W) / (0.1 * np.abs(W).max()))


def entries_mcp(W: Any) -> Any:
    """Those that MCP on the entries has."""
    return np.maximum(1.0 - np.abs(W) / (FLAT * np.abs(W).max()), 0.0)


def by_spinner(way: str, n: int, seed: int, ratio: float = 0.08) -> list[tuple[float, int]]:
    """Error off the diagonal and rank of the plain solution and after each step."""
    X, y, B = connectomes(n + 100, seed)
    weights = ratio * (1.0 - np.eye(len(B)))
    largest = np.linalg.norm(np.tensordot(y[:n], X[:n], 1), 2)
    found, W = [], None
    for _ in range(1 + STEPS):
        best = (np.inf, None)
        for tau in tau_grid(largest, 5, 1e-2)[1:]:
            l1, T = tau * weights, np.zeros_like(B)
            if W is not None and np.any(W):
                if way == "entries":
                    l1 = l1 * entries_log(W)
                elif way == "MCP of entries":
                    l1 = l1 * entries_mcp(W)
                else:
                    f = svd(W)
                    T = mcp(f, tau, FLAT * f.d[0])
            new = least_squares(X[:n], y[:n], tau, l1, T)
            score = float(np.mean((y[n:] - np.tensordot(X[n:], new, 2)) ** 2))
            best = min(best, (score, new), key=lambda point: point[0])
        W = best[1]
        found.append((error_off_diagonal(W, B), int(np.linalg.matrix_rank(W, tol=1e-3))))
    return found


def cells(runs: list[list[tuple[float, int]]]) -> list[str]:
    """Mean errors, plain and after each step, and the median rank after the last."""
    errors = np.mean([[error for error, _ in run] for run in runs], axis=0)
    rank = np.median([run[-1][1] for run in runs])
    return [*(f"{error:.4f}" for error in errors), f"{rank:.0f}"]


def main() -> None:
    """Compare and print a table for each form of the problem."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(parser.parse_args().seeds)
    steps = ["plain", *(f"{k} step{'s' * (k > 1)}" for k in range(1, 1 + STEPS)), "rank"]
    rows = []
    for drawn in zip(*(list(tasks(seed)) for seed in seeds), strict=True):
        for name, concave in (("bases", False), ("MCP", True)):
            rows.append([drawn[0].name, name, *cells([by_rmr(task, concave) for task in drawn])])
    title = "RMR: error of W, or 1 - R2 on new samples"
    print_table(title, ["problem", "steps by", *steps], rows)
    rows = []
    for n in (200, 250):
        for way in ("entries", "MCP of entries", "MCP of singular values"):
            rows.append([str(n), way, *cells([by_spinner(way, n, seed) for seed in seeds])])
    title = "SpINNEr's setting, l1 at .08: error off the diagonal"
    print_table(title, ["samples", "steps by", *steps], rows)


if __name__ == "__main__":
    main()
