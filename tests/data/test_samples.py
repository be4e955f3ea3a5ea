"""Samples in memory: duplicates are found once, for all parts that are taken."""

from dataclasses import fields

import numpy as np
import pytest

from matreg import RMRCV, SMMCV
from matreg.data import samples as module
from matreg.data.samples import Samples


def copies(seed, with_covariates):
    """Samples a third of which are copies, some with another label, weight or covariate."""
    rng = np.random.default_rng(seed)
    index = rng.permutation(np.r_[np.arange(40), rng.integers(0, 40, 20)])
    X, y, Z = rng.normal(size=(40, 3, 2)), rng.integers(0, 9, 40) / 3.0, rng.normal(size=(40, 2))
    X, y, Z, weights = X[index], y[index], Z[index], rng.uniform(0.5, 2.0, 60)
    y[:5] += 1.0
    Z[5:10] += 1.0
    weights[::7] = 0.0
    return Samples.of(X, y, weights, Z if with_covariates else None)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_covariates", [False, True])
def test_parts_of_compared_samples_have_the_distinct_samples_of_these_parts(seed, with_covariates):
    given = copies(seed, with_covariates)
    rng = np.random.default_rng(seed)
    for rows in (np.arange(60), np.arange(0, 60, 2), rng.permutation(60)[:30], [3, 3, 17, 3]):
        known = given.compared().take(rows).distinct()
        anew = given.take(rows).distinct()
        for field in fields(Samples):
            if field.name != "equal":
                one, other = getattr(known, field.name), getattr(anew, field.name)
                np.testing.assert_array_equal(one, other)
        assert known.n == len({(x.tobytes(), y, *z) for x, y, z in each(given.take(rows))})


def each(samples):
    """Samples of positive weight with labels and covariates."""
    Z = np.zeros((samples.n, 0)) if samples.Z is None else samples.Z
    kept = samples.weights > 0.0
    return zip(samples.X[kept], samples.y[kept], Z[kept], strict=True)


@pytest.mark.parametrize("search", [RMRCV(n_taus=4, cv=3), SMMCV(n_taus=4, cv=3)], ids=repr)
def test_a_search_compares_its_samples_once(monkeypatch, search):
    calls, compare = [], module.equal_samples
    monkeypatch.setattr(
        module, "equal_samples", lambda *given: calls.append(len(given[0])) or compare(*given)
    )
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3, 2)), rng.normal(size=30)
    index = np.r_[np.arange(30), np.arange(12)]
    y = y if isinstance(search, RMRCV) else np.digitize(y, [-0.5, 0.5])
    search.fit(X[index], y[index])
    assert calls == [42]


@pytest.mark.parametrize("with_covariates", [False, True])
def test_the_sign_of_zero_makes_no_other_sample(with_covariates):
    X = np.ones((3, 2, 2))
    X[1:, 0, 0] = [0.0, -0.0]
    Z = np.array([[1.0], [-0.0], [0.0]]) if with_covariates else None
    assert Samples.of(X, np.zeros(3), np.ones(3), Z).distinct().n == 2
