"""More than two classes as one problem whose matrices share rows or columns."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.multiclass import OneVsRestClassifier

from matreg import RGLM, RGLMCV, SMM, SMMCV, path

P, Q, K = 4, 3, 3


def data(n=45, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P, Q))
    f = np.tensordot(X, rng.standard_normal((K, P, Q)), ((1, 2), (1, 2)))
    Z = rng.standard_normal((n, 2))
    return X, np.array(["a", "b", "c"])[(f + Z @ rng.standard_normal((2, K))).argmax(axis=1)], Z


def optimum(model, X, y, Z, beside=0.0):
    """Objective and coefficients by CVXPY."""
    cp = pytest.importorskip("cvxpy")
    Ws, b, gamma = [cp.Variable((P, Q)) for _ in range(K)], cp.Variable(K), cp.Variable((2, K))
    loss = 0.0
    for c, name in enumerate(np.unique(y)):
        f = X.reshape(len(X), -1) @ cp.vec(Ws[c], order="C") + Z @ gamma[:, c] + b[c]
        own = y == name
        if isinstance(model, SMM):
            loss += cp.sum(cp.pos(1.0 - cp.multiply(np.where(own, 1.0, -1.0), f)))
        else:
            loss += cp.sum(cp.logistic(f)) - own.astype(float) @ f
    side = cp.hstack(Ws) if model.joint == "rows" else cp.vstack(Ws)
    ridge = 0.5 * cp.sum_squares(side) if isinstance(model, SMM) else 0.0
    ridge += 0.5 * beside * cp.sum_squares(gamma)
    problem = cp.Problem(cp.Minimize(loss + model.tau * cp.normNuc(side) + ridge))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, np.array([W.value for W in Ws]), b.value, gamma.value.T


@pytest.mark.parametrize(("joint", "ridge"), [("rows", 0.0), ("columns", 0.0), ("rows", 4.0)])
@pytest.mark.parametrize("model", [SMM(tau=1.0, C=1.0), RGLM(tau=1.5, family="binomial")])
def test_the_optimum_is_that_of_cvxpy_with_covariates(model, joint, ridge):
    X, y, Z = data()
    Z = Z + 2.0  # far from zero: intercepts have no ridge
    model = clone(model).set_params(joint=joint, tol=1e-8, covariate_ridge=ridge)
    model.fit(X, y, covariates=Z)
    value, W, b, gamma = optimum(model, X, y, Z, ridge)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.dual_gap_ <= 1e-8
    np.testing.assert_allclose(model.coef_, W, atol=2e-3)
    np.testing.assert_allclose(model.intercept_, b, atol=5e-3)
    np.testing.assert_allclose(model.covariate_coef_, gamma, atol=5e-3)
    side = np.concatenate(model.coef_, axis=1 if joint == "rows" else 0)
    assert model.rank_ == np.linalg.matrix_rank(side, tol=1e-6)
    # Each class has the decision of its own matrix, and a dual point that proves it.
    f = np.tensordot(X, model.coef_, ((1, 2), (1, 2))) + model.intercept_ + Z @ gamma.T
    np.testing.assert_allclose(model.decision_function(X, Z), f, atol=1e-2)
    assert model.dual_coef_.shape == (K, len(X))
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-8)
    images = np.tensordot(model.dual_coef_, X, 1)
    whole = np.concatenate(images, axis=1 if joint == "rows" else 0)
    if isinstance(model, RGLM):
        assert np.linalg.norm(whole, 2) <= model.tau * (1.0 + 1e-6)


def test_without_a_nuclear_norm_it_is_one_machine_per_class():
    X, y, _ = data()
    joint = SMM(tau=0.0, C=0.1, joint="rows", tol=1e-9).fit(X, y)
    apart = SMM(tau=0.0, C=0.1, multi_class="one_vs_rest", tol=1e-9).fit(X, y)
    np.testing.assert_allclose(joint.coef_, apart.coef_, atol=1e-3)
    assert joint.objective_ == pytest.approx(apart.objective_.sum(), rel=1e-6)
    np.testing.assert_array_equal(joint.predict(X), apart.predict(X))
    np.testing.assert_allclose(joint.label_outlier_score_, apart.label_outlier_score_, atol=0.05)


def test_weights_are_copies_and_words_follow_the_units():
    X, y, _ = data()
    weights = np.ones(len(y))
    weights[:5], weights[5] = 2.0, 0.0
    model = SMM(tau=0.5, C=1.0, joint="rows", tol=1e-8)
    weighted = clone(model).fit(X, y, sample_weight=weights)
    kept = np.r_[0:5, 0:5, 6 : len(y)]
    copies = clone(model).fit(X[kept], y[kept])
    np.testing.assert_allclose(weighted.coef_, copies.coef_, atol=1e-3)
    assert weighted.dual_coef_.shape == (K, len(y)) and not weighted.dual_coef_[:, 5].any()
    one, large = SMM(joint="columns").fit(X, y), SMM(joint="columns").fit(1000.0 * X, y)
    decisions = one.decision_function(X)
    np.testing.assert_allclose(decisions, large.decision_function(1000.0 * X), 1e-3)


def test_two_classes_have_nothing_to_share():
    X, y, _ = data()
    two = y != "c"
    plain = SMM(tau=0.5, C=1.0).fit(X[two], y[two])
    joint = SMM(tau=0.5, C=1.0, joint="rows").fit(X[two], y[two])
    np.testing.assert_array_equal(joint.coef_, plain.coef_)


def test_probabilities_are_those_of_one_against_the_rest():
    X, y, _ = data(150)
    y[::3] = np.roll(y, 1)[::3]  # wrong labels: nothing tells the classes apart
    model = RGLM(tau=0.0, family="binomial", joint="rows").fit(X, y)
    apart = OneVsRestClassifier(RGLM(tau=0.0, family="binomial")).fit(X, y)
    probability = model.predict_proba(X)
    np.testing.assert_allclose(probability, apart.predict_proba(X), atol=2e-3)
    np.testing.assert_allclose(np.log(probability), model.predict_log_proba(X), atol=1e-9)
    assert set(model.predict(X)) <= {"a", "b", "c"}
    with pytest.raises(ValueError, match='joint="rows"'):
        RGLM(family="binomial").fit(X, y)


@pytest.mark.parametrize(
    "search",
    [
        SMMCV(taus=[2.0, 0.5], C=[0.5, 1.0], joint="rows", cv=3),
        RGLMCV(taus=[2.0, 0.5], family="binomial", ridge=0.0, joint="columns", cv=3),
        RGLMCV(
            taus=[2.0], family="binomial", ridge=0.0, joint="rows", scoring="neg_log_loss", cv=3
        ),
    ],
)
def test_searches_score_what_single_fits_do(search):
    X, y, _ = data()
    search = clone(search).fit(X, y)
    single = search.best_estimator_
    assert single.joint == search.joint
    np.testing.assert_allclose(clone(single).fit(X, y).coef_, search.coef_, atol=1e-3)
    if search.scoring is None:
        from sklearn.model_selection import cross_val_score

        scoring = "neg_log_loss" if isinstance(search, RGLMCV) else None
        scores = cross_val_score(clone(single), X, y, cv=3, scoring=scoring)
        assert search.best_score_ == pytest.approx(scores.mean())


def test_what_does_not_go_with_joint_says_so(tmp_path):
    import sklearn

    X, y, _ = data()
    with pytest.raises(ValueError, match="joint"):
        SMM(joint="diagonal").fit(X, y)
    with pytest.raises(ValueError, match="joint must be None"):
        SMMCV(joint="rows", cv="loo").fit(X, y)
    with pytest.raises(ValueError, match="path are single matrices"):
        path(SMM(joint="rows"), X, y)
    fitted = SMM(joint="rows").fit(X, y)
    with pytest.raises(ValueError, match="joint must be None"):
        fitted.leave_one_out(X, y)
    np.save(tmp_path / "X.npy", X)
    with sklearn.config_context(working_memory=0.001):
        with pytest.raises((ValueError, TypeError), match="joint='rows'"):
            SMM(joint="rows").fit(np.load(tmp_path / "X.npy", mmap_mode="r"), y)
        with pytest.raises(ValueError, match="working_memory"):
            SMM(joint="rows").fit(X, y)
