"""What each mechanism of the RMR solvers is worth: the same problems with it and without it.

    python -m benchmarks.ablation [--quick]

Each mechanism is switched off in turn over a wide set of problems: shapes of three sizes, samples
nearly of low rank, integer and duplicated labels, units from 1e-3 to 1e3, C from 1e-2 to 1e4, 100
to 5,000 samples, five seeds, and real data where ``MATREG_DATA`` has it. Printed are the problems
solved to the tolerance, the steps, and the seconds of processor time: the total and the 90th
percentile of the ratio to the solver as it is.
"""

from __future__ import annotations

import argparse
import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from unittest import mock

import numpy as np

from matreg.datasets import make_matrix_regression, make_shape
from matreg.design import ArrayDesign
from matreg.losses import epsilon_insensitive
from matreg.penalties import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers import choose
from matreg.solvers import warm_start as neighbour
from matreg.solvers.active_set import active_set, box_qp
from matreg.solvers.active_set import jacobian_reuse as reuse
from matreg.solvers.active_set.jacobian import LinearSettings
from matreg.solvers.certificate import rounding_floor
from matreg.solvers.interior import attempts as cold
from matreg.solvers.interior import interior_point
from matreg.solvers.largest_tau import tau_max
from matreg.solvers.neighbours import tau_grid, walk
from matreg.unpenalised import intercept

TOL = 1e-6


@dataclass(frozen=True)
class Case:
    """A problem with a name."""

    name: str
    problem: Problem


def pose(X: np.ndarray, y: np.ndarray, C: float, epsilon: float, share: float) -> Problem:
    """RMR with tau at a share of the largest one."""
    y = np.asarray(y, dtype=float)
    design = ArrayDesign(np.ascontiguousarray(X, dtype=float))
    loss = epsilon_insensitive(np.full(len(y), C), epsilon)
    problem = Problem(design, y, loss, SpectralElasticNet(1.0))
    return replace(problem, penalty=SpectralElasticNet(share * tau_max(problem)))


def simulated(seed: int) -> Iterator[Case]:
    """Shapes, units, labels and samples of many kinds."""
    rng = np.random.default_rng(seed)
    for shape in ("square", "cross", "t", "triangle", "circle"):
        size = int(rng.choice([8, 16, 24]))
        n = int(rng.choice([100, 300, 600]))
        C = 10.0 ** rng.integers(-2, 5)
        noise, share = float(rng.choice([0.01, 0.5])), 10.0 ** rng.uniform(-3, -0.1)
        data = make_matrix_regression(
            n,
            coef=make_shape(shape, size),
            noise_scale=noise,
            label_outliers=float(rng.choice([0.0, 0.1])),
            random_state=seed,
        )
        name = f"{shape} {n} x {size} C={C:g}"
        yield Case(name, pose(data.X, data.y, C, float(rng.choice([0.0, 0.01, 0.1])), share))
    X = rng.standard_normal((150, 6, 9))
    y = X.reshape(150, -1) @ rng.standard_normal(54) + rng.standard_normal(150)
    a, c = 10.0 ** rng.uniform(-3, 3, 2)
    scaled = pose(a * X, c * y, 10.0 ** rng.integers(-2, 5) * c / a**2, 0.1 * c, 0.05)
    yield Case(f"units {a:.0e} {c:.0e}", scaled)
    yield Case("integer labels", pose(X, np.round(y / 4.0), 1.0, 0.5, 0.1))
    yield Case("no tube, integers", pose(X, np.round(y / 4.0), 1.0, 0.0, 0.02))
    low = rng.standard_normal((150, 4)) @ rng.standard_normal((4, 54))
    low += 1e-4 * rng.standard_normal(low.shape)
    yield Case("samples of low rank", pose(low.reshape(X.shape), y, 100.0, 0.1, 0.01))
    yield Case("exact truth, huge C", pose(X, X[:, 0, 0], 1e6, 0.01, 1e-3))


