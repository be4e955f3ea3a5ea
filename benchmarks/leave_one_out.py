"""Leave-one-out residuals from one fit beside true ones: random problems of all losses.

    python -m benchmarks.leave_one_out [--count 60] [--seed 0]

Each problem takes some samples of a real or simulated data set at random, a loss, its slope C from
.1 to 3,000 times the default, as searches do, tau from .003 to .5 of the largest one, and, one in
four, two covariates that follow the samples. Another seed is another set of problems. True
leave-one-out fits each problem as often as it has samples, 38 to 80, each time from the solution to
all of them. Real data comes from the folder that the environment variable MATREG_DATA names; data
that is not there is left out. Errors are those of the mean absolute leave-one-out residual (for
binomial and Poisson, label minus mean), in per cent of the true one: of the first-order formula, of
the quadratic problems, with the terms of second order, with at most 100 refits (what
`model.leave_one_out` takes), and with at most 20 (what searches take). The doubt is what is left
after the 100; above 5 per cent it is a flag.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.timing import cpu_time, print_table
from matreg.datasets import (
    load_air_quality,
    load_cmu_faces,
    load_eem_cells,
    load_gas_sensors,
    load_mnist,
    load_olive,
    load_sugar,
    make_matrix_regression,
    make_shape,
)
from matreg.design import ArrayDesign
from matreg.estimators._search.left_out import REFITS
from matreg.losses import piecewise as losses
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.robust import size, spread
from matreg.solvers import (
    leave_one_out,
    problem_tau_max,
    refined,
    solve_problem,
)
from matreg.solvers.loo.refits import solve_again, without
from matreg.solvers.loo.residuals import spans_of
from matreg.unpenalised.basis import Basis, covariates, intercept

SEEDS = "{count} from {seed} on"


@dataclass(frozen=True)
class Case:
    """A problem with its name, and its residuals as labels minus means."""

    name: str
    problem: Problem
    shown: Callable[[np.ndarray], np.ndarray]


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


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Handwritten digits as numbers, with half of the rows and columns of the pixels."""
    data = load_mnist()
    X = data.X_train[::30].reshape(-1, 14, 2, 14, 2).mean(axis=(2, 4)) / 255.0
    return X, data.y_train[::30].astype(float)


