"""A ridge on the coefficients of covariates, against CVXPY and against its limits."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone

import matreg
from matreg import GRMR, GSMM, RGLM, RGLMCV, RMR, RMRCV, SMM, information_criteria, path, tau_max

P, Q = 4, 3
MODELS = {
    "tube": RMR(tau=1.0, C=1.0, epsilon=0.2),
    "tube without intercept": RMR(tau=1.0, C=1.0, epsilon=0.2, fit_intercept=False),
    "first-order": RMR(tau=1.0, C=1.0, epsilon=0.2, solver="first-order", max_iter=20_000),
    "normal": RGLM(tau=2.0),
    "binomial": RGLM(tau=0.5, family="binomial"),
    "poisson": RGLM(tau=2.0, family="poisson"),
    "hinge": SMM(tau=0.2, C=1.0),
}


def data(n=40, seed=0):
    """Samples, covariates the last of which follows from the others, labels and their signs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, P, Q))
    Z = rng.standard_normal((n, 2)) * [1.0, 3.0] + [2.0, 0.0]
    Z = np.column_stack([Z, Z[:, 0] - 2.0 * Z[:, 1]])
    f = 1.5 * X[:, 0, 0] + Z @ [1.0, 0.2, 0.0] - 1.5
    return X, Z, f + 0.8 * rng.standard_normal(n)


def labels(name, y):
    kinds = {"binomial": y > 0.5, "hinge": y > 0.5, "poisson": np.floor(np.abs(y))}
    return kinds.get(name, y)


def optimum(name, model, X, Z, y, ridge):
    """Objective and coefficients of the covariates by CVXPY."""
    cp = pytest.importorskip("cvxpy")
    W, b, gamma = cp.Variable((P, Q)), cp.Variable(), cp.Variable(Z.shape[1])
    f = X.reshape(len(X), -1) @ cp.vec(W, order="C") + Z @ gamma + b
    constant = y @ np.log(np.where(y > 0, y, 1.0)) - y.sum() if name == "poisson" else 0.0
    losses = {
        "normal": lambda: 0.5 * cp.sum_squares(y - f),
        "binomial": lambda: cp.sum(cp.logistic(f)) - y.astype(float) @ f,
        "poisson": lambda: cp.sum(cp.exp(f)) - y @ f + constant,
        "hinge": lambda: cp.sum(cp.pos(1.0 - cp.multiply(2.0 * y - 1.0, f))),
    }
    loss = losses.get(name, lambda: cp.sum(cp.pos(cp.abs(y - f) - 0.2)))()
    price = model.tau * cp.normNuc(W) + 0.5 * ridge * cp.sum_squares(gamma)
    price += 0.0 if isinstance(model, RGLM) else 0.5 * cp.sum_squares(W)
    constraints = [] if model.fit_intercept else [b == 0.0]
    problem = cp.Problem(cp.Minimize(loss + price), constraints)
    problem.solve(solver=cp.CLARABEL)
    return problem.value, gamma.value


@pytest.mark.filterwarnings("ignore:covariates")
@pytest.mark.parametrize("ridge", [1e-3, 2.0])
@pytest.mark.parametrize("n", [18, 60])  # the interior point method, and the augmented Lagrangian
@pytest.mark.parametrize("name", MODELS)
def test_all_losses_agree_with_cvxpy(name, n, ridge):
    X, Z, y = data(n)
    y = labels(name, y)
    model = clone(MODELS[name]).set_params(covariate_ridge=ridge, tol=1e-8)
    model.fit(X, y, covariates=Z)
    value, gamma = optimum(name, model, X, Z, y, ridge)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert model.dual_gap_ <= 1e-8
    np.testing.assert_allclose(model.covariate_coef_, gamma, atol=2e-3)
    assert model.dual_coef_.shape == (n,)
    # What the ridge is in the dual: the sums of the columns are the ridge times gamma.
    if ridge == 2.0:
        np.testing.assert_allclose(Z.T @ model.dual_coef_, ridge * gamma, atol=2e-2)


