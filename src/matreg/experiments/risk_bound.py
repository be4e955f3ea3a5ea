"""Excess risk against the number of samples: Theorem 3, corrected.

Over matrices with ``||W||_* <= C1`` and ``||W||_F <= C2`` the nuclear norm is at most
``min(C1, sqrt(min(p, q)) C2)``, so that the part of the bound from the Rademacher complexity is
``2 L min(C1, sqrt(min(p, q)) C2) (sqrt(p) + sqrt(q)) / sqrt(N)``, with L = 1 for the
epsilon-insensitive loss. The paper has a maximum where the minimum belongs, and ``C2 / sqrt(r)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.stats import norm

from .. import RMR, path
from .._typing import Array
from ..datasets import make_matrix_regression
from ..plotting import pyplot
from .figures import STYLE
from .parallel import run_tasks
from .records import Options, Result, which_form
from .tables import Cell, Stat, Table

SHORT = 5
SAMPLES = (200, 400, 800, 1600, 3200)
NOISE, EPSILON, C = 0.5, 0.1, 100.0
DELTA = 0.05


def risk(distance: float, shift: float = 0.0) -> float:
    """Expected loss ``E max(|error| - epsilon, 0)`` of a model, in closed form.

    With Gaussian samples and Gaussian label noise the error of a prediction is Gaussian. `distance`
    is ``||W - W_true||_F`` and `shift` the error of the intercept.
    """
    scale = np.hypot(distance, NOISE)

    def above(mean: float) -> float:
        z = mean / scale
        return float(mean * norm.cdf(z) + scale * norm.pdf(z))

    return above(shift - EPSILON) + above(-shift - EPSILON)


def bound(truth: Array, n: int) -> tuple[float, float]:
    """The two terms of the bound: of the Rademacher complexity and of the probability.

    C1 and C2 are the norms of the true coefficients (p, q): the smallest that allow the truth.
    """
    p, q = truth.shape
    nuclear = min(np.linalg.norm(truth, "nuc"), np.sqrt(min(p, q)) * np.linalg.norm(truth))
    complexity = 2.0 * nuclear * (np.sqrt(p) + np.sqrt(q)) / np.sqrt(n)
    return float(complexity), float(np.sqrt(np.log(1.0 / DELTA) / (2.0 * n)))


def run(
    options: Options,
    *,
    samples: Sequence[int] = SAMPLES,
    shape: tuple[int, int] = (16, 16),
    rank: int = 2,
) -> Result:
    """Measure the excess risk of RMR for growing numbers of samples and a truth of some rank.

    ``values["excess"]`` has the shape (samples, rounds).
    """
    if options.quick:
        samples = samples[:3]
    seeds = options.seeds(SHORT)
    rounds = len(seeds)
    truth = make_matrix_regression(1, shape, rank=rank, random_state=options.seed).coef
    tasks = [(truth, n, seed) for n in samples for seed in seeds]
    excess = np.array(run_tasks(_excess, tasks, options.jobs, "risk-bound"))
    excess = excess.reshape(len(samples), rounds)
    bounds = np.array([bound(truth, n) for n in samples])
    slope = np.polyfit(np.log(samples[1:]), np.log(excess[1:].mean(axis=1)), 1)[0]
    return Result(
        name="risk-bound",
        form=f"Rounds: {rounds}, {which_form(rounds)}; {shape[0]} x {shape[1]}, rank {rank}.",
        tables=[_table(samples, excess, bounds)],
        figures={"excess": lambda: _draw(np.array(samples), excess, bounds.sum(axis=1))},
        seeds=seeds,
        parameters={
            "samples": samples,
            "shape": shape,
            "rank": rank,
            "noise": f"Gaussian, {NOISE}",
            "C": C,
            "epsilon": EPSILON,
            "delta": DELTA,
            "nuclear_norm": np.linalg.norm(truth, "nuc"),
        },
        values={"excess": excess, "bound": bounds, "slope": slope},
        notes=[
            f"Measured excess risk falls like N^{slope:.2f}; the bound falls like N^-0.50. The "
            "bound holds for every distribution of the labels, the faster rate for this one."
        ],
    )


def _excess(truth: Array, n: int, seed: int) -> float:
    """Excess risk of the best fit with ``||W||_* <= ||truth||_*``."""
    data = make_matrix_regression(
        n, coef=truth, noise="gaussian", noise_scale=NOISE, random_state=seed
    )
    model = RMR(C=C, epsilon=EPSILON, tol=1e-4)
    found = path(model, data.X, data.y, n_taus=25, tau_min_ratio=1e-2)
    # The solution of the constrained problem is on the path, where the norm reaches the
    # constraint; the norm grows as tau decreases.
    sizes = np.array([np.linalg.norm(coef, "nuc") for coef in found.coefs])
    inside = np.flatnonzero(sizes <= np.linalg.norm(truth, "nuc"))[-1]
    distance = float(np.linalg.norm(found.coefs[inside] - truth))
    return risk(distance, found.intercepts[inside] - data.intercept) - risk(0.0)


def _table(samples: Sequence[int], excess: Array, bounds: Array) -> Table:
    rows: list[list[Cell]] = [
        [n, Stat.of(row), float(complexity), float(confidence)]
        for n, row, (complexity, confidence) in zip(samples, excess, bounds, strict=True)
    ]
    columns = ["N", "Excess risk", "Bound: complexity", "Bound: confidence"]
    return Table("Theorem 3, corrected: excess risk of RMR and its bound", columns, rows)


def _draw(samples: Array, excess: Array, bounds: Array) -> Any:
    figure, (left, right) = pyplot().subplots(1, 2, figsize=(8.0, 3.4), layout="constrained")
    mean, std = excess.mean(axis=1), excess.std(axis=1)
    x = 1.0 / np.sqrt(samples)
    style = STYLE["RMR"]
    left.errorbar(x, mean, std, capsize=2, label="RMR, measured", **style)
    # The bound is far above: the panel shows only its slope.
    half = len(x) // 2
    left.plot([0, x.max()], [0, mean[half] / x[half] * x.max()], "k--", label="Slope of the bound")
    left.set(xlabel="1 / sqrt(N)", ylabel="Excess risk", xlim=(0, None), ylim=(0, None))
    right.loglog(samples, bounds, "k--", label="Bound (95 %)")
    right.loglog(samples, mean, label="RMR, measured", **style)
    right.loglog(samples, mean[-1] * samples[-1] / samples, ":", color="gray", label="1 / N")
    right.set(xlabel="N", ylabel="Excess risk")
    right.minorticks_off()
    right.set_xticks(samples, [str(n) for n in samples])
    for axes in (left, right):
        axes.legend()
        axes.grid(alpha=0.25)
    return figure
