"""Degrees of freedom against differences and against the formula of Zhou and Li."""

import numpy as np
import pytest

import matreg
from matreg import RGLM, RMR, SMM, information_criteria
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
        return matreg.path(RGLM(tol=1e-13), X, y, taus=[tau])

    table = information_criteria(path(data.X, data.y), data.X, data.y)
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
    path = matreg.path(RGLM(fit_intercept=False, tol=1e-13), X, y, taus=[tau])
    table = information_criteria(path, X, y)
    assert table["df"][0] == pytest.approx(expected, rel=1e-5)


def test_rmr_degrees_of_freedom_are_the_divergence():
    data = make_matrix_regression(30, (3, 3), noise_scale=1.0, random_state=0)

    def path(X, y):
        return matreg.path(RMR(C=1.0, epsilon=0.1, tol=1e-12), X, y, taus=[5.0])

    table = information_criteria(path(data.X, data.y), data.X, data.y)
    assert table["df"][0] == pytest.approx(divergence(path, data.X, data.y), abs=0.1)


@pytest.mark.parametrize("model", [RGLM(), RMR()])
def test_bic_finds_the_rank_of_an_easy_problem(model):
    data = make_matrix_regression(300, (6, 5), rank=1, noise_scale=1.0, random_state=1)
    table = information_criteria(matreg.path(model, data.X, data.y, n_taus=20), data.X, data.y)
    chosen = table["bic"].argmin()
    assert 1 <= table["rank"][chosen] <= 3
    assert table["df"][0] <= 3.0
    assert (table["bic"] >= table["aic"]).all()


def test_a_path_knows_what_it_was_fitted_with():
    data = make_matrix_regression(40, (3, 3), noise_scale=1.0, random_state=0)
    path = matreg.path(RMR(C=20.0, epsilon=0.2, fit_intercept=False), data.X, data.y, n_taus=5)
    assert isinstance(path.model, RMR) and path.sample_weight is None
    given = {"C": 20.0, "epsilon": 0.2, "fit_intercept": False}
    assert given.items() <= path.model.get_params().items()
    last = path.points[-1]
    on_edge = (np.abs(last.beta) > 0.02) & (np.abs(last.beta) < 19.98)
    table = information_criteria(path, data.X, data.y)
    assert table["df"][-1] == np.count_nonzero(on_edge) > 0


def test_weights_and_other_data_are_refused():
    data = make_matrix_regression(30, (3, 3), random_state=0)
    path = matreg.path(RGLM(), data.X, data.y, n_taus=2)
    with pytest.raises(ValueError, match="X must hold the 30 samples"):
        information_criteria(path, data.X[:20], data.y[:20])
    with pytest.raises(ValueError, match=r"X must hold matrices of shape \(3, 3\)"):
        information_criteria(path, data.X[:, :2], data.y)
    weighted = matreg.path(RGLM(), data.X, data.y, n_taus=2, sample_weight=np.arange(30.0))
    with pytest.raises(ValueError, match="fitted without weights"):
        information_criteria(weighted, data.X, data.y)
    classes = matreg.path(SMM(), data.X, data.y > 0.0, n_taus=2)
    with pytest.raises(ValueError, match="path must be one of RMR or RGLM"):
        information_criteria(classes, data.X, data.y > 0.0)
