"""Support matrix machines fitted to samples that stay in a file."""

import warnings
from itertools import combinations, pairwise

import numpy as np
import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning

from matreg import SMM, SMMCV
from matreg._runtime import interruption
from matreg.data.blocks import ArrayBlocks, sample_runs
from problems import bound, random_data

N, P, Q = 8000, 6, 5
PARAMETERS = {"tau": 10.0, "C": 1.0}


@pytest.fixture(autouse=True)
def little_memory():
    with sklearn.config_context(working_memory=1):
        yield


@pytest.fixture(scope="module")
def data():
    X, f = random_data(N, P, Q, noise=1.0)
    return X.astype(np.float32), f


@pytest.fixture
def mapped(data, tmp_path):
    np.save(tmp_path / "X.npy", data[0])
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def assert_alike(model, memory):
    assert np.max(model.dual_gap_) <= 1e-6
    np.testing.assert_allclose(model.objective_, memory.objective_, rtol=2e-6)
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=2e-3 * np.abs(memory.coef_).max())
    assert np.shape(model.dual_coef_) == np.shape(memory.dual_coef_)


def test_two_classes_with_weights_and_an_independent_certificate(data, mapped):
    X, f = data
    y = np.where(f > 1.0, "large", "small")
    weights = np.random.default_rng(0).integers(0, 3, N).astype(float)
    parameters = {**PARAMETERS, "class_weight": "balanced"}
    model = SMM(**parameters).fit(mapped, y, weights)
    assert_alike(model, SMM(**parameters).fit(X.astype(float), y, weights))
    assert model.classes_.tolist() == ["large", "small"]
    # Objective and bound as they are written, with the weights of the classes by hand.
    signs = np.where(y == "small", 1.0, -1.0)
    share = {c: weights[y == c].sum() for c in model.classes_}
    c = weights * np.array([weights.sum() / (2.0 * share[label]) for label in y])
    margin = signs * (X.reshape(N, -1).astype(float) @ model.coef_.ravel() + model.intercept_)
    values = np.linalg.svd(model.coef_, compute_uv=False)
    penalty = 0.5 * np.sum(values**2) + 10.0 * values.sum()
    primal = penalty + c @ np.maximum(1.0 - margin, 0.0)
    assert np.all(signs * model.dual_coef_ >= -1e-12)
    dual = bound(X, signs, model.dual_coef_, tau=10.0, C=1.0, epsilon=0.0, weights=c)
    assert primal == pytest.approx(model.objective_, rel=1e-10)
    assert (primal - dual) / primal == pytest.approx(model.dual_gap_, abs=1e-9)


@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
def test_several_classes(data, mapped, multi_class):
    X, f = data
    y = np.digitize(f, [-2.0, 1.0, 3.0])
    parameters = {**PARAMETERS, "multi_class": multi_class}
    model, memory = SMM(**parameters).fit(mapped, y), SMM(**parameters).fit(X.astype(float), y)
    assert_alike(model, memory)
    assert len(model.history_) == len(model.coef_) and model.n_iter_.shape == model.rank_.shape
    assert model.decision_function(mapped).shape == (N, 4)
    np.testing.assert_array_equal(model.predict(mapped), model.predict(X))
    assert model.score(mapped, y) == model.score(X, y)


def test_units_are_those_of_a_part(data, mapped):
    X, f = data
    model, memory = SMM().fit(mapped, f > 0.0), SMM().fit(X.astype(float), f > 0.0)
    for name in ("tau_", "C_"):
        assert getattr(model, name) == pytest.approx(getattr(memory, name), rel=0.15)


def test_sorted_by_class_and_a_rare_class(data, mapped, tmp_path):
    X, f = data
    order = np.argsort(f)
    np.save(tmp_path / "sorted.npy", X[order])
    file = np.load(tmp_path / "sorted.npy", mmap_mode="r")
    y = f[order] > np.quantile(f, 0.99)  # all at the end
    model, memory = SMM(1.0, C=1.0).fit(file, y), SMM(1.0, C=1.0).fit(X[order].astype(float), y)
    assert_alike(model, memory)
    runs = sample_runs(N, 4096)
    y = np.arange(N) == next(b for (_, b), (a, _) in pairwise(runs) if b < a)  # between two of them
    with pytest.raises(ValueError, match=r"too rare.*True.*'scale' is measured on.*numbers"):
        SMM().fit(mapped, y)
    with pytest.raises(ValueError, match=r"too rare.*True.*the folds look at"):
        SMMCV().fit(mapped, y)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("kind", ["large", pytest.param("any", marks=pytest.mark.slow)])
def test_a_class_of_twenty_among_twenty_thousand(kind, class_weight, tmp_path):
    X, f = random_data(20_000, P, Q, noise=1.0)
    np.save(tmp_path / "X.npy", X.astype(np.float32))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    y = f > np.sort(f)[-21] if kind == "large" else np.arange(20_000) % 1000 == 7
    parameters = {"tau": 1.0, "C": 1.0, "class_weight": class_weight}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "W = 0")
        model = SMM(**parameters).fit(X, y)
        memory = SMM(**parameters).fit(np.array(X, dtype=float), y)
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(memory.objective_, rel=2e-6)


