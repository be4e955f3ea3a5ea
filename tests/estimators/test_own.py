"""Losses and penalties of a user's own, in the estimators, searches, paths and from a file."""

# [loss]
from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest

from matreg import GRMR, RGLM, RMR, RMRCV, SMM, path
from matreg.datasets import make_matrix_regression
from matreg.families import LossFamily
from matreg.losses import PiecewiseLoss


@dataclass(frozen=True)
class AsymmetricTube(LossFamily):
    """``max(r - epsilon, 0) + steepness max(-r - epsilon, 0)``: too high costs more."""

    steepness: float = 2.0
    epsilon: float | str = "scale"
    units = {"epsilon": 0.1}  # "scale" is a tenth of the median absolute deviation of the labels

    def of(self, y, c):
        return PiecewiseLoss(
            lower=-self.steepness * c,
            upper=c,
            epsilon=np.full_like(c, self.epsilon),
            curvature=np.zeros_like(c),
        )


# [/loss]

# [penalty]
from matreg.linalg.thresholding import soft_threshold
from matreg.penalties import SpectralPenalty


@dataclass(frozen=True)
class CappedSlope(SpectralPenalty):
    """``ridge/2 ||W||_F^2 + tau sum_i (d_i + max(d_i - 1, 0)^2 / 2)``: large values cost more."""

    def part(self, d):
        return self.tau * float(np.sum(d + 0.5 * np.maximum(d - 1.0, 0.0) ** 2))

    def derivative(self, d):
        return self.tau * (1.0 + np.maximum(d - 1.0, 0.0))

    def threshold(self, d, scale, smoothing):
        g, slope = soft_threshold(d, self.tau, smoothing)
        # Beyond d = 1, where g is the scale, the slope of the prox is smaller.
        beyond, factor = g > scale, scale / (scale + self.tau)
        return np.where(beyond, scale + factor * (g - scale), g), np.where(
            beyond, factor * slope, slope
        )


# [/penalty]

# [any]
from matreg.linalg.factors import svd


@dataclass(frozen=True)
class LogCosh(LossFamily):
    """``log cosh r``: smooth, with a gradient and no prox."""

    def of(self, y, c):
        return LogCoshLoss(c)


class LogCoshLoss:
    """``sum_i c_i log cosh r_i`` with the methods of the protocol Loss and a gradient."""

    def __init__(self, c):
        self.c = c

    def value(self, r):
        return float(self.c @ (np.logaddexp(r, -r) - np.log(2.0)))

    def gradient(self, r):
        return self.c * np.tanh(r)

    def conjugate(self, beta):
        u = np.clip(beta / self.c, -1.0, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [(1.0 + s * u) * np.log1p(s * u) for s in (1.0, -1.0)]
        return 0.5 * float(np.nansum(self.c * np.array(parts)))

    def best_intercept(self, r, total=0.0):
        low, high = float(r.min()) - 1.0, float(r.max()) + 1.0
        for _ in range(200):
            middle = 0.5 * (low + high)
            above = self.gradient(r - middle).sum() > total
            low, high = (middle, high) if above else (low, middle)
        return 0.5 * (low + high)

    def feasible(self, beta, total):
        beta = np.clip(beta, -self.c, self.c)
        return beta if total is None else beta - (beta.sum() - total) * self.c / self.c.sum()


@dataclass(frozen=True)
class EntrywiseElasticNet:
    """``ridge/2 ||W||_F^2 + tau sum |W_ij|``, which is no spectral penalty."""

    tau: float
    ridge: float = 1.0

    def at(self, tau):
        return EntrywiseElasticNet(tau, self.ridge)

    def value_of(self, W):
        return 0.5 * self.ridge * np.sum(W.matrix**2) + self.tau * np.abs(W.matrix).sum()

    def conjugate_of(self, Z):
        return float(np.sum(np.maximum(np.abs(Z) - self.tau, 0.0) ** 2)) / (2.0 * self.ridge)

    def shrink_factor_of(self, Z):
        return 1.0

    def prox(self, Z, step):
        W = np.sign(Z) * np.maximum(np.abs(Z) - step * self.tau, 0.0) / (1.0 + step * self.ridge)
        return svd(W)


# [/any]


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


def test_a_loss_with_a_parameter_is_one_class(data):
    # [use]
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
    assert along.loss == AsymmetricTube(3.0, "scale")
    assert RMR(tau="scale", loss=loss).fit(data.X, data.y).rank_ > 0


def test_the_same_loss_from_a_file(tmp_path):
    from sklearn import config_context

    many = make_matrix_regression(3000, (5, 4), rank=1, noise_scale=1.0, random_state=0)
    np.save(tmp_path / "X.npy", many.X)
    X, y = np.load(tmp_path / "X.npy", mmap_mode="r"), many.y
    loss = AsymmetricTube(3.0, 0.2)
    with config_context(working_memory=0.2):
        stored = RMR(tau=20.0, C=0.5, loss=loss).fit(X, y)
    assert stored.n_passes_ > 1
    memory = RMR(tau=20.0, C=0.5, loss=loss).fit(np.asarray(X), y)
    assert stored.objective_ == pytest.approx(memory.objective_, rel=2e-6)


@pytest.mark.parametrize("model", [GRMR, SMM])
def test_the_same_loss_in_other_models(data, model):
    y = data.y > 0.0 if model is SMM else data.y
    fitted = model(1.0, C=0.5, loss=AsymmetricTube(2.0, 0.1)).fit(data.X, y)
    assert fitted.coef_.shape == (5, 4)
    assert fitted.dual_gap_ <= 1e-5


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
    with pytest.raises(ValueError, match="tau must be a number with the penalty"):
        RMR(penalty=EntrywiseElasticNet(1.0)).fit(data.X, data.y)
    with pytest.raises(ValueError, match="'penalty' parameter of RMR"):
        RMR(penalty=3.0).fit(data.X, data.y)
    with pytest.raises(ValueError, match="'family' parameter of RGLM"):
        RGLM(family=LogCoshLoss(np.ones(3))).fit(data.X, data.y)
    with pytest.raises(TypeError, match="PiecewiseLoss"):
        GRMR(loss=LogCosh()).fit(data.X, data.y)
