"""Covariates through scikit-learn, files, blocks, reports and maps."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.pipeline import make_pipeline

from matreg import GRMR, RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV
from matreg.preprocessing import MatrixScaler

N = 60


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4, 3))
    table = {"age": rng.uniform(20.0, 80.0, N), "site": np.array(list("abc"))[np.arange(N) % 3]}
    y = 3.0 * X[:, 0, 0] + 0.2 * table["age"] + 4.0 * (table["site"] == "b")
    return X, table, y + 0.1 * rng.standard_normal(N)


def frame(table):
    return pytest.importorskip("pandas").DataFrame(table)


OLD = sklearn.__version__.startswith("1.6.")


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def requesting(model):
    model.set_fit_request(covariates=True)
    model.set_predict_request(covariates=True)
    return model.set_score_request(covariates=True)


@pytest.mark.usefixtures("routing")
def test_cross_validation_routes_covariates(data):
    X, table, y = data
    params = {"covariates": frame(table)}
    model = requesting(RMR(tau=1.0, C=1.0))
    found = cross_validate(model, X, y, params=params, cv=3)["test_score"]
    assert found.min() > 0.9
    without = cross_validate(RMR(tau=1.0, C=1.0), X, y, params={}, cv=3)["test_score"]
    assert without.mean() < 0.8


@pytest.mark.usefixtures("routing")
def test_pipelines_route_covariates(data):
    X, table, y = data
    Z = frame(table)
    model = make_pipeline(MatrixScaler(), requesting(RMR(tau=1.0, C=1.0)))
    assert model.fit(X, y, covariates=Z).score(X, y, covariates=Z) > 0.95
    np.testing.assert_allclose(
        model.predict(X, covariates=Z),
        model[-1].predict(model[0].transform(X), covariates=Z),
    )


@pytest.mark.skipif(OLD, reason="scikit-learn 1.6 scores pipelines in searches without covariates")
@pytest.mark.usefixtures("routing")
def test_searches_route_covariates(data):
    X, table, y = data
    Z = frame(table)
    model = make_pipeline(MatrixScaler(), requesting(RMR(tau=1.0, C=1.0)))
    search = GridSearchCV(model, {"rmr__tau": [1e6, 1.0]}, cv=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X, y, covariates=Z)
    assert search.best_params_ == {"rmr__tau": 1.0} and search.best_score_ > 0.9
    assert search.score(X, y, covariates=Z) > 0.95


@pytest.mark.usefixtures("routing")
def test_classifiers_route_covariates(data):
    X, table, y = data
    Z, classes = frame(table), y > np.median(y)
    for model in (SMM(tau=0.5, C=1.0), RGLM(tau=1.0, family="binomial")):
        found = cross_validate(requesting(model), X, classes, params={"covariates": Z}, cv=3)
        assert found["test_score"].mean() > 0.8


@pytest.mark.parametrize("name", ["pickle", "skops"])
@pytest.mark.parametrize(
    "model", [RMR(tau=1.0), RMRCV([1.0], C=1.0), GRMR(tau=1.0), RGLM(tau=1.0)], ids=repr
)
def test_stored_models_predict_the_same(data, model, name):
    X, table, y = data
    model.fit(X, y, covariates=table)
    if name == "pickle":
        again = pickle.loads(pickle.dumps(model))
    else:
        io = pytest.importorskip("skops.io")
        stored = io.dumps(model)
        kind = type(model)
        assert io.get_untrusted_types(data=stored) == [f"{kind.__module__}.{kind.__qualname__}"]
        again = io.loads(stored, trusted=io.get_untrusted_types(data=stored))
    turned = {"site": table["site"], "age": table["age"]}
    np.testing.assert_array_equal(again.predict(X, turned), model.predict(X, table))


def block_data():
    rng = np.random.default_rng(1)
    n = 3000
    X = rng.standard_normal((n, 4, 3))
    table = {"z": rng.standard_normal(n) + X[:, 0, 0], "site": np.where(X[:, 1, 1] > 0.0, "b", "a")}
    f = 2.0 * X[:, 0, 0] - X[:, 1, 2] + 3.0 * table["z"] + 2.0 * (table["site"] == "b") + 1.0
    return X, table, f + 0.3 * rng.laplace(size=n)


STREAMED = [
    RMR(tau=20.0, C=0.1, epsilon=0.1),
    RMR(tau=20.0, C=0.1, epsilon=0.1, fit_intercept=False),
    RGLM(tau=50.0),
    SMM(tau=5.0, C=0.1),
    RMRCV([40.0, 20.0], C=0.1, epsilon=0.1, cv=3),
    RGLMCV([200.0, 50.0], cv=3),
    SMMCV([10.0, 5.0], C=0.1, cv=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["memmap", "dask"])
@pytest.mark.parametrize("model", STREAMED, ids=repr)
def test_blocks_agree_with_memory(model, kind, tmp_path):
    X, table, y = block_data()
    labels = y > 1.0 if isinstance(model, SMM | SMMCV) else y
    if kind == "memmap":
        np.save(tmp_path / "X.npy", X)
        stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    else:
        stored = pytest.importorskip("dask.array").from_array(X, chunks=(700, 4, 3))
    with sklearn.config_context(working_memory=0.05), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(stored, labels, covariates=table)
        predicted = np.asarray(model.predict(stored, covariates=table))
        with pytest.raises(ValueError, match="covariates must be given"):
            model.predict(stored)
    assert model.covariate_names_.tolist() == ["z", "site_b"]
    plain = getattr(model, "best_estimator_", model)
    again = sklearn.base.clone(plain).fit(X, labels, covariates=table)
    size = np.abs(again.covariate_coef_).max()
    np.testing.assert_allclose(model.covariate_coef_, again.covariate_coef_, atol=0.01 * size)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=0.01 * np.abs(again.coef_).max())
    assert np.mean(predicted == model.predict(X, covariates=table)) == 1.0 or np.allclose(
        predicted, model.predict(X, covariates=table)
    )


def test_stored_covariates(tmp_path):
    dask = pytest.importorskip("dask.array")
    X, table, y = block_data()
    Z = np.column_stack([table["z"], table["site"] == "b"])
    np.save(tmp_path / "Z.npy", Z)
    given = [np.load(tmp_path / "Z.npy", mmap_mode="r"), dask.from_array(Z, chunks=(500, 2))]
    found = [RGLM(tau=50.0).fit(X, y, covariates=one) for one in (Z, *given)]
    for model in found[1:]:
        np.testing.assert_array_equal(model.covariate_coef_, found[0].covariate_coef_)
        np.testing.assert_array_equal(model.predict(X, given[1]), found[0].predict(X, Z))


@pytest.mark.slow
def test_bootstrap_and_permutation_know_the_covariates(data):
    from matreg.inspection import bootstrap_maps, permutation_map

    X, table, y = data
    for model in (RGLM(tau=1.0), make_pipeline(MatrixScaler(), RGLM(tau=1.0))):
        step = "" if isinstance(model, RGLM) else "rglm__"
        model.fit(X, y, **{f"{step}covariates": table})
        maps = bootstrap_maps(model, X, y, covariates=table, n_resamples=8, random_state=0)
        assert maps.std[0, 0] < 0.2 * maps.coef[0, 0]
        tested = permutation_map(
            model, X, y, covariates=table, n_permutations=19, cv=3, random_state=0
        )
        assert tested.significant[0, 0] and tested.p_values[3, 2] > 0.05
        assert tested.score > 0.9 and tested.score_p_value == 0.05
        with pytest.raises(ValueError, match="covariates must be given"):
            bootstrap_maps(model, X, y, n_resamples=3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 of 20 refits", "ignore:W is zero", "ignore:W = 0")
def test_permutations_of_classes_keep_labels_and_covariates_together(data):
    from matreg.inspection import permutation_map

    X, table, _ = data
    rng = np.random.default_rng(3)
    # The labels follow from the age alone: the samples say nothing.
    classes = table["age"] + 15.0 * rng.standard_normal(N) > 50.0
    model = RGLM(tau=4.0, family="binomial", tol=1e-3).fit(X, classes, covariates=table)
    tested = permutation_map(
        model, X, classes, covariates=table, n_permutations=19, cv=3, random_state=0
    )
    assert tested.score > 0.7 and tested.score_p_value > 0.1
    assert tested.score_null.mean() > 0.7  # the age predicts as well with other samples
    assert not tested.significant.any()


def test_covariates_that_tell_the_classes_apart_are_said_to(data):
    X, table, _ = data
    with pytest.warns(UserWarning, match="covariates alone separate two classes"):
        RGLM(tau=1.0, family="binomial").fit(X, table["age"] > 50.0, covariates=table["age"])


def test_the_pattern_is_of_the_part_of_the_matrix(data):
    X, table, y = data
    model = RMR(tau=1.0, C=1.0).fit(X, y, covariates=table)
    f = X.reshape(N, -1) @ model.coef_.ravel()
    expected = np.cov(np.column_stack([X.reshape(N, -1), f]).T)[-1, :-1] / f.var(ddof=1)
    np.testing.assert_allclose(model.pattern(X).ravel(), expected)


@pytest.mark.slow
@pytest.mark.parametrize("cv", [3, None])
def test_reports_name_the_covariates(data, cv):
    pytest.importorskip("matplotlib")
    X, table, y = data
    model = RMR(tau=1.0, C=1.0).fit(X, y, covariates=table)
    page = model.report(X, y, covariates=table, cv=cv).html
    assert "The model included 3 covariates without a penalty" in page
    assert f"age ({model.covariate_coef_[0]:.3g})" in page
    with pytest.raises(ValueError, match="covariates must be given"):
        model.report(X, y, cv=cv)


@pytest.mark.slow
def test_reports_of_several_classes(data):
    pytest.importorskip("matplotlib")
    X, table, y = data
    classes = np.digitize(y, np.quantile(y, [0.33, 0.67]))
    model = SMM(tau=0.5, C=1.0, tol=1e-3).fit(X, classes, covariates=table)
    assert (
        "The model included 3 covariates" in model.report(X, classes, covariates=table, cv=3).html
    )


def test_baselines_of_reports_have_the_covariates_too(data):
    pytest.importorskip("matplotlib")
    from matreg.reporting._facts import gather

    X, table, y = data
    model = RMR(tau=1.0, C=1.0).fit(X, y, covariates=table)
    facts = gather(
        model,
        X,
        y,
        covariates=table,
        groups=None,
        cv=3,
        names=None,
        target="y",
        scoring=None,
        baseline=True,
    )
    assert facts.rivals[0].scores.mean() > 0.9


def test_graphs_refuse_covariates(data):
    pytest.importorskip("onnx")
    from matreg.onnx import to_onnx

    X, table, y = data
    with pytest.raises(ValueError, match="without covariates"):
        to_onnx(RMR(tau=1.0).fit(X, y, covariates=table))
