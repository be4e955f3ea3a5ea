"""Models of samples that were read block by block are stored without the samples."""

import copy
import pickle

import numpy as np
import pytest
import sklearn

from matreg import RGLM, RMR, RMRCV, SMM
from problems import random_data

N, P, Q = 6000, 6, 5
MODELS = {
    "RMR": RMR(tau=100.0, C=1.0, epsilon=0.1, tol=1e-4),
    "RMRCV": RMRCV([100.0, 10.0], C=1.0, epsilon=0.1, cv=2, tol=1e-4),
    "RGLM": RGLM(tau=300.0),
    "SMM": SMM(tau=10.0, C=1.0, tol=1e-4),
}


def by_skops(model):
    skops = pytest.importorskip("skops.io")
    text = skops.dumps(model)
    return skops.loads(text, trusted=skops.get_untrusted_types(data=text))


WAYS = {
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "skops": by_skops,
}


@pytest.fixture(autouse=True)
def little_memory():
    with sklearn.config_context(working_memory=1):
        yield


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, tmp_path_factory):
    """A fitted model, its samples, and their labels."""
    path = tmp_path_factory.mktemp("samples") / "X.npy"
    X, y = random_data(N, P, Q, noise=1.0)
    y = np.digitize(y, [-2.0, 2.0]) if request.param == "SMM" else y
    np.save(path, X.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    with sklearn.config_context(working_memory=1):
        return sklearn.clone(MODELS[request.param]).fit(mapped, y), mapped, y


@pytest.mark.parametrize("way", WAYS)
def test_a_stored_model_predicts_and_says_what_it_has_lost(fitted, way):
    model, X, _ = fitted
    again = WAYS[way](model)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.n_passes_ == model.n_passes_ and again.dual_gap_ is not None
    assert not hasattr(again, "dual_coef_")
    with pytest.raises(AttributeError, match=r"dual_coef_ is not in this copy.*before you store"):
        again.dual_coef_  # noqa: B018
    np.testing.assert_array_equal(WAYS[way](again).coef_, model.coef_)


def test_without_the_samples(fitted):
    model = fitted[0]
    assert len(pickle.dumps(copy.copy(model))) < 10 * N


def test_dual_variables_that_were_asked_for_are_stored(fitted):
    model = copy.copy(fitted[0])
    model._lazy_dual = fitted[0]._lazy_dual
    assert np.shape(model.dual_coef_)[-1] == N
    for way in WAYS.values():
        np.testing.assert_array_equal(way(model).dual_coef_, model.dual_coef_)


def test_a_clone_is_not_fitted(fitted):
    fresh = sklearn.clone(fitted[0])
    assert not hasattr(fresh, "coef_") and not hasattr(fresh, "dual_coef_")
    with pytest.raises(AttributeError, match="no attribute 'dual_coef_'"):
        fresh.dual_coef_  # noqa: B018


def test_a_model_that_was_stored_is_fitted_again(fitted):
    model, X, y = fitted
    again = pickle.loads(pickle.dumps(model)).fit(X[:400], y[:400])
    assert np.shape(again.dual_coef_)[-1] == 400
    assert again.fit(X, y).n_passes_ == model.n_passes_
