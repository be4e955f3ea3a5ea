"""How far to go from one pass to the next."""

import numpy as np
import pytest

from matreg.linalg.factors import svd
from matreg.penalties.spectral import SpectralElasticNet
from matreg.solvers.passes.step_length import Step, Tangent


def quadratic(target, scale):
    """A loss ``scale/2 ||W - target||^2`` and its tangent at any W."""

    def tangent(W):
        G = -scale * (W - target)
        return Tangent(0.5 * scale * float(np.sum((W - target) ** 2)), G.reshape(-1), np.zeros(1))

    return tangent


@pytest.mark.parametrize("taken", [1.0, 0.4])
@pytest.mark.parametrize("best", [0.1, 0.5, 0.9])
def test_the_best_part_of_a_step_along_a_quadratic_loss(best, taken):
    rng = np.random.default_rng(0)
    W, D = rng.standard_normal((4, 3)), rng.standard_normal((4, 3))
    tangent = quadratic(W + best * D, 1e9)  # the penalty is negligible beside it
    step = Step(svd(W), np.zeros(1), tangent(W), D, np.zeros(1))
    found = step.best_part(taken, tangent(W + taken * D), SpectralElasticNet(0.1))
    assert best * 0.75**0.6 <= found <= best / 0.75**0.6  # the nearest one of those tried


def test_a_step_that_stops_short_of_the_optimum_is_taken_whole():
    W, D = np.zeros((4, 3)), np.ones((4, 3))
    tangent = quadratic(3.0 * D, 1e9)
    step = Step(svd(W), np.zeros(1), tangent(W), D, np.zeros(1))
    assert step.best_part(1.0, tangent(D), SpectralElasticNet(0.1)) == 1.0


def test_the_way_back_ends_where_the_tangents_of_a_kink_meet():
    # 1e9 |<D, W> / <D, D> - kink|, whose tangents are the loss itself.
    W, D, kink = np.zeros((4, 3)), np.ones((4, 3)), 0.75**4

    def tangent(t):
        G = -1e9 * np.sign(t - kink) * D / 12.0
        return Tangent(1e9 * abs(t - kink), G.reshape(-1), np.zeros(1))

    step = Step(svd(W), np.zeros(1), tangent(0.0), D, np.zeros(1))
    assert step.back(tangent(1.0), SpectralElasticNet(0.1)) == kink
