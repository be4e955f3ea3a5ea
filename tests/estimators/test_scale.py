"""The word "scale": predictions that do not depend on units."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import matreg
from matreg import GRMR, GRMRCV, RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV, tau_max
from matreg.datasets import make_matrix_regression
from matreg.estimators._fit.units import CHANCE, TAU, C
from matreg.losses.families import EpsilonInsensitive
from matreg.robust import chance_share

UNITS = [(1e6, 1.0), (1.0, 1e6), (1e-6, 1e-6), (2.54, 1e-6)]
MODELS = [
    RMR(),
    RMR(solver="admm", tol=1e-3),
    RMR(fit_intercept=False),
    RGLM(),
    RMRCV(n_taus=5, cv=2),
    RGLMCV(n_taus=5, cv=2),
    GRMR(),
    GRMR(outliers="split"),
    GRMRCV(n_taus=3, gamma=None, limit=4.0, cv=2),
    RMR(loss="absolute"),
    RMR(loss="huber"),
    RMR(loss="quantile", quantile=0.3),
]
CLASSIFIERS = [
    SMM(),
    SMM(loss="squared_hinge"),
    SMMCV(n_taus=5, cv=2),
    RGLM(family="binomial"),
    RGLMCV(family="binomial", n_taus=5, cv=2),
]


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(40, (5, 4), noise_scale=0.5, label_outliers=0.1, random_state=0)


@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_predictions_do_not_depend_on_units(model, data):
    expected = clone(model).fit(data.X, data.y).predict(data.X)
    for a, c in UNITS:
        found = clone(model).fit(a * data.X, c * data.y).predict(a * data.X) / c
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.parametrize("model", CLASSIFIERS, ids=repr)
def test_decisions_do_not_depend_on_units(model, data):
    y = data.y > np.median(data.y)
    expected = clone(model).fit(data.X, y).decision_function(data.X)
    for a in (1e6, 1e-6, 2.54):
        found = clone(model).fit(a * data.X, y).decision_function(a * data.X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_words_on_a_part_of_many_samples_do_not_depend_on_units():
    """Neither which samples are that part, nor their order where some have no weight."""
    rng = np.random.default_rng(411)
    X = rng.standard_normal((25_000, 3, 2))
    y, weights = X[:, 0, 0] + rng.standard_normal(25_000) > 0.0, rng.choice([0.0, 1.0, 2.0], 25_000)
    once = SMM(max_iter=1, tol=0.9)
    expected = clone(once).fit(X, y, sample_weight=weights)
    for a in (1e-3, 2.0**-10, 1e3):
        found = clone(once).fit(a * X, y, sample_weight=weights)
        assert found.tau_ * a == pytest.approx(expected.tau_, rel=1e-9)
        assert found.C_ * a**2 == pytest.approx(expected.C_, rel=1e-9)


def test_paths_of_classifiers_do_not_depend_on_units(data):
    y = data.y > np.median(data.y)
    for along in ({"n_taus": 5}, {"Cs": np.array([0.1, 1.0])}):
        expected = matreg.path(SMM(), data.X, y, **along).decision_function(data.X)
        if "Cs" in along:
            along = {"Cs": along["Cs"] / 1e12}
        found = matreg.path(SMM(), 1e6 * data.X, y, **along).decision_function(1e6 * data.X)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("model", [RMR(), RGLM()])
def test_paths_do_not_depend_on_units(model, data):
    expected = matreg.path(model, data.X, data.y, n_taus=5).predict(data.X)
    for a, c in UNITS:
        found = matreg.path(model, a * data.X, c * data.y, n_taus=5).predict(a * data.X) / c
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def test_shifts_are_of_no_account_with_an_intercept(data):
    one = RMR().fit(data.X, data.y)
    two = RMR().fit(data.X + 3.0, data.y - 50.0)
    assert two.C_ == pytest.approx(one.C_) and two.epsilon_ == pytest.approx(one.epsilon_)
    assert two.tau_ == pytest.approx(one.tau_)
    np.testing.assert_allclose(two.coef_, one.coef_, atol=1e-3 * np.abs(one.coef_).max())


def test_weight_two_is_the_same_as_twice(data):
    weights = np.tile([1.0, 2.0], 20)
    copies = np.repeat(np.arange(40), weights.astype(int))
    one = RMR().fit(data.X, data.y, weights)
    two = RMR().fit(data.X[copies], data.y[copies])
    for name in ("tau_", "C_", "epsilon_"):
        assert getattr(one, name) == pytest.approx(getattr(two, name), rel=1e-9)


def test_the_numbers_used_give_the_same_model(data):
    one = RMR().fit(data.X, data.y)
    two = RMR(one.tau_, C=one.C_, epsilon=one.epsilon_).fit(data.X, data.y)
    np.testing.assert_array_equal(one.coef_, two.coef_)
    spread = np.median(np.abs(data.y - np.median(data.y)))
    size = np.median(np.sum((data.X - np.median(data.X, axis=0)) ** 2, axis=(1, 2)))
    assert one.epsilon_ == pytest.approx(EpsilonInsensitive.units["epsilon"] * spread)
    assert pytest.approx(C * spread / size) == one.C_
    share = CHANCE * chance_share(data.X, data.y, np.ones(len(data.y)))
    assert one.tau_ == pytest.approx(max(TAU, share) * tau_max(RMR(), data.X, data.y))


def test_multiples(data):
    one = RMR().fit(data.X, data.y)
    two = RMR("10*scale", C="0.5 * scale", epsilon="2*scale").fit(data.X, data.y)
    assert two.C_ == pytest.approx(0.5 * one.C_)
    assert two.epsilon_ == pytest.approx(2.0 * one.epsilon_)
    largest = tau_max(RMR(C=two.C_, epsilon=two.epsilon_), data.X, data.y)
    assert two.tau_ / largest == pytest.approx(10.0 * one.tau_ / tau_max(RMR(), data.X, data.y))
    search = RMRCV(n_taus=3, cv=2, C=["scale", 1.0], epsilon="0.1*scale").fit(data.X, data.y)
    assert set(search.cv_results_["param_C"]) == {1.0, one.C_}
    assert search.epsilon_ == pytest.approx(0.1 * one.epsilon_)
    path = matreg.path(RMR(C="2*scale"), data.X, data.y, n_taus=2)
    assert path.model.C == pytest.approx(2.0 * one.C_)


@pytest.mark.parametrize("word", ["auto", "large*scale", "-1*scale", "0*scale", "scale*2", ""])
@pytest.mark.parametrize("name", ["tau", "C", "epsilon"])
def test_other_words_are_refused(name, word, data):
    with pytest.raises(ValueError, match=rf"{name} must be a number, 'scale' or a multiple"):
        RMR(**{name: word}).fit(data.X, data.y)


def test_tau_max_is_where_the_coefficients_vanish(data):
    classes, counts = data.y > 0.0, np.rint(np.abs(data.y))
    for model, y in (
        (RMR(), data.y),
        (RMR(loss="huber"), data.y),
        (RMR(loss="quantile", quantile=0.7), data.y),
        (RGLM(), data.y),
        (RGLM(family="binomial", fit_intercept=False), np.where(classes, "high", "low")),
        (RGLM(family="poisson", fit_intercept=False), counts),  # else as of "normal"
        (SMM(), classes),
    ):
        largest = tau_max(model, data.X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert clone(model).set_params(tau=1.001 * largest).fit(data.X, y).rank_ == 0
        assert clone(model).set_params(tau=0.99 * largest).fit(data.X, y).rank_ > 0
    flat = data.X.reshape(40, -1)
    assert tau_max(RMR(matrix_shape=(5, 4)), flat, data.y) == tau_max(RMR(), data.X, data.y)
    with pytest.raises(TypeError, match="model must be an RMR, RGLM or SMM; got str"):
        tau_max("svm", data.X, data.y)


def test_constant_labels_and_samples():
    X = np.random.default_rng(0).standard_normal((20, 3, 2))
    model = RMR().fit(X, np.full(20, 7.0))
    np.testing.assert_allclose(model.predict(X), 7.0)
    model = RMR().fit(np.ones((20, 3, 2)), np.arange(20.0))
    assert np.isfinite(model.predict(X)).all()
