"""Weighted medians and what is measured by them."""

import numpy as np
import pytest

from matreg import robust
from matreg.robust import chance_share, size, spread, weighted_median

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 7, 10])
def test_weight_two_is_the_same_as_twice(n):
    values, weights = RNG.standard_normal((n, 3)), RNG.integers(1, 4, n)
    copies = np.repeat(np.arange(n), weights)
    np.testing.assert_allclose(
        weighted_median(values, weights.astype(float)), np.median(values[copies], axis=0)
    )
    np.testing.assert_allclose(
        weighted_median(values, 0.1 * weights), np.median(values[copies], axis=0)
    )


def test_a_minority_cannot_spoil_them():
    y, X = RNG.standard_normal(100), RNG.standard_normal((100, 4, 3))
    weights = np.ones(100)
    before = spread(y, weights), size(X, weights)
    y[:20], X[:20] = 1e9, -1e9
    after = spread(y, weights), size(X, weights)
    np.testing.assert_allclose(after, before, rtol=0.5)


@pytest.mark.parametrize("centred", [True, False])
def test_units_and_shifts(centred):
    y, X = RNG.standard_normal(30), RNG.standard_normal((30, 4, 3))
    weights = RNG.uniform(0.5, 2.0, 30)
    shift = 100.0 if centred else 0.0
    assert spread(1e6 * y + shift, weights, centred) == pytest.approx(
        1e6 * spread(y, weights, centred)
    )
    assert size(1e6 * X + shift, weights, centred) == pytest.approx(1e6 * size(X, weights, centred))


def test_ties_and_constants():
    assert spread(np.array([0.0, 0.0, 0.0, 4.0]), np.ones(4)) == 1.0
    assert spread(np.full(4, 3.0), np.ones(4)) == 1.0
    assert size(np.ones((4, 2, 2)), np.ones(4)) == 1.0
    X = np.zeros((4, 1, 1))
    X[0] = 2.0
    assert size(X, np.ones(4)) == 1.0
    assert size(1e-200 * X, np.ones(4)) == pytest.approx(1e-200)
    assert size(1e200 * X, np.ones(4)) == pytest.approx(1e200)


def test_missing_entries_are_left_out():
    values = RNG.standard_normal((9, 2))
    holes = values.copy()
    holes[3, 0], holes[:, 1] = np.nan, np.nan
    found = weighted_median(holes, np.ones(9))
    assert found[0] == pytest.approx(np.nanmedian(holes[:, 0])) and found[1] == 0.0
    X = RNG.standard_normal((50, 10, 10))
    holes = np.where(RNG.uniform(size=X.shape) < 0.3, np.nan, X)
    assert size(holes, np.ones(50)) == pytest.approx(size(X, np.ones(50)), rel=0.1)


def test_the_share_of_chance_is_a_mean_over_random_signs():
    X = RNG.standard_normal((12, 3, 2))
    y = np.einsum("nij,ij->n", X, np.ones((3, 2)))
    centre = X - X.mean(axis=0)
    signs = RNG.choice([-1.0, 1.0], (20_000, 12))
    by_chance = np.square(np.tensordot(signs, centre, 1)).sum(axis=(1, 2)).mean()
    there = np.square(np.tensordot(np.sign(y - np.median(y)), centre, 1)).sum()
    assert chance_share(X, y, np.ones(12)) == pytest.approx(by_chance / there, rel=0.03)


@pytest.mark.parametrize("centred", [True, False])
def test_the_share_of_chance_has_no_units(centred):
    y, X = RNG.standard_normal(30), RNG.standard_normal((30, 4, 3))
    X += y[:, None, None]
    weights = RNG.integers(1, 4, 30).astype(float)
    shift = 100.0 if centred else 0.0
    share = chance_share(X, y, weights, centred)
    copies = np.repeat(np.arange(30), weights.astype(int))
    assert 0.0 < share < 0.5
    for other in (
        chance_share(1e200 * X, 1e-200 * y, weights, centred),
        chance_share(X - shift, y + shift, weights, centred),
        chance_share(X[copies], y[copies], np.ones(len(copies)), centred),
    ):
        assert other == pytest.approx(share, rel=1e-9)
    assert chance_share(np.ones((4, 2, 2)), np.arange(4.0), np.ones(4)) == 1.0
    assert chance_share(X, np.ones(30), weights) == 1.0


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("weights", [np.ones(9), np.arange(1.0, 10.0)], ids=["equal", "unequal"])
def test_measured_in_pieces_they_are_the_same(weights, centred, monkeypatch):
    X, y = 3.0 + RNG.standard_normal((9, 4, 5)), RNG.standard_normal(9)
    some = np.where(RNG.random(X.shape) < 0.2, np.nan, X)
    expected = [size(X, weights, centred), size(some, weights, centred)]
    expected += [chance_share(X, y, weights, centred), *weighted_median(some[:, 0], weights)]
    monkeypatch.setattr(robust, "CONVERTED", 10)
    found = [size(X, weights, centred), size(some, weights, centred)]
    found += [chance_share(X, y, weights, centred), *weighted_median(some[:, 0], weights)]
    assert found == pytest.approx(expected, rel=1e-13)
