"""Losses and penalties of a user's own, in the estimators, searches, paths and from a file."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

from matreg import (
    GRMR,
    GRMRCV,
    GSMM,
    GSMMCV,
    RGLM,
    RMR,
    RMRCV,
    SMM,
    SMMCV,
    information_criteria,
    path,
    tau_max,
)
from matreg.datasets import make_matrix_regression
from matreg.losses import EpsilonInsensitive, LossFamily, PiecewiseLoss
from matreg.penalties import SpectralPenalty
from own import AsymmetricTube, CappedSlope, EntrywiseElasticNet, LogCosh, LogCoshLoss


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)


def optimum(data, loss, penalty):
    """Optimal objective by a general solver."""
    W, b = cp.Variable((5, 4)), cp.Variable()
    r = data.y - data.X.reshape(60, -1) @ cp.vec(W, order="C") - b
    problem = cp.Problem(cp.Minimize(cp.sum(loss(r)) + 0.5 * cp.sum_squares(W) + penalty(W)))
    problem.solve(cp.CLARABEL, tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return problem.value


def test_a_loss_with_a_parameter_is_one_class():
    # [use]
    from matreg import RMR, RMRCV, path
    from matreg.datasets import make_matrix_regression

    data = make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)
    loss = AsymmetricTube(steepness=3.0)
    model = RMR(tau=2.0, C=0.5, loss=loss).fit(data.X, data.y)
    search = RMRCV(n_taus=5, C=[0.1, 1.0], loss=loss, cv=3).fit(data.X, data.y)
    along = path(RMR(C=0.5, loss=loss), data.X, data.y, n_taus=5)
    # [/use]
    epsilon = 0.1 * np.median(np.abs(data.y - np.median(data.y)))
    expected = optimum(
        data,
        lambda r: 0.5 * (cp.pos(r - epsilon) + 3.0 * cp.pos(-r - epsilon)),
        lambda W: 2.0 * cp.normNuc(W),
    )
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.dual_gap_ <= 1e-6
    assert search.tau_ in search.taus_ and search.dual_gap_ <= 1e-6
    assert along.gaps.max() <= 1e-6 and along.ranks[0] == 0
    assert along.model.loss == model.loss_ == AsymmetricTube(3.0, pytest.approx(epsilon))
    assert RMR(tau="scale", loss=loss).fit(data.X, data.y).rank_ > 0


@pytest.mark.slow
def test_the_same_loss_from_a_file(tmp_path):
    from sklearn import config_context

    many = make_matrix_regression(3000, (5, 4), rank=1, noise_scale=1.0, random_state=0)
    np.save(tmp_path / "X.npy", many.X)
    X, y = np.load(tmp_path / "X.npy", mmap_mode="r"), many.y
    loss = AsymmetricTube(3.0, 0.2)
    with config_context(working_memory=0.2):
        stored = RMR(tau=20.0, C=0.5, loss=loss).fit(X, y)
        along = path(RMR(C=0.5, loss=loss), X, y, taus=[50.0, 20.0])
        search = RMRCV([50.0, 20.0], C=0.5, loss=loss, cv=2).fit(X, y)
    assert stored.n_passes_ > 1 and search.n_passes_ > 1
    assert along.objectives[1] == pytest.approx(stored.objective_, rel=2e-6)
    assert search.dual_gap_ <= 1e-6
    memory = RMR(tau=20.0, C=0.5, loss=loss).fit(np.asarray(X), y)
    assert stored.objective_ == pytest.approx(memory.objective_, rel=2e-6)


@pytest.mark.parametrize("model", [GRMR, SMM])
def test_the_same_loss_in_other_models(data, model):
    y = data.y > 0.0 if model is SMM else data.y
    fitted = model(1.0, C=0.5, loss=AsymmetricTube(2.0, 0.1)).fit(data.X, y)
    assert fitted.coef_.shape == (5, 4)
    assert fitted.dual_gap_ <= 1e-5


@pytest.mark.slow
@pytest.mark.parametrize("model", [RMR, RMRCV, GRMR, GRMRCV, SMM, SMMCV, GSMM, GSMMCV])
def test_words_of_a_loss_are_numbers_of_all_samples(data, model):
    search = {"cv": 2} if hasattr(model(), "cv") else {}
    y = data.y > 0.0 if "SMM" in model.__name__ else data.y
    fitted = model(C=0.5, loss=AsymmetricTube(2.0), **search).fit(data.X, y)
    unit = 1.0 if "SMM" in model.__name__ else np.median(np.abs(y - np.median(y)))
    assert fitted.loss_ == AsymmetricTube(2.0, pytest.approx(0.1 * unit))
    if search:
        assert fitted.best_estimator_.loss == fitted.loss_


def test_information_criteria_know_the_words_of_a_loss(data):
    by_name = path(RMR(), data.X, data.y, n_taus=5)
    given = path(RMR(loss=EpsilonInsensitive("scale")), data.X, data.y, n_taus=5)
    expected = information_criteria(by_name, data.X, data.y)["bic"]
    assert information_criteria(given, data.X, data.y)["bic"] == pytest.approx(expected)


def test_a_spectral_penalty(data):
    model = RMR(2.0, C=0.5, epsilon=0.1, penalty=CappedSlope(1.0), tol=1e-8).fit(data.X, data.y)
    plain = RMR(2.0, C=0.5, epsilon=0.1).fit(data.X, data.y)
    assert model.dual_gap_ <= 1e-8
    assert np.linalg.norm(model.coef_, 2) < np.linalg.norm(plain.coef_, 2)
    first_order = RMR(
        2.0, C=0.5, epsilon=0.1, penalty=CappedSlope(1.0), solver="first-order", max_iter=20_000
    ).fit(data.X, data.y)
    assert first_order.objective_ == pytest.approx(model.objective_, rel=1e-6)


def test_any_convex_loss_and_penalty(data):
    model = RMR(0.5, C=0.2, penalty=EntrywiseElasticNet(1.0), epsilon=0.1, max_iter=20_000)
    expected = optimum(
        data,
        lambda r: 0.2 * cp.pos(cp.abs(r) - 0.1),
        lambda W: 0.5 * cp.sum(cp.abs(W)),
    )
    assert model.fit(data.X, data.y).objective_ == pytest.approx(expected, rel=1e-6)
    smooth = RMR(0.5, C=0.2, loss=LogCosh(), max_iter=20_000).fit(data.X, data.y)
    assert smooth.dual_gap_ <= 1e-6


def test_what_is_missing_is_named(data):
    class Empty(LossFamily):
        pass

    with pytest.raises(NotImplementedError, match=r"Empty needs a method of\(y, c\)"):
        RMR(1.0, loss=Empty()).fit(data.X, data.y)

    class Half(LossFamily):
        def of(self, y, c):
            return object()

    with pytest.raises(TypeError, match="needs value, conjugate, best_intercept, feasible"):
        RMR(1.0, loss=Half()).fit(data.X, data.y)

    class Flat(SpectralPenalty):
        pass

    with pytest.raises(NotImplementedError, match=r"penalty Flat needs a method \w+\(d"):
        RMR(1.0, penalty=Flat(1.0)).fit(data.X, data.y)
    with pytest.raises(ValueError, match=r"not known for EntrywiseElasticNet.*as numbers"):
        RMR(penalty=EntrywiseElasticNet(1.0)).fit(data.X, data.y)
    for given in (3.0, EntrywiseElasticNet):
        with pytest.raises(ValueError, match="'penalty' parameter of RMR"):
            RMR(penalty=given).fit(data.X, data.y)
    with pytest.raises(ValueError, match="'family' parameter of RGLM"):
        RGLM(family=LogCoshLoss(np.ones(3))).fit(data.X, data.y)
    with pytest.raises(TypeError, match="PiecewiseLoss"):
        GRMR(loss=LogCosh()).fit(data.X, data.y)
    with pytest.raises(TypeError, match=r"LogCoshLoss, which has no second_derivative\(r\)"):
        RGLM(1.0, family=LogCosh(), ridge=0.5).fit(data.X, data.y)
    for ridge in (0.0, 1.0):
        with pytest.raises(TypeError, match=r"LogCoshLoss needs .*; it has no bounds"):
            model = RMR(1.0, loss=LogCosh(), covariate_ridge=ridge)
            model.fit(data.X, data.y, covariates=data.X[:, 0])
    with pytest.raises(ValueError, match=r"method deviance\(y, f\)"):
        information_criteria(path(RMR(loss=LogCosh()), data.X, data.y, taus=[1.0]), data.X, data.y)


@pytest.mark.parametrize(
    "numbers",
    [
        lambda c: (-c, c, 0.0, 0.0),
        lambda c: (-c[:3], c[:3], c[:3], c[:3]),
        lambda c: (c, -c, 0.0 * c, 0.0 * c),
        lambda c: (-c, c, np.nan * c, 0.0 * c),
    ],
    ids=["numbers", "too few", "signs", "NaN"],
)
def test_numbers_that_are_no_loss_are_refused(data, numbers):
    class Wrong(LossFamily):
        def of(self, y, c):
            return PiecewiseLoss(*numbers(c))

    with pytest.raises(ValueError, match="the loss family Wrong must return four arrays"):
        RMR(1.0, C=1.0, loss=Wrong()).fit(data.X, data.y)


class Bounded(LogCosh):
    """With the bounds that columns without a penalty need."""

    def of(self, y, c):
        loss = LogCoshLoss(c)
        loss.bounds = -c, c
        return loss


@pytest.mark.parametrize("ridge", [0.0, 2.0])
def test_a_smooth_loss_with_covariates_and_a_ridge_on_them(data, ridge):
    Z = np.random.default_rng(0).standard_normal((60, 2))
    model = RMR(1.0, C=0.2, loss=Bounded(), covariate_ridge=ridge, tol=1e-7, max_iter=20_000)
    model.fit(data.X, data.y, covariates=Z)
    W, gamma, b = cp.Variable((5, 4)), cp.Variable(2), cp.Variable()
    r = data.y - data.X.reshape(60, -1) @ cp.vec(W, order="C") - Z @ gamma - b
    # log cosh r = log(exp(2 r) + 1) - r - log 2
    loss = 0.2 * cp.sum(cp.logistic(2.0 * r) - r - np.log(2.0))
    penalty = 0.5 * cp.sum_squares(W) + cp.normNuc(W) + 0.5 * ridge * cp.sum_squares(gamma)
    problem = cp.Problem(cp.Minimize(loss + penalty))
    problem.solve(cp.CLARABEL)
    assert model.dual_gap_ <= 1e-7
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)


def test_a_smooth_loss_knows_the_smallest_tau_with_a_zero_solution(data):
    largest = tau_max(RMR(C=0.2, loss=LogCosh()), data.X, data.y)
    for share, rank in ((1.001, 0), (0.98, 1)):
        model = RMR(share * largest, C=0.2, loss=LogCosh(), max_iter=20_000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert model.fit(data.X, data.y).rank_ == rank


@pytest.mark.slow
def test_a_report_about_a_loss_of_ones_own(data):
    model = RMR(2.0, C=0.5, loss=AsymmetricTube(3.0, 0.1)).fit(data.X, data.y)
    assert "AsymmetricTube(steepness=3.0, epsilon=0.1)" in model.report(data.X, data.y).html


def test_a_loss_that_has_no_part_is_named(data):
    with pytest.raises(TypeError, match=r"CurvedLoss needs a method take\(index\)"):
        RGLM(2.0, family=Curved()).fit(data.X, data.y).leave_one_out(data.X, data.y)
    with pytest.raises(TypeError, match=r"WithoutIntercept needs .*; it has no best_intercept"):
        tau_max(RGLM(family=Curved(WithoutIntercept)), data.X, data.y)


class Curved(LossFamily):
    def __init__(self, kind=None):
        self.kind = kind or CurvedLoss

    def of(self, y, c):
        return self.kind(c)


class CurvedLoss(LogCoshLoss):
    def second_derivative(self, r):
        return self.c / np.cosh(r) ** 2


class WithoutIntercept:
    """The same, of which the best intercept is not known."""

    def __init__(self, c):
        self.loss = CurvedLoss(c)

    def __getattr__(self, name):
        if name == "best_intercept":
            raise AttributeError(name)
        return getattr(self.loss, name)
