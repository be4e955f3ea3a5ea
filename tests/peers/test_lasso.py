"""What users of scikit-learn's, celer's and skglm's lasso rely on, asked of R-GLM on diag(x)."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn import linear_model
from sklearn.model_selection import KFold
from sklearn.svm import l1_min_c

import matreg
from matreg import RGLM, RGLMCV, tau_max
from vectors import Lasso, diagonal

N, M = 60, 8


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((N, M)) @ (np.eye(M) + 0.4) + 1.0  # correlated, not centred
    w = np.zeros(M)
    w[:3] = 2.0, -1.0, 0.5
    return x, x @ w + 3.0 + 0.5 * rng.standard_normal(N)


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(1).integers(0, 4, N).astype(float)


def alpha_max(x, y, s=None, fit_intercept=True):
    """Smallest alpha of w = 0: the largest correlation with the residual, by its formula."""
    s = np.ones(len(y)) if s is None else s
    residual = y - np.average(y, weights=s) * fit_intercept
    return np.abs(x.T @ (s * residual)).max() / s.sum()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("share", [0.7, 0.1, 1e-3])
def test_coefficients_are_those_of_scikit_learn(share, weighted, fit_intercept, data, weights):
    x, y = data
    s = weights if weighted else None
    alpha = share * alpha_max(x, y, s, fit_intercept)
    theirs = linear_model.Lasso(alpha, fit_intercept=fit_intercept, tol=1e-14, max_iter=100_000)
    theirs.fit(x, y, sample_weight=s)
    ours = Lasso(alpha, fit_intercept=fit_intercept).fit(x, y, s)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    np.testing.assert_array_equal(ours.coef_ != 0.0, theirs.coef_ != 0.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_alpha_max_is_where_the_first_coefficient_appears(fit_intercept, data, weights):
    x, y = data
    largest = alpha_max(x, y, weights, fit_intercept)
    model = RGLM(fit_intercept=fit_intercept)
    found = tau_max(model, diagonal(x), y, sample_weight=weights)
    assert found == pytest.approx(largest * weights.sum(), rel=1e-12)
    below = Lasso(0.999 * largest, fit_intercept=fit_intercept).fit(x, y, weights)
    assert np.count_nonzero(below.coef_) == 1
    with pytest.warns(UserWarning, match="W = 0"):
        above = Lasso(1.001 * largest, fit_intercept=fit_intercept).fit(x, y, weights)
    assert not above.coef_.any()
    expected = np.average(y, weights=weights) if fit_intercept else 0.0
    assert above.intercept_ == pytest.approx(expected, rel=1e-12)


def test_a_path_is_that_of_scikit_learn_with_its_gaps(data):
    x, y = data
    alphas, coefs, _ = linear_model.lasso_path(
        x - x.mean(0), y - y.mean(), alphas=alpha_max(x, y) * np.geomspace(0.99, 0.01, 9), tol=1e-13
    )
    path = matreg.path(RGLM(tol=1e-12), diagonal(x), y, taus=N * alphas)
    np.testing.assert_allclose(path.taus, N * alphas)
    ours = np.array([np.diag(point.W.matrix) for point in path.points]).T
    np.testing.assert_allclose(ours, coefs, atol=1e-5)
    for alpha, point in zip(alphas, path.points, strict=True):
        r = y - x @ np.diag(point.W.matrix) - point.b
        theta = r - r.mean()  # the dual point of every text book, scaled into the feasible set
        theta *= min(1.0, N * alpha / np.abs(x.T @ theta).max())
        dual = theta @ y - 0.5 * theta @ theta
        primal = 0.5 * r @ r + N * alpha * np.abs(np.diag(point.W.matrix)).sum()
        assert point.primal == pytest.approx(primal, rel=1e-10)
        assert primal - dual <= 1e-6 * primal


def test_orthogonal_columns_are_soft_thresholded():
    rng = np.random.default_rng(2)
    x = np.linalg.qr(rng.standard_normal((N, M)))[0] * np.sqrt(N)
    y = rng.standard_normal(N)
    z = x.T @ y / N
    ours = Lasso(0.05, fit_intercept=False).fit(x, y)
    expected = np.sign(z) * np.maximum(np.abs(z) - 0.05, 0.0)
    np.testing.assert_allclose(ours.coef_, expected, atol=1e-8)


def test_weights_are_repetitions_and_only_their_ratios_count(data, weights):
    x, y = data
    plain = Lasso(0.1).fit(x, y, weights)
    repeated = np.repeat(np.arange(N), weights.astype(int))  # those of weight zero are gone
    for other in (Lasso(0.1).fit(x[repeated], y[repeated]), Lasso(0.1).fit(x, y, 7.0 * weights)):
        np.testing.assert_allclose(other.coef_, plain.coef_, atol=1e-7)
        assert other.intercept_ == pytest.approx(plain.intercept_, abs=1e-6)


def test_order_and_signs_of_columns_do_not_matter(data):
    x, y = data
    order, signs = np.arange(M)[::-1], np.where(np.arange(M) % 2, 1.0, -1.0)
    plain, other = Lasso(0.1).fit(x, y), Lasso(0.1).fit((x * signs)[:, order], y)
    np.testing.assert_allclose(other.coef_, (plain.coef_ * signs)[order], atol=1e-7)


def test_a_warm_start_ends_at_the_same_coefficients(data):
    x, y = data
    cold = Lasso(0.05, tol=1e-10).fit(x, y)
    warm = Lasso(0.5, tol=1e-10, warm_start=True).fit(x, y)
    warm.alpha = 0.05
    warm.fit(x, y)
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-6)
    warm.fit(x, y)  # from the solution itself
    assert warm.model.n_iter_ <= cold.model.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-6)


def test_cross_validation_chooses_as_scikit_learn_does(data):
    """Folds of equal size, so that one alpha is one tau in all of them."""
    x, y = data
    folds = KFold(5, shuffle=True, random_state=0)
    alphas = alpha_max(x, y) * np.geomspace(0.9, 1e-3, 12)
    theirs = linear_model.LassoCV(alphas=alphas, cv=folds, tol=1e-12, max_iter=100_000).fit(x, y)
    ours = RGLMCV(
        taus=alphas * N * 4 / 5,
        ridge=0.0,
        cv=folds,
        scoring="neg_mean_squared_error",
        tol=1e-10,
    ).fit(diagonal(x), y)
    np.testing.assert_allclose(
        -ours.cv_results_["mean_test_score"], theirs.mse_path_.mean(axis=1), rtol=1e-4
    )
    assert ours.tau_ == pytest.approx(theirs.alpha_ * N * 4 / 5)


@pytest.fixture(scope="module", params=["binomial", "poisson"])
def counted(request, data):
    """Family, samples, labels and the mean as a function of the linear predictor."""
    x, _ = data
    f = 0.5 * (x - x.mean(0)) @ np.r_[1.0, -0.5, np.zeros(M - 2)]
    rng = np.random.default_rng(3)
    if request.param == "binomial":
        return request.param, x, (rng.random(N) < expit(f)).astype(int), expit
    return request.param, x, rng.poisson(np.exp(f)), np.exp


@pytest.mark.parametrize("share", [0.5, 0.05])
def test_smooth_families_meet_the_optimality_conditions(share, counted, weights):
    family, x, y, mean = counted
    s = weights
    residual = y - np.average(y, weights=s)
    alpha = share * np.abs(x.T @ (s * residual)).max() / s.sum()
    ours = Lasso(alpha, family=family, tol=1e-10).fit(x, y, s)
    w = ours.coef_
    gradient = x.T @ (s * (y - mean(x @ w + ours.intercept_))) / s.sum()
    assert s @ (y - mean(x @ w + ours.intercept_)) == pytest.approx(0.0, abs=1e-4)
    assert np.abs(gradient).max() <= alpha * (1.0 + 1e-4)
    assert w.any()
    np.testing.assert_allclose(gradient[w != 0.0], alpha * np.sign(w[w != 0.0]), rtol=1e-3)


def test_the_smallest_C_of_logistic_regression_is_one_over_tau_max(data):
    x, y = data
    y = np.where(y > np.median(y), 1, -1)
    model = RGLM(family="binomial", fit_intercept=False)
    smallest = l1_min_c(x, y, loss="log", fit_intercept=False)
    assert tau_max(model, diagonal(x), y) == pytest.approx(1.0 / smallest, rel=1e-9)