def test_a_class_that_the_first_part_has_none_of_gives_no_wrong_gap(data, mapped):
    X, f = data
    y = f > np.quantile(f, 0.999)
    with warnings.catch_warnings():  # it may or may not converge
        warnings.simplefilter("ignore")
        model = SMM(1.0, C=1.0).fit(mapped, y)
    memory = SMM(1.0, C=1.0).fit(X.astype(float), y)
    optimum = memory.objective_ * (1.0 - memory.dual_gap_)
    assert model.objective_ * (1.0 - model.dual_gap_) <= memory.objective_ * (1.0 + 1e-9)
    assert model.objective_ >= optimum * (1.0 - 1e-9)


def test_cv_chooses_on_a_part(data, mapped):
    _, f = data
    y = np.where(f > 0.0, "large", "small")
    search = SMMCV(n_taus=4, tau_min_ratio=0.01, C=[0.1, 1.0], cv=2, tol=1e-5).fit(mapped, y)
    single = SMM(search.tau_, C=search.C_, tol=1e-5).fit(mapped, y)
    assert search.C_ in (0.1, 1.0) and search.tau_ in search.taus_
    assert set(search.cv_results_["param_C"]) == {0.1, 1.0}
    assert 500 < len(search.cv_samples_) < N and search.n_passes_ > single.n_passes_
    np.testing.assert_allclose(search.coef_, single.coef_, rtol=1e-9)
    assert search.score(mapped, y) == single.score(mapped, y)
    assert search.dual_coef_.shape == (N,)


def test_cv_of_several_classes_along_C(data, mapped):
    y = np.digitize(data[1], [-2.0, 2.0])
    search = SMMCV(10.0, C=[0.01, 0.1, 1.0], cv=2, tol=1e-4, multi_class="one_vs_rest")
    search.fit(mapped, y)
    assert search.coef_.shape == (3, P, Q) and search.tau_ == 10.0
    assert len(search.cv_results_["param_C"]) == 3


def test_bad_labels(data, mapped):
    with pytest.raises(ValueError, match="two classes or more; got one class"):
        SMM().fit(mapped, np.zeros(N))
    with pytest.raises(ValueError, match="requires y to be passed"):
        SMM().fit(mapped, None)
    y = data[1] > 0.0
    with pytest.raises(ValueError, match="positive sample_weight of each of the 2 classes"):
        SMM().fit(mapped, y, y.astype(float))


@pytest.mark.parametrize("at", ["sample", "pass"])
def test_ctrl_c_ends_the_fit_of_several_classes(data, mapped, monkeypatch, at):
    X, f = data
    y = np.digitize(f, [-2.0, 1.0, 3.0])
    whole = SMM(**PARAMETERS).fit(mapped, y)
    method = {"sample": "sample", "pass": "map_reduce"}[at]
    calls, plain = {}, getattr(ArrayBlocks, method)

    def interrupted(blocks, *arguments, **named):
        calls[blocks] = calls.get(blocks, 0) + 1
        # In the second of six problems: its first look at a part, or its second pass.
        if len(calls) == 2 and calls[blocks] == (1 if at == "sample" else 2):
            raise KeyboardInterrupt
        return plain(blocks, *arguments, **named)

    monkeypatch.setattr(ArrayBlocks, method, interrupted)
    monkeypatch.setattr(interruption, "_last", -np.inf)
    with (
        pytest.warns(ConvergenceWarning, match="The model is kept"),
        pytest.warns(
            UserWarning, match="Interrupted in problem 2 of 6: the 1 before it are solved"
        ),
    ):
        model = SMM(**PARAMETERS).fit(mapped, y)
    assert len(calls) == 2  # no other one was begun
    np.testing.assert_allclose(model.coef_[0], whole.coef_[0], rtol=1e-12)
    assert model.dual_gap_[0] <= 1e-6 and not model.coef_[2:].any()
    assert model.n_iter_.tolist() == [whole.n_iter_[0], 0 if at == "sample" else 1, 0, 0, 0, 0]
    for k, (first, second) in enumerate(combinations(range(4), 2)):  # each objective is true
        rows = (y == first) | (y == second)
        signs = np.where(y[rows] == second, 1.0, -1.0)
        values = np.linalg.svd(model.coef_[k], compute_uv=False)
        decisions = X[rows].reshape(rows.sum(), -1).astype(float) @ model.coef_[k].ravel()
        loss = np.maximum(1.0 - signs * (decisions + model.intercept_[k]), 0.0).sum()
        expected = 0.5 * values @ values + 10.0 * values.sum() + loss
        assert model.objective_[k] == pytest.approx(expected, rel=1e-9)
    assert model.predict(mapped).shape == (N,) and model.dual_coef_.shape == (6, N)


def test_cv_weighs_classes_once(data, mapped):
    """Four times the weight of all classes is four times C, in the folds too."""
    _, f = data
    y = f + np.random.default_rng(3).standard_normal(N) > 0.5
    weighted = {"class_weight": {False: 4.0, True: 4.0}, "C": [0.25]}
    searches = [
        SMMCV([4.0, 40.0], cv=2, tol=1e-5, **given).fit(mapped, y)
        for given in (weighted, {"C": [1.0]})
    ]
    one, other = (search.cv_results_["mean_test_score"] for search in searches)
    np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(searches[0].coef_, searches[1].coef_, rtol=1e-6)
