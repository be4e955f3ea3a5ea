"""The barriers of a box: what they leave of a Newton step is that of all the equations."""

import numpy as np
import pytest

from matreg.barriers import Barriers, Box, largest_step
from matreg.losses.piecewise import (
    PiecewiseLoss,
    absolute,
    epsilon_insensitive,
    hinge,
    squared_hinge,
)

ONE = np.ones(6)
SIGN = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
LOSSES = {
    "tube": epsilon_insensitive(ONE, 0.1),
    "absolute": absolute(ONE),
    "hinge": hinge(SIGN, ONE),
    "squared hinge": squared_hinge(SIGN, ONE),
    "one sided tube": PiecewiseLoss(-ONE, 0.0 * ONE, 0.2 * ONE, 0.0 * ONE),
    "mixed": PiecewiseLoss(
        -ONE,
        np.array([1.0, 2.0, np.inf, 0.0, np.inf, 3.0]),
        np.array([0.1, 0.0, 0.3, 0.2, 0.0, 0.4]),
        np.array([0.0, 0.5, 1.0, 0.0, 1.0, 2.0]),
    ),
}


@pytest.mark.parametrize("name", LOSSES)
def test_step_without_the_barriers_is_that_of_all_equations(name):
    rng = np.random.default_rng(0)
    loss, n = LOSSES[name], 6
    box = Box(loss)
    s = np.where(box.present, rng.uniform(0.1, 1.0, (4, n)), 1.0)
    m = np.where(box.present, rng.uniform(0.1, 1.0, (4, n)), 0.0)
    Phi = rng.standard_normal((n, 3))
    K = Phi @ Phi.T + np.diag(loss.curvature)
    g, wish = rng.standard_normal(n), rng.standard_normal((4, n))
    barriers = Barriers(box, s, m, g)
    dbeta = np.linalg.solve(K + np.diag(barriers.D), barriers.rhs(wish))
    ds, dm = barriers.slack_directions(dbeta, wish)

    kinked, present = box.kinked, box.present
    cost = np.where(loss.upper > 0.0, loss.epsilon, -loss.epsilon)
    u = -(g + cost - m[0] + m[2])
    v = -(-g + loss.epsilon - m[1] + m[3])
    du = np.where(present[0], ds[0], np.where(present[2], -ds[2], dbeta))
    np.testing.assert_allclose(du - ds[1], dbeta, atol=1e-12)
    both = present[0] & present[2]
    np.testing.assert_allclose(ds[2][both], -ds[0][both], atol=1e-12)
    np.testing.assert_allclose((m * ds + s * dm)[present], wish[present], atol=1e-12)
    np.testing.assert_allclose(K @ dbeta - dm[0] + dm[2], u, atol=1e-10)
    left = (-K @ dbeta - dm[1] + dm[3])[kinked]
    np.testing.assert_allclose(left, v[kinked], atol=1e-10)
    assert not ds[~present].any() and not dm[~present].any()


@pytest.mark.parametrize("name", LOSSES)
def test_slacks_to_start_with_are_positive_and_belong_to_beta(name):
    loss = LOSSES[name]
    box = Box(loss)
    for beta in (0.0 * ONE, loss.feasible(0.9 * SIGN, None), loss.feasible(9.0 * SIGN, None)):
        near, s = box.slacks(beta, 0.05 * ONE)
        assert np.all(s > 0.0)
        free = loss.kinked
        # At a bound it is moved inside, with its slacks: or else it could leave the box later.
        assert np.abs(near - beta)[free].max(initial=0.0) <= 0.1
        np.testing.assert_allclose((s[0] - s[1])[free], near[free], atol=1e-15)
        both = free & np.isfinite(loss.upper)
        np.testing.assert_allclose((s[0] + s[2])[both], loss.upper[both], atol=1e-15)
        others = ~free & np.isfinite(loss.lower)
        np.testing.assert_allclose((s[0] + loss.lower)[others], near[others], atol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
def test_the_central_path_of_residuals_meets_its_own_equations(name):
    loss, mu = LOSSES[name], 0.01
    box = Box(loss)
    for r in (0.0 * ONE, 0.3 * SIGN, 1e6 * SIGN, np.linspace(-1.0, 1.0, 6)):
        beta, s = box.central(r, mu, 5.0 * ONE)
        assert np.all(s > 0.0)
        u, both = box.residuals(-r, np.where(box.present, mu / s, 0.0))
        bounded = box.present[0] & box.present[2]
        np.testing.assert_allclose(u[bounded], 0.0, atol=1e-9 * (1.0 + np.abs(r).max()))
        kinked = bounded & box.kinked & box.present[3]
        np.testing.assert_allclose(both[kinked], 0.0, atol=1e-9 * (1.0 + np.abs(r).max()))
        np.testing.assert_allclose(beta[kinked], (s[0] - s[1])[kinked])
        assert np.all((beta >= loss.lower) & (beta <= loss.upper))


@pytest.mark.parametrize(
    ("s", "m", "expected"),
    [
        ([-4.0, 1.0], [-8.0, 0.0], 0.25),
        ([1.0, 2.0], [4.0, 1.0], 1.0),
        ([-0.5, 0.0], [0.0, 0.0], 1.0),
    ],
)
def test_largest_step_keeps_the_sign(s, m, expected):
    pairs = (np.array([1.0, 2.0]), np.array(s)), (np.array([4.0, 1.0]), np.array(m))
    assert largest_step(*pairs) == expected
