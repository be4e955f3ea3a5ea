"""Each threshold from both sides: another way, the same optimum."""

import sys
import tracemalloc
from importlib import import_module

import numpy as np
import pytest

import matreg
from matreg import RGLM, RMR, thresholds
from matreg.data.blocks import ArrayBlocks
from matreg.datasets import make_matrix_regression
from matreg.losses.families import Squared
from matreg.model import Model
from matreg.penalties import SpectralElasticNet
from matreg.solvers import dispatch, solve

EVER = 10**12


def data(n=60, shape=(4, 3), noise=1.0):
    return make_matrix_regression(n, shape, rank=1, noise_scale=noise, random_state=0)


def rmr(n=60, shape=(4, 3), **parameters):
    found = data(n, shape)
    return RMR(2.0, C=0.3, epsilon=0.1, **parameters).fit(found.X, found.y).objective_


def along_a_path():
    found = data()
    return matreg.path(RMR(C=0.3, epsilon=0.1), found.X, found.y, taus=[4.0, 3.0, 2.0]).objectives


def in_a_huge_box():
    found = data(20, noise=0.0)
    return RMR(1.0, C=1e7, epsilon=0.0).fit(found.X, np.round(found.y)).objective_


def with_covariates():
    found = data(2000)
    Z = np.random.default_rng(0).standard_normal((2000, 2))
    model = RMR(20.0, C=0.3, epsilon=0.1)
    return model.fit(found.X, found.y + Z @ [1.0, -2.0], covariates=Z).objective_


def of_small_numbers():
    found = data()
    model = RMR(2.0, C=0.3, epsilon=0.1)
    twice = np.append(found.X, found.X, axis=0).astype(np.float32)
    return model.fit(twice, np.append(found.y, found.y)).objective_


def least_squares():
    found = data(200)
    return RGLM(5.0).fit(found.X, found.y).objective_


def called(*args):
    return True


def n(design, *args):
    return design.n


def n_of_problem(problem, *args):
    return problem.design.n


# For each threshold a fit, the values on both sides of its size, a function whose calls show which
# way was taken, and what they show: by default whether there was any.
CASES = {
    "SAMPLES_PER_ENTRY": (rmr, 5, 6, "solvers.choose.solve_many"),
    "KERNEL_NUMBERS": (along_a_path, 3599, 3600, "solvers.choose.solve_active_set"),
    "HELD_RATIO": (along_a_path, 299, 300, "solvers.choose.solve_working_set"),
    "SMALL_SYSTEM": (lambda: rmr(60, (6, 5), solver="interior"), 0, EVER, "linalg.bordered.primal"),
    "CROSSOVER_ORDER": (in_a_huge_box, 0, EVER, "solvers.interior.crossover.truncated"),
    "COMPRESSED_ENTRIES": (least_squares, 11, 12, "solvers.rglm.least_squares.ProximalGradient", n),
    "COMPRESSED_RATIO": (least_squares, 50, 4, "solvers.rglm.least_squares.ProximalGradient", n),
    "NORM_ENTRIES": (least_squares, 11, 12, "solvers.rglm.standard_form.largest_singular_value"),
    "COVARIATE_SAMPLES": (with_covariates, 1999, 2000, "unpenalised.best_columns.among_many"),
    "MANY_SAMPLES": (of_small_numbers, 120, 121, "solvers.dispatch.solve_problem", n_of_problem),
    "THREADED_NUMBERS": (rmr, 720, 721, "linalg.threads.guests"),
}


def watch(monkeypatch, target, what):
    """The set of what the calls of a function show, which is filled while it is called."""
    home, name = target.rsplit(".", 1)
    module = import_module(f"matreg.{home}")
    function, shown = getattr(module, name), set()

    def watched(*args, **options):
        shown.add(what(*args))
        return function(*args, **options)

    monkeypatch.setattr(module, name, watched)
    return shown


def set_threshold(monkeypatch, name, value):
    users = [
        one
        for one in list(sys.modules.values())
        if hasattr(one, name) and one.__name__.startswith("matreg.")
    ]
    assert len(users) > 1
    for module in users:
        monkeypatch.setattr(module, name, value)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_both_sides_go_another_way_to_the_same_optimum(name, monkeypatch):
    fit, *values, target, what = (*CASES[name], called)[:5]
    found, ways = [], []
    for value in values:
        with monkeypatch.context() as patch:
            set_threshold(patch, name, value)
            ways.append(watch(patch, target, what))
            found.append(fit())
    assert ways[0] != ways[1]
    np.testing.assert_allclose(*found, rtol=3e-6)


def test_moments_of_more_entries_are_refused(monkeypatch):
    found = data(200)
    given = (found.X.reshape(200, -1), found.y, np.ones(200), (4, 3))
    model = Model(Squared(), SpectralElasticNet(5.0, ridge=0.0))
    set_threshold(monkeypatch, "MOMENT_ENTRIES", 12)
    assert solve(model, ArrayBlocks(*given)).primal == pytest.approx(least_squares(), rel=3e-6)
    set_threshold(monkeypatch, "MOMENT_ENTRIES", 11)
    with pytest.raises(ValueError, match="up to 11 of them"):
        solve(model, ArrayBlocks(*given))


@pytest.mark.parametrize("fold", [{}, {"n_taus": 2, "cv": 2}], ids=["fit", "search"])
@pytest.mark.parametrize("name", ["RMR", "SMM"])
def test_many_samples_keep_their_dtype(name, fold, monkeypatch):
    found, dtypes = data(), set()
    X = np.clip(16.0 * found.X + 128.0, 0.0, 255.0).astype(np.uint8)
    model = getattr(matreg, name + "CV" * bool(fold))(C=1e-4, **fold)
    set_threshold(monkeypatch, "MANY_SAMPLES", 20)
    solved = dispatch.solve_problem

    def seen(problem, **options):
        dtypes.add(problem.design.X.dtype)
        return solved(problem, **options)

    monkeypatch.setattr(dispatch, "solve_problem", seen)
    model.fit(X, found.y > 0.0 if name == "SMM" else found.y)
    assert dtypes == {np.dtype(np.uint8)}


@pytest.mark.parametrize(
    ("name", "n", "p", "dtype", "most"),
    [
        ("RMR", 20_000, 16, np.uint8, 8.0),
        ("SMM", 20_000, 16, np.uint8, 8.0),
        ("RMR", 6000, 32, np.float64, 0.5),
    ],
)
def test_units_do_not_take_copies_of_all_samples(name, n, p, dtype, most):
    g = np.random.default_rng(0)
    X, y = g.integers(0, 255, (n, p, p)).astype(dtype), g.standard_normal(n)
    tracemalloc.start()
    try:
        getattr(matreg, name)(tol=1.0).fit(X, y > 0.0 if name == "SMM" else y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most * X.nbytes


def test_every_threshold_has_a_test():
    assert {*CASES, "MOMENT_ENTRIES"} == {name for name in vars(thresholds) if name.isupper()}
