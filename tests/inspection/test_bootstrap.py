"""The bootstrap against refits by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from matreg import GRMR, RGLM, RMR, RMRCV, SMM
from matreg.inspection import bootstrap_maps, components
from matreg.inspection._refits import at_chosen_parameters
from matreg.inspection.bootstrap import match
from matreg.inspection.maps import components_of
from problems import random_data


@pytest.fixture(scope="module")
def data():
    return random_data(50, 4, 3, seed=1)


@pytest.mark.parametrize(
    "model", [RMR(tau=1.0, C=1.0, epsilon=0.1), RGLM(tau=5.0)], ids=["rmr", "rglm"]
)
def test_refits_are_those_of_the_resampled_data(data, model):
    X, y = data
    maps = bootstrap_maps(model.fit(X, y), X, y, n_resamples=3, random_state=0)
    rng = np.random.RandomState(0)
    for coef in maps.coefs:
        rows = rng.randint(len(y), size=len(y))
        expected = clone(model).fit(X[rows], y[rows]).coef_
        np.testing.assert_allclose(coef, expected, atol=2e-3 * np.abs(expected).max())
    np.testing.assert_allclose(maps.mean, maps.coefs.mean(axis=0))
    np.testing.assert_allclose(maps.std, maps.coefs.std(axis=0, ddof=1))


def test_whole_groups_are_drawn():
    """Equal samples within a group: a refit sees each group fully or not at all."""
    X, y = random_data(6, 3, 2)
    groups = np.repeat(np.arange(6), 4)
    rows = np.arange(6).repeat(4)
    model = RMR(tau=0.1, C=1.0, epsilon=0.1).fit(X[rows], y[rows])
    whole = bootstrap_maps(model, X[rows], y[rows], groups=groups, n_resamples=4, random_state=0)
    rng = np.random.RandomState(0)
    for coef in whole.coefs:
        drawn = rng.randint(6, size=6)
        expected = RMR(tau=0.1, C=4.0, epsilon=0.1).fit(X[drawn], y[drawn]).coef_
        np.testing.assert_allclose(coef, expected, atol=1e-3 * np.abs(expected).max())


def test_a_resample_without_one_of_the_classes_is_drawn_again(data):
    X, _ = data
    y = np.zeros(len(X), dtype=int)
    y[:2] = 1
    maps = bootstrap_maps(SMM().fit(X, y), X, y, n_resamples=10, random_state=0)
    assert np.isfinite(maps.coefs).all()


def test_the_result_does_not_depend_on_the_number_of_jobs(data):
    X, y = data
    model = RMR(tau=1.0, C=1.0, epsilon=0.1).fit(X, y)
    one, two = (
        bootstrap_maps(model, X, y, n_resamples=4, random_state=0, n_jobs=k) for k in (1, 2)
    )
    np.testing.assert_array_equal(one.coefs, two.coefs)


def test_strong_signals_keep_their_sign_and_their_component():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4, 3))
    W = np.zeros((4, 3))
    W[1, 2] = 2.0
    y = np.tensordot(X, W, 2) + 0.1 * rng.standard_normal(200)
    model = RMR(tau=1.0, C=1.0, epsilon=0.1).fit(X, y)
    maps = bootstrap_maps(model, X, y, n_resamples=10, random_state=0)
    assert maps.sign_agreement[1, 2] == 1.0
    assert maps.component_similarity[0] > 0.99
    assert maps.row_std[0].max() < 0.1


def test_matching_undoes_order_and_sign():
    rng = np.random.default_rng(0)
    U, V = (np.linalg.qr(rng.standard_normal((k, 2)))[0] for k in (5, 4))
    reference = components_of(U @ np.diag([3.0, 1.0]) @ V.T)
    other = components_of(U @ np.diag([1.0, 3.0]) @ V.T)
    rows, columns, sizes, cosines = match(reference, other)
    np.testing.assert_allclose(rows, reference.rows, atol=1e-12)
    np.testing.assert_allclose(columns, reference.columns, atol=1e-12)
    np.testing.assert_allclose(sizes, [1.0, 3.0])
    np.testing.assert_allclose(cosines, 1.0)
    assert match(reference, components_of(-U[:, :1] @ V[:, :1].T))[3].min() == pytest.approx(-1.0)


def test_models_that_choose_do_not_choose_again(data):
    X, y = data
    chosen = RMRCV(n_taus=5, cv=2, C=[0.5, 1.0]).fit(X, y)
    plain = at_chosen_parameters(chosen)
    assert type(plain) is RMR
    assert (plain.tau, plain.C, plain.epsilon) == (chosen.tau_, chosen.C_, chosen.epsilon_)
    assert at_chosen_parameters(GRMR().fit(X, y)).gamma > 0.0
    maps = bootstrap_maps(chosen, X, y, n_resamples=2, random_state=0)
    np.testing.assert_allclose(maps.components.rows, components(chosen).rows)


def test_steps_of_a_pipeline_are_fitted_again(data):
    X, y = data
    flat = X.reshape(len(X), -1)
    model = make_pipeline(StandardScaler(), RMR(tau=1.0, C=1.0, epsilon=0.1, matrix_shape=(4, 3)))
    maps = bootstrap_maps(model.fit(flat, y), flat, y, n_resamples=2, random_state=0)
    rows = np.random.RandomState(0).randint(len(y), size=len(y))
    expected = model.fit(flat[rows], y[rows])[-1].coef_
    np.testing.assert_allclose(maps.coefs[0], expected, atol=2e-3 * np.abs(expected).max())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_resamples": 1}, "n_resamples"),
        ({"groups": [1, 2]}, "groups must have one entry for each of the 50 samples"),
        ({"groups": np.zeros(50)}, "two groups or more"),
        ({"groups": [None] * 25 + ["a"] * 25}, "25 of 50 have none"),
        ({"groups": [np.nan] * 25 + [1.0] * 25}, "25 of 50 have none"),
    ],
)
def test_bad_input(data, wrong, message):
    X, y = data
    with pytest.raises(ValueError, match=message):
        bootstrap_maps(RMR().fit(X, y), X, y, **wrong)
