"""Covariates in the estimators, against CVXPY, statsmodels and least squares."""

import warnings

import numpy as np
import pytest

from matreg import GRMR, GRMRCV, RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV, path, tau_max
from problems import covariate_data as data
from problems import covariate_labels as labels

N, P, Q = 90, 4, 3
LARGE = 1e6  # of tau, at which W is zero


MODELS = {
    "RMR": (RMR(tau=1.0, C=1.0, epsilon=0.2), "normal"),
    "RMR without intercept": (RMR(tau=1.0, C=1.0, epsilon=0.2, fit_intercept=False), "normal"),
    "absolute": (RMR(tau=1.0, C=1.0, loss="absolute"), "normal"),
    "huber": (RMR(tau=1.0, C=1.0, loss="huber", delta=0.5), "normal"),
    "quantile": (RMR(tau=1.0, C=1.0, loss="quantile", quantile=0.8), "normal"),
    "first-order": (RMR(tau=1.0, C=1.0, loss="huber", delta=0.5, solver="first-order"), "normal"),
    "normal": (RGLM(tau=5.0), "normal"),
    "binomial": (RGLM(tau=2.0, family="binomial"), "binomial"),
    "poisson": (RGLM(tau=5.0, family="poisson"), "poisson"),
    "hinge": (SMM(tau=1.0, C=1.0), "binomial"),
    "squared hinge": (SMM(tau=1.0, C=1.0, loss="squared_hinge"), "binomial"),
}


def optimum(name, model, X, Z, y):
    """Objective, W, intercept and coefficients of the covariates by CVXPY."""
    cp = pytest.importorskip("cvxpy")
    W, b, gamma = cp.Variable((P, Q)), cp.Variable(), cp.Variable(Z.shape[1])
    f = X.reshape(len(X), -1) @ cp.vec(W, order="C") + Z @ gamma + b
    r, signs = y - f, 2.0 * y - 1.0
    losses = {
        "absolute": lambda: cp.norm1(r),
        "huber": lambda: cp.sum(cp.huber(r, 0.5)),  # r^2 up to 0.5
        "first-order": lambda: cp.sum(cp.huber(r, 0.5)),
        "quantile": lambda: cp.sum(cp.maximum(0.8 * r, -0.2 * r)),
        "normal": lambda: 0.5 * cp.sum_squares(r),
        "binomial": lambda: cp.sum(cp.logistic(f)) - y @ f,
        "poisson": lambda: cp.sum(cp.exp(f)) - y @ f,
        "hinge": lambda: cp.sum(cp.pos(1.0 - cp.multiply(signs, f))),
        "squared hinge": lambda: cp.sum_squares(cp.pos(1.0 - cp.multiply(signs, f))),
    }
    loss = losses.get(name, lambda: cp.sum(cp.pos(cp.abs(r) - 0.2)))()
    ridge = 0.0 if isinstance(model, RGLM) else 0.5 * cp.sum_squares(W)
    constraints = [] if model.fit_intercept else [b == 0.0]
    problem = cp.Problem(cp.Minimize(ridge + model.tau * cp.normNuc(W) + loss), constraints)
    problem.solve(solver=cp.CLARABEL)
    return W.value, float(b.value), gamma.value


@pytest.mark.parametrize("name", MODELS)
def test_all_losses_agree_with_cvxpy(name):
    model, kind = MODELS[name]
    X, Z, _ = data()
    y = labels(kind)
    model.set_params(tol=1e-8).fit(X, y, covariates=Z)
    W, b, gamma = optimum(name, model, X, Z, y)
    np.testing.assert_allclose(model.coef_, W, atol=2e-3)
    np.testing.assert_allclose(model.covariate_coef_, gamma, atol=5e-3)
    assert model.intercept_ == pytest.approx(b, abs=5e-3)
    assert model.dual_gap_ <= 1e-6


def test_quantile_regression_of_statsmodels_at_zero_coefficients():
    statsmodels = pytest.importorskip("statsmodels.api")
    X, Z, _ = data()
    y = labels("normal")
    model = RMR(tau=LARGE, C=1.0, loss="quantile", quantile=0.7)
    with pytest.warns(UserWarning, match="covariates alone"):
        model.fit(X, y, covariates=Z)
    other = statsmodels.QuantReg(y, statsmodels.add_constant(Z)).fit(q=0.7)
    found = [model.intercept_, *model.covariate_coef_]
    np.testing.assert_allclose(found, other.params, atol=1e-4)
    assert model.rank_ == 0


