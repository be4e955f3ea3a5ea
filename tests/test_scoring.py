"""The bounded absolute error: what it forgives and what it does not."""

import numpy as np
import pytest

from matreg.scoring import bounded_absolute_error, shared_scale


def test_scale_of_normal_residuals_is_their_standard_deviation():
    r = np.random.default_rng(0).normal(0.0, 2.5, (1, 100_000))
    assert shared_scale(r) == pytest.approx(2.5, rel=0.02)


def test_a_tenth_of_wrong_labels_hardly_counts():
    rng = np.random.default_rng(1)
    good, bad = rng.normal(0.0, 1.0, 200), rng.normal(0.0, 1.5, 200)
    wrong = rng.choice([-100.0, 100.0], 20)
    good[:20] += wrong  # the better model is farther from the wrong labels
    bad[:20] += 0.8 * wrong
    plain = np.abs([good, bad]).mean(axis=1)
    bounded = bounded_absolute_error([good, bad])
    assert plain[0] > plain[1]
    assert bounded[0] < bounded[1]


def test_half_of_the_labels_equal():
    """The median of a constant is zero there, and the bounded error is not."""
    rng = np.random.default_rng(2)
    y = np.concatenate([np.zeros(41), rng.uniform(10.0, 90.0, 39)])
    constant, model = y, rng.normal(0.0, 5.0, 80)
    assert np.median(np.abs(constant)) < np.median(np.abs(model))
    errors = bounded_absolute_error([constant, model])
    assert errors[1] < errors[0]


def test_weights_are_repetitions_and_units_are_those_of_the_labels():
    rng = np.random.default_rng(3)
    r, weights = rng.standard_t(2, (3, 20)), rng.integers(1, 4, 20)
    repeated = np.repeat(r, weights, axis=1)
    assert shared_scale(r, weights) == shared_scale(repeated)
    errors = bounded_absolute_error(r, weights=weights)
    np.testing.assert_allclose(errors, bounded_absolute_error(repeated))
    np.testing.assert_allclose(bounded_absolute_error(1e-8 * r, weights=weights), 1e-8 * errors)


def test_no_errors_at_all():
    np.testing.assert_array_equal(bounded_absolute_error([[0.0, 0.0], [0.0, 0.0]]), 0.0)
    assert shared_scale([[0.0, 0.0, 0.0]]) == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"residuals": [[1.0, np.nan]]}, "residuals must be finite"),
        ({"residuals": [[1.0, 2.0]], "bound": 0.0}, "bound must be positive; got 0.0"),
        ({"residuals": [[1.0, 2.0]], "scale": -1.0}, "scale must not be negative; got -1.0"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(ValueError, match=message):
        bounded_absolute_error(**options)
