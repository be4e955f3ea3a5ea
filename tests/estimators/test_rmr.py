"""The estimator RMR: its laws, starts, history and life in scikit-learn."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVR

from matreg import RMR
from matreg.data.samples import merge_duplicates
from matreg.datasets import make_matrix_regression
from matreg.estimators._fit import convex as _convex
from problems import gap_of_model, objective, random_data, random_weights

X, Y = random_data(40, 5, 4, seed=0)
SOLVERS = ["interior", "admm"]


def fit(X=X, y=Y, weights=None, **parameters):
    parameters = {"tau": 2.0, "C": 1.0, "epsilon": 0.1, "tol": 1e-9} | parameters
    return RMR(**parameters).fit(X, y, sample_weight=weights)


def assert_same(one, other, atol=1e-3):
    """Gaps of 1e-9 leave W off by up to the root of twice the gap times the objective."""
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-8)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=atol)
    assert one.rank_ == other.rank_


@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
def test_without_nuclear_norm_it_is_support_vector_regression(weighted, epsilon):
    weights = random_weights(40) if weighted else None
    model = fit(tau=0.0, epsilon=epsilon, weights=weights)
    svr = SVR(kernel="linear", C=1.0, epsilon=epsilon, tol=1e-9)
    svr.fit(X.reshape(40, -1), Y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), svr.predict(X.reshape(40, -1)), atol=1e-3)
    W = svr.coef_.reshape(5, 4)
    parameters = {"tau": 0.0, "C": 1.0, "epsilon": epsilon, "weights": weights}
    other = objective(X, Y, W, svr.intercept_[0], **parameters)
    # libsvm keeps the kernel in single precision.
    assert model.objective_ * (1.0 - 1e-9) <= other <= model.objective_ * (1.0 + 1e-5)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_certificate_with_duplicates_and_weights(solver, fit_intercept, weighted):
    index = np.r_[0:25, 3, 3, 7, 11]
    X2, y2 = X[index], Y[index]
    weights = random_weights(len(index)) if weighted else None
    if weighted:
        weights[[2, 3]] = 0.0
    model = fit(
        X2, y2, weights, solver=solver, fit_intercept=fit_intercept, tol=1e-4, max_iter=5000
    )
    assert model.dual_coef_.shape == (29,)
    gap = gap_of_model(model, X2, y2, weights)
    assert gap <= 1e-4 and model.dual_gap_ == pytest.approx(gap, abs=1e-9)
    parameters = {"tau": 2.0, "C": 1.0, "epsilon": 0.1, "weights": weights}
    value = objective(X2, y2, model.coef_, model.intercept_, **parameters)
    assert model.objective_ == pytest.approx(value, rel=1e-12)
    if weighted:
        assert np.all(model.dual_coef_[[2, 3]] == 0.0)
    if not fit_intercept:
        assert model.intercept_ == 0.0


def test_transpose():
    one, other = fit(), fit(X.transpose(0, 2, 1))
    assert other.coef_.shape == (4, 5)
    other.coef_ = other.coef_.T
    assert_same(one, other)


def test_order_of_samples_rows_and_columns():
    rng = np.random.default_rng(0)
    order, rows, columns = rng.permutation(40), rng.permutation(5), rng.permutation(4)
    reference = fit()
    assert_same(reference, fit(X[order], Y[order]))
    other = fit(X[:, rows][:, :, columns])
    other.coef_ = other.coef_[np.argsort(rows)][:, np.argsort(columns)]
    assert_same(reference, other)


@pytest.mark.parametrize("solver", SOLVERS)
def test_duplication_is_weight_two_and_weight_zero_is_removal(solver):
    tol = 1e-9 if solver == "interior" else 1e-4
    parameters = {"solver": solver, "tol": tol}
    weights = np.ones(40)
    weights[:5] = 2.0
    weights[30:] = 0.0
    one = fit(weights=weights, **parameters)
    index = np.r_[0:30, 0:5]
    other = fit(X[index], Y[index], **parameters)
    assert one.objective_ == pytest.approx(other.objective_, rel=2.0 * tol)
    off = np.sqrt(2.0 * tol * one.objective_)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=2.0 * off)
    np.testing.assert_allclose(one.predict(X), other.predict(X), atol=20.0 * off)
    assert np.all(one.dual_coef_[30:] == 0.0)


@pytest.mark.parametrize("m", [1, 6, 20, 37])
def test_all_duplicates_are_merged(m):
    """Wherever a sample stands in the array, and however the products round there."""
    rng = np.random.default_rng(0)
    for n in range(1, 24):
        flat, y = rng.standard_normal((n, 1, m)), rng.standard_normal(n)
        index = np.r_[np.arange(n), rng.integers(0, n, 7)]
        distinct = merge_duplicates(flat[index], y[index], np.ones(n + 7))
        assert len(distinct.y) == n
        assert distinct.weights.sum() == n + 7
        np.testing.assert_array_equal(distinct.X[distinct.group], flat[index])


def test_duplicated_samples_with_other_labels_are_not_merged():
    X2, y2 = np.concatenate([X, X[:3]]), np.r_[Y, Y[:3] + 5.0]
    model = fit(X2, y2)
    assert gap_of_model(model, X2, y2) <= 1e-9


def test_a_common_weight_scales_C():
    assert_same(fit(C=3.0), fit(weights=np.full(40, 3.0)))
    assert_same(fit(C=3.0), fit(weights=3.0))


@pytest.mark.parametrize(("sx", "sy"), [(10.0, 1.0), (1.0, 100.0), (1e-3, 1e3)])
def test_scaling_laws(sx, sy):
    one = fit()
    parameters = {"tau": 2.0 * sy / sx, "C": sy / sx**2, "epsilon": 0.1 * sy}
    other = fit(sx * X, sy * Y, **parameters)
    np.testing.assert_allclose(other.coef_ * sx / sy, one.coef_, atol=1e-3)
    assert other.intercept_ / sy == pytest.approx(one.intercept_, abs=1e-3)
    assert other.objective_ / (sy / sx) ** 2 == pytest.approx(one.objective_, rel=1e-8)
    assert other.rank_ == one.rank_


def test_a_shift_of_the_labels_moves_the_intercept():
    one, other = fit(), fit(y=Y + 1000.0)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)
    assert other.intercept_ - one.intercept_ == pytest.approx(1000.0, abs=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tau", [0.0, 2.0, 5.0, 20.0, 1e4])
def test_rank_is_exact(solver, tau):
    model = fit(solver=solver, tau=tau, tol=1e-3)
    d = np.linalg.svd(model.coef_, compute_uv=False)
    assert np.all(d[model.rank_ :] <= 1e-12 * max(d[0], 1e-300))
    assert np.all(d[: model.rank_] > 1e-12 * d[0])
    if tau == 1e4:
        assert model.rank_ == 0 and not model.coef_.any()


def test_larger_tau_has_lower_rank():
    ranks = [fit(tau=tau).rank_ for tau in (0.0, 3.0, 10.0, 1e4)]
    assert ranks == sorted(ranks, reverse=True) and ranks[0] == 4 and ranks[1] < 4


@pytest.mark.parametrize("solver", SOLVERS)
def test_history_is_a_table(solver):
    model = fit(solver=solver, tol=1e-3)
    table = pd.DataFrame(model.history_)
    assert type(model.history_) is np.ndarray
    columns = ["iteration", "time", "primal", "dual", "gap", "rank", "method"]
    assert list(table.columns) == columns
    assert table.notna().all().all()
    assert len(table) == model.n_iter_ + 1
    last = table.iloc[-1]
    assert last.gap == model.dual_gap_ and last.primal == model.objective_
    assert last["rank"] == model.rank_
    assert (table.gap.diff().dropna() <= 0.0).all() and (table.dual <= table.primal).all()


def test_pipelines_and_searches():
    centre = FunctionTransformer(lambda x: x - x.mean(axis=(1, 2), keepdims=True))
    pipe = Pipeline([("centre", centre), ("rmr", RMR(2.0))]).fit(X, Y)
    assert pipe["rmr"].coef_.shape == (5, 4)
    assert pipe.predict(X).shape == (40,) and pipe.score(X, Y) > 0.5
    search = GridSearchCV(pipe, {"rmr__tau": [0.0, 2.0], "rmr__C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert search.best_estimator_["rmr"].coef_.shape == (5, 4)
    assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
    assert np.all(np.isfinite(cross_val_score(RMR(2.0), X, Y, cv=4)))
    flat = make_pipeline(StandardScaler(), RMR(2.0, matrix_shape=(5, 4)))
    flat.set_output(transform="pandas").fit(X.reshape(40, -1), Y)
    assert flat[-1].coef_.shape == (5, 4)
    weights = random_weights(40)
    pipe.fit(X, Y, rmr__sample_weight=weights)
    direct = RMR(2.0).fit(centre.transform(X), Y, weights)
    np.testing.assert_array_equal(pipe["rmr"].coef_, direct.coef_)


def test_clone_and_pickle():
    model = fit(epsilon=0.2, matrix_shape=(5, 4))
    fresh = clone(model)
    assert fresh.get_params() == model.get_params() and not hasattr(fresh, "coef_")
    loaded = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    np.testing.assert_array_equal(loaded.history_["gap"], model.history_["gap"])


def test_fit_does_not_change_parameters_and_is_repeatable():
    model = RMR(2.0)
    before = model.get_params()
    first = model.fit(X, Y).coef_
    np.testing.assert_array_equal(model.fit(X, Y).coef_, first)
    assert model.get_params() == before


def interrupt(*args, **kwargs):
    raise KeyboardInterrupt


@pytest.mark.parametrize("solver", SOLVERS)
def test_interrupted_fit(solver, monkeypatch):
    model = RMR(2.0, solver=solver, tol=1e-3)
    with monkeypatch.context() as patch:
        patch.setattr(_convex, "solve", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    expected = model.fit(X, Y).predict(X)
    with monkeypatch.context() as patch:
        patch.setattr(_convex, "solve", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X[:, :3, :2], Y)
    np.testing.assert_array_equal(model.predict(X), expected)
    assert model.fit(X[:, :3, :2], Y).coef_.shape == (3, 2)


@pytest.mark.parametrize("weights", [None, np.repeat([0.0, 1.0, 2.0], 10)])
def test_warm_start_goes_on_from_the_last_fit(weights):
    data = make_matrix_regression(30, (5, 4), noise_scale=0.5, random_state=0)
    copies = np.r_[0:30, 0:5]  # some samples twice
    X, y = data.X[copies], data.y[copies]
    weights = None if weights is None else weights[copies]
    model = RMR(tau=4.0, warm_start=True).fit(X, y, weights)
    cold = RMR(tau=3.8).fit(X, y, weights)
    model.set_params(tau=3.8).fit(X, y, weights)
    assert model.history_["method"][0] == "active set"
    assert model.n_iter_ < cold.n_iter_
    assert model.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    again = model.fit(X, y, weights)
    assert again.n_iter_ <= 1 and again.dual_gap_ <= 1e-6


def test_warm_start_goes_on_as_samples_are_added():
    data = make_matrix_regression(60, (5, 4), noise_scale=0.5, random_state=0)
    model = RMR(tau=4.0, warm_start=True).fit(data.X[:57], data.y[:57])
    for n in (58, 60, 59):  # of fewer it starts anew
        model.fit(data.X[:n], data.y[:n])
        fresh = RMR(tau=4.0).fit(data.X[:n], data.y[:n])
        assert model.objective_ == pytest.approx(fresh.objective_, rel=2e-6)
        assert model.dual_coef_.shape == (n,) and model.dual_gap_ <= model.tol
        assert (model.history_["method"][0] == "W = 0") == (n == 59)


def test_warm_start_from_far_away_still_converges():
    data = make_matrix_regression(60, (6, 5), noise_scale=1.0, random_state=0)
    model = RMR(tau=1e-3, C=1e3, epsilon=0.0, warm_start=True).fit(data.X, data.y)
    model.set_params(tau=300.0, C=1.0).fit(data.X[::-1] ** 3, data.y)
    cold = RMR(tau=300.0, C=1.0, epsilon=0.0).fit(data.X[::-1] ** 3, data.y)
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    assert model.history_["iteration"][-1] == model.n_iter_


def test_other_samples_are_started_from_scratch():
    data = make_matrix_regression(60, (6, 5), random_state=0)
    model = RMR(tau=5.0, warm_start=True).fit(data.X, data.y)
    for X, y in ((data.X[:40], data.y[:40]), (data.X[:, :3], data.y)):
        model.fit(X, y)
        assert model.history_["method"][0] == "W = 0" and model.dual_gap_ <= 1e-6


def test_history_names_the_method():
    assert fit(tau=1e6).history_["method"].tolist() == ["W = 0"]
    methods = fit(tau=1.0).history_["method"].tolist()
    assert methods[0] == "W = 0"
    assert set(methods[1:]) <= {"augmented Lagrangian", "working set"} and len(methods) > 1
    methods = fit(tau=1.0, solver="interior").history_["method"].tolist()
    assert methods[0] == "W = 0" and set(methods[1:]) == {"interior point"}
    assert set(fit(tau=1.0, solver="admm", tol=1e-2).history_["method"]) == {"admm"}


@pytest.mark.parametrize("solver", SOLVERS)
def test_verbose_prints_a_table_and_silence_is_the_default(solver, capsys):
    fit(solver=solver, tol=1e-3)
    assert capsys.readouterr() == ("", "")
    model = fit(solver=solver, tol=1e-3, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["iter", "time", "primal", "dual", "gap", "rank", "method"]
    assert len(lines) == len(model.history_) + 1
    assert float(lines[-1].split()[4]) == pytest.approx(model.dual_gap_, rel=0.1)


def test_the_warning_says_what_to_do():
    model = RMR(2.0, max_iter=2)
    with pytest.warns(ConvergenceWarning) as record:
        model.fit(X, Y)
    message = str(record[0].message)
    assert len(record) == 1 and record[0].filename == __file__
    for part in ("RMR", "2 iterations", f"{model.dual_gap_:.1e}", "tol=1e-06", "max_iter"):
        assert part in message
    assert gap_of_model(model, X, Y) == pytest.approx(model.dual_gap_, abs=1e-9)


def test_rounding_is_named_where_it_is_the_limit():
    X2, y2 = random_data(6, 4, 3, seed=5)
    model = RMR(1.0, C=1e6, epsilon=0.0)
    with pytest.warns(ConvergenceWarning, match="Rounding errors"):
        model.fit(1e6 * X2, y2)
    assert np.all(np.isfinite(model.coef_)) and np.isfinite(model.intercept_)
