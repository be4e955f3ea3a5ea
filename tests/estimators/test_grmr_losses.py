"""G-RMR with other losses: both halves against CVXPY, descent, special cases, the choice."""

import cvxpy as cp
import numpy as np
import pytest
from sklearn.metrics import d2_pinball_score

from matreg import GRMR, GRMRCV
from matreg.datasets import make_matrix_regression
from matreg.losses import LossFamily, PiecewiseLoss, Quantile
from problems import RMR_LOSSES, cvxpy_losses, losses, random_weights

each_loss = pytest.mark.parametrize("loss", RMR_LOSSES)
TIGHT = {"tol": 1e-6, "split_tol": 1e-6, "regression_tol": 1e-7, "max_iter": 60}


def planted(n=30, shape=(4, 4), seed=0, **options):
    options = {"x_rank": 1, "x_corruption": 0.05, "noise_scale": 0.5} | options
    return make_matrix_regression(n, shape, random_state=seed, **options)


def assert_descends(model):
    objective = model.history_["objective"]
    assert len(objective) >= 4
    assert np.all(np.diff(objective) <= 1e-10 * objective[:-1])


def price(loss, r, C, weights):
    return C * weights @ losses(loss, r, **RMR_LOSSES[loss])


def best_regression(loss, X, y, weights, tau, C):
    W, b = cp.Variable(X.shape[1:]), cp.Variable()
    r = y - X.reshape(len(X), -1) @ cp.vec(W, order="C") - b
    penalty = 0.5 * cp.sum_squares(W) + tau * cp.normNuc(W)
    problem = cp.Problem(cp.Minimize(penalty + C * (weights @ cvxpy_losses(loss, r))))
    return problem.solve(solver=cp.CLARABEL)


def best_split(loss, model, D, y, weights, C):
    """Optimum over the clean signals, given the regression."""
    D = D.reshape(len(D), -1)
    X = cp.Variable(D.shape)
    r = y - X @ model.coef_.ravel() - model.intercept_
    cost = C * (weights @ cvxpy_losses(loss, r))
    cost += model.gamma_ * cp.normNuc(cp.diag(np.sqrt(weights)) @ X)
    cost += model.lam_ * cp.sum(cp.multiply(weights[:, None], cp.abs(D - X)))
    return cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL)


def best_replacement(loss, model, D, y, weights, C):
    """Optimum over the flagged entries and the low-rank part, given the regression and flags."""
    D, flags = D.reshape(len(D), -1), (model.outliers_ != 0.0).reshape(len(D), -1)
    U, L = cp.Variable(D.shape), cp.Variable(D.shape)
    X = np.where(flags, 0.0, D) + cp.multiply(flags, U)
    r = y - X @ model.coef_.ravel() - model.intercept_
    root = cp.diag(np.sqrt(weights))
    detail = model.lam_ / np.median(model.noise_)
    cost = C * (weights @ cvxpy_losses(loss, r)) + model.gamma_ * cp.normNuc(root @ L)
    cost += 0.5 * detail * cp.sum_squares(root @ (X - L))
    limits = (model.limit * model.noise_.ravel()) ** 2
    paid = 0.5 * detail * np.sum(weights[:, None] * flags * limits)
    return cp.Problem(cp.Minimize(cost)).solve(solver=cp.CLARABEL) + paid


@pytest.mark.slow
@each_loss
@pytest.mark.parametrize("outliers", ["split", "replace"])
def test_both_halves_agree_with_cvxpy(loss, outliers):
    """At the end neither half can lower the objective, which is that of the formula."""
    data, weights, C, tau = planted(), random_weights(30), 2.0, 1.0
    # Outliers at less than their default price: labels pull harder at the samples.
    lam = 0.4 * GRMR(C=C, outliers=outliers).fit(data.X, data.y).lam_
    model = GRMR(tau, C=C, loss=loss, outliers=outliers, lam=lam, **RMR_LOSSES[loss], **TIGHT)
    model.fit(data.X, data.y, sample_weight=weights)
    assert_descends(model)
    assert 0.0 < model.outlier_fraction_ < 0.5 and model.rank_ > 0
    r = data.y - np.tensordot(model.X_clean_, model.coef_, axes=2) - model.intercept_
    paid = price(loss, r, C, weights)
    W = model.coef_
    regression = 0.5 * np.sum(W * W) + tau * np.linalg.norm(W, "nuc") + paid
    best = best_regression(loss, model.X_clean_, data.y, weights, tau, C)
    assert regression == pytest.approx(best, rel=1e-6)
    split = model.objective_ - (regression - paid)
    optimum = best_split if outliers == "split" else best_replacement
    assert split == pytest.approx(optimum(loss, model, data.X, data.y, weights, C), rel=2e-5)
    if outliers == "split":
        flat = np.sqrt(weights)[:, None] * model.X_clean_.reshape(30, -1)
        cost = model.gamma_ * np.linalg.norm(flat, "nuc")
        cost += lam * weights @ np.abs(model.outliers_).sum(axis=(1, 2))
        assert split == pytest.approx(paid + cost, rel=1e-9)


