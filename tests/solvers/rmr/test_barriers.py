"""The barriers of a box: what they leave of a Newton step is that of all the equations."""

import numpy as np
import pytest

from matreg.solvers.rmr.barriers import Barriers, largest_step


def test_step_without_the_barriers_is_that_of_all_equations():
    rng = np.random.default_rng(0)
    n, epsilon = 6, 0.1
    s, m = rng.uniform(0.1, 1.0, (2, 4, n))
    Phi = rng.standard_normal((n, 3))
    K, g, wish = Phi @ Phi.T, rng.standard_normal(n), rng.standard_normal((4, n))
    residual_u, residual_v = g + epsilon - m[0] + m[2], -g + epsilon - m[1] + m[3]

    barriers = Barriers(s, m, residual_u, residual_u + residual_v)
    dbeta = np.linalg.solve(K + np.diag(barriers.D), barriers.rhs(wish))
    ds, dm = barriers.slack_directions(dbeta, wish)

    np.testing.assert_allclose(ds[0] - ds[1], dbeta, atol=1e-12)
    np.testing.assert_allclose(ds[2:], -ds[:2], atol=1e-12)
    np.testing.assert_allclose(m * ds + s * dm, wish, atol=1e-12)
    np.testing.assert_allclose(K @ dbeta - dm[0] + dm[2], -residual_u, atol=1e-10)
    np.testing.assert_allclose(-K @ dbeta - dm[1] + dm[3], -residual_v, atol=1e-10)


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
