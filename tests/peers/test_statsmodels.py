"""Numbers of statsmodels where the models are the same: W = 0 and tau = 0."""

import warnings

import numpy as np
import pytest

from matreg import RGLM, RMR
from problems import random_weights

sm = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
N = 81


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).standard_normal((N, 2, 2))


FAMILIES = {
    "normal": sm.families.Gaussian(),
    "binomial": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
}


def labels(family, x):
    rng = np.random.default_rng(1)
    f = 0.3 + x.reshape(N, -1) @ np.r_[0.5, -0.4, 0.2, 0.0]
    if family == "normal":
        return f + rng.standard_normal(N)
    if family == "binomial":
        return (rng.random(N) < 1.0 / (1.0 + np.exp(-f))).astype(int)
    return rng.poisson(np.exp(f))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("zero", [True, False], ids=["W = 0", "tau = 0"])
def test_generalised_linear_models(family, zero, x):
    """Coefficients, and the objective is half the deviance."""
    y, s = labels(family, x), random_weights(N)
    columns = np.ones((N, 1)) if zero else sm.add_constant(x.reshape(N, -1))
    theirs = sm.GLM(y, columns, family=FAMILIES[family], freq_weights=s).fit(tol=1e-13)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="W = 0")
        ours = RGLM(1e6 if zero else 0.0, family=family, tol=1e-10).fit(x, y, s)
    assert ours.intercept_ == pytest.approx(theirs.params[0], abs=1e-5)
    if not zero:
        np.testing.assert_allclose(ours.coef_.ravel(), theirs.params[1:], atol=1e-5)
    half = theirs.deviance / 2.0
    penalty = ours.tau_ * np.linalg.norm(ours.coef_, "nuc")
    assert ours.objective_ - penalty == pytest.approx(half, rel=1e-7)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.8])
def test_quantile_regression_on_ones_alone(quantile, x):
    """81 labels have one minimiser for each of these quantiles."""
    y = np.random.default_rng(2).standard_normal(N)
    theirs = sm.QuantReg(y, np.ones((N, 1))).fit(q=quantile, p_tol=1e-12, max_iter=5000)
    with pytest.warns(UserWarning, match="W = 0"):
        ours = RMR(1e6, C=1.0, loss="quantile", quantile=quantile).fit(x, y)
    assert ours.intercept_ == pytest.approx(theirs.params[0], abs=1e-5)
    r = y - theirs.params[0]
    check = np.where(r > 0.0, quantile * r, (quantile - 1.0) * r).sum()
    assert ours.objective_ == pytest.approx(check, rel=1e-6)


@pytest.mark.parametrize("quantile", [0.25, 0.5])
def test_quantile_regression_where_the_ridge_is_negligible(quantile, x):
    y = 1.0 + x.reshape(N, -1) @ np.r_[0.5, -0.4, 0.2, 0.0]
    y += np.random.default_rng(3).standard_t(3, N)
    theirs = sm.QuantReg(y, sm.add_constant(x.reshape(N, -1))).fit(q=quantile, p_tol=1e-10)
    ours = RMR(0.0, C=1e5, loss="quantile", quantile=quantile, tol=1e-9).fit(x, y)
    np.testing.assert_allclose(ours.coef_.ravel(), theirs.params[1:], atol=2e-3)
