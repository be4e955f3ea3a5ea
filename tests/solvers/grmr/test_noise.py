"""Noise measured on samples that are left out."""

import numpy as np
import pytest

from matreg import GRMR
from matreg.data.samples import Samples
from matreg.datasets import make_matrix_regression
from matreg.losses.families import EpsilonInsensitive
from matreg.model import Model
from matreg.penalties.spectral import SpectralElasticNet
from matreg.solvers.grmr.noise import alike, left_out, spread
from matreg.solvers.grmr.problem import GRMRProblem
from matreg.solvers.grmr.start import Limits, prepare, robust_pca


def make_problem(D, s=None):
    n = len(D)
    samples = Samples.of(D, np.zeros(n), np.ones(n) if s is None else s)
    model = Model(EpsilonInsensitive(0.1), SpectralElasticNet(1.0))
    return GRMRProblem(model, samples, 1.0, 1.0, outliers="replace")


def noise_of(D, s=None):
    problem = make_problem(D, s)
    return prepare(problem, Limits()).problem.noise


def planted(n=200, shape=(8, 8), rank=4, noise=0.2, spikes=0.0, seed=0):
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, shape[0] * shape[1]))
    D += noise * rng.standard_normal(D.shape)
    hit = rng.random(D.shape) < spikes
    D[hit] += rng.choice([-8.0, 8.0], hit.sum())
    return D.reshape(n, *shape)


@pytest.mark.parametrize("noise", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("spikes", [0.0, 0.1])
def test_planted_noise_is_found(noise, spikes):
    """Roughly: the row space takes a little of it, and two measures of it are added."""
    found = noise_of(planted(noise=noise, spikes=spikes))
    assert 0.7 * noise < np.median(found) < 2.0 * noise


def test_noise_by_cell():
    D = planted(noise=0.1)
    D[:, 2, 3] += 2.0 * np.random.default_rng(1).standard_normal(len(D))
    found = noise_of(D).reshape(8, 8)
    assert 1.2 < found[2, 3] < 3.0 and np.delete(found, 19).max() < 0.4


def test_samples_that_nothing_explains_have_noise_of_their_size():
    D = np.random.default_rng(0).standard_normal((60, 10, 10))
    assert np.median(noise_of(D)) > 0.7
    assert GRMR(1.0, C=1.0).fit(D, D[:, 0, 0]).outlier_fraction_ < 0.01


def test_order_and_units_do_not_matter():
    D = planted(51, spikes=0.05)
    order = np.random.default_rng(0).permutation(51)
    np.testing.assert_allclose(noise_of(D[order]), noise_of(D), rtol=0.05)
    np.testing.assert_allclose(noise_of(1e3 * D), 1e3 * noise_of(D), rtol=0.05)


def test_missing_entries_have_none():
    D = planted()
    missing = np.random.default_rng(2).random(D.shape) < 0.1
    D[missing] = np.nan
    problem = make_problem(D)
    left, index = left_out(problem, robust_pca(problem, Limits()))
    assert sorted(index) == list(range(len(D)))
    np.testing.assert_array_equal(np.isnan(left), missing.reshape(len(D), -1)[index])
    assert 0.2 < np.median(noise_of(D)) < 0.4


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_samples(n):
    D = planted(n)
    noise = noise_of(D)
    assert np.isfinite(noise).all() and (noise > 0.0).all()


def test_groups_hold_samples_that_are_alike():
    rng = np.random.default_rng(0)
    scores = np.repeat(10.0 * np.array([[0, 0], [0, 1], [3, 0], [3, 1]]), 5, axis=0)
    groups = alike(scores + rng.standard_normal(scores.shape), np.ones(20))
    assert sorted(np.unique(groups)) == [0, 1, 2, 3]
    for four in groups.reshape(4, 5):
        assert len(set(four)) == 1


def test_some_samples_of_each_group_show_its_noise():
    problem = make_problem(planted(600, spikes=0.05))
    pca = robust_pca(problem, Limits())
    (some, few), (every, _) = (left_out(problem, pca, m) for m in (40, 600))
    assert len(set(few)) == len(few) == len(some) == 160 and len(every) == 600
    sizes = [np.median(np.abs(left)) for left in (some, every)]
    assert sizes[0] == pytest.approx(sizes[1], rel=0.05)


def test_some_of_a_group_have_all_its_sizes_whatever_the_order():
    rng = np.random.default_rng(0)
    size, members = rng.random(100), rng.permutation(100)[:60]
    some = spread(members, size, 20)
    assert set(some) <= set(members) and len(set(some)) == 20
    rank = np.searchsorted(np.sort(size[members]), size[some])
    np.testing.assert_array_equal(rank // 3, np.arange(20))  # one of every three
    np.testing.assert_array_equal(spread(members[::-1], size, 20), some)
    assert set(spread(members, size, 60)) == set(members)


def test_weights_are_copies():
    rng = np.random.default_rng(0)
    scores, s = rng.standard_normal((30, 4)), rng.integers(1, 4, 30)
    copies = np.repeat(np.arange(30), s)
    weighted = alike(scores, s.astype(float))[copies]
    repeated = alike(scores[copies], np.ones(len(copies)))
    np.testing.assert_array_equal(weighted, repeated)


@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_clean_samples_of_low_rank_stay_as_they_are(outliers):
    """Without outliers the samples themselves are the best low-rank part."""
    data = make_matrix_regression(150, (8, 6), x_rank=6, noise_scale=0.3, random_state=0)
    model = GRMR(tau=5.0, C=1.0, outliers=outliers).fit(data.X, data.y)
    assert model.clean_rank_ == 6 and model.outlier_fraction_ < 0.01
    np.testing.assert_allclose(model.transform(data.X), data.X, atol=1e-2)