@pytest.mark.parametrize("family", ["normal", "binomial", "poisson"])
@pytest.mark.filterwarnings("ignore:W = 0")
def test_glm_of_statsmodels_at_zero_coefficients(family):
    sm = pytest.importorskip("statsmodels.api")
    X, Z, _ = data()
    y = labels(family)
    weights = np.random.default_rng(3).uniform(0.5, 2.0, N)
    model = RGLM(tau=LARGE, family=family, tol=1e-10)
    model.fit(X, y, sample_weight=weights, covariates=Z)
    kinds = {
        "normal": sm.families.Gaussian(),
        "binomial": sm.families.Binomial(),
        "poisson": sm.families.Poisson(),
    }
    other = sm.GLM(y, sm.add_constant(Z), family=kinds[family], freq_weights=weights).fit(tol=1e-12)
    found = [model.intercept_, *model.covariate_coef_]
    np.testing.assert_allclose(found, other.params, atol=1e-4)
    np.testing.assert_allclose(
        model.predict_proba(X, Z)[:, 1] if family == "binomial" else model.predict(X, Z),
        other.fittedvalues,
        rtol=1e-3,
    )


def test_least_squares_are_those_of_residuals():
    X, Z, _ = data()
    y = labels("normal")
    columns = np.column_stack([np.ones(N), Z])
    keep = np.eye(N) - columns @ np.linalg.pinv(columns)
    apart = RGLM(tau=5.0, fit_intercept=False, tol=1e-10)
    apart.fit((keep @ X.reshape(N, -1)).reshape(X.shape), keep @ y)
    joint = RGLM(tau=5.0, tol=1e-10).fit(X, y, covariates=Z)
    np.testing.assert_allclose(joint.coef_, apart.coef_, atol=1e-6)


@pytest.mark.parametrize("name", ["RMR", "normal", "poisson", "hinge"])
def test_a_change_of_basis_of_the_covariates_changes_no_prediction(name):
    model, kind = MODELS[name]
    X, Z, _ = data()
    y, M = labels(kind), np.array([[1e3, 2.0], [-3e2, 0.01]])
    model = model.set_params(tol=1e-9)
    one = model.fit(X, y, covariates=Z).coef_
    gamma = model.covariate_coef_
    other = model.fit(X, y, covariates=Z @ M + [5.0, -100.0]).coef_
    np.testing.assert_allclose(one, other, atol=1e-4)
    np.testing.assert_allclose(M @ model.covariate_coef_, gamma, atol=1e-3)


@pytest.mark.parametrize("model", [RMR(), RGLM(), GRMR()], ids=["RMR", "RGLM", "GRMR"])
def test_defaults_do_not_depend_on_units_of_covariates(model):
    X, Z, _ = data()
    y = labels("normal")
    one = model.fit(X, y, covariates=Z).predict(X, Z)
    other = model.fit(X, y, covariates=1e6 * Z).predict(X, 1e6 * Z)
    np.testing.assert_allclose(one, other, atol=2e-2 * y.std())


def test_labels_that_follow_from_covariates_do_not_change_the_scale():
    X, Z, _ = data()
    y = labels("normal")
    one = RMR().fit(X, y, covariates=Z)
    other = RMR().fit(X, y + 1000.0 * Z[:, 0], covariates=Z)
    assert one.C_ == pytest.approx(other.C_, rel=1e-6)
    assert one.epsilon_ == pytest.approx(other.epsilon_, rel=1e-6)
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-3)


@pytest.mark.parametrize("model", [RMR(), RGLM()], ids=["RMR", "RGLM"])
def test_a_sample_twice_is_weight_two_and_other_covariates_are_another_sample(model):
    X, Z, _ = data()
    y = labels("normal")
    twice = np.r_[0:N, 0:20]
    weights = np.r_[np.full(20, 2.0), np.ones(N - 20)]
    one = model.fit(X[twice], y[twice], covariates=Z[twice]).coef_
    other = model.fit(X, y, sample_weight=weights, covariates=Z).coef_
    np.testing.assert_allclose(one, other, atol=1e-6)
    moved = Z[twice] + np.r_[np.zeros(N), np.ones(20)][:, None]
    assert not np.allclose(model.fit(X[twice], y[twice], covariates=moved).coef_, other, atol=1e-6)


