"""Several labels with one nuclear norm, against CVXPY."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from matreg import RGLM, RGLMCV, RMR, RMRCV, path, tau_max

N, P, Q, K = 40, 4, 3, 2


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, P, Q))
    u = rng.standard_normal(P)
    Ws = [np.outer(u, rng.standard_normal(Q)) for _ in range(K)]
    z = rng.standard_normal(N)
    Y = np.column_stack([np.tensordot(X, W, 2) for W in Ws]) + z[:, None] + [1.0, -2.0]
    Y += 0.3 * rng.laplace(size=Y.shape)
    Y[:5, 1] = np.nan
    return X, Y * [1.0, 50.0], z


@pytest.mark.parametrize(("joint", "ridge"), [("rows", 0.0), ("columns", 0.0), ("rows", 5.0)])
@pytest.mark.parametrize("model", [RMR(tau=2.0, C=1.0, epsilon=0.1), RGLM(tau=3.0)], ids=repr)
def test_the_joint_fit_agrees_with_cvxpy(model, joint, ridge):
    cp = pytest.importorskip("cvxpy")
    X, Y, z = data()
    z = z + 3.0  # far from zero: intercepts have no ridge
    model.set_params(joint=joint, tol=1e-8, covariate_ridge=ridge).fit(X, Y, covariates=z)
    Ws = [cp.Variable((P, Q)) for _ in range(K)]
    b, gamma = cp.Variable(K), cp.Variable(K)
    loss = 0.0
    for j, s in enumerate(model.label_scale_):
        known = ~np.isnan(Y[:, j])
        f = X[known].reshape(-1, P * Q) @ cp.vec(Ws[j], order="C") + z[known] * gamma[j] + b[j]
        r = Y[known, j] / s - f
        squares = isinstance(model, RGLM)
        loss += 0.5 * cp.sum_squares(r) if squares else cp.sum(cp.pos(cp.abs(r) - 0.1))
        loss += 0.0 if squares else 0.5 * cp.sum_squares(Ws[j])
    whole = cp.hstack(Ws) if joint == "rows" else cp.vstack(Ws)
    loss += 0.5 * ridge * cp.sum_squares(gamma)
    problem = cp.Problem(cp.Minimize(loss + model.tau * cp.normNuc(whole)))
    problem.solve(solver=cp.CLARABEL)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-5)
    for j, s in enumerate(model.label_scale_):
        np.testing.assert_allclose(model.coef_[j] / s, Ws[j].value, atol=3e-3)
        assert model.intercept_[j] / s == pytest.approx(b.value[j], abs=1e-2)
        assert model.covariate_coef_[j, 0] / s == pytest.approx(gamma.value[j], abs=1e-2)
    assert model.dual_gap_ <= 1e-6
    assert model.predict(X, z).shape == (N, K) and model.score(X, Y, covariates=z) > 0.8


@pytest.mark.parametrize("kind", [RMR, RGLM])
def test_units_of_the_labels_do_not_matter(kind):
    X, Y, z = data()
    one = kind(joint="rows", tol=1e-8).fit(X, Y, covariates=z).predict(X, z)
    other = kind(joint="rows", tol=1e-8).fit(X, Y * [7.0, 1e-3], covariates=z).predict(X, z)
    np.testing.assert_allclose(other, one * [7.0, 1e-3], rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", [RMR, RGLM])
def test_constants_added_to_samples_do_not_matter(kind):
    """The unit of tau took the samples as they are, and counts hardly converged."""
    X, Y, z = data()
    counts = np.abs(np.round(Y / [5.0, 250.0]))
    Y, options = (Y, {}) if kind is RMR else (counts, {"family": "poisson"})
    model = kind(joint="rows", tol=1e-8, **options)
    one = clone(model).fit(X, Y, covariates=z)
    other = clone(model).fit(X + 1000.0, Y, covariates=z)
    assert other.tau_ == pytest.approx(one.tau_, rel=1e-6)
    assert np.max(other.dual_gap_) <= 1e-8
    np.testing.assert_allclose(other.predict(X + 1000.0, z), one.predict(X, z), rtol=1e-3)


def test_labels_share_their_row_profiles():
    X, Y, z = data()
    model = RGLM("3*scale", joint="rows").fit(X, Y, covariates=z)
    together = np.hstack(model.coef_ / model.label_scale_[:, None, None])
    assert model.rank_ == np.linalg.matrix_rank(together, tol=1e-8)


def test_paths_are_of_single_matrices_and_tau_max_of_all_labels():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="path are single matrices"):
        path(RGLM(joint="rows"), X, Y)
    largest = tau_max(RGLM(joint="rows"), X, Y)
    with pytest.warns(UserWarning, match="W = 0"):
        assert RGLM(1.001 * largest, joint="rows").fit(X, Y).rank_ == 0
    assert RGLM(0.99 * largest, joint="rows").fit(X, Y).rank_ > 0


def test_bad_input():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="joint"):
        RMR(joint="both").fit(X, Y)
    with pytest.raises(ValueError, match="one label for each of the 40 samples"):
        RMR(joint="rows").fit(X, Y[1:])


def test_the_solver_of_the_paper_has_no_intercept_for_each_label():
    X, Y, _ = data()
    model = RMR(tau=1.0, C=1.0, epsilon=0.1, joint="rows", solver="admm", max_iter=5000)
    with pytest.raises(ValueError, match="joint, where each label has an intercept"):
        model.fit(X, Y)
    model.set_params(fit_intercept=False).fit(X, Y)
    other = clone(model).set_params(solver="auto").fit(X, Y)
    assert model.objective_ == pytest.approx(other.objective_, rel=1e-5)


@pytest.mark.parametrize("beside", [False, True])
def test_zero_coefficients_are_said_with_what_is_left(beside):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 4, 3)), rng.standard_normal((30, 2))
    said = "depend on the covariates alone" if beside else "all predictions are the same"
    with pytest.warns(UserWarning, match=said):
        RGLM(1e6, joint="rows").fit(X, Y, covariates=rng.standard_normal(30) if beside else None)


def test_label_without_weight_is_named():
    X, Y = np.ones((3, 1, 2)), np.array([[1.0, 2.0], [2.0, np.nan], [0.5, np.nan]])
    with pytest.raises(ValueError, match="label 1 has 1 samples, all of weight 0"):
        RMR(joint="rows").fit(X, Y, sample_weight=[0.0, 1.0, 1.0])


def side_by_side(X, Y):
    """Samples of all labels that are there as those of one problem, with columns of ones."""
    rows, labels = np.nonzero(~np.isnan(Y))
    stacked = np.stack([np.kron(np.eye(K)[j], X[i]) for i, j in zip(rows, labels, strict=True)])
    return stacked, Y[rows, labels], np.eye(K)[labels], rows, labels


@pytest.mark.parametrize("robust", [True, False])
def test_searches_try_one_tau_for_labels_that_are_together(robust):
    """Against fits of the folds to samples that are stacked by hand."""
    X, Y, _ = data()
    fixed = {"C": 1.0, "epsilon": 0.1} if robust else {"ridge": 0.0}
    kind, single = (RMRCV, RMR) if robust else (RGLMCV, RGLM)
    taus, cv = [8.0, 2.0], KFold(3)
    search = kind(taus=taus, cv=cv, joint="rows", tol=1e-9, **fixed).fit(X, Y)
    alone = single(tau=search.tau_, joint="rows", tol=1e-9, **fixed).fit(X, Y)
    np.testing.assert_allclose(search.coef_, alone.coef_, atol=1e-4)
    assert search.coef_.shape == (K, P, Q) and np.ndim(search.rank_) == 0
    Y = Y / search.label_scale_
    expected = np.zeros((3, len(taus)))
    for f, (train, test) in enumerate(cv.split(X)):
        Xs, ys, ones, _, _ = side_by_side(X[train], Y[train])
        Xt, yt, more, _, labels = side_by_side(X[test], Y[test])
        for k, tau in enumerate(taus):
            model = single(tau=tau, fit_intercept=False, tol=1e-9, **fixed)
            model.fit(Xs, ys, covariates=ones)
            found = model.predict(Xt, covariates=more)
            each = [r2_score(yt[labels == j], found[labels == j]) for j in range(K)]
            expected[f, k] = np.mean(each)
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], expected.mean(axis=0), atol=1e-5
    )
    best = clone(search.best_estimator_).fit(X, Y * search.label_scale_)
    np.testing.assert_allclose(best.coef_, search.coef_, atol=1e-4)
    assert set(vars(alone)) <= set(vars(search)) | set(alone.get_params())


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RMRCV, RGLMCV])
def test_searches_of_labels_together_with_defaults(kind):
    X, Y, z = data()
    options = {"joint": "columns", "cv": 2, "n_taus": 4}
    options |= {"C": "3*scale"} if kind is RMRCV else {}
    model = kind(**options).fit(X, Y, covariates=z)
    other = kind(**options).fit(X, Y * [7.0, 1e-3], covariates=z)
    assert model.score(X, Y, covariates=z) > 0.8 and model.covariate_coef_.shape == (K, 1)
    np.testing.assert_allclose(
        other.predict(X, z), model.predict(X, z) * [7.0, 1e-3], rtol=2e-2, atol=1e-3
    )
    bounded = kind(**options, scoring="neg_bounded_absolute_error", adaptive=1)
    assert bounded.fit(X, Y, covariates=z).score(X, Y, covariates=z) > 0.8
    with pytest.raises(ValueError, match="joint must be None with cv"):
        kind(joint="rows", cv="loo").fit(X, Y)
    absent = Y.copy()
    absent[:20, 1] = np.nan
    with pytest.raises(ValueError, match="defined on the test samples of every fold"):
        kind(joint="rows", cv=KFold(2)).fit(X, absent)


def test_bases_and_scores_of_labels_together():
    X, Y, _ = data()
    Y[7, 0] += 30.0
    model = RMR(tau=1.0, C=1.0, epsilon=0.1, joint="rows", column_basis=np.eye(Q)[:, :2]).fit(X, Y)
    assert not model.coef_[:, :, 2].any() and model.coef_[:, :, :2].any()
    plain = RMR(tau=1.0, C=1.0, epsilon=0.1, joint="rows").fit(X, Y)
    scores = plain.label_outlier_score_
    assert scores.shape == (K, N) and scores[0].argmax() == 7
    assert np.isnan(scores[1, :5]).all() and np.isfinite(scores[1, 5:]).all()
