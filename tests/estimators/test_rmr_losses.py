"""RMR with other losses: CVXPY, conditions of optimality, and special cases of each other."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.linear_model import HuberRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss
from sklearn.model_selection import cross_val_score

import matreg
from matreg import RGLM, RMR, RMRCV, information_criteria
from problems import RMR_LOSSES, cvxpy_losses, losses, random_data, random_weights

each_loss = pytest.mark.parametrize("loss", RMR_LOSSES)


def cvxpy_optimum(loss, X, y, weights, tau, C, intercept):
    W, b = cp.Variable(X.shape[1:]), cp.Variable()
    r = y - X.reshape(len(X), -1) @ cp.vec(W, order="C") - (b if intercept else 0.0)
    penalty = 0.5 * cp.sum_squares(W) + tau * cp.normNuc(W)
    problem = cp.Problem(cp.Minimize(penalty + C * (weights @ cvxpy_losses(loss, r))))
    problem.solve(solver=cp.CLARABEL)
    return problem.value


@each_loss
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("tau", "C"), [(1.0, 1.0), (5.0, 0.3), (2.0, 30.0)])
def test_agrees_with_cvxpy(loss, intercept, tau, C):
    X, y = random_data(40, 4, 3, seed=1, noise=1.0)
    weights = random_weights(40)
    model = RMR(
        tau, C=C, loss=loss, fit_intercept=intercept, tol=1e-8, **RMR_LOSSES[loss]
    ).fit(X, y, weights)  # fmt: skip
    r = y - np.tensordot(X, model.coef_, axes=2) - model.intercept_
    W = model.coef_
    expected = 0.5 * np.sum(W * W) + tau * np.linalg.norm(W, "nuc")
    expected += C * weights @ losses(loss, r, **RMR_LOSSES[loss])
    assert model.objective_ == pytest.approx(expected, rel=1e-10)
    optimum = cvxpy_optimum(loss, X, y, weights, tau, C, intercept)
    assert model.objective_ == pytest.approx(optimum, rel=1e-6)
    assert model.dual_gap_ <= 1e-8


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.95])
def test_quantile_splits_the_labels(quantile):
    """With an intercept at most a share of 1 - quantile is above, at most quantile below."""
    X, y = random_data(200, 5, 4, noise=1.0)
    model = RMR(2.0, C=1.0, loss="quantile", quantile=quantile, tol=1e-9).fit(X, y)
    r = y - model.predict(X)
    assert np.mean(r > 1e-6) <= 1.0 - quantile + 1e-9
    assert np.mean(r < -1e-6) <= quantile + 1e-9
    beta = model.dual_coef_
    assert np.all(beta <= quantile + 1e-12) and np.all(beta >= quantile - 1.0 - 1e-12)
    # Outside of the fit the multipliers are at their bounds.
    np.testing.assert_allclose(beta[r > 1e-4], quantile, atol=1e-4)
    np.testing.assert_allclose(beta[r < -1e-4], quantile - 1.0, atol=1e-4)


def test_with_next_to_no_penalty_it_is_quantile_regression():
    X, y = random_data(80, 2, 3, noise=1.0)
    model = RMR(0.0, C=1e4, loss="quantile", quantile=0.7, tol=1e-9).fit(X, y)
    other = QuantileRegressor(quantile=0.7, alpha=0.0).fit(X.reshape(80, -1), y)
    ours, theirs = (
        mean_pinball_loss(y, f, alpha=0.7)
        for f in (model.predict(X), other.predict(X.reshape(80, -1)))
    )
    assert ours == pytest.approx(theirs, rel=1e-3)


def test_at_its_scale_huber_regression_of_scikit_learn_has_the_same_objective():
    """It finds a scale s, too; given s, its loss is 2 epsilon times ours with delta = s epsilon."""
    X, y = random_data(80, 2, 3, noise=1.0)
    flat, alpha, epsilon = X.reshape(80, -1), 0.05, 1.35
    other = HuberRegressor(epsilon=epsilon, alpha=alpha, max_iter=10_000, tol=1e-9).fit(flat, y)
    C, delta = epsilon / alpha, epsilon * other.scale_
    model = RMR(0.0, C=C, loss="huber", delta=delta, tol=1e-9).fit(X, y)
    r = y - other.predict(flat)
    theirs = 0.5 * np.sum(other.coef_**2) + C * losses("huber", r, delta=delta).sum()
    assert 0.05 < np.mean(np.abs(r) > delta) < 0.5
    assert model.objective_ <= theirs * (1.0 + 1e-9)
    assert model.objective_ == pytest.approx(theirs, rel=1e-6)


def test_special_cases_of_each_other():
    X, y = random_data(60, 4, 3, noise=1.0)
    absolute = RMR(2.0, C=1.0, loss="absolute", tol=1e-9).fit(X, y)
    median = RMR(2.0, C=2.0, loss="quantile", quantile=0.5, tol=1e-9).fit(X, y)
    tube = RMR(2.0, C=1.0, epsilon=0.0, tol=1e-9).fit(X, y)
    sharp = RMR(2.0, C=1.0, loss="huber", delta=1e-7, tol=1e-9).fit(X, y)
    for other in (median, tube, sharp):
        assert other.objective_ == pytest.approx(absolute.objective_, rel=1e-5)
        np.testing.assert_allclose(other.coef_, absolute.coef_, atol=1e-3)
    # A parabola all over: ridge regression with a nuclear norm.
    wide = RMR(2.0, C=1e3, loss="huber", delta=1e3, tol=1e-10).fit(X, y)
    W = wide.coef_
    r = y - wide.predict(X)
    squares = 0.5 * np.sum(W * W) + 2.0 * np.linalg.norm(W, "nuc") + 0.5 * r @ r
    assert wide.objective_ == pytest.approx(squares, rel=1e-9)
    assert squares > RGLM(2.0).fit(X, y).objective_  # which has no ridge


def test_turned_labels_turn_the_quantile():
    X, y = random_data(60, 4, 3, noise=1.0)
    up = RMR(2.0, loss="quantile", quantile=0.8, tol=1e-9).fit(X, y)
    down = RMR(2.0, loss="quantile", quantile=0.2, tol=1e-9).fit(X, -y)
    np.testing.assert_allclose(down.coef_, -up.coef_, atol=1e-3)
    assert down.objective_ == pytest.approx(up.objective_, rel=1e-8)


@each_loss
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_of_the_labels(loss, scale):
    X, y = random_data(60, 4, 3, noise=1.0)
    p = RMR_LOSSES[loss]
    units = {k: scale * v if k in ("epsilon", "delta") else v for k, v in p.items()}
    plain = RMR(2.0, C=1.0, loss=loss, tol=1e-9, **p).fit(X, y)
    scaled = RMR(2.0 * scale, C=scale, loss=loss, tol=1e-9, **units).fit(X, scale * y)
    assert scaled.objective_ == pytest.approx(scale**2 * plain.objective_, rel=1e-7)
    np.testing.assert_allclose(scaled.coef_ / scale, plain.coef_, atol=1e-3)


@each_loss
def test_path_and_choice(loss):
    X, y = random_data(80, 4, 3, noise=0.5)
    p = RMR_LOSSES[loss]
    path = matreg.path(RMR(C=1.0, loss=loss, **p), X, y, n_taus=5)
    assert path.ranks[0] == 0 and path.ranks[-1] > 0 and path.gaps.max() <= 1e-6
    assert path.model.loss == loss
    for k in (1, 4):
        model = RMR(path.taus[k], C=1.0, loss=loss, tol=1e-8, **p).fit(X, y)
        assert path.objectives[k] == pytest.approx(model.objective_, rel=2e-6)
    choice = RMRCV(n_taus=4, C=1.0, cv=3, loss=loss, **p).fit(X, y)
    single = RMR(choice.tau_, C=1.0, loss=loss, **p)
    scoring = None
    if loss == "quantile":

        def scoring(model, X, y):
            return d2_pinball_score(y, model.predict(X), alpha=0.8)

    scores = cross_val_score(single, X, y, cv=3, scoring=scoring)
    assert choice.best_score_ == pytest.approx(scores.mean(), abs=0.01)
    assert choice.path(X, y).model.loss == loss


def test_huber_resists_wrong_labels():
    X, y = random_data(200, 5, 4, noise=0.3)
    wrong = y.copy()
    wrong[:20] += 50.0
    clean = RMR(2.0, C=1.0, loss="huber").fit(X, y)
    robust = RMR(2.0, C=1.0, loss="huber").fit(X, wrong)
    squared = RGLM(2.0).fit(X, wrong)
    error = np.linalg.norm(robust.coef_ - clean.coef_)
    assert error < 0.2 * np.linalg.norm(squared.coef_ - clean.coef_)


def test_information_criteria():
    X, y = random_data(120, 5, 4, noise=0.5)
    for loss, slopes in (("absolute", (-1.0, 1.0)), ("quantile", (-0.2, 0.8))):
        path = matreg.path(RMR(C=1.0, loss=loss, **RMR_LOSSES[loss]), X, y, n_taus=10)
        table = information_criteria(path, X, y)
        for k in (3, 9):  # samples that are fitted exactly
            r = y - path.predict(X)[k]
            beta = path.points[k].beta
            inside = (beta > slopes[0] + 1e-3) & (beta < slopes[1] - 1e-3)
            assert np.abs(r[inside]).max() < 1e-2
            assert abs(table.df[k] - inside.sum()) <= 1
            mean = losses(loss, r, **RMR_LOSSES[loss]).mean()
            expected = 240.0 * np.log(mean) + 2.0 * table.df[k]
            assert table.aic[k] == pytest.approx(expected)
        assert table.bic.argmin() > 0
    path = matreg.path(RMR(loss="huber"), X, y, n_taus=3)
    with pytest.raises(ValueError, match="huber"):
        information_criteria(path, X, y)


def test_the_paper_s_algorithm_is_for_its_loss():
    X, y = random_data(30, 3, 2)
    newton = RMR(loss="absolute", tol=1e-5).fit(X, y)
    admm = RMR(loss="absolute", solver="admm", tol=1e-5).fit(X, y)
    assert admm.objective_ == pytest.approx(newton.objective_, rel=1e-4)
    for loss in ("huber", "quantile"):
        with pytest.raises(ValueError, match="solver='admm'"):
            RMR(loss=loss, quantile=0.7, solver="admm").fit(X, y)


@pytest.mark.parametrize("make", [RMR, RMRCV])
@pytest.mark.parametrize(
    "parameters",
    [
        {"quantile": 0.0, "loss": "quantile"},
        {"quantile": 1.0},
        {"quantile": np.nan},
        {"quantile": "median"},
        {"delta": 0.0, "loss": "huber"},
        {"delta": -1.0},
        {"loss": "squared"},
        {"loss": None},
    ],
)
def test_bad_parameters_are_named(make, parameters):
    X, y = random_data(20, 3, 2)
    name, value = next(iter(parameters.items()))
    with pytest.raises(ValueError, match=name) as error:
        make(**parameters).fit(X, y)
    assert repr(value) in str(error.value) or str(value) in str(error.value)


def test_epsilons_to_try_need_a_loss_that_has_one():
    X, y = random_data(20, 3, 2)
    with pytest.raises(ValueError, match="epsilon must be one number"):
        RMRCV(loss="huber", epsilon=[0.1, 0.2]).fit(X, y)