def test_special_cases_of_each_other():
    data, given = planted(60), {"outliers": "split", **TIGHT}
    absolute = GRMR(1.0, C=1.0, loss="absolute", **given).fit(data.X, data.y)
    weights = {"gamma": absolute.gamma_, "lam": absolute.lam_}  # the default ones go with C
    for same in (
        GRMR(1.0, C=1.0, epsilon=0.0, **given),
        GRMR(1.0, C=2.0, loss="quantile", quantile=0.5, **weights, **given),
        GRMR(1.0, C=1.0, loss="huber", delta=1e-6, **given),
    ):
        same.fit(data.X, data.y)
        assert same.objective_ == pytest.approx(absolute.objective_, rel=1e-5)
        np.testing.assert_allclose(same.coef_, absolute.coef_, atol=1e-2)


@pytest.mark.parametrize("outliers", ["split", "replace"])
def test_turned_labels_turn_the_quantile(outliers):
    data = planted(60)
    given = {"loss": "quantile", "outliers": outliers, **TIGHT}
    up = GRMR(1.0, C=1.0, quantile=0.8, **given).fit(data.X, data.y)
    down = GRMR(1.0, C=1.0, quantile=0.2, **given).fit(data.X, -data.y)
    assert down.objective_ == pytest.approx(up.objective_, rel=1e-6)
    np.testing.assert_allclose(down.coef_, -up.coef_, atol=1e-3)
    share = np.mean(data.y <= up.predict(data.X))
    assert share == pytest.approx(0.8, abs=0.1)


@each_loss
def test_units_of_samples_and_labels(loss):
    data = planted(60)
    given = {"quantile": 0.8} if loss == "quantile" else {}
    plain = GRMR(loss=loss, **given).fit(data.X, data.y)
    scaled = GRMR(loss=loss, **given).fit(30.0 * data.X, 0.01 * data.y)
    np.testing.assert_allclose(
        100.0 * scaled.predict(30.0 * data.X), plain.predict(data.X), rtol=0.01, atol=0.01
    )


@each_loss
def test_choice_by_cross_validation(loss):
    data = planted(60, (6, 5))
    given = {"loss": loss, **RMR_LOSSES[loss]}
    model = GRMRCV([1.0, 10.0], C=1.0, limit=4.0, gamma=5.0, cv=3, **given).fit(data.X, data.y)
    single = GRMR(model.tau_, C=1.0, gamma=5.0, **given).fit(data.X, data.y)
    assert model.objective_ == pytest.approx(single.objective_, rel=1e-3)
    assert model.best_estimator_.loss == loss
    np.testing.assert_allclose(
        model.best_estimator_.predict(data.X), model.predict(data.X), atol=1e-9
    )
    train, test = np.arange(20, 60), np.arange(20)  # the first of the folds
    fold = GRMR(model.tau_, C=1.0, gamma=5.0, **given).fit(data.X[train], data.y[train])
    found = fold.predict(data.X[test])
    score = fold.score(data.X[test], data.y[test])
    if loss == "quantile":
        score = d2_pinball_score(data.y[test], found, alpha=0.8)
    assert model.cv_results_["split0_test_score"][model.best_index_] == pytest.approx(
        score, abs=0.01
    )


class Lopsided(LossFamily):
    def of(self, y, c):
        return PiecewiseLoss(-c, 3.0 * c, 0.0 * c, 0.0 * c)


def test_what_makes_no_sense_is_named():
    data = planted()
    for make in (GRMR, GRMRCV):
        for uneven in ("quantile", Quantile(0.9), Lopsided()):
            with pytest.raises(ValueError, match=r'coupling="squared".*coupling="exact"'):
                make(loss=uneven, coupling="squared").fit(data.X, data.y)
        for bad in ({"quantile": 1.0}, {"delta": -1.0}, {"loss": "hinge"}):
            with pytest.raises(ValueError, match=next(iter(bad))):
                make(**bad).fit(data.X, data.y)
    with pytest.raises(ValueError, match="epsilon must be one number"):
        GRMRCV(loss="huber", epsilon=[0.1, 0.2]).fit(data.X, data.y)
