"""Each threshold from both sides: another way, the same optimum."""

import sys

import numpy as np
import pytest

import matreg
from matreg import RGLM, RMR, thresholds
from matreg.data.blocks import ArrayBlocks
from matreg.datasets import make_matrix_regression
from matreg.losses.families import Squared
from matreg.model import Model
from matreg.penalties import SpectralElasticNet
from matreg.solvers import solve

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


def least_squares_of_blocks():
    found = data(200)
    blocks = ArrayBlocks(found.X.reshape(200, -1), found.y, np.ones(200), (4, 3))
    return solve(Model(Squared(), SpectralElasticNet(5.0, ridge=0.0)), blocks).primal


# A fit, and values of the threshold below and above its size.
CASES = {
    "SAMPLES_PER_ENTRY": (rmr, 0, EVER),
    "KERNEL_NUMBERS": (along_a_path, 0, EVER),
    "HELD_RATIO": (along_a_path, 0, EVER),
    "SMALL_SYSTEM": (lambda: rmr(40, (6, 5), solver="interior"), 0, EVER),
    "CROSSOVER_ORDER": (in_a_huge_box, 0, EVER),
    "COMPRESSED_ENTRIES": (least_squares, 11, 12),
    "MOMENT_ENTRIES": (least_squares_of_blocks, 12, EVER),  # below, it is refused (test_moments)
    "COVARIATE_SAMPLES": (with_covariates, 1999, 2000),
    "MANY_SAMPLES": (of_small_numbers, 120, 121),
    "THREADED_NUMBERS": (rmr, 0, EVER),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in vars(thresholds) if name.isupper()])
def test_both_sides_have_the_same_optimum(name, monkeypatch):
    fit, *values = CASES[name]
    users = [
        one
        for one in list(sys.modules.values())
        if hasattr(one, name) and one.__name__.startswith("matreg.")
    ]
    assert len(users) > 1
    found = []
    for value in values:
        for module in users:
            monkeypatch.setattr(module, name, value)
        found.append(fit())
    np.testing.assert_allclose(*found, rtol=3e-6)