def large(seed: int) -> Iterator[Case]:
    """Samples of 32 x 32 and 64 x 64, and thousands of small ones."""
    rng = np.random.default_rng(seed)
    for size, C, noise in ((32, 1.0, 0.5), (32, 1e3, 0.01), (64, 1.0, 0.5), (64, 1e3, 0.01)):
        data = make_matrix_regression(
            500, coef=make_shape("cross", size), noise_scale=noise, random_state=seed
        )
        yield Case(f"cross 500 x {size}", pose(data.X, data.y, C, 0.1 * noise, 0.05))
    for n, C in ((2000, 1.0), (5000, 0.1)):
        data = make_matrix_regression(n, coef=make_shape("cross", 16), random_state=seed)
        yield Case(f"cross {n} x 16", pose(data.X, data.y, C, 0.1, 10.0 ** rng.uniform(-2, -0.5)))


def extreme() -> Iterator[Case]:
    """Units and C with C (size X)^2 / (size y) from 1e-14 to 1e18, where float64 gives out."""
    for shape, n in (("square", 100), ("cross", 200)):
        data = make_matrix_regression(n, coef=make_shape(shape, 12), random_state=0)
        grid = itertools.product(
            (0.0, 1e-2),
            (0.0, 1.0, 100.0),
            (1e-2, 1.0, 1e3, 1e6),
            ((1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6)),
        )
        for epsilon, tau, C, (a, c) in grid:
            loss = epsilon_insensitive(np.full(n, C), epsilon * c)
            penalty = SpectralElasticNet(tau)
            problem = Problem(ArrayDesign(a * data.X), c * data.y, loss, penalty)
            yield Case(f"{shape} {a:g} {c:g} C={C:g}", problem)


def small(count: int) -> Iterator[Case]:
    """Tiny problems of odd shapes, most of them degenerate."""
    for seed in range(count):
        rng = np.random.default_rng(seed)
        n, p, q = rng.integers(1, [13, 6, 6])
        X = rng.standard_normal((n, p, q))
        y = X[:, 0, 0] + rng.choice([0.0, 0.3]) * rng.laplace(size=n)
        loss = epsilon_insensitive(
            10.0 ** rng.uniform(-2, 4) * np.ones(n), float(rng.choice([0.0, 1e-3, 0.1, 1.0]))
        )
        penalty = SpectralElasticNet(float(rng.choice([0.0, 1e-3, 0.1, 1.0, 10.0, 1000.0])))
        yield Case(
            f"small {seed}", Problem(ArrayDesign(X), y, loss, penalty, intercept(bool(seed % 2)))
        )


def real() -> Iterator[Case]:
    """Real data, as far as they are there."""
    from matreg import datasets

    for name in ("load_sugar", "load_istanbul", "load_eem_cells", "load_cmu_faces"):
        try:
            data = getattr(datasets, name)()
        except Exception as error:
            print(f"without {name}: {error}")
            continue
        X, y = np.asarray(data.X, dtype=float)[:400], np.asarray(data.y, dtype=float)[:400]
        X = np.nan_to_num(X, nan=float(np.nanmean(X)))
        X = (X - X.mean(axis=0)) / (X.std() or 1.0)
        y = (y - np.median(y)) / (y.std() or 1.0)
        for C, share in ((0.01, 0.03), (1.0, 0.01), (100.0, 0.1)):
            yield Case(f"{name[5:]} C={C:g}", pose(X, y, C, 0.1, share))


@contextmanager
def patched(*pairs: tuple[object, str, object]) -> Iterator[None]:
    """Some names of modules or classes replaced."""
    with ExitStack() as stack:
        for owner, name, value in pairs:
            stack.enter_context(mock.patch.object(owner, name, value))
        yield


def attempts(**changes: object) -> Callable[[], object]:
    """Other attempts from scratch."""
    other = partial(cold.solve_cold, settings=cold.AttemptSettings(**changes))
    return lambda: patched((cold, "solve_cold", other))


def interior(**changes: object) -> Callable[[], object]:
    """Other settings of the interior point method."""
    return attempts(interior=replace(interior_point.DEFAULT, **changes))


COLD: dict[str, Callable[[], object]] = {
    "as it is": lambda: patched(),
    "smaller boxes": attempts(smaller=()),
    "crossover to a vertex": lambda: patched((cold, "crossover", lambda *args: None)),
    "both of them": lambda: patched(
        (cold, "crossover", lambda *args: None),
        (cold, "solve_cold", partial(cold.solve_cold, settings=cold.AttemptSettings(smaller=()))),
    ),
    "single precision": interior(single_steps=0),
    "caution": interior(caution=0.0),
    "weight of a settled W": interior(heaviest=1.0),
}


