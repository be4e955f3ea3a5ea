"""Shapes and simulated regressions against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from matreg.datasets import SHAPES, make_matrix_regression, make_shape

# Shapes


@pytest.mark.parametrize("size", [16, 33, 64])
@pytest.mark.parametrize("name", SHAPES)
def test_shapes_are_binary_and_fit_the_picture(name, size):
    shape = make_shape(name, size)
    assert shape.shape == (size, size)
    assert shape.dtype == float
    assert set(np.unique(shape)) == {0.0, 1.0}
    assert not np.concatenate([shape[0], shape[-1], shape[:, 0], shape[:, -1]]).any()
    assert 0.1 < shape.mean() < 0.6
    assert_array_equal(shape, shape[:, ::-1])


@pytest.mark.parametrize("size", [16, 32, 64, 100])
@pytest.mark.parametrize(("name", "rank"), [("square", 1), ("cross", 2), ("t", 2)])
def test_rank_of_polygonal_shapes(name, rank, size):
    assert np.linalg.matrix_rank(make_shape(name, size)) == rank


def test_triangle_and_t_stand_upright():
    widths = make_shape("triangle").sum(axis=1)
    assert (np.diff(widths[widths > 0]) >= 0).all()
    widths = make_shape("t").sum(axis=1)
    assert widths[widths > 0][0] > widths[widths > 0][-1]


def test_areas_agree_with_geometry():
    for name, area in [("triangle", 1.4 * 1.25 / 2), ("circle", np.pi * 0.62**2), ("square", 1.0)]:
        assert_allclose(4 * make_shape(name, 400).mean(), area, rtol=0.01)


def test_shape_arguments_are_checked():
    with pytest.raises(ValueError, match=r"name must be one of square, cross.* got 'star'"):
        make_shape("star")
    with pytest.raises(ValueError, match="size == 2, must be >= 8"):
        make_shape("square", 2)


# Simulated regressions


def test_labels_follow_the_model():
    data = make_matrix_regression(50, (7, 5), rank=3, noise_scale=0.0, bias=2.0, random_state=0)
    expected = [np.sum(data.coef * sample) + 2.0 for sample in data.X]
    assert_allclose(data.y, expected)
    assert_allclose(data.y_clean, data.y)
    assert data.intercept == 2.0
    assert np.linalg.matrix_rank(data.coef) == 3
    assert not data.label_outlier_mask.any()
    assert not data.x_outlier_mask.any()
    assert_array_equal(data.X, data.X_clean)


def test_given_coef_brings_its_shape():
    cross = make_shape("cross", 16)
    data = make_matrix_regression(20, coef=cross, random_state=0)
    assert data.X.shape == (20, 16, 16)
    assert_array_equal(data.coef, cross)


@pytest.mark.parametrize(
    ("noise", "mean_abs"),
    [("gaussian", np.sqrt(2 / np.pi)), ("laplace", 1.0), ("student", np.sqrt(2.0))],
)
def test_noise_has_the_asked_law_and_scale(noise, mean_abs):
    data = make_matrix_regression(40_000, (2, 2), noise=noise, noise_scale=0.3, random_state=0)
    assert_allclose(np.mean(abs(data.y - data.y_clean)), 0.3 * mean_abs, rtol=0.05)


def test_label_outliers_are_as_many_and_as_far_as_asked():
    data = make_matrix_regression(
        200, (6, 6), noise_scale=0.0, label_outliers=0.15, label_outlier_size=(2, 4), random_state=1
    )
    moves = (data.y - data.y_clean) / data.y_clean.std()
    assert data.label_outlier_mask.sum() == 30
    assert_array_equal(moves != 0, data.label_outlier_mask)
    sizes = abs(moves[data.label_outlier_mask])
    assert sizes.min() >= 2 and sizes.max() <= 4
    assert set(np.sign(moves[data.label_outlier_mask])) == {-1.0, 1.0}


def test_low_rank_samples_have_unit_variance():
    variances = []
    for seed in range(40):
        data = make_matrix_regression(60, (8, 10), x_rank=12, random_state=seed)
        stacked = data.X_clean.reshape(60, -1)
        assert np.linalg.matrix_rank(stacked) == 12
        variances.append(stacked.var())
    # The variance of one such matrix has a standard deviation of about 0.075.
    assert_allclose(np.mean(variances), 1.0, atol=4 * 0.075 / np.sqrt(40))


def test_spikes_are_sparse_and_leave_the_labels_alone():
    data = make_matrix_regression(
        40, (5, 5), x_corruption=0.1, x_corruption_size=7.0, noise_scale=0.0, random_state=0
    )
    assert data.x_outlier_mask.sum() == 100
    assert_allclose(abs(data.X - data.X_clean), 7.0 * data.x_outlier_mask)
    assert_allclose(data.y, data.y_clean)


def test_random_state_repeats_the_data():
    first, again, other = (make_matrix_regression(9, (3, 3), random_state=s) for s in (5, 5, 6))
    assert_array_equal(first.X, again.X)
    assert_array_equal(first.y, again.y)
    assert not np.allclose(first.X, other.X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"noise": "cauchy"}, "noise must be one of .* got 'cauchy'"),
        ({"n_samples": 0}, "n_samples"),
        ({"shape": (4, 5, 6)}, "shape must be a pair"),
        ({"shape": (4, 0)}, "shape"),
        ({"rank": 9}, "rank"),
        ({"x_rank": 0}, "x_rank"),
        ({"noise_scale": -1.0}, "noise_scale"),
        ({"label_outliers": 1.5}, "label_outliers"),
        ({"label_outlier_size": (3, 1)}, "label_outlier_size"),
        ({"x_corruption": -0.1}, "x_corruption"),
        ({"x_corruption_size": -0.1}, "x_corruption_size"),
        ({"coef": np.ones(3)}, "2D"),
    ],
)
def test_simulation_arguments_are_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_matrix_regression(**{"n_samples": 10, "shape": (4, 4)} | arguments)
