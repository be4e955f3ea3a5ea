"""Outliers replaced, detail kept: the objective, new samples, noise in the units of the data."""

import os

import numpy as np
import pytest

from matreg import GRMR, RMR
from matreg.datasets import load_cmu_faces, make_matrix_regression


def with_detail(n=150, shape=(8, 10), spikes=0.1, noise=0.1, seed=0):
    """Low rank plus spikes plus detail; the labels belong to low rank plus detail."""
    data = make_matrix_regression(
        n, shape, x_rank=4, x_corruption=spikes, noise_scale=0.1, random_state=seed
    )
    detail = noise * np.random.default_rng(seed).standard_normal(data.X.shape)
    data.X += detail
    data.X_clean += detail
    for labels in (data.y, data.y_clean):
        labels += np.tensordot(detail, data.coef, axes=2)
    return data


def test_objective_is_that_of_the_formula():
    data = with_detail()
    m = GRMR(tau=5.0, C=2.0, epsilon=0.2).fit(data.X, data.y)
    residual = data.y - m.X_clean_.reshape(150, -1) @ m.coef_.ravel() - m.intercept_
    regression = (
        0.5 * np.sum(m.coef_**2)
        + 5.0 * np.linalg.norm(m.coef_, "nuc")
        + 2.0 * np.maximum(np.abs(residual) - 0.2, 0.0).sum()
    )
    flags = m.outliers_ != 0.0
    weight = m.lam_ / np.median(m.noise_)
    price = 0.5 * weight * np.sum(flags * (4.0 * m.noise_) ** 2)
    # The best low-rank part for these samples thresholds their singular values.
    d = np.linalg.svd(m.X_clean_.reshape(150, -1), compute_uv=False)
    low = np.maximum(d - m.gamma_ / weight, 0.0)
    split = m.gamma_ * low.sum() + 0.5 * weight * np.sum((d - low) ** 2) + price
    assert m.objective_ == pytest.approx(regression + split, rel=1e-3)
    assert m.objective_ >= regression + split - 1e-6 * m.objective_
    assert m.split_gap_ <= 1e-4
    assert m.lam_ / m.gamma_ == pytest.approx(3.0 / (np.sqrt(150) + np.sqrt(80)))


def test_outliers_go_and_detail_stays():
    data = with_detail(300)
    model = GRMR(tau=5.0).fit(data.X[:200], data.y[:200])
    found, truth = model.outliers_ != 0.0, data.x_outlier_mask[:200]
    assert found[truth].mean() > 0.99 and found[~truth].mean() < 0.05
    np.testing.assert_array_equal(model.X_clean_[~found], data.X[:200][~found])
    split = GRMR(tau=5.0, outliers="split").fit(data.X[:200], data.y[:200])
    assert split.outlier_fraction_ > 0.3, "the paper's model has no place for detail"
    new, y = data.X[200:], data.y_clean[200:]
    rmr = RMR(tau=5.0, C=1.0, epsilon=0.1).fit(data.X[:200], data.y[:200])
    assert model.score(new, y) > max(split.score(new, y), rmr.score(new, y))
    found = model.transform(new) != new
    assert found[data.x_outlier_mask[200:]].mean() > 0.99


def test_noise_is_estimated_by_cell_in_the_units_of_the_data_and_can_be_given():
    data = with_detail()
    rough = np.random.default_rng(1).standard_normal(data.X.shape)
    X = data.X + np.where(np.arange(10) < 3, 1.0, 0.0) * rough  # three columns with more detail
    model = GRMR(tau=5.0).fit(X, data.y)
    assert model.noise_.shape == (8, 10)
    assert model.noise_[:, :3].min() > 1.5 * np.median(model.noise_[:, 3:])
    scaled = GRMR(tau=5e-3, C=1e-6).fit(1e3 * X, data.y)
    np.testing.assert_allclose(scaled.noise_, 1e3 * model.noise_, rtol=0.02)
    given = GRMR(tau=5.0, noise=model.noise_).fit(X, data.y)
    np.testing.assert_allclose(given.coef_, model.coef_, atol=1e-6)
    number = GRMR(tau=5.0, noise=10.0).fit(X, data.y)
    assert np.all(number.noise_ == 10.0) and number.outlier_fraction_ == 0.0


def test_no_outliers_at_a_high_limit_is_rmr():
    data = with_detail()
    model = GRMR(tau=5.0, C=1.0, epsilon=0.1, limit=1e6, regression_tol=1e-8).fit(data.X, data.y)
    rmr = RMR(tau=5.0, C=1.0, epsilon=0.1, tol=1e-8).fit(data.X, data.y)
    assert not model.outliers_.any()
    np.testing.assert_allclose(model.coef_, rmr.coef_, atol=1e-6)
    np.testing.assert_allclose(model.predict(data.X), rmr.predict(data.X), atol=1e-5)


def test_new_samples_without_any_noise():
    """Where the noise is nil a sample off by a little must not be outliers all over."""
    data = make_matrix_regression(
        250, (10, 10), x_rank=15, x_corruption=0.15, noise_scale=0.1, random_state=0
    )
    model = GRMR(tau=10.0, C=1.0, epsilon=0.1, split_tol=1e-3).fit(data.X[:200], data.y[:200])
    assert model.score(data.X[200:], data.y_clean[200:]) > 0.99


def test_score_of_new_samples():
    data = with_detail(200, spikes=0.0)
    model = GRMR(tau=5.0, C=1.0, epsilon=0.1).fit(data.X[:150], data.y[:150])
    new = data.X[150:].copy()
    new[:10, 2:5, 3:6] += 4.0
    new[20, 0, 0] = np.nan
    scores = model.sample_outlier_score(new)
    assert scores.shape == (50,) and np.isfinite(scores).all()
    assert set(np.argsort(scores)[-10:]) == set(range(10))
    same = model.sample_outlier_score(new.reshape(50, -1))
    np.testing.assert_allclose(same, scores)


@pytest.mark.skipif("MATREG_DATA" not in os.environ, reason="needs the CMU faces")
def test_few_pixels_of_faces_are_outliers():
    faces = load_cmu_faces()
    few = np.isin(faces.person, np.unique(faces.person)[:3])
    model = GRMR(tau=10.0, epsilon=1.0, split_tol=1e-3, tol=1e-3).fit(faces.X[few], faces.y[few])
    assert model.outlier_fraction_ < 0.15
    objective = model.history_["objective"]
    assert np.all(np.diff(objective) <= 1e-10 * objective[:-1])


@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_the_first_split_is_as_exact_whatever_the_mean_of_the_labels_is(outliers):
    """Its gap is relative to an objective with the best intercept."""
    g = np.random.default_rng(0)
    X = g.standard_normal((30, 1, 3)) * g.standard_normal((30, 3, 1))
    y = np.round(16.0 * X[:, 0, 0]) / 16.0
    own = {"outliers": outliers, "max_iter": 1, "tol": 1.0, "C": 1.0, "epsilon": 0.1, "tau": 1.0}
    found, shifted = (GRMR(**own).fit(X, y + shift) for shift in (0.0, 2.0**20))
    assert shifted.split_gap_ == pytest.approx(found.split_gap_, rel=1e-3)
    assert shifted.objective_ == pytest.approx(found.objective_, rel=1e-6)
