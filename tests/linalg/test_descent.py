"""Rules of descent against what they promise."""

from types import SimpleNamespace

import numpy as np
import pytest

from matreg.linalg.descent import backtrack, momentum


def along(f, x, step):
    return lambda t: SimpleNamespace(x=x + t * step, value=f(x + t * step))


def test_the_first_step_that_is_low_enough_is_taken():
    f = np.square
    assert backtrack(along(f, 1.0, -1.0), 1.0, -2.0).x == 0.0
    assert backtrack(along(f, 1.0, -16.0), 1.0, -32.0).x == -1.0 + 1.0  # halved four times
    assert backtrack(along(f, 1.0, 1.0), 1.0, 2.0 * -1.0) is None  # it leads upwards


def test_momentum_grows_towards_one_and_restarts():
    t, weights = 1.0, []
    for _ in range(100):
        t, weight = momentum(t)
        weights.append(weight)
    assert weights[0] == 0.0 and np.all(np.diff(weights) > 0.0) and 0.9 < weights[-1] < 1.0
    assert momentum(np.array([1.0, t]))[1][0] == 0.0


def test_momentum_keeps_the_law_that_fista_rests_on():
    t = 1.0
    for _ in range(20):
        ahead, _ = momentum(t)
        assert ahead * ahead - ahead == pytest.approx(t * t)
        t = ahead
