"""Several labels with one nuclear norm, against CVXPY."""

import numpy as np
import pytest

from matreg import RGLM, RMR

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


def test_labels_share_their_row_profiles():
    X, Y, z = data()
    model = RGLM("3*scale", joint="rows").fit(X, Y, covariates=z)
    together = np.hstack(model.coef_ / model.label_scale_[:, None, None])
    assert model.rank_ == np.linalg.matrix_rank(together, tol=1e-8)


def test_bad_input():
    X, Y, _ = data()
    with pytest.raises(ValueError, match="joint"):
        RMR(joint="both").fit(X, Y)
    with pytest.raises(ValueError, match="one label for each of the 40 samples"):
        RMR(joint="rows").fit(X, Y[1:])


@pytest.mark.parametrize("beside", [False, True])
def test_zero_coefficients_are_said_with_what_is_left(beside):
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((30, 4, 3)), rng.standard_normal((30, 2))
    said = "made of the covariates alone" if beside else "all predictions are the same"
    with pytest.warns(UserWarning, match=said):
        RGLM(1e6, joint="rows").fit(X, Y, covariates=rng.standard_normal(30) if beside else None)


def test_label_without_weight_is_named():
    X, Y = np.ones((3, 1, 2)), np.array([[1.0, 2.0], [2.0, np.nan], [0.5, np.nan]])
    with pytest.raises(ValueError, match="label 1 has 1 samples, all of weight 0"):
        RMR(joint="rows").fit(X, Y, sample_weight=[0.0, 1.0, 1.0])
