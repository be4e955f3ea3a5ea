"""Methods of a user's own loss or penalty that contradict each other are named."""

import numpy as np
import pytest

from matreg import RMR, path
from matreg.datasets import make_matrix_regression
from matreg.linalg.thresholding import soft_threshold
from matreg.losses import LossFamily, PiecewiseLoss
from matreg.own_parts import check_own_parts
from own import CappedSlope, EntrywiseElasticNet, LogCoshLoss


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)


def family(make):
    class Mine(LossFamily):
        def of(self, y, c):
            return make(c)

    return Mine()


LOSSES = {
    "twice the slope": (
        "gradient.* contradicts the slope",
        {"gradient": lambda s, r: 2 * np.tanh(r)},
    ),
    "half the slope": (
        "gradient.* contradicts the slope",
        {"gradient": lambda s, r: 0.5 * np.tanh(r)},
    ),
    "wrong sign": ("gradient.* contradicts the slope", {"gradient": lambda s, r: -np.tanh(r)}),
    "one slope": ("60 finite numbers from gradient", {"gradient": lambda s, r: 1.0}),
    "NaN": ("60 finite numbers from gradient", {"gradient": lambda s, r: np.nan * r}),
    "no sum": (r"value\(r\); got an array", {"value": lambda s, r: r**2}),
    "NaN value": (r"value\(r\); got nan", {"value": lambda s, r: np.nan}),
    "no conjugate": ("conjugate is wrong", {"conjugate": lambda s, beta: 0.0}),
    "minus conjugate": (
        "conjugate is wrong",
        {"conjugate": lambda s, beta: -LogCoshLoss.conjugate(s, beta)},
    ),
    "no intercept": ("best_intercept", {"best_intercept": lambda s, r, total=0.0: 0.0}),
    "Cauchy": (
        "not convex",
        {
            "value": lambda s, r: float(s.c @ np.log1p(r**2)),
            "gradient": lambda s, r: 2 * s.c * r / (1 + r**2),
        },
    ),
    "Welsch": (
        "not convex",
        {
            "value": lambda s, r: float(s.c @ (1 - np.exp(-(r**2) / 2))),
            "gradient": lambda s, r: s.c * r * np.exp(-(r**2) / 2),
        },
    ),
}


@pytest.mark.parametrize("case", LOSSES)
def test_a_wrong_method_of_a_loss_is_named(data, case):
    message, methods = LOSSES[case]
    loss = family(type("Wrong", (LogCoshLoss,), methods))
    with pytest.raises(ValueError, match=f"the loss Wrong.*{message}"):
        RMR(1.0, C=1.0, loss=loss).fit(data.X, data.y)


class Linex:
    """``exp r - r - 1``, which overflows at large residuals."""

    def __init__(self, c):
        self.c = c

    def value(self, r):
        return float(self.c @ (np.exp(r) - r - 1.0))

    def gradient(self, r):
        return self.c * np.expm1(r)

    def conjugate(self, beta):
        u = beta / self.c
        return float(self.c @ ((1.0 + u) * np.log1p(u) - u))

    def best_intercept(self, r, total=0.0):
        return float(r.max() + np.log(self.c @ np.exp(r - r.max()) / (self.c.sum() + total)))

    def feasible(self, beta, total):
        beta = np.maximum(beta, -self.c * (1.0 - 1e-12))
        if total is None:
            return beta
        return (beta + self.c) * ((total + self.c.sum()) / (beta + self.c).sum()) - self.c


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1e3, 1e9])
@pytest.mark.parametrize("make", [LogCoshLoss, Linex])
def test_a_right_loss_is_taken_in_all_units(data, make, unit):
    with np.errstate(all="ignore"):
        check_own_parts(make(np.ones(60)), None, unit * data.y, (5, 4))


def test_a_right_loss_of_another_kind_is_fitted(data):
    model = RMR(1.0, C=0.05, loss=family(Linex), max_iter=20_000)
    assert model.fit(data.X, 0.2 * data.y).dual_gap_ <= 1e-6


