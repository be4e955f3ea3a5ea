"""The gain by each mechanism of the solvers: the same problems with it and without it.

    python -m benchmarks.ablation [--quick] [--forward]

Each mechanism is switched off alone. With ``--forward`` all are switched off, and then added to the
plain methods one by one, the most useful one first, until none of them solves more problems or
shortens the 90th percentile of the time by 15 %. Only this shows which ones are needed: if one is
switched off alone, others may replace it.

The problems: shapes of three sizes, samples nearly of low rank, integer and duplicated labels,
units from 1e-3 to 1e3, C from 1e-2 to 1e4, 100 to 5,000 samples, losses with curvature, classes,
correlated samples, squared, logistic and Poisson losses, long paths with a huge C and with
thousands of samples, and real data where ``MATREG_DATA`` has it. Printed are the problems solved to
the tolerance, the steps, and the seconds of processor time: the total, and quantiles of the ratio
to the solver as it is. Without ``--forward`` it takes some three minutes.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from unittest import mock

import numpy as np

from benchmarks.ablation_problems import (
    Case,
    curved,
    extreme,
    large,
    long_paths,
    many,
    real,
    simulated,
    small,
    smooth,
)
from benchmarks.timing import cpu_time, print_table
from matreg._typing import Array
from matreg.problem import Problem
from matreg.solvers import choose, dispatch
from matreg.solvers.active_set import active_set, box_qp
from matreg.solvers.augmented import augmented, incremental_gram, newton, subsamples
from matreg.solvers.certificate import SolverResult, rounding_floor
from matreg.solvers.interior import attempts as cold
from matreg.solvers.interior import interior_point
from matreg.solvers.largest_tau import tau_max
from matreg.solvers.neighbours import follow, tau_grid
from matreg.solvers.rglm import least_squares, standard_form
from matreg.solvers.rglm.solve import solve_rglm
from matreg.solvers.warm_start import Start

SEEDS = "0, without --quick 0 and 1; tiny problems from 0 on"

TOL = 1e-6


Patch = tuple[object, str, object]  # owner, name, and the value that switches it off
Mechanism = list[Patch]

COLD: dict[str, Mechanism] = {
    "huge boxes": [
        (cold, "smaller_box", lambda problem: None),
        (cold, "crossover", lambda *args: None),
    ],
    "single precision": [(interior_point, "SINGLE_STEPS", 0)],
    "weight of a settled W": [(interior_point, "HEAVIEST", 1.0)],
    "halvings": [(interior_point, "HALVINGS", 0)],
    "active set at the end": [(cold, "NEAR", 0.0)],
}
PATHS: dict[str, Mechanism] = {
    "second step with a matrix": [(active_set, "MOST_STEPS", 1)],
    "single precision of K": [(active_set, "TOO_LIGHT", np.inf)],
    "borders of free systems": [(box_qp, "MAX_CHANGED", -1)],
    "interior point of the box problem": [
        (box_qp.BoxQuadratic, "solve_from_afar", lambda self, t, r, b: None)
    ],
}
MANY: dict[str, Mechanism] = {
    "subsamples first": [(subsamples, "growing_samples", lambda problem: iter(()))],
    "working set at the end": [(subsamples, "RIPE", 0)],
    "systems of the samples": [(augmented, "direction", newton.through_coefficients)],
    "incremental Gram matrix": [(incremental_gram, "MOST_UPDATES", 0)],
    "balance of the two penalties": [(augmented, "BALANCE", (1.0, 1.0))],
}
SMOOTH: dict[str, Mechanism] = {
    "gradient steps before Newton's": [(least_squares, "EXPECTED_STEPS", 0)],
    "Newton's steps after these": [(least_squares, "EXPECTED_STEPS", np.inf)],
    "compression of many samples": [(standard_form, "COMPRESSED_ENTRIES", 0)],
}


@contextmanager
def without(*mechanisms: Mechanism) -> Iterator[None]:
    """Solvers without some mechanisms."""
    with ExitStack() as stack:
        for owner, name, value in itertools.chain(*mechanisms):
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def run_cold(case: Case) -> tuple[bool, int]:
    """One fit from scratch: whether it converged, and its steps."""
    result = choose.solve_interior(case.problem, tol=TOL, max_iter=1000, verbose=0)
    return solved(case.problem, result), result.n_iter


def solved(problem: Problem, result: SolverResult) -> bool:
    """Whether the gap is within the tolerance, or within rounding where that is larger."""
    rounding = 2.0 * rounding_floor(problem, result.W.d) / (result.primal or 1.0)
    return result.gap <= max(TOL, rounding)


def run_path(case: Case) -> tuple[bool, int]:
    """A path: whether all of its points converged, and their steps."""
    taus = tau_grid(tau_max(case.problem), case.points, case.last)
    problems = (replace(case.problem, penalty=case.problem.penalty.at(float(t))) for t in taus)
    points = list(follow(problems, partial(dispatch.next_result, tol=TOL, max_iter=400)))
    steps = sum(point.n_iter for point in points)
    return all(solved(case.problem, point) for point in points), steps


def run_many(case: Case) -> tuple[bool, int]:
    """One fit by the augmented Lagrangian from scratch."""
    result = subsamples.solve_many(case.problem, tol=TOL, max_iter=400)
    return result.gap <= TOL, result.n_iter


def run_smooth(case: Case) -> tuple[bool, int]:
    """A path with a smooth loss."""
    taus = tau_grid(dispatch.problem_tau_max(case.problem), case.points, case.last)
    kept: Start | None = None
    every, steps = True, 0
    for tau in taus:
        posed = replace(case.problem, penalty=case.problem.penalty.at(float(tau)))
        result = solve_rglm(posed, tol=TOL, max_iter=5000, start=kept)
        kept, every, steps = result.start, every and result.converged, steps + result.n_iter
    return every, steps


def measure(
    cases: list[Case], run: Callable[[Case], tuple[bool, int]], off: Iterable[Mechanism]
) -> tuple[Array, Array, int]:
    """Which cases are solved without some mechanisms, their seconds, and the sum of steps."""
    found, seconds, steps = [], [], 0
    with without(*off):
        for case in cases:
            took, (converged, n_iter) = cpu_time(partial(run, case))
            seconds.append(took)
            found.append(converged)
            steps += n_iter
    return np.array(found), np.array(seconds), steps


def row(name: str, found: tuple[Array, Array, int], base: Array) -> list[str]:
    """A line of a table."""
    converged, seconds, steps = found
    ratio = seconds / base
    quantiles = (f"{q:.2f}" for q in (np.median(ratio), np.quantile(ratio, 0.9), ratio.max()))
    line = [name, f"{converged.sum()}", f"{steps}", f"{seconds.sum():.1f}", *quantiles]
    print(*line, sep=" | ", flush=True)
    return line


def tail_of(found: tuple[Array, Array, int], base: Array) -> float:
    """90th percentile of the seconds, relative to those of the solver as it is."""
    return float(np.quantile(found[1] / base, 0.9))


def table(
    title: str,
    cases: list[Case],
    run: Callable[[Case], tuple[bool, int]],
    ways: dict[str, Mechanism],
    forward: bool,
) -> None:
    """Print one row per mechanism that is taken away, or that is added to the plain method."""
    found = measure(cases, run, ())
    base = found[1]
    rows = [row("as it is", found, base)]
    if not forward:
        rows += [
            row(f"without {name}", measure(cases, run, [way]), base) for name, way in ways.items()
        ]
    off = dict(ways)
    if forward:  # plain, which takes long
        found = measure(cases, run, off.values())
        rows.append(row("plain, without all of them", found, base))
    while forward and off:
        trials = {
            name: measure(cases, run, [way for other, way in off.items() if other != name])
            for name in off
        }
        best = max(trials, key=lambda name: (trials[name][0].sum(), -tail_of(trials[name], base)))
        more = trials[best][0].sum() > found[0].sum()
        tail = tail_of(trials[best], base) < tail_of(found, base) / 1.15
        found = trials[best]
        rows.append(row(f"+ {best}" + ("" if more or tail else " (not worth it)"), found, base))
        if not (more or tail):
            break
        off.pop(best)
    header = ["", "solved", "steps", "seconds", "median", "90 %", "worst"]
    print_table(f"{title}: {len(cases)} problems", header, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed, no large problems")
    parser.add_argument(
        "--only", choices=["cold", "hard", "paths", "many", "smooth"], help="one table"
    )
    parser.add_argument("--forward", action="store_true", help="from the plain methods upwards")
    options = parser.parse_args()
    quick, only, forward = options.quick, options.only, options.forward
    warnings.simplefilter("ignore")
    seeds = range(1 if quick else 2)
    cases: list[Case] = []
    if only in (None, "cold", "paths"):
        cases += [case for seed in seeds for kind in (simulated, curved) for case in kind(seed)]
        cases += [] if quick else list(large(0))
        cases += list(real(200 if quick else 400))
    few = [case for case in cases if case.problem.design.n <= 600]
    few += [] if quick or only not in (None, "paths") else list(long_paths(0))
    hard = [*itertools.islice(extreme(), 0, None, 5), *small(50 if quick else 200)]
    for word, title, some, run, ways in (
        ("cold", "Fits from scratch", cases, run_cold, COLD),
        ("hard", "Extreme and tiny problems from scratch", hard, run_cold, COLD),
        ("paths", "Paths of 12 to 50 points", few, run_path, PATHS),
        ("many", "Many samples from scratch", collected(many, seeds), run_many, MANY),
        (
            "smooth",
            "Paths of 6 to 25 points, smooth losses",
            collected(smooth, seeds),
            run_smooth,
            SMOOTH,
        ),
    ):
        if only in (None, word):
            table(title, some, run, ways, forward)


def collected(kind: Callable[[int], Iterator[Case]], seeds: range) -> list[Case]:
    """Problems of a kind."""
    return [case for seed in seeds for case in kind(seed)]


if __name__ == "__main__":
    main()