def test_planted_confounding_is_undone_by_the_joint_fit():
    rng = np.random.default_rng(0)
    n, p = 150, 6
    truth = np.outer(rng.uniform(0.5, 1.5, p), rng.uniform(0.5, 1.5, p))
    age = rng.standard_normal(n)
    X = rng.standard_normal((n, p, p)) + 0.5 * age[:, None, None]
    y = X.reshape(n, -1) @ truth.ravel() - 8.0 * age + 0.1 * rng.standard_normal(n)

    def error(coef):
        return np.linalg.norm(coef - truth) / np.linalg.norm(truth)

    clean = error(RMR().fit(X, y + 8.0 * age).coef_)
    joint = error(RMR().fit(X, y, covariates=age).coef_)
    first = y - np.polyval(np.polyfit(age, y, 1), age)
    assert joint < 1.1 * clean + 0.01
    assert error(RMR().fit(X, first).coef_) > 2.0 * joint
    assert error(RMR().fit(X, y).coef_) > 2.0 * joint


SEARCHES = [
    (RMRCV([5.0, 1.0, 0.2], C=1.0, epsilon=0.2, cv=3), RMR, "normal"),
    (RGLMCV([5.0, 1.0], cv=3), RGLM, "normal"),
    (SMMCV([5.0, 1.0], C=1.0, cv=3), SMM, "binomial"),
    (GRMRCV([5.0, 1.0], limit=4.0, C=1.0, epsilon=0.2, cv=3), GRMR, "normal"),
]


@pytest.mark.parametrize(
    ("model", "plain", "kind"), SEARCHES, ids=[type(one[0]).__name__ for one in SEARCHES]
)
def test_searches_score_with_the_covariates_of_the_folds(model, plain, kind):
    X, Z, _ = data()
    y = labels(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y, covariates=Z)
        if plain is GRMR:  # rough folds: the last fit alone is compared
            assert model.best_estimator_.score(X, y, covariates=Z) == model.score(
                X, y, covariates=Z
            )
            return
        scores = []
        for f in range(3):
            from sklearn.model_selection import check_cv

            folds = list(check_cv(3, y, classifier=kind != "normal").split(X, y))
            train, test = folds[f]
            numbers = {
                name: getattr(model, f"{name}_")
                for name in ("tau", "C", "epsilon")
                if hasattr(model, f"{name}_")
            }
            one = plain(**numbers).fit(X[train], y[train], covariates=Z[train])
            scores.append(one.score(X[test], y[test], covariates=Z[test]))
    assert model.best_score_ == pytest.approx(np.mean(scores), abs=1e-3)
    assert model.best_estimator_.covariate_coef_.tolist() == model.covariate_coef_.tolist()
    np.testing.assert_array_equal(
        model.predict(X, covariates=Z), model.best_estimator_.predict(X, covariates=Z)
    )