def following(**changes: object) -> Callable[[], object]:
    """Other settings of the steps from the last solution."""
    other = replace(active_set.DEFAULT, **changes)
    runs = partial(active_set.ActiveSetNewton, settings=other)
    return lambda: patched((active_set, "ActiveSetNewton", runs), (active_set, "DEFAULT", other))


PATHS: dict[str, Callable[[], object]] = {
    "as it is": lambda: patched(),
    "the last solution": following(most_linearisations=0),
    "second step with a matrix": following(reuse=reuse.ReuseSettings(often=1)),
    "matrix of the last point": lambda: patched(
        (active_set.Linearisation, "serves", lambda self, problem, at: False)
    ),
    "single precision of K": following(linear=LinearSettings(too_light=np.inf)),
    "borders of free systems": following(
        linear=LinearSettings(box=box_qp.BoxSettings(max_changed=-1))
    ),
    "pivoting": lambda: patched(
        (box_qp.BoxQuadratic, "pivot", lambda self, t, side, max_wrong=1.0: None)
    ),
    "interior point of the box problem": lambda: patched(
        (box_qp.BoxQuadratic, "solve_from_afar", lambda self, t, r, b: None)
    ),
    "line through two solutions": lambda: patched(
        (neighbour.Start, "ahead", lambda self, tau: None)
    ),
    "fitting of W on its rank": following(worthwhile=0.0),
}


def run_cold(case: Case) -> tuple[bool, int]:
    """One fit from scratch: whether it converged, and its steps."""
    result = cold.solve_cold(case.problem, tol=TOL, max_iter=1000)
    # Where rounding is worth more than the tolerance, its size is all that can be asked for.
    rounding = 2.0 * rounding_floor(case.problem, result.W.d) / (result.primal or 1.0)
    return result.gap <= max(TOL, rounding), result.n_iter


def run_path(case: Case) -> tuple[bool, int]:
    """A path of 12 points: whether all converged, and their steps."""
    taus = tau_grid(tau_max(case.problem), 12, 1e-2)
    points = list(walk(case.problem, taus, choose.following(TOL, 400)))
    return all(point.converged for point in points), sum(point.n_iter for point in points)


def table(title: str, cases: list[Case], run: Callable[[Case], tuple[bool, int]], ways) -> None:
    """Print one row per mechanism."""
    print(f"\n{title}: {len(cases)} problems\n")
    print(f"| {'without':30} | solved | steps | seconds | 90 % of ratios | worst ratio |")
    print("|---|---|---|---|---|---|")
    base: np.ndarray | None = None
    for name, way in ways.items():
        solved, steps, seconds = 0, 0, []
        for case in cases:
            start = time.process_time()
            with way():
                converged, n_iter = run(case)
            seconds.append(time.process_time() - start)
            solved, steps = solved + converged, steps + n_iter
        times = np.array(seconds)
        base = times if base is None else base
        ratio = times / base
        print(
            f"| {name:30} | {solved:6d} | {steps:5d} | {times.sum():7.1f} | "
            f"{np.quantile(ratio, 0.9):14.2f} | {ratio.max():11.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--quick", action="store_true", help="one seed, no large problems")
    parser.add_argument("--only", choices=["cold", "hard", "paths"], help="one table")
    options = parser.parse_args()
    quick, only = options.quick, options.only
    warnings.simplefilter("ignore")
    cases = [case for seed in range(1 if quick else 5) for case in simulated(seed)]
    if not quick:
        cases += [case for seed in range(2) for case in large(seed)]
    cases += list(real())
    if only in (None, "cold"):
        table("Fits from scratch", cases, run_cold, COLD)
    hard = [*itertools.islice(extreme(), 0, None, 8 if quick else 1), *small(50 if quick else 300)]
    if only in (None, "hard"):
        table("Extreme and tiny problems from scratch", hard, run_cold, COLD)
    if only in (None, "paths"):
        table("Paths", [case for case in cases if case.problem.design.n <= 600], run_path, PATHS)


if __name__ == "__main__":
    main()
