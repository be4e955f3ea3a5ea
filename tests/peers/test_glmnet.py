"""Numbers that glmnet prints, where the model is the same."""

import warnings

import numpy as np

from matreg import RGLM


def test_counts_with_a_ridge():
    """Family "poisson", alpha = 0, lambda = 1, standardize = F: a mean, so that the ridge is n."""
    Z = np.array([[-2.0, 0.0], [-1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
    y = np.array([0, 1, 1, 2])
    X = np.random.default_rng(0).standard_normal((4, 2, 2))
    model = RGLM(1e6, family="poisson", covariate_ridge=4.0, tol=1e-12)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="W = 0")
        model.fit(X, y, covariates=Z)
    np.testing.assert_allclose(model.intercept_, -0.12889386979, rtol=1e-5)
    np.testing.assert_allclose(model.covariate_coef_, [0.29019207995, 0.03741173122], rtol=1e-5)
