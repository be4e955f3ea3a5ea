"""Fitted models hold arrays, numbers and names alone, and survive being stored."""

import pickle
from numbers import Number

import numpy as np
import pytest
from sklearn.base import is_classifier

import matreg
from matreg import (
    GRMR,
    GRMRCV,
    GSMM,
    GSMMCV,
    RGLM,
    RGLMCV,
    RMR,
    RMRCV,
    SMM,
    SMMCV,
    RegularizationPath,
)
from matreg.datasets import make_matrix_regression

DATA = make_matrix_regression(40, (4, 3), noise_scale=0.5, random_state=0)
MODELS = {
    "RMR": RMR(tau=5.0),
    "RMR warm": RMR(tau=5.0, warm_start=True),
    "RMR admm": RMR(tau=5.0, solver="admm", tol=1e-3, warm_start=True),
    "RGLM": RGLM(tau=5.0, warm_start=True),
    "GRMR": GRMR(tau=5.0),
    "GRMR warm": GRMR(tau=5.0, warm_start=True),
    "RMRCV": RMRCV(n_taus=3, cv=2),
    "RGLMCV": RGLMCV(n_taus=3, cv=2),
    "GRMRCV": GRMRCV([1.0, 5.0], gamma=30.0, limit=4.0, cv=2),
    "SMM": SMM(tau=0.1),
    "SMMCV": SMMCV(n_taus=3, cv=2),
    "GSMM": GSMM(tau=0.1),
    "GSMMCV": GSMMCV([0.1, 1.0], gamma=30.0, limit=4.0, cv=2),
}
CLASSES = np.array(["low", "middle", "high"])[np.digitize(DATA.y, [-1.0, 1.0])]


def assert_plain(value, where="model"):
    """Nothing but arrays, numbers, names, None, and lists, tuples and dicts of them."""
    if isinstance(value, dict):
        for key, inner in value.items():
            assert_plain(inner, f"{where}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            assert_plain(inner, f"{where}[{i}]")
    else:
        plain = type(value) is np.ndarray or isinstance(value, (Number, np.generic, str))
        assert plain or value is None, f"{where} is a {type(value)}"


def labels(model):
    return CLASSES if is_classifier(model) else DATA.y


def scores(model):
    return model.decision_function(DATA.X) if is_classifier(model) else model.predict(DATA.X)


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    model = MODELS[request.param]
    return model.fit(DATA.X, labels(model))


def test_every_estimator_is_here():
    estimators = {name for name in matreg.__all__ if hasattr(getattr(matreg, name), "get_params")}
    assert estimators == {type(model).__name__ for model in MODELS.values()}


def test_a_fitted_model_is_plain(model):
    assert_plain(vars(model))


def assert_same(one, other):
    """Equal tables, or lists of equal tables."""
    if isinstance(one, list):
        for table, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(table, expected)
    else:
        np.testing.assert_array_equal(one, other)


def stored(thing, tmp_path):
    """What comes back from a file of skops; it may trust one name, that of the class itself."""
    io = pytest.importorskip("skops.io")
    file = tmp_path / "model.skops"
    io.dump(thing, file)
    unknown = io.get_untrusted_types(file=file)
    assert set(unknown) <= {f"{type(thing).__module__}.{type(thing).__name__}"}
    return io.load(file, trusted=unknown)


def test_models_survive_skops(model, tmp_path):
    again = stored(model, tmp_path)
    # Up to rounding: the memory of a factor may be laid out in another order.
    np.testing.assert_allclose(scores(again), scores(model), rtol=1e-12)
    assert_same(again.history_, model.history_)
    assert again.get_params() == model.get_params()
    again.fit(DATA.X, labels(model))  # warm starts go on
    assert np.sum(again.objective_) <= np.sum(model.objective_) * (1 + 1e-3)


@pytest.mark.parametrize("kind", [RMR, RGLM, SMM])
def test_paths_survive_skops(kind, tmp_path):
    path = matreg.path(kind(), DATA.X, DATA.y > 0.0 if kind is SMM else DATA.y, n_taus=4)
    again = stored(path, tmp_path)
    assert isinstance(again, RegularizationPath)
    np.testing.assert_array_equal(again.predict(DATA.X), path.predict(DATA.X))
    np.testing.assert_array_equal(again.gaps, path.gaps)
    assert again.solvers == path.solvers and again.model.get_params() == path.model.get_params()


def test_models_survive_pickle(model):
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_allclose(scores(again), scores(model), rtol=1e-12)


def test_the_chosen_model_of_a_search_predicts_alike():
    search = MODELS["GRMRCV"].fit(DATA.X, DATA.y)
    best = search.best_estimator_
    assert best.tau == search.tau_ and best.n_features_in_ == 12
    np.testing.assert_array_equal(best.predict(DATA.X), search.predict(DATA.X))
    np.testing.assert_array_equal(best.transform(DATA.X), search.transform(DATA.X))
    with pytest.raises(AttributeError, match="not fitted"):
        _ = GRMRCV().best_estimator_
