"""Covariates far from zero, such as times: a constant added to one is the intercept's alone."""

import numpy as np
import pytest
import sklearn

from matreg import GRMR, RGLM, RGLMCV, RMR, RMRCV, SMM

N, P, Q = 90, 4, 3
SHIFTS = [2.0**20, 2.0**30, 2.0**40]  # sums of these and multiples of 2^-10 are exact
MODELS = {
    "RMR": RMR(),
    "huber": RMR(loss="huber"),
    "RGLM": RGLM(),
    "poisson": RGLM(family="poisson", tau=1.0),
    "SMM": SMM(),
    "ridge": RMR(covariate_ridge=0.1),
    "GRMR": GRMR(tau=0.5, C=1.0, epsilon=0.1),
    "RMRCV": RMRCV(n_taus=3, C="scale", cv=2, tol=1e-10),
    "RGLMCV": RGLMCV(n_taus=3, cv=2),
}
STORED = ("RMR", "RGLM", "SMM", "ridge", "RGLMCV")
CASES = [(name, "memory") for name in MODELS]
CASES += [(name, storage) for name in STORED for storage in ("blocks", "dask")]


def samples():
    g = np.random.default_rng(0)
    X = g.standard_normal((N, P, Q))
    Z = np.round(g.standard_normal((N, 2)) * 2**10) / 2**10
    return X, Z, X[:, 0, 0] + Z @ [5.0, -1.0] + 0.1 * g.standard_normal(N)


def stored_as(storage, X, folder):
    if storage == "memory":
        return X
    if storage == "dask":
        return pytest.importorskip("dask.array").from_array(X, chunks=(31, -1, -1))
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "storage"), CASES)
def test_the_fit_does_not_depend_on_a_shift(name, storage, tmp_path):
    X, Z, y = samples()
    y = {"SMM": y > 0.0, "poisson": np.round(np.exp(0.2 * y))}.get(name, y)
    model, given = MODELS[name], stored_as(storage, X, tmp_path)
    found = []
    with sklearn.config_context(working_memory=1e-9 if storage != "memory" else 1024):
        for by in (0.0, *SHIFTS):
            one = sklearn.clone(model).fit(given, y, covariates=Z + np.array([by, 0.0]))
            found.append((one.tau_, one.objective_, one.coef_, one.covariate_coef_))
    for plain, *shifted in zip(*found, strict=True):
        for one in shifted:
            np.testing.assert_allclose(one, plain, rtol=1e-5, atol=1e-6 * np.abs(plain).max())


def test_predictions_are_those_of_the_fit_up_to_rounding():
    X, Z, y = samples()
    plain = RMR().fit(X, y, covariates=Z).predict(X, covariates=Z)
    shifted = Z + np.array([2.0**30, 0.0])
    found = RMR().fit(X, y, covariates=shifted).predict(X, covariates=shifted)
    np.testing.assert_allclose(found, plain, atol=1e-5)


@pytest.mark.parametrize("offset", [0.1, 1e9, 1e-9])
def test_rounding_is_no_variation(offset):
    X, Z, y = samples()
    g = np.random.default_rng(1)
    constant = offset * (1.0 + np.finfo(float).eps * g.integers(-4, 5, N))
    assert len(np.unique(constant)) > 1
    with pytest.warns(UserWarning, match="'z1' is constant in all samples"):
        model = RMR().fit(X, y, covariates=np.column_stack([Z[:, 0], constant]))
    assert model.covariate_coef_[1] == 0.0


def test_a_sum_is_collinear_though_it_is_rounded():
    """The sum of columns around 1e12 is rounded by 1e-4 of what it varies."""
    X, Z, y = samples()
    a, b = (Z + 0.1 * np.pi + 1e12).T
    with pytest.warns(UserWarning, match="'z0', 'z1', 'z2' are collinear"):
        model = RMR().fit(X, y, covariates=np.column_stack([a, b, a + b]))
    assert np.abs(model.covariate_coef_).max() < 10.0


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [RMR, RGLM])
def test_nearly_collinear_is_not_collinear(kind, fit_intercept):
    """Columns that differ by 1e-9 of them span what one of them and the difference span."""
    X, Z, y = samples()
    near = Z[:, 0] + 2.0**-30 * Z[:, 1]
    apart = (near - Z[:, 0]) * 2.0**30
    model = kind(fit_intercept=fit_intercept)
    found, expected = (
        sklearn.clone(model).fit(X, y, covariates=np.column_stack([Z[:, 0], one])).objective_
        for one in (near, apart)
    )
    assert found == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("order", [1, -1])
def test_of_columns_that_repeat_each_other_the_exact_one_decides(order):
    """A column is given again, far from zero and rounded: the multipliers balance the first."""
    X, Z, y = samples()
    exact = 0.1 * Z[:, 0] + 1e5
    columns = np.column_stack([exact, exact + 1e10])[:, ::order]
    with pytest.warns(UserWarning, match="'z0', 'z1' are collinear"):
        model = RMR(tau=0.0).fit(X, y, covariates=columns)
    beta, around = np.ravel(model.dual_coef_), exact - exact.mean()
    assert abs(beta @ around) <= 1e-10 * (np.abs(beta) @ np.abs(around))
