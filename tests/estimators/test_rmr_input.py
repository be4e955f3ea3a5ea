"""The input of RMR: arrays, lists, tables, flat samples, any dtype and size."""

import numpy as np
import pandas as pd
import pytest

from matreg import RMR
from problems import gap_of_model, random_data, random_weights

X, Y = random_data(40, 5, 4, seed=0)


def fit(X=X, y=Y, weights=None, **parameters):
    parameters = {"tau": 2.0, "C": 1.0, "epsilon": 0.1, "tol": 1e-9} | parameters
    return RMR(**parameters).fit(X, y, sample_weight=weights)


def variants():
    read_only = X.copy()
    read_only.flags.writeable = False
    wide = np.zeros((40, 10, 8))
    wide[:, ::2, ::2] = X
    return {
        "list of arrays": list(X),
        "nested lists": X.tolist(),
        "Fortran order": np.asfortranarray(X),
        "read-only": read_only,
        "not contiguous": wide[:, ::2, ::2],
        "negative strides": X[::-1].copy()[::-1],
        "transposed view": np.ascontiguousarray(X.transpose(0, 2, 1)).transpose(0, 2, 1),
    }


VARIANTS = variants()


@pytest.mark.parametrize("samples", VARIANTS.values(), ids=VARIANTS)
def test_kinds_of_input(samples):
    before = np.array(samples)
    labels = Y.copy()
    labels.flags.writeable = False
    model = fit(samples, labels)
    np.testing.assert_array_equal(np.array(samples), before)
    reference = fit()
    np.testing.assert_allclose(model.coef_, reference.coef_, atol=1e-12)
    np.testing.assert_allclose(model.predict(samples), reference.predict(X), atol=1e-11)
    np.testing.assert_array_equal(np.array(samples), before)


def test_labels_and_weights_as_lists_and_never_modified():
    y, weights, samples = Y.copy(), random_weights(40), X.copy()
    expected = weights.copy()
    model = fit(samples, y, weights)
    np.testing.assert_array_equal(y, Y)
    np.testing.assert_array_equal(samples, X)
    np.testing.assert_array_equal(weights, expected)
    other = fit(X.tolist(), Y.tolist(), weights.tolist())
    np.testing.assert_array_equal(model.coef_, other.coef_)


def test_float32_and_integers():
    X32, y32 = X.astype(np.float32), Y.astype(np.float32)
    model = fit(X32, y32)
    assert gap_of_model(model, X32.astype(float), y32.astype(float)) <= 1e-9
    assert model.coef_.dtype == np.float64
    Xi, yi = np.round(10 * X).astype(np.int8), np.round(10 * Y).astype(int)
    model, other = fit(Xi, yi), fit(Xi.astype(float), yi.astype(float))
    np.testing.assert_array_equal(model.coef_, other.coef_)
    np.testing.assert_array_equal(fit(Xi > 0, yi).coef_, fit((Xi > 0).astype(float), yi).coef_)


def test_flat_samples():
    flat = X.reshape(40, -1)
    reference = fit()
    for shape in ((5, 4), [5, 4], (np.int64(5), 4)):
        model = fit(flat, matrix_shape=shape)
        np.testing.assert_array_equal(model.coef_, reference.coef_)
        assert model.matrix_shape_ == (5, 4) and model.n_features_in_ == 20
    np.testing.assert_array_equal(reference.predict(flat), reference.predict(X))
    np.testing.assert_array_equal(model.predict(X), reference.predict(X))
    assert fit(X, matrix_shape=(5, 4)).matrix_shape_ == (5, 4)
    assert fit(flat).coef_.shape == (20, 1)


def test_data_frames():
    names = [f"x{i}" for i in range(20)]
    frame = pd.DataFrame(X.reshape(40, -1), columns=names)
    model = fit(frame, pd.Series(Y), matrix_shape=(5, 4))
    assert list(model.feature_names_in_) == names
    np.testing.assert_array_equal(model.predict(frame), fit().predict(X))


@pytest.mark.parametrize("seed", range(20))
def test_input_in_the_middle_of_the_range_of_float64_is_fitted(seed):
    rng = np.random.default_rng(seed)
    n, shape = int(rng.integers(2, 30)), rng.integers(1, 6, 2)
    a, b = 10.0 ** rng.uniform(-30, 30, 2)
    weights = 10.0 ** rng.uniform(-3, 3, n) if seed % 2 else None
    model = RMR(
        tau=float(rng.choice([0.0, 0.1, 1.0])) * b / a,
        C=10.0 ** rng.uniform(-3, 3) * b / a**2,
        epsilon=float(rng.choice([0.0, 1e-3, 0.1])) * b,
    )
    X2, y2 = a * rng.normal(size=(n, *shape)), b * rng.normal(size=n)
    model.fit(X2, y2, sample_weight=weights)
    assert 0.0 < model.objective_ < np.inf and model.dual_gap_ <= 1e-6


@pytest.mark.filterwarnings("ignore")  # overflows, and no convergence: how could there be
@pytest.mark.parametrize("seed", range(40))
def test_finite_input_of_any_size_is_fitted_or_refused(seed):
    rng = np.random.default_rng(seed)
    n, shape = int(rng.integers(1, 30)), rng.integers(1, 6, 2)
    sizes = 10.0 ** rng.uniform(-200, 200, 2)
    X2, y2 = sizes[0] * rng.normal(size=(n, *shape)), sizes[1] * rng.normal(size=n)
    weights = 10.0 ** rng.uniform(-300, 300, n) if seed % 2 else None
    model = RMR(
        tau=float(rng.choice([0.0, 1.0, 1e100])),
        C=10.0 ** rng.uniform(-100, 100),
        epsilon=float(rng.choice([0.0, 1e-3, 1e50])),
    )
    try:
        model.fit(X2, y2, sample_weight=weights)
    except ValueError as error:
        assert "leave the range of float64" in str(error)
        return
    assert np.all(np.isfinite(model.coef_)) and np.isfinite(model.intercept_)