def test_folds_without_one_of_the_sites():
    X, Z, _ = data()
    sites = np.repeat(["a", "b", "c"], N // 3)
    y = labels("normal") + 5.0 * (sites == "b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = RMRCV([1.0], C=1.0, epsilon=0.1, cv=3).fit(
            X, y, groups=sites, covariates={"z": Z[:, 0], "site": sites}
        )
    assert model.covariate_names_.tolist() == ["z", "site_b", "site_c"]
    assert model.covariate_coef_[1] == pytest.approx(5.0, abs=1.0)


def test_three_classes_have_coefficients_each():
    X, Z, f = data()
    y = np.digitize(f, [-1.0, 1.5])
    for kind in ("one_vs_one", "one_vs_rest"):
        model = SMM(tau=0.5, C=1.0, multi_class=kind).fit(X, y, covariates=Z)
        assert model.covariate_coef_.shape == (3, 2)
        assert model.score(X, y, covariates=Z) > 0.8
        assert model.score(X, y, covariates=Z) == np.mean(model.predict(X, covariates=Z) == y)
        decided = X.reshape(N, -1) @ model.coef_.reshape(3, -1).T + Z @ model.covariate_coef_.T
        if kind == "one_vs_rest":
            np.testing.assert_allclose(
                model.decision_function(X, Z), decided + model.intercept_, atol=1e-10
            )


@pytest.mark.parametrize("kind", ["exact", "squared"])
@pytest.mark.parametrize("outliers", ["replace", "split"])
def test_grmr_has_covariates_in_both_halves(kind, outliers):
    rng = np.random.default_rng(2)
    scores = rng.standard_normal((N, 2))
    X = (scores @ rng.standard_normal((2, P * Q))).reshape(N, P, Q)
    Z = rng.standard_normal((N, 2)) + scores
    f = scores[:, 0] + Z @ [1.5, -1.0] + 0.7
    model = GRMR(tau=0.1, C=1.0, epsilon=0.05, coupling=kind, outliers=outliers, max_iter=30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, f, covariates=Z)
    if kind == "exact":
        assert (np.diff(model.history_["objective"]) <= 1e-8 * model.objective_).all()
    np.testing.assert_allclose(model.covariate_coef_, [1.5, -1.0], atol=0.3)
    residual = f - model.predict(X, covariates=Z)
    assert np.median(np.abs(residual)) < 0.3
    again = GRMR(tau=0.1, C=1.0, epsilon=0.05, coupling=kind, outliers=outliers, warm_start=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        again.fit(X, f, covariates=Z)
        steps = again.n_iter_
        again.fit(X, f, covariates=Z)
    assert again.n_iter_ <= steps


def test_paths_and_tau_max():
    X, Z, _ = data()
    y = labels("normal")
    for model in (RMR(C=1.0, epsilon=0.2), RGLM()):
        found = path(model, X, y, covariates=Z, n_taus=4)
        assert found.taus[0] == pytest.approx(tau_max(model, X, y, covariates=Z), rel=1e-3)
        assert found.ranks[0] == 0 and found.ranks[-1] > 0
        last = type(model)(**{**model.get_params(), "tau": float(found.taus[-1])})
        last.fit(X, y, covariates=Z)
        np.testing.assert_allclose(found.predict(X, Z)[-1], last.predict(X, Z), atol=1e-2)
        assert found.covariate_coefs.shape == (4, 2)
        with pytest.raises(ValueError, match="covariates must be given"):
            found.predict(X)


def test_warm_start_and_fits_without_covariates_after_one_with():
    X, Z, _ = data()
    y = labels("normal")
    for model in (RMR(tau=1.0, warm_start=True), RGLM(tau=5.0, warm_start=True)):
        cold = model.fit(X, y, covariates=Z).coef_
        np.testing.assert_allclose(model.fit(X, y, covariates=Z).coef_, cold, atol=1e-3)
        model.fit(X, y)
        assert not hasattr(model, "covariate_coef_") and not hasattr(model, "covariate_names_")
        model.predict(X)


def test_label_scores_know_the_covariates():
    X, Z, f = data()
    y = f + 0.05 * np.random.default_rng(0).standard_normal(N)
    y[7] += 10.0
    assert RMR(tau=0.1).fit(X, y, covariates=Z).label_outlier_score_.argmax() == 7
    assert GRMR(tau=0.1).fit(X, y, covariates=Z).label_outlier_score_.argmax() == 7
    classes = f > np.median(f)
    far = int(np.argmax(f))
    classes[far] = False
    assert SMM(tau=0.1, C=1.0).fit(X, classes, covariates=Z).label_outlier_score_.argmax() == far


def test_criteria_count_the_covariates():
    from matreg import RGLM, information_criteria

    X, Z, _ = data()
    y = labels("normal")
    found = path(RGLM(), X, y, covariates=Z, taus=[LARGE])
    table = information_criteria(found, X, y, covariates=Z)
    assert table["df"][0] == pytest.approx(3.0)
    columns = np.column_stack([np.ones(N), Z])
    rest = y - columns @ np.linalg.lstsq(columns, y, rcond=None)[0]
    assert table["aic"][0] == pytest.approx(N * np.log(np.mean(rest**2)) + 6.0, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("ridge", [0.0, 2.0])
@pytest.mark.parametrize("kind", [RMRCV, RGLMCV])
def test_leave_one_out_searches_leave_out_the_covariates_too(kind, ridge):
    from sklearn.metrics import r2_score

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3, 2)), rng.standard_normal(30)
    Z = rng.standard_normal((30, 2)) + X[:, 0]
    y += 2.0 * X[:, 0, 0] + Z @ [1.0, -2.0]
    fixed = {"C": 1.0, "epsilon": 0.1} if kind is RMRCV else {}
    model = kind([1.0], cv="loo", covariate_ridge=ridge, tol=1e-8, **fixed).fit(X, y, covariates=Z)
    left_out = []
    for i in range(30):
        others = np.arange(30) != i
        one = model.best_estimator_.fit(X[others], y[others], covariates=Z[others])
        left_out.append(one.predict(X[i : i + 1], Z[i : i + 1])[0])
    assert model.best_score_ == pytest.approx(r2_score(y, left_out), abs=1e-3)