@pytest.mark.filterwarnings("ignore:covariates")
def test_a_vanishing_ridge_is_the_solution_of_least_norm_and_a_large_one_has_no_covariates():
    X, Z, y = data()
    plain = RGLM(tau=2.0, tol=1e-9).fit(X, y, covariates=Z)
    small = RGLM(tau=2.0, tol=1e-9, covariate_ridge=1e-7).fit(X, y, covariates=Z)
    np.testing.assert_allclose(small.covariate_coef_, plain.covariate_coef_, atol=1e-5)
    large = RGLM(tau=2.0, tol=1e-9, covariate_ridge=1e9).fit(X, y, covariates=Z)
    alone = RGLM(tau=2.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(large.coef_, alone.coef_, atol=1e-5)
    assert alone.intercept_ == pytest.approx(large.intercept_, abs=1e-5)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:covariates")
def test_paths_warm_starts_searches_and_tau_max_know_the_ridge():
    X, Z, y = data()
    model = RMR(tau=2.0, C=1.0, epsilon=0.2, covariate_ridge=5.0, tol=1e-8, warm_start=True)
    one = clone(model).fit(X, y, covariates=Z)
    again = clone(model).set_params(tau=1.0).fit(X, y, covariates=Z).set_params(tau=2.0)
    np.testing.assert_allclose(again.fit(X, y, covariates=Z).coef_, one.coef_, atol=1e-3)
    points = path(model, X, y, taus=[4.0, 2.0], covariates=Z)
    assert points.points[1].primal == pytest.approx(one.objective_, rel=1e-6)
    largest = tau_max(model, X, y, covariates=Z)
    with pytest.warns(UserWarning, match="W = 0"):
        assert clone(model).set_params(tau=1.01 * largest).fit(X, y, covariates=Z).rank_ == 0
    assert clone(model).set_params(tau=0.97 * largest).fit(X, y, covariates=Z).rank_ > 0
    search = RMRCV(taus=[2.0, 1.0], C=[1.0, 3.0], epsilon=0.2, covariate_ridge=5.0, cv=3, tol=1e-8)
    chosen = search.fit(X, y, covariates=Z)
    single = chosen.best_estimator_
    assert single.covariate_ridge == 5.0
    np.testing.assert_allclose(
        clone(single).fit(X, y, covariates=Z).covariate_coef_, chosen.covariate_coef_, atol=1e-4
    )


@pytest.mark.parametrize("along", [{"taus": [4.0, 2.0, 1.0]}, {"Cs": [0.3, 1.0, 3.0]}])
def test_points_of_a_path_with_a_ridge_start_from_those_before(along):
    X, Z, y = data()
    model = RMR(tau=1.0, C=1.0, epsilon=0.2, covariate_ridge=5.0)
    found = path(model, X, y, covariates=Z, **along)
    assert found.solvers[1:] == ["active-set"] * 2 and found.gaps.max() <= 1e-6
    assert set(found.points[-1].history["method"]) == {"active set"}


@pytest.mark.parametrize("solver", ["auto", "interior", "active-set", "augmented"])
def test_a_warm_start_with_a_ridge_is_the_solution_itself(solver):
    X, Z, y = data()
    model = RMR(tau=1.0, C=1.0, epsilon=0.2, covariate_ridge=5.0, solver=solver, warm_start=True)
    objective = model.fit(X, y, covariates=Z).objective_
    assert model.dual_gap_ <= 1e-6
    assert model.fit(X, y, covariates=Z).n_iter_ == 0
    assert model.objective_ == pytest.approx(objective, rel=1e-9)


@pytest.mark.parametrize("kind", [RMR, RGLM])
def test_more_covariates_than_samples(kind):
    """At W = 0 with the squared loss it is ridge regression."""
    from sklearn.linear_model import Ridge

    rng = np.random.default_rng(1)
    X, _, y = data(20)
    Z = rng.standard_normal((20, 30))
    with pytest.raises(ValueError, match="such as covariate_ridge=1"):
        kind().fit(X, y, covariates=Z)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = kind(tau=0.5, covariate_ridge=2.0).fit(X, y, covariates=Z)
    assert model.dual_gap_ <= 1e-6 and model.covariate_coef_.shape == (30,)
    # No other coefficients are better.
    moved = clone(model).set_params(covariate_ridge=2.0, tau=1e9)
    with pytest.warns(UserWarning, match="W = 0"):
        moved.fit(X, y, covariates=Z)
    if kind is RGLM:
        ridge = Ridge(alpha=2.0).fit(Z, y)
        np.testing.assert_allclose(moved.covariate_coef_, ridge.coef_, atol=1e-5)
        assert moved.intercept_ == pytest.approx(ridge.intercept_, abs=1e-5)


@pytest.mark.parametrize("tau", [0.5, 1e6])
def test_degrees_of_freedom_are_the_divergence(tau):
    X, Z, y = data(30)
    Z = Z[:, :2]
    model, step, total = RGLM(covariate_ridge=4.0, tol=1e-13), 1e-4, 0.0
    points = path(model, X, y, taus=[tau], covariates=Z)
    (found,) = information_criteria(points, X, y, covariates=Z)["df"]
    for i in range(len(y)):
        moved = []
        for sign in (1.0, -1.0):
            other = y.copy()
            other[i] += sign * step
            at = path(model, X, other, taus=[tau], covariates=Z)
            moved.append(at.predict(X, covariates=Z)[0, i])
        total += (moved[0] - moved[1]) / (2.0 * step)
    assert found == pytest.approx(total, rel=1e-3)
    if tau == 1e6:
        centred = Z - Z.mean(axis=0)
        gram = centred.T @ centred
        assert found == pytest.approx(1.0 + np.trace(np.linalg.solve(gram + 4.0 * np.eye(2), gram)))


@pytest.mark.slow
@pytest.mark.parametrize("outliers", ["split", "replace"])
def test_the_regression_of_models_that_clean_is_that_on_their_clean_signals(outliers):
    X, Z, y = data(60)
    Z, options = Z[:, :2], {"tau": 1.0, "C": 1.0, "covariate_ridge": 3.0}
    cleaned = GRMR(epsilon=0.2, outliers=outliers, gamma=1.0, lam=1.0, noise=0.5, **options)
    cleaned.set_params(regression_tol=1e-7, tol=1e-7, max_iter=200).fit(X, y, covariates=Z)
    alone = RMR(epsilon=0.2, tol=1e-9, **options).fit(cleaned.X_clean_, y, covariates=Z)
    np.testing.assert_allclose(cleaned.covariate_coef_, alone.covariate_coef_, atol=1e-3)
    machine = GSMM(gamma=1.0, lam=1.0, noise=0.5, outliers=outliers, **options)
    machine.set_params(regression_tol=1e-7, tol=1e-7, max_iter=200).fit(X, y > 0.5, covariates=Z)
    plain = SMM(tol=1e-9, **options).fit(machine.X_clean_, y > 0.5, covariates=Z)
    np.testing.assert_allclose(machine.covariate_coef_, plain.covariate_coef_, atol=1e-3)


def test_a_negative_ridge_is_refused():
    X, Z, y = data()
    with pytest.raises(ValueError, match="covariate_ridge"):
        RMR(covariate_ridge=-1.0).fit(X, y, covariates=Z[:, :2])


STORED = {
    "tube": RMR(tau=20.0, C=0.5, epsilon=0.2),
    "tube without intercept": RMR(tau=20.0, C=0.5, epsilon=0.2, fit_intercept=False),
    "absolute": RMR(tau=20.0, C=0.5, loss="absolute"),
    "scale": RMR(C=0.5, epsilon=0.2),
    "hinge": SMM(tau=20.0, C=0.5),
    "three classes": SMM(tau=20.0, C=0.5),
    "normal": RGLM(tau=30.0),
    "normal, scale": RGLM(ridge=0.3),
    "least squares": RGLM(tau=0.0),
}


SMALL = ("tube", "hinge", "normal", "least squares")


def stored(X, storage, folder):
    if storage == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(701, -1, -1))
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:covariates")
@pytest.mark.parametrize(
    ("name", "ridge"), [*((name, 500.0) for name in STORED), *((name, 1e-2) for name in SMALL)]
)
def test_samples_that_are_read_block_by_block(name, ridge, tmp_path):
    """The solution of memory, and a certificate that NumPy finds again on all samples."""
    X, Z, y = data(2500, seed=1)
    s = np.random.default_rng(2).uniform(0.5, 2.0, len(y))
    more = {"sample_weight": s, "covariates": Z}
    if isinstance(STORED[name], SMM):
        y = np.digitize(y, [0.5] if name == "hinge" else [-1.0, 2.0])
    model = clone(STORED[name]).set_params(covariate_ridge=ridge)
    storage = "dask" if ridge > 1.0 else "file"
    with sklearn.config_context(working_memory=0.05):
        model.fit(stored(X, storage, tmp_path), y, **more)
        beta = np.asarray(model.dual_coef_)
    memory = clone(model).set_params(tol=1e-9, tau=model.tau_).fit(X, y, **more)
    assert np.all(model.dual_gap_ <= 1e-6)
    assert np.max(model.n_passes_) > 0
    np.testing.assert_allclose(model.objective_, memory.objective_, rtol=1e-6)
    np.testing.assert_allclose(model.covariate_coef_, memory.covariate_coef_, atol=3e-3)
    if name == "three classes":
        return
    target = np.where(y == 1, 1.0, -1.0) if name == "hinge" else y
    assert abs(beta.sum()) <= 1e-12 * np.abs(beta).sum() or not model.fit_intercept
    d = np.linalg.svd(np.tensordot(beta, X, 1), compute_uv=False)
    bound = target @ beta - np.sum((Z.T @ beta) ** 2) / (2.0 * ridge)
    if isinstance(model, RGLM):
        bound -= 0.5 * beta @ (beta / s)
        if model.ridge > 0.0:
            return  # in units of its own
        assert d.max() <= model.tau_ * (1.0 + 1e-9) + 1e-9 * np.abs(beta).sum()
    else:
        assert np.all(np.abs(beta) <= 0.5 * s * (1.0 + 1e-12))
        epsilon = getattr(model, "epsilon_", 0.0) if model.loss == "epsilon_insensitive" else 0.0
        bound -= 0.5 * np.sum(np.maximum(d - model.tau_, 0.0) ** 2) + epsilon * np.abs(beta).sum()
    assert bound == pytest.approx(model.objective_, rel=1.1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:covariates")
def test_searches_of_stored_samples_know_the_ridge(tmp_path):
    X, Z, y = data(3000, seed=3)
    kept = stored(X, "file", tmp_path)
    options = {"taus": [300.0, 100.0, 30.0, 1.0], "cv": 3, "covariate_ridge": 800.0}
    memory = RGLMCV(**options, ridge=0.0).fit(X, y, covariates=Z)
    with sklearn.config_context(working_memory=0.05):
        found = RGLMCV(**options, ridge=0.0).fit(kept, y, covariates=Z)
        robust = RMRCV(**options, C=0.5, epsilon=0.2).fit(kept, y, covariates=Z)
        single = clone(robust.best_estimator_).fit(kept, y, covariates=Z)
    scores = [one.cv_results_["mean_test_score"] for one in (memory, found)]
    np.testing.assert_allclose(*scores, atol=1e-6)
    np.testing.assert_allclose(found.covariate_coef_, memory.covariate_coef_, atol=1e-4)
    assert single.covariate_ridge == 800.0
    np.testing.assert_allclose(single.covariate_coef_, robust.covariate_coef_, atol=1e-9)


def test_every_estimator_has_the_parameter():
    public = [getattr(matreg, name) for name in matreg.__all__]
    models = [one for one in public if hasattr(one, "fit")]
    assert len(models) >= 10
    assert all(one().get_params()["covariate_ridge"] == 0.0 for one in models)


def rounded(model, Z, ridge):
    """What the sums of the covariates, in long double, cost the dual of a fitted model."""
    beta = np.ravel(model.dual_coef_).astype(np.longdouble)
    sums = beta @ (Z - Z.mean(axis=0))
    return float(np.sum(sums**2) / (2.0 * np.longdouble(ridge)))


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("ridge", [1e-24, 1e-26, 1e-28, 1e-30, 1e-40, 1e-300])
@pytest.mark.parametrize("name", ["tube", "normal", "binomial", "hinge"])
def test_the_certificate_pays_for_the_rounding_of_the_sums(name, ridge):
    X, Z, y = data()
    y = labels(name, y)
    model = clone(MODELS[name]).set_params(covariate_ridge=ridge).fit(X, y, covariates=Z)
    assert rounded(model, Z, ridge) <= model.dual_gap_ * model.objective_ <= model.objective_


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("ridge", [1e-26, 1e-30, 1e-300])
def test_the_certificate_of_blocks_pays_for_the_rounding_of_the_sums(ridge, tmp_path):
    X, Z, y = data()
    np.save(tmp_path / "X.npy", X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    with sklearn.config_context(working_memory=1e-9):
        model = RGLM(2.0, covariate_ridge=ridge).fit(stored, y, covariates=Z)
        assert rounded(model, Z, ridge) <= model.dual_gap_ * model.objective_


@pytest.mark.parametrize("name", ["tube", "normal", "binomial", "hinge"])
@pytest.mark.parametrize("ridge", [1e120, 1e200, 1e300])
def test_a_ridge_beyond_float64_is_refused(name, ridge):
    X, Z, y = data()
    model = clone(MODELS[name]).set_params(covariate_ridge=ridge)
    with pytest.raises(
        ValueError, match=r"covariate_ridge=1e\+\d+ outweighs .* Lower it, or leave"
    ):
        model.fit(X, labels(name, y), covariates=Z)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_huge_ridge_does_not_pass_for_an_exact_fit():
    X = np.zeros((3, 2, 2))
    X[[0, 1, 2], [0, 1, 1], [1, 0, 1]] = 100.0
    y, Z = np.array([-747.5, 2512.4, -3578.8]), np.array([[12.5], [9.7], [0.8]])
    model = RGLM(0.0, covariate_ridge=1e47).fit(X, y, covariates=Z)
    assert model.dual_gap_ == 0.0 if model.objective_ <= 1e-10 else model.dual_gap_ == 1.0


@pytest.mark.parametrize("model", [RMR(tau=1.0, C=1.0, covariate_ridge=5.0), RMRCV(n_taus=3)])
def test_a_ridge_without_covariates_is_said(model):
    X, _, y = data()
    with pytest.warns(
        matreg.AdviceWarning, match="covariate_ridge=5.0 has no effect without"
    ) as said:
        model.set_params(covariate_ridge=5.0).fit(X, y)
    assert sum("no effect without" in str(one.message) for one in said) == 1