def simulated(shape: str, wrong: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Samples of 12 x 12 with a shape as coefficients and some labels wrong."""
    data = make_matrix_regression(
        100, (12, 12), coef=make_shape(shape, 12), noise_scale=0.5, label_outliers=wrong,
        random_state=seed,
    )  # fmt: skip
    return data.X, data.y


SOURCES = {
    "faces": (lambda seed: plain(load_cmu_faces), 60),
    "sugar": (lambda seed: plain(load_sugar), 70),
    "EEM": (lambda seed: plain(load_eem_cells), 38),
    "olive": (lambda seed: plain(load_olive), 60),
    "gas": (lambda seed: gas(), 60),
    "air": (lambda seed: air(), 60),
    "digits": (lambda seed: digits(), 80),
    "square": (lambda seed: simulated("square", 0.0, seed), 80),
    "cross": (lambda seed: simulated("cross", 0.1, seed), 80),
    "T": (lambda seed: simulated("t", 0.3, seed), 60),
}
KINDS = (
    "tube", "tube", "tube", "weighted tube", "absolute", "quantile", "huber", "squared", "hinge",
    "squared hinge", "normal", "binomial", "poisson",
)  # fmt: skip


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


def rmr_case(X: np.ndarray, y: np.ndarray, kind: str, C: float, beside: Basis) -> Problem:
    """RMR without a tau, its loss in the units of the data."""
    weights = np.ones(len(y))
    unit = 1.0 if "hinge" in kind else spread(y, weights)
    if "hinge" in kind:
        y = np.where(y > np.median(y), 1.0, -1.0)
    loss = rmr_loss(kind, y, C * unit / size(X, weights) ** 2, unit)
    return Problem(ArrayDesign(X), y, loss, SpectralElasticNet(0.0), beside)


def rglm_case(X: np.ndarray, y: np.ndarray, family: str, beside: Basis) -> Problem:
    """R-GLM of a family without a tau, with labels made to fit it."""
    ones = np.ones(len(y))
    if family == "normal":
        labels, loss = y, losses.squared(ones)
    elif family == "binomial":
        labels, loss = 0.0 * y, Logistic((y > np.median(y)).astype(float), ones)
    else:
        low, high = np.quantile(y, [0.0, 0.9])
        labels, loss = 0.0 * y, Poisson(np.round(5.0 * (y - low) / (high - low)), ones)
    return Problem(ArrayDesign(X), labels, loss, SpectralElasticNet(0.0, ridge=0.0), beside)


def shown_of(loss) -> Callable[[np.ndarray], np.ndarray]:
    """Residuals of the problem to labels minus means: those of smooth losses are minus f."""
    return (lambda r: loss.t - loss.mean(-r)) if hasattr(loss, "mean") else np.asarray


def case(seed: int) -> Case | None:
    """A random problem; None if its data is not there."""
    rng = np.random.default_rng([seed, 29])
    source, kind = str(rng.choice(list(SOURCES))), str(rng.choice(KINDS))
    C, share = 10.0 ** rng.uniform(-0.5, 4.0), 10.0 ** rng.uniform(-2.5, -0.3)
    load, n = SOURCES[source]
    try:
        X, y = load(seed)
    except (OSError, KeyError) as error:
        print(f"left out: {source} ({error})")
        return None
    chosen = rng.permutation(len(y))[:n]
    X, y = np.ascontiguousarray(X[chosen], dtype=float), y[chosen].astype(float)
    beside, what = intercept(True), ""
    if rng.random() < 0.25:
        along = (X.reshape(len(X), -1) - X.mean(axis=0).reshape(-1)) @ rng.standard_normal(
            X[0].size
        )
        Z = np.column_stack([along / along.std(), np.zeros(len(y))]) + rng.standard_normal((n, 2))
        beside, what = covariates(Z), ", covariates"
    smooth = kind in ("normal", "binomial", "poisson")
    problem = rglm_case(X, y, kind, beside) if smooth else rmr_case(X, y, kind, C, beside)
    problem = replace(problem, penalty=problem.penalty.at(share * problem_tau_max(problem)))
    slope = "" if smooth else f", C {C:.2g}"
    name = f"{seed}: {source}, {kind}{slope}, tau {share:.2g}{what}"
    return Case(name, problem, shown_of(problem.loss))


def true_residuals(problem: Problem, fit) -> np.ndarray:
    """Residuals by as many fits as there are samples."""
    out = np.empty(problem.design.n)
    for i in range(problem.design.n):
        rest, keep = without(problem, i)
        W, b = solve_again(rest, fit.W, fit.gamma, fit.beta[keep])
        beside = problem.unpenalised.take(np.array([i])).times(b)
        out[i] = problem.y[i] - np.vdot(problem.design.X[i], W.matrix) - np.sum(beside)
    return out


def compare(case: Case) -> tuple[str, list[float]]:
    """A line of the table, and the errors in it with both doubts."""
    problem = case.problem
    fit = solve_problem(problem, tol=1e-8)
    start = time.process_time()
    loo = leave_one_out(problem, fit.W, fit.gamma, fit.beta)
    ours = time.process_time() - start
    loo.error  # noqa: B018 computed here, so that its time counts
    second = time.process_time() - start
    at = problem, fit.W, fit.gamma, fit.beta
    better = refined(loo, *at, shown=case.shown)
    searched = refined(loo, *at, most=REFITS, shown=case.shown)
    theirs, true = cpu_time(lambda: true_residuals(problem, fit))
    S = spans_of(loo.removals.pivoting)
    ways = [loo.training + loo.beta * S, loo.residuals, loo.residuals + loo.error]
    ways += [better.residuals, searched.residuals]
    true, training, *ways = (case.shown(r) for r in (true, loo.training, *ways))
    size = np.abs(true).mean()
    errors = [100.0 * (np.abs(r).mean() / size - 1.0) for r in ways]
    correlation = np.corrcoef(ways[1], true)[0, 1]
    cells = [
        case.name, str(fit.W.rank), f"{loo.removals.pivoting.free.sum()} of {len(true)}",
        f"{100.0 * (np.abs(training).mean() / size - 1.0):.1f}",
        *(f"{error:.1f}" if abs(error) < 1e3 else "-" for error in errors),
        str(better.refitted.sum()), f"{100.0 * better.doubt:.1f}", f"{correlation:.3f}",
        f"{1e3 * ours:.0f}", f"{1e3 * second:.0f}", f"{1e3 * theirs:.0f}",
    ]  # fmt: skip
    return "| " + " | ".join(cells) + " |", [*np.abs(errors), better.doubt, searched.doubt]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--count", type=int, default=60, help="number of problems")
    parser.add_argument("--seed", type=int, default=0, help="first of their seeds")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    head = (
        "problem", "rank", "free", "training", "first order", "quadratic", "second order",
        "100 refits", "search", "refits", "doubt", "correlation", "ms", "with second order",
        "ms of true fits",
    )  # fmt: skip
    print("| " + " | ".join(head) + " |", "|---" * len(head) + "|", sep="\n")
    found = []
    for seed in range(given.seed, given.seed + given.count):
        drawn = case(seed)
        if drawn is not None:
            line, errors = compare(drawn)
            found.append(errors)
            print(line, flush=True)
    table = np.array(found)
    rows = []
    for name, column in zip(head[4:9], table.T, strict=False):
        trusted = table[:, -1 if name == "search" else -2] <= 0.05  # a search by its own doubt
        errors = np.median(column), column.max(), column[trusted].max()
        rows.append([name, *(f"{one:.2f} %" for one in errors), str(trusted.sum())])
    title = f"Error of the mean absolute residual, {len(table)} problems"
    columns = ["residuals", "median", "worst", "worst of the trusted", "trusted"]
    print_table(title, columns, rows)


if __name__ == "__main__":
    main()
