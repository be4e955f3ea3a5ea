"""The family "multinomial", against CVXPY, scikit-learn and the definition of its loss."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from matreg import RGLM, RGLMCV, path
from matreg.losses.smooth import Multinomial

N, P, Q, K = 45, 4, 3, 3


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P, Q))
    Z = rng.standard_normal((N, 2)) + 2.0
    f = np.tensordot(X, rng.standard_normal((K, P, Q)), ((1, 2), (1, 2))) + 0.5 * Z @ np.ones(
        (2, 1)
    )
    y = np.array(["a", "b", "c"])[(f + rng.gumbel(size=f.shape)).argmax(axis=1)]
    return X, y, Z, rng.uniform(0.5, 2.0, N)


def test_the_loss_is_what_its_definition_says():
    rng = np.random.default_rng(1)
    t = np.eye(K)[rng.integers(0, K, 6)].T.reshape(-1)
    s = np.tile(rng.uniform(0.5, 2.0, 6), K)
    loss, r, step = Multinomial(t, s), rng.standard_normal(K * 6), 1e-6
    f = -r.reshape(K, 6)
    own = (t.reshape(K, 6) * f).sum(axis=0)
    assert loss.value(r) == pytest.approx(s[:6] @ (np.log(np.exp(f).sum(axis=0)) - own))
    moved = [loss.value(r + step * e) - loss.value(r - step * e) for e in np.eye(len(r))]
    np.testing.assert_allclose(loss.gradient(r), np.array(moved) / (2 * step), atol=1e-8)
    Z = rng.standard_normal((K * 6, 4))
    slopes = [
        Z.T @ (loss.gradient(r + step * z) - loss.gradient(r - step * z)) / (2 * step) for z in Z.T
    ]
    np.testing.assert_allclose(loss.curvature_in(Z, r), slopes, atol=1e-8)
    # Young's inequality, with equality at the gradient.
    beta = loss.gradient(r)
    assert loss.value(r) + loss.conjugate(beta) == pytest.approx(beta @ r)
    other = loss.feasible(rng.standard_normal(len(r)), None)
    np.testing.assert_allclose(loss.feasible(other, None), other, atol=1e-15)
    np.testing.assert_allclose(other.reshape(K, 6).sum(axis=0), 0.0, atol=1e-14)
    assert loss.value(r) + loss.conjugate(other) >= other @ r


@pytest.mark.parametrize("joint", [None, "rows", "columns"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_optimum_is_that_of_cvxpy(joint, fit_intercept):
    cp = pytest.importorskip("cvxpy")
    X, y, Z, s = data()
    model = RGLM(2.0, family="multinomial", joint=joint, fit_intercept=fit_intercept, tol=1e-8)
    model.fit(X, y, sample_weight=s, covariates=Z)
    Ws, b, gamma = [cp.Variable((P, Q)) for _ in range(K)], cp.Variable(K), cp.Variable((2, K))
    f = [X.reshape(N, -1) @ cp.vec(W, order="C") + Z @ gamma[:, c] + b[c] for c, W in enumerate(Ws)]
    f = cp.vstack(f).T
    own = np.eye(K)[np.searchsorted(["a", "b", "c"], y)]
    loss = s @ cp.log_sum_exp(f, axis=1) - cp.sum(cp.multiply(s[:, None] * own, f))
    sides = {
        "rows": lambda: cp.normNuc(cp.hstack(Ws)),
        "columns": lambda: cp.normNuc(cp.vstack(Ws)),
    }
    price = sides.get(joint, lambda: sum(cp.normNuc(W) for W in Ws))()
    problem = cp.Problem(cp.Minimize(loss + 2.0 * price), [] if fit_intercept else [b == 0.0])
    problem.solve(solver=cp.CLARABEL)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)
    assert model.dual_gap_ <= 1e-8
    np.testing.assert_allclose(model.coef_, [W.value for W in Ws], atol=3e-3)
    # The dual point proves the bound: means in a simplex, balanced columns, images in the ball.
    beta = model.dual_coef_
    mu = own.T - beta / s
    assert mu.min() >= -1e-12
    np.testing.assert_allclose(mu.sum(axis=0), 1.0, atol=1e-12)
    np.testing.assert_allclose(beta @ Z, 0.0, atol=1e-9)
    bound = -np.sum(s * mu * np.log(np.maximum(mu, 1e-300)))
    assert bound == pytest.approx(model.objective_, rel=1.1e-8)
    proba = model.predict_proba(X, Z)
    f = np.tensordot(X, model.coef_, ((1, 2), (1, 2))) + model.intercept_
    f = np.exp(f + Z @ model.covariate_coef_.T)
    np.testing.assert_allclose(proba, f / f.sum(axis=1, keepdims=True), atol=1e-12)
    np.testing.assert_allclose(np.log(proba), model.predict_log_proba(X, Z), atol=1e-12)
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(X, Z))


def test_covariates_alone_are_the_multinomial_regression_of_scikit_learn():
    X, y, Z, s = data()
    with pytest.warns(UserWarning, match="W = 0"):
        model = RGLM(1e6, family="multinomial", tol=1e-9).fit(X, y, s, covariates=Z)
    other = LogisticRegression(C=1e9, tol=1e-10, max_iter=10_000).fit(Z, y, sample_weight=s)
    np.testing.assert_allclose(model.predict_proba(X, Z), other.predict_proba(Z), atol=1e-4)


@pytest.mark.slow
def test_weights_searches_scale_and_two_classes():
    X, y, _, _ = data()
    options = {"family": "multinomial", "joint": "rows", "tol": 1e-8}
    twice = RGLM(3.0, **options).fit(np.concatenate([X, X[:9]]), np.append(y, y[:9]))
    weighed = RGLM(3.0, **options).fit(X, y, sample_weight=1.0 + (np.arange(N) < 9))
    np.testing.assert_allclose(twice.coef_, weighed.coef_, atol=1e-4)
    rough = options | {"tol": 1e-6}
    search = RGLMCV(taus=[8.0, 2.0], cv=2, **rough).fit(X, y)
    assert search.coef_.shape == (K, P, Q)
    assert search.best_score_ > -np.log(3.0)
    alone = clone(search.best_estimator_).fit(X, y)
    assert log_loss(y, alone.predict_proba(X)) == pytest.approx(
        log_loss(y, search.predict_proba(X)), rel=1e-4
    )
    assert RGLM(**rough).fit(X, y).rank_ > 0
    two = y != "c"
    one = RGLM(1.0, **options).fit(X[two], y[two])
    other = RGLM(1.0, family="binomial", tol=1e-8).fit(X[two], y[two])
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-5)


def test_what_does_not_go_with_it_says_so():
    X, y, Z, _ = data()
    with pytest.raises(ValueError, match="ridge must be 0 for family"):
        RGLM(family="multinomial", ridge=0.5).fit(X, y)
    with pytest.raises(ValueError, match="every class must have a weight"):
        RGLM(family="multinomial").fit(X, y, sample_weight=(y != "c") * 1.0)
    with pytest.raises(ValueError, match="covariate_ridge must be 0 for family"):
        RGLM(family="multinomial", covariate_ridge=0.5).fit(X, y, covariates=Z)
    with pytest.raises(ValueError, match="path are single matrices"):
        path(RGLM(family="multinomial"), X, y)
    with pytest.raises(ValueError, match="got 'multinomial'"):
        RGLM(family="multinomial").fit(X, y).leave_one_out(X, y)
