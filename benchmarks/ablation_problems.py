"""Problems on which mechanisms of the solvers are measured: simulated, extreme and real ones."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from matreg._typing import Array
from matreg.datasets import make_matrix_regression, make_shape
from matreg.design import ArrayDesign
from matreg.losses.piecewise import (
    epsilon_insensitive,
    hinge,
    huber,
    pinball,
    squared,
    squared_hinge,
)
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.largest_tau import tau_max
from matreg.unpenalised.basis import intercept


@dataclass(frozen=True)
class Case:
    """A problem with a name, and the number of points and the last tau of its path."""

    name: str
    problem: Problem
    points: int = 12
    last: float = 1e-2


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
    # Next to the largest tau with many samples the thresholding is far from linear.
    data = make_matrix_regression(
        4000, coef=make_shape("cross", 16), noise_scale=0.05, random_state=1
    )
    yield Case("cross 4000 x 16", pose(data.X, data.y, 10.0, 0.005, 0.65))
    for n, C in ((2000, 1.0), (5000, 0.1)):
        data = make_matrix_regression(n, coef=make_shape("cross", 16), random_state=seed)
        yield Case(f"cross {n} x 16", pose(data.X, data.y, C, 0.1, 10.0 ** rng.uniform(-2, -0.5)))


def long_paths(seed: int) -> Iterator[Case]:
    """Paths of up to 50 points: with a huge C, of other losses, of thousands of samples."""
    rng = np.random.default_rng(seed)
    for n, size, C, points in ((500, 64, 1e3, 50), (200, 24, 1e5, 25), (150, 12, 1e7, 25)):
        data = make_matrix_regression(n, coef=make_shape("cross", size), random_state=seed)
        problem = pose(data.X, data.y, C, 0.01, 1.0)
        yield Case(f"path {n} x {size} C={C:g}", problem, points, 1e-3)
    real = real_data(200, ("load_eem_cells", "load_cmu_faces")) if seed == 0 else ()
    for X, y in itertools.chain(correlated(rng, ((200, 16),)), real):
        for C in (1e3, 1e6):
            yield Case(f"path {len(y)} C={C:g}", pose(X, y, C, 0.01, 1.0), 25, 1e-3)
        huge = huber(np.full(len(y), 1e3), 0.3)
        yield Case(f"path {len(y)} huber", replace(pose(X, y, 1.0, 0.1, 1.0), loss=huge), 25, 1e-3)
    for X, y in correlated(rng, ((4000, 8), (3500, 12))):
        yield Case(f"path {len(y)}", pose(X, y, 0.1, 0.1, 1.0), 20)


def correlated(
    rng: np.random.Generator, sizes: Iterable[tuple[int, int]]
) -> Iterator[tuple[Array, Array]]:
    """Samples whose neighbouring columns are alike, with heavy tails of the noise."""
    for n, size in sizes:
        X = np.cumsum(rng.standard_normal((n, size, size)), axis=2) / np.sqrt(size)
        W = np.outer(rng.standard_normal(size), rng.standard_normal(size)) / size
        yield X, X.reshape(n, -1) @ W.reshape(-1) + 0.3 * rng.standard_t(3, size=n)


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


def curved(seed: int) -> Iterator[Case]:
    """Losses with curvature, and classes; correlated samples."""
    rng = np.random.default_rng(seed)
    for X, y in correlated(rng, ((120, 12), (300, 8))):
        n, size = X.shape[:2]
        C, share = 10.0 ** rng.integers(-1, 3), 10.0 ** rng.uniform(-2.5, -0.3)
        sign = np.where(y > 0.0, 1.0, -1.0)
        for name, labels, loss in (
            ("tube", y, epsilon_insensitive(np.full(n, C), 0.1)),
            ("huber", y, huber(np.full(n, C), 0.3)),
            ("quantile", y, pinball(np.full(n, C), 0.8)),
            ("hinge", sign, hinge(sign, np.full(n, C))),
            ("squared hinge", sign, squared_hinge(sign, np.full(n, C))),
        ):
            problem = Problem(ArrayDesign(X), labels, loss, SpectralElasticNet(1.0))
            penalty = SpectralElasticNet(share * tau_max(problem))
            yield Case(f"{name} {n} x {size}", replace(problem, penalty=penalty))


def many(seed: int) -> Iterator[Case]:
    """More than twice as many samples as entries, of every kind of loss."""
    rng = np.random.default_rng(seed)
    for n, size in ((1500, 8), (3000, 6), (2500, 16), (20_000, 8)):
        X = rng.standard_normal((n, size, size))
        X = np.cumsum(X, axis=2) / np.sqrt(size) if size == 8 else X
        W = np.outer(rng.standard_normal(size), rng.standard_normal(size)) / size
        y = X.reshape(n, -1) @ W.reshape(-1) + 0.3 * rng.standard_t(3, size=n)
        sign, C = np.where(y > 0.0, 1.0, -1.0), 10.0 ** rng.integers(-2, 2)
        for name, labels, loss in (
            ("tube", y, epsilon_insensitive(np.full(n, C), 0.1)),
            ("no tube", np.round(2.0 * y), epsilon_insensitive(np.full(n, C), 0.0)),
            ("huber", y, huber(np.full(n, C), 0.3)),
            ("hinge", sign, hinge(sign, np.full(n, C))),
        ):
            problem = Problem(ArrayDesign(X), labels, loss, SpectralElasticNet(1.0))
            penalty = SpectralElasticNet(10.0 ** rng.uniform(-2.5, -0.3) * tau_max(problem))
            yield Case(f"{name} {n} x {size}", replace(problem, penalty=penalty))


def smooth(seed: int) -> Iterator[Case]:
    """Squared, logistic and Poisson losses, of R-GLM."""
    rng = np.random.default_rng(seed)
    for X, y in itertools.chain(smooth_data(rng), real_data(300, REAL) if seed == 0 else ()):
        n, f = len(y), y / (y.std() or 1.0)
        counts = rng.poisson(np.exp(np.clip(f, -3.0, 2.0))).astype(float)
        for name, labels, loss in (
            ("squared", f, squared(np.ones(n))),
            ("logistic", np.zeros(n), Logistic(np.where(f > 0.0, 1.0, 0.0), np.ones(n))),
            ("poisson", np.zeros(n), Poisson(counts, np.ones(n))),
        ):
            penalty = SpectralElasticNet(1.0, 0.0)
            yield Case(
                f"{name} {n} x {X.shape[1:]}",
                Problem(ArrayDesign(X), labels, loss, penalty),
                25 if n == 500 else 6,
                1e-3 if n == 500 else 1e-2,
            )


def smooth_data(rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Samples with independent and with correlated entries, fewer and more than entries."""
    for n, size, alike in ((100, 12, True), (300, 12, False), (900, 8, True), (500, 16, True)):
        X = rng.standard_normal((n, size, size))
        X = np.cumsum(X, axis=2) / np.sqrt(size) if alike else X
        W = np.outer(rng.standard_normal(size), rng.standard_normal(size)) / size
        yield X, X.reshape(n, -1) @ W.reshape(-1) + 0.5 * rng.standard_normal(n)


REAL = ("load_sugar", "load_istanbul", "load_eem_cells", "load_cmu_faces", "load_mnist")


def real(most: int) -> Iterator[Case]:
    """Problems on real data."""
    for name in REAL:
        for X, y in real_data(most, (name,)):
            for C, share in ((0.01, 0.03), (1.0, 0.01), (100.0, 0.1)):
                yield Case(f"{name[5:]} C={C:g}", pose(X, y, C, 0.1, share))


def real_data(most: int, names: tuple[str, ...]) -> Iterator[tuple[Array, Array]]:
    """Samples and labels of real data, in units of their spread, as far as they are there."""
    from matreg import datasets

    for name in names:
        try:
            data = getattr(datasets, name)()
        except Exception as error:
            print(f"without {name}: {error}")
            continue
        X, y = (data.X, data.y) if "y" in data else (data.X_test, data.y_test)
        some = np.random.default_rng(0).permutation(len(y))[:most]
        X, y = np.asarray(X[some], dtype=float), np.asarray(y[some], dtype=float)
        X = np.nan_to_num(X, nan=float(np.nanmean(X)))
        X = X - X.mean(axis=0)
        X /= X.std() or 1.0
        yield X, (y - np.median(y)) / (y.std() or 1.0)
