"""Adaptive steps, bases, sparsity and a ridge as parameters of the estimators."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge, RidgeCV

from matreg import GRMR, RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV, path, tau_max
from matreg.bases import smooth_basis
from matreg.datasets import make_matrix_regression
from matreg.inspection import bootstrap_maps, components, permutation_map
from matreg.inspection._refits import at_chosen_parameters

P, Q = 6, 5


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(80, (P, Q), rank=1, noise_scale=0.5, random_state=0)


def classes(data):
    return np.where(data.y > 0.0, "large", "small")


MODELS = {
    "rmr": (RMR(tau=4.0, C=1.0, tol=1e-8), lambda data: data.y),
    "rglm": (RGLM(tau=20.0, tol=1e-9), lambda data: data.y),
    "smm": (SMM(tau=2.0, C=1.0, tol=1e-8), classes),
}


def cases():
    return pytest.mark.parametrize("name", list(MODELS))


def fitted(name, data, X=None, **parameters):
    model, labels = MODELS[name]
    return clone(model).set_params(**parameters).fit(data.X if X is None else X, labels(data))


def optimum(model, X, y, bases=None, l1=0.0):
    """Optimum by CVXPY of ``loss + penalty(V)`` with ``W = L V R``, and W."""
    L, R = bases or (np.eye(X.shape[1]), np.eye(X.shape[2]))
    V, b = cp.Variable((L.shape[1], R.shape[0])), cp.Variable()
    f = X.reshape(len(X), -1) @ cp.vec(L @ V @ R, order="C") + b
    price = model.tau_ * cp.normNuc(V)
    if np.any(l1):
        price = price + model.tau_ * cp.sum(cp.multiply(np.broadcast_to(l1, V.shape), cp.abs(V)))
    if isinstance(model, RGLM):
        loss = 0.5 * cp.sum_squares(y - f)
    else:
        tube = cp.pos(cp.abs(y - f) - model.epsilon_) if isinstance(model, RMR) else None
        sign = None if tube is not None else np.where(y == model.classes_[1], 1.0, -1.0)
        tube = cp.pos(1.0 - cp.multiply(sign, f)) if tube is None else tube
        loss = model.C_ * cp.sum(tube) + 0.5 * cp.sum_squares(V)
    program = cp.Problem(cp.Minimize(loss + price))
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return program.value, L @ V.value @ R


@cases()
def test_no_step_is_the_plain_model_exactly(name, data):
    plain = fitted(name, data)
    other = fitted(name, data, adaptive=0, row_basis=None, column_basis=None)
    np.testing.assert_array_equal(plain.coef_, other.coef_)
    assert plain.adaptive_ == () and len(plain.steps_) == 0


@cases()
def test_an_adaptive_step_is_the_convex_problem_in_the_bases_of_the_plain_one(name, data):
    plain, model = fitted(name, data), fitted(name, data, adaptive=1)
    U, d, Vt = np.linalg.svd(plain.coef_)
    delta = 0.1 * d[0]
    root = np.sqrt(1.0 + d / delta)
    L = U @ np.diag(np.append(root, np.ones(P - Q))) @ U.T
    value, W = optimum(model, data.X, MODELS[name][1](data), (L, Vt.T @ np.diag(root) @ Vt))
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(model.coef_, W, atol=2e-3 * np.abs(W).max())
    assert model.adaptive_ == (model.tau_,)
    assert model.steps_["gap"].max() <= 1e-7 and model.steps_["primal"][-1] == model.objective_


@cases()
def test_known_bases_are_the_penalty_of_their_coefficients(name, data):
    L, R = smooth_basis(P, 3.0), np.random.default_rng(0).standard_normal((Q, 3))
    model = fitted(name, data, row_basis=L, column_basis=R)
    value, W = optimum(model, data.X, MODELS[name][1](data), (L, R.T))
    assert model.objective_ == pytest.approx(value, rel=1e-5)
    np.testing.assert_allclose(model.coef_, W, atol=2e-3 * np.abs(W).max())
    assert model.rank_ <= 3


@cases()
def test_transposed_samples(name, data):
    L = smooth_basis(P, 3.0)
    one = fitted(name, data, adaptive=2, row_basis=L)
    turned = np.ascontiguousarray(data.X.transpose(0, 2, 1))
    other = fitted(name, data, X=turned, adaptive=2, column_basis=L)
    np.testing.assert_allclose(other.coef_, one.coef_.T, atol=1e-3 * np.abs(one.coef_).max())


@pytest.mark.parametrize(
    "parameters",
    [
        {"adaptive": 1},
        {"row_basis": smooth_basis(P, 3.0)},
        {"l1": 0.3, "tol": 1e-5, "max_iter": 20_000},
    ],
)
@pytest.mark.parametrize("kind", [RMR, RGLM])
def test_predictions_do_not_depend_on_units(kind, parameters, data):
    one = kind(**parameters).fit(data.X, data.y)
    other = kind(**parameters).fit(1e3 * data.X, 1e-2 * data.y)
    np.testing.assert_allclose(
        100.0 * other.predict(1e3 * data.X), one.predict(data.X), atol=0.02 * data.y.std()
    )


def test_permuted_samples_change_nothing(data):
    order = np.random.default_rng(0).permutation(len(data.y))
    one = RGLM(adaptive=1, tol=1e-9).fit(data.X, data.y)
    other = RGLM(adaptive=1, tol=1e-9).fit(data.X[order], data.y[order])
    np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-4)


def test_taus_of_the_steps(data):
    model = RGLM(tau=30.0, adaptive=[10.0], tol=1e-9).fit(data.X, data.y)
    assert model.adaptive_ == (10.0,)
    np.testing.assert_array_equal(model.steps_["tau"], [10.0, 30.0])
    found = path(RGLM(adaptive=[10.0], tol=1e-9), data.X, data.y, taus=[60.0, 30.0])
    np.testing.assert_allclose(found.coefs[1], model.coef_, atol=1e-4)
    each = path(RGLM(adaptive=1, tol=1e-9), data.X, data.y, taus=[60.0, 30.0])
    alone = RGLM(tau=30.0, adaptive=1, tol=1e-9).fit(data.X, data.y)
    np.testing.assert_allclose(each.coefs[1], alone.coef_, atol=1e-4)
    assert each.model.adaptive == 1


def planted(rank, seed, shape=(12, 10)):
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((k, rank)))[0] for k in shape)
    B = (U * rng.uniform(5.0, 10.0, rank)) @ V.T
    X = rng.standard_normal((5 * rank * (sum(shape) - rank), *shape))
    return X, np.tensordot(X, B, 2) + rng.standard_normal(len(X)), B


@pytest.mark.parametrize("rank", [1, 2])
def test_a_search_finds_the_planted_rank(rank):
    X, y, B = planted(rank, seed=rank)
    given = {"n_taus": 12, "tau_min_ratio": 1e-2, "tol": 1e-4, "ridge": 0.0}
    plain = RGLMCV(one_standard_error=True, **given).fit(X, y)
    model = RGLMCV(adaptive=1, one_standard_error=True, **given).fit(X, y)
    assert model.rank_ == rank < plain.rank_
    assert len(model.adaptive_) == 1 and model.tau_ in model.taus_
    np.testing.assert_array_equal(np.unique(model.cv_results_["param_adaptive"]), [0, 1])
    again = model.best_estimator_.fit(X, y)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)
    whole = model.path(X, y)
    k = int(np.flatnonzero(whole.taus == model.tau_)[0])
    np.testing.assert_allclose(whole.coefs[k], model.coef_, atol=0.02 * np.abs(B).max())


@pytest.mark.slow
def test_a_search_stays_plain_where_nothing_is_gained():
    rng = np.random.default_rng(0)
    X, B = rng.standard_normal((150, 6, 5)), rng.standard_normal((6, 5))  # of full rank
    y = np.tensordot(X, B, 2) + 2.0 * rng.standard_normal(150)
    plain = RMRCV(C=1.0, n_taus=8, cv=3).fit(X, y)
    model = RMRCV(C=1.0, n_taus=8, cv=3, adaptive=2).fit(X, y)
    assert model.adaptive_ == ()
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    imposed = RMRCV(C=1.0, n_taus=8, cv=3, adaptive=[2]).fit(X, y)
    assert len(imposed.adaptive_) == 2 == len(imposed.steps_) - 1


def test_searches_of_classes_take_steps(data):
    given = {"C": 1.0, "n_taus": 6, "cv": 3, "adaptive": [1]}
    model = SMMCV(**given).fit(data.X, classes(data))
    assert len(model.adaptive_) == 1 and model.score(data.X, classes(data)) > 0.9
    three = np.digitize(data.y, np.quantile(data.y, [0.3, 0.7]))
    model = SMMCV(**given).fit(data.X, three)
    assert len(model.steps_) == 3 and model.coef_.shape == (3, P, Q)


def test_maps_refit_the_steps_that_were_chosen(data):
    model = RGLMCV(adaptive=[1], ridge=0.0, n_taus=8, cv=3).fit(data.X, data.y)
    refit = at_chosen_parameters(model)
    assert refit.adaptive == model.adaptive_ and refit.tau == model.tau_
    assert len(components(model).singular_values) == model.rank_
    assert bootstrap_maps(model, data.X, data.y, n_resamples=5, random_state=0) is not None
    assert permutation_map(model, data.X, data.y, n_permutations=5, random_state=0) is not None


@pytest.mark.slow
@pytest.mark.parametrize("model", [GRMR(2.0, adaptive=1), RGLM(20.0, l1=0.3, adaptive=1, tol=1e-3)])
def test_maps_of_models_that_clean_and_of_sparse_ones(model, data):
    X, y = data.X[:30], data.y[:30]
    assert len(components(model.fit(X, y)).singular_values) == model.rank_
    assert bootstrap_maps(model, X, y, n_resamples=2, random_state=0) is not None
    assert permutation_map(model, X, y, n_permutations=2, random_state=0) is not None


# -- sparse and low rank


@pytest.mark.parametrize("kind", [RMR, RGLM, SMM])
@pytest.mark.parametrize("weights", ["number", "free diagonal"])
def test_l1_against_cvxpy(kind, weights, data):
    l1 = 0.4 if weights == "number" else 0.4 * (1.0 - np.eye(P, Q))
    y = classes(data) if kind is SMM else data.y
    model = kind(tau="10*scale", l1=l1, max_iter=50_000).fit(data.X, y)
    value, W = optimum(model, data.X, y, l1=l1)
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(model.coef_, W, atol=5e-3 * np.abs(W).max())


@pytest.mark.parametrize("kind", [RMR, RGLM])
def test_adaptive_steps_reweight_the_entries_where_these_have_a_penalty(kind, data):
    l1, given = 0.4 * (1.0 - np.eye(P, Q)), {"tau": "10*scale", "max_iter": 50_000}
    W = kind(l1=l1, **given).fit(data.X, data.y).coef_
    model = kind(l1=l1, adaptive=1, **given).fit(data.X, data.y)
    weights = l1 / (1.0 + np.abs(W) / (0.1 * np.abs(W).max()))
    value, W = optimum(model, data.X, data.y, l1=weights)
    assert model.objective_ == pytest.approx(value, rel=1e-4)
    np.testing.assert_allclose(model.coef_, W, atol=5e-3 * np.abs(W).max())
    assert len(model.steps_) == 2 and model.adaptive_ == (model.tau_,)
    along = path(kind(l1=l1, adaptive=model.adaptive_), data.X, data.y, taus=[model.tau_])
    np.testing.assert_allclose(along.coefs[0], model.coef_, atol=0.02 * np.abs(W).max())


def test_steps_with_l1_descend_on_the_concave_sum(data):
    l1, given = 0.5, {"tau": 20.0, "tol": 1e-8, "max_iter": 50_000}
    models = [RGLM(l1=l1, adaptive=k, **given).fit(data.X, data.y) for k in range(4)]
    delta = 0.1 * np.abs(models[0].coef_).max()

    def concave(model):
        W = model.coef_
        entries = delta * np.log1p(np.abs(W) / delta).sum()
        price = 20.0 * (np.linalg.norm(W, "nuc") + l1 * entries)
        return 0.5 * np.sum((data.y - model.predict(data.X)) ** 2) + price

    values = [concave(model) for model in models]
    assert np.all(np.diff(values) <= 1e-7 * values[0]) and values[1] < 0.99 * values[0]


def test_sparse_blocks_from_few_samples():
    rng = np.random.default_rng(0)
    B = np.zeros((12, 12))
    B[:3, :3], B[5:8, 6:9] = 1.0, -1.0
    X = rng.standard_normal((60, 12, 12))
    y = np.tensordot(X, B, 2) + 0.1 * rng.standard_normal(60)
    given = {"l1": 0.3, "n_taus": 4, "tau_min_ratio": 1e-2, "tol": 1e-3, "cv": 4}
    errors = []
    for adaptive in (0, 1):
        model = RGLMCV(adaptive=adaptive, **given).fit(X, y)
        errors.append(np.linalg.norm(model.coef_ - B) / np.linalg.norm(B))
    assert len(model.adaptive_) == 1 and errors[1] < 0.5 * errors[0]


@pytest.mark.parametrize("model", [RMR(l1=0.5), SMM(l1=0.5), RGLM(l1=0.5, family="binomial")])
def test_l1_is_zero_from_tau_max_on(model, data):
    y = data.y if isinstance(model, RMR) else classes(data)
    largest = tau_max(model, data.X, y)
    with pytest.warns(UserWarning, match="W = 0"):
        zero = clone(model).set_params(tau=1.001 * largest, tol=1e-4).fit(data.X, y)
    assert zero.rank_ == 0
    assert clone(model).set_params(tau=0.3 * largest, tol=1e-3).fit(data.X, y).rank_ > 0


def test_search_over_l1():
    rng = np.random.default_rng(0)
    B = np.zeros((8, 7))
    B[[0, 3, 5], [0, 4, 1]] = 2.0
    X = rng.standard_normal((40, 8, 7))
    y = np.tensordot(X, B, 2) + 0.3 * rng.standard_normal(40)
    model = RGLMCV(l1=[0.0, 2.0], n_taus=6, tau_min_ratio=1e-2, cv=3, tol=1e-3).fit(X, y)
    assert model.l1_ == 2.0
    np.testing.assert_array_equal(np.unique(model.cv_results_["param_l1"]), [0.0, 2.0])
    plain = RGLMCV(ridge=0.0, n_taus=6, tau_min_ratio=1e-2, cv=3, tol=1e-3).fit(X, y)
    assert np.linalg.norm(model.coef_ - B) < np.linalg.norm(plain.coef_ - B)
    free = RMRCV(
        C=1.0, l1=[np.ones((8, 7)), np.zeros((8, 7))], n_taus=3, tau_min_ratio=0.1, cv=3, tol=1e-2
    )
    assert free.fit(X, y).l1_.shape == (8, 7)
    told = SMMCV(l1=[0.0, 1.0], n_taus=3, tau_min_ratio=0.1, cv=3, tol=1e-2).fit(X, y > 0.0)
    assert told.l1_ in told.cv_results_["param_l1"] and told.score(X, y > 0.0) > 0.8


# -- ridge


def test_ridge_against_scikit_learn(data):
    model = RGLM(tau=1e-3, ridge=0.999999, tol=1e-10).fit(data.X, data.y)
    flat = data.X.reshape(len(data.X), -1)
    centred = flat - flat.mean(axis=0)
    largest = tau_max(RGLM(), data.X, data.y)
    mean = np.sum(centred**2) / min(flat.shape)
    alpha = 0.999999 / 1e-6 * 1e-3 / largest * mean
    ridge = Ridge(alpha=alpha, tol=1e-10).fit(flat, data.y)
    np.testing.assert_allclose(model.coef_.ravel(), ridge.coef_, atol=1e-4)


@pytest.mark.parametrize("family", ["normal", "binomial", "poisson"])
def test_ridge_does_not_depend_on_units(family, data):
    rng = np.random.default_rng(0)
    y = {
        "normal": data.y,
        "binomial": classes(data),
        "poisson": rng.poisson(np.exp(0.1 * data.y).clip(max=20.0)),
    }[family]
    one = RGLM(ridge=0.5, family=family, tol=1e-8).fit(data.X, y)
    other = RGLM(ridge=0.5, family=family, tol=1e-8).fit(1e3 * data.X, y)
    np.testing.assert_allclose(1e3 * other.coef_, one.coef_, atol=1e-3 * np.abs(one.coef_).max())
    assert not np.allclose(RGLM(family=family).fit(data.X, y).coef_, one.coef_, rtol=1e-2)


def test_search_over_ridge_equals_tuned_ridge_on_dense_effects():
    rng = np.random.default_rng(1)
    B = rng.standard_normal((10, 8)) / 9.0
    X = rng.standard_normal((1100, 10, 8))
    f = np.tensordot(X, B, 2)
    y = f + rng.standard_normal(1100)
    model = RGLMCV(n_taus=15, tol=1e-4).fit(X[:100], y[:100])
    plain = RGLMCV(ridge=0.0, n_taus=15, tol=1e-4).fit(X[:100], y[:100])
    flat = X.reshape(1100, -1)
    tuned = RidgeCV(np.geomspace(0.1, 1e4, 30)).fit(flat[:100], y[:100])
    errors = [
        np.mean((one - f[100:]) ** 2)
        for one in (model.predict(X[100:]), plain.predict(X[100:]), tuned.predict(flat[100:]))
    ]
    assert model.ridge_ > 0.0
    assert errors[0] < errors[1] and errors[0] < 1.1 * errors[2]
