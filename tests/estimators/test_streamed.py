"""Models fitted to samples that stay in a file, against the same models in memory."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

import matreg
from matreg import GRMR, GRMRCV, RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV, AdviceWarning, tau_max
from matreg._validation.stored import is_stored, is_streamed
from matreg.datasets import make_matrix_regression
from matreg.solvers import dispatch as solvers
from problems import certified_gap, random_data

N, P, Q = 12_000, 6, 5
PARAMETERS = {"tau": 100.0, "C": 1.0, "epsilon": 0.1}


@pytest.fixture(autouse=True)
def little_memory():
    """Rows of a reduced problem: a few thousand of the samples."""
    with sklearn.config_context(working_memory=2):
        yield


@pytest.fixture(scope="module")
def data():
    X, y = random_data(N, P, Q, noise=1.0)
    return X.astype(np.float32), y


@pytest.fixture
def mapped(data, tmp_path):
    np.save(tmp_path / "X.npy", data[0])
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def test_what_is_stored_and_what_is_not(data, mapped):
    X, _ = data
    assert is_stored(mapped) and is_streamed(mapped)
    assert is_stored(mapped[:10]) and not is_streamed(mapped[:10])
    for array in (X, X.tolist()[:3], [X[0], X[1]]):
        assert not is_stored(array)
    pandas = pytest.importorskip("pandas")
    assert not is_stored(pandas.DataFrame(X.reshape(N, -1)[:5]))


def test_rmr_from_a_file_is_rmr_in_memory(data, mapped):
    X, y = data
    model = RMR(**PARAMETERS).fit(mapped, y)
    memory = RMR(**PARAMETERS).fit(X.astype(float), y)
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(memory.objective_, rel=2e-6)
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=1e-3 * np.abs(memory.coef_).max())
    assert model.n_passes_ < 8 and model.n_iter_ == len(model.history_)
    gap = certified_gap(
        X.astype(float), y, model.coef_, model.intercept_, model.dual_coef_, **PARAMETERS
    )
    assert gap == pytest.approx(model.dual_gap_, abs=1e-9)


def test_weights_flat_samples_and_quantiles(data, mapped):
    X, y = data
    weights = np.random.default_rng(0).integers(0, 3, N).astype(float)
    flat = mapped.reshape(N, -1)
    parameters = {
        "tau": 50.0,
        "C": 1.0,
        "loss": "quantile",
        "quantile": 0.7,
        "matrix_shape": (P, Q),
    }
    model = RMR(**parameters).fit(flat, y, weights)
    memory = RMR(**parameters).fit(X.astype(float).reshape(N, -1), y, weights)
    assert model.objective_ == pytest.approx(memory.objective_, rel=2e-6)
    assert not model.dual_coef_[weights == 0.0].any()


def test_units_of_the_data_are_those_of_a_part(data, mapped):
    X, y = data
    model, memory = RMR().fit(mapped, y), RMR().fit(X.astype(float), y)
    for name in ("tau_", "C_", "epsilon_"):
        assert getattr(model, name) == pytest.approx(getattr(memory, name), rel=0.15)


def test_predict_and_score_read_blocks(data, mapped):
    X, y = data
    model = RMR(**PARAMETERS).fit(X[:500], y[:500])
    expected = model.predict(X.astype(float))
    np.testing.assert_allclose(model.predict(mapped), expected, rtol=1e-12, atol=1e-12)
    assert model.score(mapped, y) == pytest.approx(model.score(X, y), rel=1e-12)
    with pytest.raises(ValueError, match="shape"):
        model.predict(np.lib.stride_tricks.as_strided(mapped)[:, :4])


def test_a_new_fit_in_memory_forgets_the_file(data, mapped):
    X, y = data
    model = RMR(**PARAMETERS).fit(mapped, y).fit(X[:300], y[:300])
    assert model.dual_coef_.shape == model.label_outlier_score_.shape == (300,)
    assert not hasattr(model, "n_passes_")


def test_a_new_fit_to_a_file_forgets_the_memory(data, mapped):
    X, y = data
    model = RMR(**PARAMETERS, warm_start=True).fit(X[:300], y[:300]).fit(mapped, y)
    with pytest.raises(AttributeError, match=r"label_outlier_score_ is not computed.*predict"):
        model.label_outlier_score_  # noqa: B018
    assert model.dual_coef_.shape == (N,)
    assert model.fit(X[:300], y[:300]).dual_coef_.shape == (300,)


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
def test_types_of_samples(dtype, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 200, (N, P, Q)).astype(dtype)
    y = X.reshape(N, -1) @ rng.standard_normal(P * Q) / 100 + rng.laplace(size=N)
    np.save(tmp_path / "X.npy", X)
    model = RMR(tau=10.0, C=1.0, epsilon=0.1).fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
    memory = RMR(tau=10.0, C=1.0, epsilon=0.1).fit(X, y)
    assert model.objective_ == pytest.approx(memory.objective_, rel=2e-6)


def test_rglm_in_two_passes(data, mapped):
    X, y = data
    model, memory = RGLM(tau=300.0).fit(mapped, y), RGLM(tau=300.0).fit(X.astype(float), y)
    assert model.n_passes_ == 2.0
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(memory.objective_, rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_, memory.dual_coef_, atol=0.02)


@pytest.mark.parametrize("grouped", [False, True])
def test_rglm_cv_in_two_passes(data, mapped, grouped):
    X, y = data
    groups = np.arange(len(y)) % 7 if grouped else None
    model = RGLMCV(n_taus=15).fit(mapped, y, groups=groups)
    memory = RGLMCV(n_taus=15).fit(X.astype(float), y, groups=groups)
    assert model.n_passes_ == 2.0
    assert model.tau_ == pytest.approx(memory.tau_, rel=1e-6)
    tried = np.isfinite(memory.cv_results_["mean_test_score"])  # in two passes all are
    for name in ("mean_test_score", "split3_test_score"):
        found, expected = (one.cv_results_[name][tried] for one in (model, memory))
        np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(model.coef_, memory.coef_, atol=1e-3)


@pytest.mark.slow
def test_rmr_cv_chooses_on_a_part(data, mapped):
    X, y = mapped[:5000], data[1][:5000]
    with sklearn.config_context(working_memory=1):
        search = RMRCV(n_taus=4, tau_min_ratio=0.05, cv=2, C=[0.5, 1.0]).fit(X, y)
        model = RMR(search.tau_, C=search.C_, epsilon=search.epsilon_).fit(X, y)
    assert search.C_ in (0.5, 1.0)
    assert set(search.cv_results_["param_C"]) == {0.5, 1.0}
    assert search.tau_ in search.taus_ and search.tau_ in search.cv_results_["param_tau"]
    assert len(search.cv_samples_) < 5000
    assert search.dual_gap_ <= 1e-6 and search.n_passes_ < 8
    np.testing.assert_allclose(search.coef_, model.coef_, rtol=1e-9)


@pytest.mark.slow
def test_rmr_cv_on_a_part_chooses_the_tau_of_all_samples(tmp_path):
    """A part has more noise in its sums: its own best tau is too large for all samples."""
    data = make_matrix_regression(6000, (8, 8), rank=1, noise_scale=4.0, random_state=0)
    search = RMRCV(n_taus=15, cv=3, C=1.0, epsilon=0.1, tol=1e-4)
    choice = clone(search).fit(data.X, data.y).tau_
    np.save(tmp_path / "X.npy", data.X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    on_part = clone(search).fit(mapped, data.y)
    assert len(on_part.cv_samples_) < 1500
    step = on_part.taus_[0] / on_part.taus_[1]
    assert 1.0 / step**1.5 <= on_part.tau_ / choice <= step**1.5


def test_bad_input_is_refused_before_the_work(data, mapped, tmp_path):
    X, y = data
    model = RMR(**PARAMETERS)
    with pytest.raises(ValueError, match="12000 samples of X; got 11999"):
        model.fit(mapped, y[:-1])
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(mapped, y, -np.ones(N))
    with pytest.raises(ValueError, match="requires y to be passed"):
        model.fit(mapped, None)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(mapped, np.where(np.arange(N) == 5, np.nan, y))
    with pytest.raises(ValueError, match="matrix_shape"):
        RMR(matrix_shape=(7, 7)).fit(mapped, y)
    with pytest.raises(ValueError, match=r"solver='admm' needs all samples.*Use solver=.auto.;"):
        RMR(solver="admm").fit(mapped, y)
    with pytest.raises(ValueError, match=r"l1 needs all samples in memory.*l1=0"):
        RMR(l1=0.3).fit(mapped, y)
    with pytest.raises(ValueError, match="loss='huber' needs all samples in memory"):
        RMR(loss="huber").fit(mapped, y)
    with pytest.raises(ValueError, match="family='poisson' needs all samples in memory"):
        RGLM(family="poisson").fit(mapped, np.abs(y))
    np.save(tmp_path / "4.npy", X.reshape(N, P, Q, 1))
    with pytest.raises(ValueError, match="2 or 3 dimensions"):
        model.fit(np.load(tmp_path / "4.npy", mmap_mode="r"), y)
    np.save(tmp_path / "c.npy", X.astype(complex))
    with pytest.raises(ValueError, match="must be real"):
        model.fit(np.load(tmp_path / "c.npy", mmap_mode="r"), y)
    assert not hasattr(model, "coef_")


def test_nan_in_the_middle_of_a_file(data, tmp_path):
    X, y = data
    X = X.copy()
    X[7001, 2, 2] = np.nan
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for model in (RMR(**PARAMETERS), RGLM()):
        with pytest.raises(ValueError, match=r"must not hold NaN or infinity; sample 7001 does"):
            model.fit(mapped, y)
    fitted = RMR(**PARAMETERS).fit(np.nan_to_num(X[:400]), y[:400])
    with pytest.raises(ValueError, match="sample 7001 does"):
        fitted.predict(mapped)


def test_cv_of_other_kinds(data, mapped):
    from sklearn.model_selection import ShuffleSplit

    _, y = data
    with pytest.raises(ValueError, match="exactly once"):
        RGLMCV(cv=ShuffleSplit(3)).fit(mapped, y)
    with pytest.raises(ValueError, match="scoring must be None"):
        RGLMCV(scoring="neg_mean_absolute_error").fit(mapped, y)


def test_grmr_says_how_to_clean_block_by_block(data, mapped):
    X, y = data
    with pytest.raises(ValueError, match="clean all samples block by block with its transform"):
        GRMR().fit(mapped, y)
    model = GRMR(tau=10.0, C=0.1).fit(X[:60], y[:60])
    with sklearn.config_context(working_memory=0):
        with pytest.raises(ValueError, match="Clean it slice by slice"):
            model.transform(mapped[:200])
        streamed = model.predict(mapped[:200])
    np.testing.assert_allclose(streamed, model.predict(X[:200]), rtol=1e-6, atol=1e-6)


def test_nothing_is_loaded_silently(data, mapped):
    from matreg.inspection import pattern

    X, y = data
    refused = {
        "loss='huber' needs all samples": lambda: matreg.path(RMR(loss="huber"), mapped, y),
        "tau_max needs all samples in memory": lambda: tau_max(RMR(), mapped, y),
        "GRMRCV needs all samples in memory.*clean all": lambda: GRMRCV().fit(mapped, y),
        "'squared_hinge' needs all": lambda: SMM(loss="squared_hinge").fit(mapped, y > 0.0),
        "'squared_hinge' needs": lambda: SMMCV(loss="squared_hinge").fit(mapped, y > 0.0),
        "loss='huber' needs all": lambda: RMRCV(loss="huber").fit(mapped, y),
        "'binomial' needs all samples.*SMM": lambda: RGLM(family="binomial").fit(mapped, y > 0.0),
        "'poisson' needs all samples": lambda: RGLMCV(family="poisson").fit(mapped, np.abs(y)),
    }
    model = RMR(**PARAMETERS).fit(X[:300], y[:300])
    refused["This function needs all samples in memory"] = lambda: pattern(model, mapped)
    for message, call in refused.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_a_path_of_rglm_in_two_passes(data, mapped):
    X, y = data
    path, memory = (
        matreg.path(RGLM(), mapped, y, n_taus=6),
        matreg.path(RGLM(), X.astype(float), y, n_taus=6),
    )
    np.testing.assert_allclose(path.taus, memory.taus, rtol=1e-6)
    np.testing.assert_allclose(path.objectives, memory.objectives, rtol=2e-6)
    assert path.gaps.max() <= 1e-6
    assert pickle.loads(pickle.dumps(path)).coefs.shape == (6, P, Q)


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (RMR(C=1.0, epsilon=0.1), {"taus": [200.0, 100.0]}),
        (RMR(tau=100.0, epsilon=0.1), {"Cs": [0.5, 1.0]}),
        (SMM(C=1.0), {"taus": [200.0, 100.0]}),
    ],
    ids=["RMR", "C", "SMM"],
)
def test_a_path_from_a_file_is_that_in_memory(data, mapped, model, grid):
    X, y = data
    labels = y > np.median(y) if isinstance(model, SMM) else y
    stored = matreg.path(model, mapped, labels, **grid)
    memory = matreg.path(model, X.astype(float), labels, **grid)
    np.testing.assert_allclose(stored.objectives, memory.objectives, rtol=2e-6)
    assert stored.gaps.max() <= 1e-6 and stored.ranks[1] > 0
    assert pickle.loads(pickle.dumps(stored)).coefs.shape == (2, P, Q)


def test_a_path_from_a_file_starts_near_the_largest_tau(data, mapped):
    stored = matreg.path(RMR(C=1.0, epsilon=0.1), mapped, data[1], n_taus=2, tau_min_ratio=0.9)
    largest = tau_max(RMR(C=1.0, epsilon=0.1), data[0].astype(float), data[1])
    assert stored.taus[0] == pytest.approx(largest, rel=0.1)


def test_an_interrupted_path_from_a_file_ends(data, mapped, monkeypatch):
    whole = solvers.solve_plain

    def interrupted(*args, **options):
        return replace(whole(*args, **options), interrupted=True)

    monkeypatch.setattr(solvers, "solve_plain", interrupted)
    with pytest.warns(AdviceWarning, match="1 of 2 points of the path are returned"):
        path = matreg.path(RMR(C=1.0, epsilon=0.1), mapped, data[1], taus=[200.0, 100.0])
    assert len(path.points) == len(path.taus) == 1


def test_w_of_zero_is_said(data, mapped):
    for model, labels in (
        (RMR(tau=1e6, C=1.0, epsilon=0.1), data[1]),
        (RGLM(tau=1e6), data[1]),
        (SMM(tau=1e6, C=1.0), data[1] > 0.0),
    ):
        with pytest.warns(UserWarning, match=r"W = 0.*tau=1e\+06 is too large"):
            model.fit(mapped, labels)


def test_grmr_cv_predicts_block_by_block(data, mapped):
    X, y = data
    model = GRMRCV([10.0], C=0.1, gamma=30.0, limit=4.0, cv=2).fit(X[:60], y[:60])
    with sklearn.config_context(working_memory=0):
        streamed = model.predict(mapped[:200])
    np.testing.assert_allclose(streamed, model.predict(X[:200]), rtol=1e-6, atol=1e-6)


def test_many_samples_in_memory_keep_their_type():
    rng = np.random.default_rng(0)
    n = 20_000
    X = rng.integers(0, 200, (n, 4, 4)).astype(np.uint8)
    y = X.reshape(n, -1) @ rng.standard_normal(16) / 100 + rng.laplace(size=n)
    kept, double = (
        RMR(tau=10.0, C=1.0, epsilon=0.1).fit(X, y),
        RMR(tau=10.0, C=1.0, epsilon=0.1).fit(X.astype(float), y),
    )
    assert kept.objective_ == pytest.approx(double.objective_, rel=2e-6)


def test_the_number_of_threads_changes_nothing(mapped, data, monkeypatch):
    monkeypatch.setattr("matreg.data.blocks.BLOCK", 40_000)  # many blocks
    found = []
    for count in (1, 3):
        monkeypatch.setattr("matreg.data.blocks.allowed", lambda count=count: count)
        model = RMR(**PARAMETERS).fit(mapped, data[1])
        found.append((model.coef_, model.dual_coef_, model.predict(mapped)))
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)
