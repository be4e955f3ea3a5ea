"""Whether every certificate is true: random problems of every loss, checked without the library.

    python -m benchmarks.certificates [--count 10000]

Each problem is solved from scratch, and again from the solution for another tau. The objective at
the coefficients that are returned and the bound at the dual point are computed anew with NumPy
alone, from the definition of the loss. Counted are points whose gap is not what they claim, dual
points outside of their bounds, and fits that did not reach the tolerance.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from matreg.design import ArrayDesign
from matreg.losses import piecewise as losses
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.choose import solve_rmr
from matreg.unpenalised.basis import intercept

TOL = 1e-6

# Name: loss for labels y and weights c, value of residuals r, conjugate of beta.
KINDS = {
    "tube": (
        lambda y, c: losses.epsilon_insensitive(c, 0.1),
        lambda r, y, c: c * np.maximum(np.abs(r) - 0.1, 0.0),
        lambda b, c: 0.1 * np.abs(b),
    ),
    "absolute": (
        lambda y, c: losses.absolute(c),
        lambda r, y, c: c * np.abs(r),
        lambda b, c: 0.0 * b,
    ),
    "quantile": (
        lambda y, c: losses.pinball(c, 0.3),
        lambda r, y, c: c * np.maximum(0.3 * r, -0.7 * r),
        lambda b, c: 0.0 * b,
    ),
    "hinge": (losses.hinge, lambda r, y, c: c * np.maximum(y * r, 0.0), lambda b, c: 0.0 * b),
    "squared hinge": (
        losses.squared_hinge,
        lambda r, y, c: 0.5 * c * np.maximum(y * r, 0.0) ** 2,
        lambda b, c: 0.5 * b * b / c,
    ),
    "huber": (
        lambda y, c: losses.huber(c, 0.5),
        lambda r, y, c: c * np.where(np.abs(r) <= 0.5, r * r, np.abs(r) - 0.25),
        lambda b, c: 0.25 * b * b / c,
    ),
}


def random_problem(seed: int) -> tuple[str, Problem, np.ndarray]:
    """A problem of any kind, shape and size, small enough for thousands of them."""
    rng = np.random.default_rng(seed)
    kind = list(KINDS)[seed % len(KINDS)]
    n, p, q = rng.integers(2, [61, 8, 8])
    X = 10.0 ** rng.integers(-2, 3) * rng.standard_normal((n, p, q))
    y = X[:, 0, 0] / np.abs(X).mean() + rng.choice([0.0, 0.3]) * rng.laplace(size=n)
    if rng.random() < 0.2:
        y = np.round(y)
    if "hinge" in kind:
        y = np.where(y > 0.0, 1.0, -1.0)
    c = 10.0 ** rng.uniform(-2, 3) * rng.choice([np.ones(n), rng.uniform(0.2, 3.0, n)])
    tau = float(rng.choice([0.0, 0.1, 1.0, 10.0])) * float(np.abs(X).mean())
    loss = KINDS[kind][0](y, c)
    return (
        kind,
        Problem(ArrayDesign(X), y, loss, SpectralElasticNet(tau), intercept(bool(seed % 3))),
        c,
    )


def check(kind: str, problem: Problem, c: np.ndarray, result) -> tuple[bool, bool]:
    """Whether the dual point is feasible and the gap is what is claimed."""
    _, value, conjugate = KINDS[kind]
    X, y, beta, W = problem.design.X, problem.y, result.beta, result.W.matrix
    lower, upper = problem.loss.lower, problem.loss.upper
    slack = 1e-12 * np.where(np.isfinite(upper - lower), upper - lower, np.abs(beta).max())
    feasible = bool(np.all((beta >= lower - slack) & (beta <= upper + slack)))
    if problem.unpenalised.size:
        feasible &= abs(beta.sum()) <= 1e-10 * max(np.abs(beta).sum(), 1e-300)
    r = y - np.einsum("ijk,jk->i", X, W) - result.b
    d = np.linalg.svd(W, compute_uv=False)
    primal = 0.5 * d @ d + problem.penalty.tau * d.sum() + value(r, y, c).sum()
    over = np.linalg.svd(np.einsum("i,ijk->jk", beta, X), compute_uv=False) - problem.penalty.tau
    dual = y @ beta - conjugate(beta, c).sum() - 0.5 * np.sum(np.maximum(over, 0.0) ** 2)
    gap = 0.0 if primal <= 0.0 else (primal - max(dual, 0.0)) / primal
    return feasible, bool(abs(gap - result.gap) <= 1e-8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=10_000)
    count = parser.parse_args().count
    wrong = {kind: np.zeros(4, dtype=int) for kind in KINDS}
    for seed in range(count):
        kind, problem, c = random_problem(seed)
        first = solve_rmr(problem, tol=TOL)
        moved = replace(problem, penalty=problem.penalty.at(0.8 * problem.penalty.tau))
        for posed, result in (
            (problem, first),
            (moved, solve_rmr(moved, start=first.start, tol=TOL)),
        ):
            feasible, true = check(kind, posed, c, result)
            wrong[kind] += [1, not feasible, not true, not result.converged]
    print("| loss | fits | dual point out of bounds | gap not as claimed | above the tolerance |")
    print("|---|---|---|---|---|")
    for kind, row in wrong.items():
        print(f"| {kind} | {row[0]} | {row[1]} | {row[2]} | {row[3]} |")


if __name__ == "__main__":
    main()
