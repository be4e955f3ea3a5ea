"""Leave-one-out residuals from one fit beside true ones: real and simulated problems of all losses.

    python -m benchmarks.leave_one_out [--every 1]

True leave-one-out fits each problem as often as it has samples, each time from the solution to all
of them. There are 38 to 80 samples each. Real data comes from the folder that the environment
variable MATREG_DATA names; data that is not there is left out. Errors are those of the mean
absolute leave-one-out residual, in per cent of the true one: of the first-order formula, of the
quadratic problems (what `leave_one_out` returns), with the terms of second order, and with at most
six refits. The doubt is what `leave_one_out` says itself; it asks for refits above 5 per cent.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from matreg import losses
from matreg.datasets import (
    load_air_quality,
    load_cmu_faces,
    load_eem_cells,
    load_gas_sensors,
    load_sugar,
    make_matrix_regression,
    make_shape,
)
from matreg.design import ArrayDesign
from matreg.penalties import SpectralElasticNet
from matreg.problem import Problem
from matreg.robust import size, spread
from matreg.smooth_losses import Logistic, Poisson
from matreg.solvers import (
    leave_one_out,
    problem_tau_max,
    refined,
    solve_problem,
)
from matreg.solvers.loo.refits import solve_again, without
from matreg.solvers.loo.residuals import spans_of


@dataclass(frozen=True)
class Case:
    """A problem with its name."""

    name: str
    problem: Problem


def load_olive() -> tuple[np.ndarray, np.ndarray]:
    """Olive oil, whose labels are zero for half of the samples."""
    stored = np.load(Path(os.environ["MATREG_DATA"]) / "olive.npz")
    return stored["X"], stored["y"]


def gas() -> tuple[np.ndarray, np.ndarray]:
    """One gas of the sensor array, features in units of their spread."""
    data = load_gas_sensors()
    chosen = data.gas == data.gas[0]
    X = data.X[chosen]
    return X / X.std(axis=(0, 1)), data.y[chosen]


def air() -> tuple[np.ndarray, np.ndarray]:
    """Days of air quality, sensors standardised."""
    data = load_air_quality()
    return (data.X - data.X.mean(axis=(0, 1))) / data.X.std(axis=(0, 1)), data.y


def plain(load) -> tuple[np.ndarray, np.ndarray]:
    """Samples and labels of a bunch."""
    data = load()
    return data.X, data.y


def simulated(shape: str, wrong: float) -> tuple[np.ndarray, np.ndarray]:
    """Samples of 12 x 12 with a shape as coefficients and some labels wrong."""
    data = make_matrix_regression(
        100, (12, 12), coef=make_shape(shape, 12), noise_scale=0.5, label_outliers=wrong,
        random_state=0,
    )  # fmt: skip
    return data.X, data.y


SOURCES = {
    "faces": (lambda: plain(load_cmu_faces), 60),
    "sugar": (lambda: plain(load_sugar), 70),
    "EEM": (lambda: plain(load_eem_cells), 38),
    "olive": (load_olive, 60),
    "gas": (gas, 60),
    "air": (air, 60),
    "square": (lambda: simulated("square", 0.0), 80),
    "cross": (lambda: simulated("cross", 0.1), 80),
    "T": (lambda: simulated("t", 0.3), 60),
}
# Multiples of spread / size^2 for C, and shares of the largest tau.
SLOPES = (0.3, 3.0, 30.0)
TAUS = (0.3, 0.05, 0.01)


def rmr_loss(kind: str, y: np.ndarray, c: float, unit: float) -> losses.PiecewiseLoss:
    """A loss by its name, with slope c and widths relative to the unit of the labels."""
    slopes = np.full(len(y), c)
    if kind == "weighted tube":
        slopes = slopes * np.random.default_rng(1).uniform(0.3, 3.0, len(y))
    return {
        "tube": lambda: losses.epsilon_insensitive(slopes, 0.1 * unit),
        "weighted tube": lambda: losses.epsilon_insensitive(slopes, 0.1 * unit),
        "absolute": lambda: losses.absolute(slopes),
        "quantile": lambda: losses.pinball(slopes, 0.7),
        "huber": lambda: losses.huber(slopes, unit / 3.0),
        "squared": lambda: losses.squared(slopes / unit),
        "hinge": lambda: losses.hinge(y, slopes),
        "squared hinge": lambda: losses.squared_hinge(y, slopes),
    }[kind]()


def rmr_case(source: str, X: np.ndarray, y: np.ndarray, kind: str, C: float, share: float) -> Case:
    """RMR with parameters in the units of the data."""
    weights = np.ones(len(y))
    unit = 1.0 if "hinge" in kind else spread(y, weights)
    if "hinge" in kind:
        y = np.where(y > np.median(y), 1.0, -1.0)
    loss = rmr_loss(kind, y, C * unit / size(X, weights) ** 2, unit)
    problem = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(0.0))
    tau = share * problem_tau_max(problem)
    problem = replace(problem, penalty=SpectralElasticNet(tau))
    return Case(f"{source}, {kind}, C {C:g}, tau {share:g}", problem)


def rglm_case(source: str, X: np.ndarray, y: np.ndarray, family: str, share: float) -> Case:
    """R-GLM of a family, with labels made to fit it."""
    ones = np.ones(len(y))
    if family == "normal":
        labels, loss = y, losses.squared(ones)
    elif family == "binomial":
        labels, loss = 0.0 * y, Logistic((y > np.median(y)).astype(float), ones)
    else:
        counts = np.round(5.0 * (y - y.min()) / (np.quantile(y, 0.9) - y.min()))
        labels, loss = 0.0 * y, Poisson(counts, ones)
    problem = Problem(ArrayDesign(X), labels, loss, SpectralElasticNet(0.0, ridge=0.0))
    penalty = SpectralElasticNet(share * problem_tau_max(problem), ridge=0.0)
    return Case(f"{source}, R-GLM {family}, tau {share:g}", replace(problem, penalty=penalty))


def cases() -> Iterator[Case]:
    """All problems: each source with each C or each tau, and each loss on some of them."""
    kinds = ("absolute", "quantile", "huber", "squared", "hinge", "squared hinge", "weighted tube")
    families = ("normal", "binomial", "poisson")
    for k, (source, (load, n)) in enumerate(SOURCES.items()):
        try:
            X, y = load()
        except (OSError, KeyError) as error:
            print(f"left out: {source} ({error})")
            continue
        chosen = np.random.default_rng(0).permutation(len(y))[:n]
        X, y = np.ascontiguousarray(X[chosen], dtype=float), y[chosen].astype(float)
        for j, C in enumerate(SLOPES):
            yield rmr_case(source, X, y, "tube", C, TAUS[(j + k) % 3])
        for j in range(3):
            kind = kinds[(3 * k + j) % len(kinds)]
            yield rmr_case(source, X, y, kind, SLOPES[(j + k + 1) % 3], TAUS[j])
        yield rglm_case(source, X, y, families[k % 3], (0.3, 0.1, 0.03)[k // 3])


def solve(problem: Problem, tol: float = 1e-8):
    """The fit to all samples."""
    return solve_problem(problem, tol=tol)


def true_residuals(problem: Problem, fit) -> np.ndarray:
    """Residuals by as many fits as there are samples."""
    out = np.empty(problem.design.n)
    for i in range(problem.design.n):
        rest, keep = without(problem, i)
        W, b = solve_again(rest, fit.W, fit.gamma, fit.beta[keep])
        out[i] = problem.y[i] - np.vdot(problem.design.X[i], W.matrix) - b
    return out


def compare(case: Case) -> tuple[str, list[float]]:
    """A line of the table, and the errors in it with the doubt."""
    problem = case.problem
    fit = solve(problem)
    start = time.process_time()
    loo = leave_one_out(problem, fit.W, fit.gamma, fit.beta)
    ours = time.process_time() - start
    loo.error  # noqa: B018 computed here, so that its time counts
    second = time.process_time() - start
    better = refined(loo, problem, fit.W, fit.gamma, fit.beta, most=6)
    start = time.process_time()
    true = true_residuals(problem, fit)
    theirs = time.process_time() - start
    S = spans_of(loo.removals.pivoting)
    ways = (loo.training + loo.beta * S, loo.residuals, loo.residuals + loo.error)
    size = np.abs(true).mean()
    errors = [100.0 * (np.abs(r).mean() / size - 1.0) for r in (*ways, better.residuals)]
    correlation = np.corrcoef(loo.residuals, true)[0, 1]
    cells = [
        case.name, str(fit.W.rank), f"{loo.free.sum()} of {len(true)}",
        f"{100.0 * (np.abs(loo.training).mean() / size - 1.0):.1f}",
        *(f"{error:.1f}" if abs(error) < 1e3 else "-" for error in errors),
        f"{100.0 * loo.doubt:.1f}", f"{correlation:.3f}",
        f"{1e3 * ours:.0f}", f"{1e3 * second:.0f}", f"{1e3 * theirs:.0f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |", [*np.abs(errors), 100.0 * loo.doubt]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--every", type=int, default=1, help="only each so many-th problem")
    every = parser.parse_args().every
    warnings.simplefilter("ignore")
    head = (
        "problem", "rank", "free", "training", "first order", "quadratic", "second order",
        "six refits", "doubt", "correlation", "ms", "with second order", "ms of true fits",
    )  # fmt: skip
    print("| " + " | ".join(head) + " |", "|---" * len(head) + "|", sep="\n")
    found = []
    for k, case in enumerate(cases()):
        if k % every == 0:
            line, errors = compare(case)
            found.append(errors)
            print(line, flush=True)
    table = np.array(found)
    trusted = table[:, -1] <= 5.0
    print(f"\n{len(table)} problems, {trusted.sum()} of them trusted (doubt at most 5 %).")
    for name, column in zip(head[4:8], table.T, strict=False):
        print(
            f"{name}: median {np.median(column):.2f} %, worst {column.max():.1f} %, "
            f"worst of the trusted {column[trusted].max():.1f} %"
        )


if __name__ == "__main__":
    main()
