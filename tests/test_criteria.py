"""Degrees of freedom against differences and against the formula of Zhou and Li."""

import numpy as np
import pytest

from matreg import information_criteria, rglm_path, rmr_path
from matreg.datasets import make_matrix_regression


def divergence(path, X, y, step=1e-4):
    """``sum_i d yhat_i / d y_i`` by central differences."""
    total = 0.0
    for i in range(len(y)):
        moved = []
        for sign in (1.0, -1.0):
            other = y.copy()
            other[i] += sign * step
            moved.append(path(X, other).predict(X)[0, i])
        total += (moved[0] - moved[1]) / (2.0 * step)
    return total


@pytest.mark.parametrize("shape", [(3, 4), (4, 3), (3, 3)])
@pytest.mark.parametrize("tau", [3.0, 20.0])
def test_rglm_degrees_of_freedom_are_the_divergence(shape, tau):
    data = make_matrix_regression(30, shape, noise_scale=1.0, random_state=0)

    def path(X, y):
        return rglm_path(X, y, taus=[tau], tol=1e-13)

    table = information_criteria(path(data.X, data.y), data.X, data.y, model="rglm")
    assert table["df"][0] == pytest.approx(divergence(path, data.X, data.y), rel=1e-3)


def test_rglm_degrees_of_freedom_of_an_orthonormal_design_are_those_of_zhou_and_li():
    rng = np.random.default_rng(0)
    n, p, q = 40, 3, 4
    flat = np.linalg.qr(rng.standard_normal((n, p * q)))[0]
    y = 3.0 * rng.standard_normal(n)
    sigma = np.linalg.svd((flat.T @ y).reshape(p, q), compute_uv=False)
    tau = 0.7 * sigma[1]
    squares = np.r_[sigma**2, np.zeros(q - p)]
    expected = 0.0
    for i in np.flatnonzero(sigma > tau):
        ratio = [
            sigma[i] * (sigma[i] - tau) / (sigma[i] ** 2 - np.delete(squares[:m], i))
            for m in (p, q)
        ]
        expected += 1.0 + ratio[0].sum() + ratio[1].sum()
    X = flat.reshape(n, p, q)
    path = rglm_path(X, y, taus=[tau], fit_intercept=False, tol=1e-13)
    table = information_criteria(path, X, y, model="rglm", fit_intercept=False)
    assert table["df"][0] == pytest.approx(expected, rel=1e-5)


def test_rmr_degrees_of_freedom_are_the_divergence():
    data = make_matrix_regression(30, (3, 3), noise_scale=1.0, random_state=0)

    def path(X, y):
        return rmr_path(X, y, taus=[5.0], tol=1e-12)

    table = information_criteria(path(data.X, data.y), data.X, data.y, model="rmr")
    assert table["df"][0] == pytest.approx(divergence(path, data.X, data.y), abs=0.1)


@pytest.mark.parametrize(("path", "model"), [(rglm_path, "rglm"), (rmr_path, "rmr")])
def test_bic_finds_the_rank_of_an_easy_problem(path, model):
    data = make_matrix_regression(300, (6, 5), rank=1, noise_scale=1.0, random_state=1)
    table = information_criteria(path(data.X, data.y, n_taus=20), data.X, data.y, model=model)
    chosen = table["bic"].argmin()
    assert 1 <= table["rank"][chosen] <= 3
    assert table["df"][0] <= 3.0
    assert (table["bic"] >= table["aic"]).all()


def test_bad_model_and_other_data_are_named():
    data = make_matrix_regression(30, (3, 3), random_state=0)
    path = rglm_path(data.X, data.y, n_taus=2)
    with pytest.raises(ValueError, match="model must be"):
        information_criteria(path, data.X, data.y, model="svr")
    with pytest.raises(ValueError, match="X must hold the 30 samples"):
        information_criteria(path, data.X[:20], data.y[:20], model="rglm")