def test_a_wrong_prox_is_named(data):
    class ByProx:
        def __init__(self, c):
            self.loss = PiecewiseLoss(-c, c, 0.0 * c, 0.0 * c)
            for name in ("value", "conjugate", "best_intercept", "feasible"):
                setattr(self, name, getattr(self.loss, name))

        def prox(self, v, step):
            return self.loss.prox(v, share * step)

    model = RMR(1.0, C=0.5, loss=family(ByProx), max_iter=20_000)
    share = 1.0
    assert model.fit(data.X, data.y).dual_gap_ <= 1e-6
    for c in (1e-15, 1e15):
        check_own_parts(ByProx(np.full(60, c)), None, data.y, (5, 4))
    share = 0.5
    with pytest.raises(ValueError, match="the loss ByProx: prox"):
        model.fit(data.X, data.y)


class Absolute:
    """``sum c |r|``, whose conjugate is infinite as soon as rounding errors exceed c."""

    def __init__(self, c):
        self.c = c

    def value(self, r):
        return float(self.c @ np.abs(r))

    def conjugate(self, beta):
        return 0.0 if np.all(np.abs(beta) <= self.c) else np.inf

    def prox(self, v, step):
        return np.sign(v) * np.maximum(np.abs(v) - step * self.c, 0.0)

    def feasible(self, beta, total):
        return np.clip(beta, -self.c, self.c)


@pytest.mark.parametrize("unit", [1e-9, 1e-3, 1.0, 1e3, 1e9])
def test_rounding_errors_at_the_edge_of_the_conjugate_are_no_error(data, unit):
    check_own_parts(Absolute(np.linspace(0.1, 0.7, 60)), None, unit * data.y, (5, 4))


def test_a_loss_that_leaves_out_its_factors_is_refused(data):
    def without(c):
        one = np.ones_like(c)
        return PiecewiseLoss(-one, one, 0.0 * one, 0.0 * one)

    with pytest.raises(ValueError, match="Mine must be proportional to c"):
        RMR(1.0, C=0.5, loss=family(without)).fit(data.X, data.y)


PENALTIES = {
    "part": (CappedSlope, {"part": lambda s, d: s.tau * float(d.sum())}),
    "threshold": (CappedSlope, {"threshold": lambda s, d, scale, mu: soft_threshold(d, mu, s.tau)}),
    "conjugate_of": (EntrywiseElasticNet, {"conjugate_of": lambda s, Z: 0.0}),
    "prox": (
        EntrywiseElasticNet,
        {"prox": lambda s, Z, step: EntrywiseElasticNet.prox(s, Z, 2.0 * step)},
    ),
    "its value": (EntrywiseElasticNet, {"value_of": lambda s, W: np.abs(W.matrix)}),
}


@pytest.mark.parametrize("method", PENALTIES)
def test_a_wrong_method_of_a_penalty_is_named(data, method):
    base, methods = PENALTIES[method]
    methods = {**methods, "at": lambda self, tau: type(self)(tau, self.ridge)}
    penalty = type("Wrong", (base,), methods)(1.0)
    with pytest.raises(ValueError, match=f"the penalty Wrong.*{method}"):
        path(RMR(C=0.5, penalty=penalty), data.X, data.y, taus=[2.0, 1.0])


def test_a_prox_without_factors_is_refused(data):
    methods = {"prox": lambda s, Z, step: Z, "at": lambda self, tau: self}
    penalty = type("Wrong", (EntrywiseElasticNet,), methods)(1.0)
    with pytest.raises(TypeError, match=r"the penalty Wrong must return .*svd\(W\)"):
        RMR(1.0, C=0.5, penalty=penalty).fit(data.X, data.y)


def test_words_of_a_family_have_a_meaning(data):
    class NoMeaning(LossFamily):
        units = {"width": 0.1}

    with pytest.raises(ValueError, match="NoMeaning has no parameter 'width'"):
        RMR(1.0, loss=NoMeaning()).fit(data.X, data.y)
