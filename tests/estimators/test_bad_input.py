"""Bad input: an error that names the argument, what was given and what is expected."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from matreg import GRMR, RGLM, RMR, RMRCV
from matreg.datasets import make_matrix_regression
from problems import random_data

X, Y = random_data(10, 3, 2, seed=0)
FLAT = X.reshape(10, -1)

ESTIMATORS = {"RMR": RMR, "RGLM": RGLM, "GRMR": GRMR, "RMRCV": RMRCV}
PARAMETERS = {
    "RMR": [
        *[("tau", v) for v in (-1.0, np.nan, "1", None)],
        *[("C", v) for v in (-1.0, 0.0, np.nan, "1")],
        *[("epsilon", v) for v in (-0.1, np.nan, None)],
        *[("tol", v) for v in (-1e-6, np.nan, "tight")],
        *[("max_iter", v) for v in (0, -5, 1.5)],
        *[("rho", v) for v in (0.0, -1.0, np.nan)],
        *[("eta", v) for v in (0.0, 1.0, -0.5, np.nan)],
        *[("solver", v) for v in ("sgd", None, 3)],
        *[("fit_intercept", v) for v in ("yes", 2)],
        *[("warm_start", v) for v in ("no", 2)],
        *[("matrix_shape", v) for v in (6, "3x2")],
        *[("n_jobs", v) for v in (0, 1.5)],
    ],
}


def with_value(a, value, dtype=None):
    a = a.copy() if dtype is None else a.astype(dtype)
    a.flat[3] = value
    return a


# Name of the case: samples, labels, weights, what the message must say (all of it).
DATA = {
    "NaN in X": (with_value(X, np.nan), Y, None, ["X", "NaN"]),
    "infinity in X": (with_value(X, np.inf), Y, None, ["X", "infinity"]),
    "NaN in flat X": (with_value(FLAT, np.nan), Y, None, ["X", "NaN"]),
    "NaN in y": (X, with_value(Y, np.nan), None, ["y", "NaN"]),
    "infinity in y": (X, with_value(Y, -np.inf), None, ["y", "infinity"]),
    "X of 0 dimensions": (np.float64(3.0), Y, None, ["X|array", "2D|dimensions"]),
    "X of 1 dimension": (X[:, 0, 0], Y, None, ["2D|dimensions", "1D|1 "]),
    "X of 4 dimensions": (X[None], Y, None, ["X", "2 or 3 dimensions", "4"]),
    "ragged X": ([np.ones((2, 2)), np.ones((3, 2))], [1.0, 2.0], None, ["X", "shape"]),
    "complex X": (X + 1j, Y, None, ["Complex data not supported", "X"]),
    "complex list": ((X + 1j).tolist(), Y, None, ["Complex data not supported", "X"]),
    "text in X": (with_value(X, "a", object), Y, None, ["X|float", "a"]),
    "objects in X": (with_value(X, {}, object), Y, None, ["X|float|argument"]),
    "X is None": (None, Y, None, ["X|array|dimensions"]),
    "no samples": (X[:0], Y[:0], None, ["X", "at least one sample|0 sample"]),
    "no flat samples": (FLAT[:0], Y[:0], None, ["0 sample", "minimum of 1"]),
    "no features": (FLAT[:, :0], Y, None, ["0 feature", "minimum of 1"]),
    "no rows": (X[:, :0], Y, None, ["0 feature", "minimum of 1"]),
    "no columns": (X[:, :, :0], Y, None, ["0 feature", "minimum of 1"]),
    "classes in y": (
        X,
        np.repeat(["left", "right"], 5),
        None,
        ["y must be numbers", "left", "SMM"],
    ),
    "y too short": (X, Y[:7], None, ["y", "10 samples", "7"]),
    "y too long": (X, np.r_[Y, Y], None, ["y", "10 samples", "20"]),
    "y with two columns": (X, np.c_[Y, Y], None, ["y", "1d", "(10, 2)"]),
    "y a number": (X, 3.0, None, ["y"]),
    "y is None": (X, None, None, ["y", "None"]),
    "complex y": (X, Y + 1j, None, ["Complex data not supported", "y"]),
    "text in y": (X, with_value(Y, "a", object), None, ["float"]),
    "negative weight": (X, Y, with_value(np.ones(10), -1.0), ["sample_weight", "negative", "-1"]),
    "NaN weight": (X, Y, with_value(np.ones(10), np.nan), ["sample_weight", "NaN"]),
    "infinite weight": (X, Y, with_value(np.ones(10), np.inf), ["sample_weight", "infinity"]),
    "zero weights": (X, Y, np.zeros(10), ["sample_weight", "positive", "zero"]),
    "weights too short": (X, Y, np.ones(9), ["sample_weight", "10", "(9,)"]),
    "weights in two dimensions": (X, Y, np.ones((10, 1)), ["sample_weight", "1D", "(10, 1)"]),
    "complex weights": (X, Y, np.ones(10) + 1j, ["Complex data not supported", "sample_weight"]),
}

MATRIX_SHAPES = [
    (FLAT, (2, 2), ["matrix_shape=(2, 2)", "6 columns"]),
    (FLAT, (7, 1), ["matrix_shape=(7, 1)", "6 columns"]),
    (X, (2, 3), ["matrix_shape=(2, 3)", "(3, 2)"]),
    (FLAT, (6,), ["matrix_shape", "pair", "(6,)"]),
    (FLAT, (3, 2, 1), ["matrix_shape", "pair", "(3, 2, 1)"]),
    (FLAT, (0, 6), ["matrix_shape", "positive", "(0, 6)"]),
    (FLAT, (-3, -2), ["matrix_shape", "positive", "(-3, -2)"]),
    (FLAT, (3.0, 2), ["matrix_shape", "integers", "(3.0, 2)"]),
]

# Samples for a model that was fitted to 3 x 2 matrices.
NEW = {
    "transposed": (X.transpose(0, 2, 1), ["X", "(3, 2)", "(2, 3)"]),
    "larger": (np.ones((4, 3, 3)), ["X", "(3, 2)", "(3, 3)"]),
    "wrong number of columns": (np.ones((4, 5)), ["X", "5 features", "6 features"]),
    "1 dimension": (np.ones(6), ["2D|dimensions"]),
    "4 dimensions": (np.ones((1, 4, 3, 2)), ["X", "2 or 3 dimensions", "4"]),
    "NaN": (with_value(X, np.nan), ["X", "NaN"]),
    "infinity": (with_value(X, np.inf), ["X", "infinity"]),
    "complex": (X + 1j, ["Complex data not supported", "X"]),
    "none": (X[:0], ["X", "at least one sample|0 sample"]),
}

each_estimator = pytest.mark.parametrize("make", ESTIMATORS.values(), ids=ESTIMATORS)


def skip_welcome(model, parts):
    """NaN in the samples is a missing entry to models that take them."""
    if parts == ["X", "NaN"] and model._takes_missing:
        pytest.skip("takes missing entries")


def assert_says(error, parts):
    message = str(error.value)
    for part in parts:
        assert any(word in message for word in part.split("|")), f"{part!r} not in {message!r}"


@each_estimator
@pytest.mark.parametrize("case", DATA.values(), ids=DATA)
def test_data(make, case):
    samples, labels, weights, parts = case
    skip_welcome(make(), parts)
    if make()._several_labels and np.ndim(labels) == 2:
        pytest.skip("takes several labels")
    with pytest.raises((ValueError, TypeError)) as error:
        make().fit(samples, labels, sample_weight=weights)
    assert_says(error, parts)


@each_estimator
@pytest.mark.parametrize(("samples", "shape", "parts"), MATRIX_SHAPES)
def test_matrix_shape(make, samples, shape, parts):
    with pytest.raises((ValueError, TypeError)) as error:
        make(matrix_shape=shape).fit(samples, Y)
    assert_says(error, parts)


@each_estimator
@pytest.mark.parametrize("case", NEW.values(), ids=NEW)
def test_new_samples(make, case):
    samples, parts = case
    skip_welcome(make(), parts)
    model = make().fit(X, Y)
    with pytest.raises((ValueError, TypeError)) as error:
        model.predict(samples)
    assert_says(error, parts)


@pytest.mark.parametrize(
    ("make", "name", "value"),
    [(ESTIMATORS[e], n, v) for e, table in PARAMETERS.items() for n, v in table],
)
def test_parameters(make, name, value):
    with pytest.raises((ValueError, TypeError)) as error:
        make(**{name: value}).fit(X, Y)
    assert_says(error, [name, "must be", "Got|got"])
    if isinstance(value, float) and not np.isnan(value):
        assert_says(error, [str(value)])


@each_estimator
def test_a_failed_fit_leaves_an_unfitted_model_unfitted(make):
    model = make()
    with pytest.raises(ValueError):
        model.fit(X, Y[:3])
    with pytest.raises(NotFittedError):
        model.predict(X)


@each_estimator
def test_a_failed_fit_keeps_the_fitted_model(make):
    model = make().fit(X, Y)
    expected = model.predict(X)
    with pytest.raises(ValueError):
        model.fit(np.ones((10, 4, 4)), Y[:3])
    np.testing.assert_array_equal(model.predict(X), expected)


def test_named_dimensions_are_put_in_order_or_refused():
    xarray = pytest.importorskip("xarray")
    data = make_matrix_regression(40, (4, 4), random_state=0)
    names = ("trial", "channel", "time")
    X = xarray.DataArray(data.X, dims=names)
    model = RMR(tau=5.0).fit(X, data.y)
    expected = RMR(tau=5.0).fit(data.X, data.y).predict(data.X)
    np.testing.assert_array_equal(model.predict(X), expected)
    for order in (("trial", "time", "channel"), ("time", "channel", "trial")):
        np.testing.assert_allclose(model.predict(X.transpose(*order)), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X.rename(trial="day")), expected)
    swapped = X.rename(trial="day").transpose("day", "time", "channel")
    np.testing.assert_allclose(model.predict(swapped), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(data.X), expected)  # no names, no question
    with pytest.raises(ValueError, match=r"X must have the dimensions .*'time'.*'frequency'"):
        model.predict(X.rename(time="frequency"))
    plain = RMR(tau=5.0).fit(data.X, data.y)
    np.testing.assert_array_equal(plain.predict(X), expected)
