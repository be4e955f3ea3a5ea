"""Random problems, an independent certificate and an independent solution, for all tests."""

from dataclasses import replace

import numpy as np

from matreg.bases import images
from matreg.design import ArrayDesign
from matreg.losses import LossFamily
from matreg.losses.piecewise import epsilon_insensitive, squared
from matreg.model import Model
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.unpenalised.basis import intercept

# Losses of RMR by name, with parameters to test them at.
RMR_LOSSES = {
    "epsilon_insensitive": {"epsilon": 0.3},
    "absolute": {},
    "huber": {"delta": 0.7},
    "quantile": {"quantile": 0.8},
}
SHAPES = [(4, 4), (6, 3), (3, 6), (1, 5), (5, 1), (1, 1)]
SHAPE_IDS = ["square", "tall", "wide", "row", "column", "number"]


def random_data(n, p, q, seed=0, noise=0.3, rank=1):
    """Samples and labels of a low-rank truth with an intercept and noise."""
    rng = np.random.default_rng(seed)
    rank = min(rank, p, q)
    X = rng.standard_normal((n, p, q))
    W = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q))
    return X, X.reshape(n, -1) @ W.ravel() + 0.5 + noise * rng.laplace(size=n)


def along_tau(problem, taus):
    """The problem with one tau after another."""
    return (replace(problem, penalty=problem.penalty.at(float(tau))) for tau in taus)


def random_weights(n, seed=0):
    return np.random.default_rng(seed + 1000).uniform(0.2, 3.0, n)


class Given(LossFamily):
    """The losses that a function of labels and weights makes."""

    def __init__(self, loss_of):
        self.of = loss_of


def model_of(loss_of, penalty):
    """A declared model whose losses a function makes."""
    return Model(Given(loss_of), penalty)


def make_problem(X, y, *, tau=1.0, C=1.0, epsilon=0.1, fit_intercept=True, weights=None):
    """RMR as the solvers take it."""
    weights = np.ones(len(y)) if weights is None else weights
    return Problem(
        ArrayDesign(np.ascontiguousarray(X, dtype=float)),
        np.asarray(y, dtype=float),
        epsilon_insensitive(C * weights, epsilon),
        SpectralElasticNet(tau),
        intercept(fit_intercept),
    )


def random_problem(n=80, p=6, q=8, *, seed=0, weighted=False, labels=None, **parameters):
    """RMR on random data; labels may be "integer" or "duplicated", so that there are ties."""
    X, y = random_data(n, p, q, seed, noise=0.1)
    if labels == "integer":
        y = np.random.default_rng(seed).integers(0, 4, n).astype(float)
    elif labels == "duplicated":
        y[: n // 2] = y[n // 2 : n // 2 * 2]
    weights = random_weights(n, seed) if weighted else None
    return make_problem(X, y, weights=weights, **parameters)


def at(problem, tau):
    """The same problem with another tau."""
    return replace(problem, penalty=SpectralElasticNet(float(tau), problem.penalty.ridge))


def in_bases(problem, bases):
    """The problem in V of coefficients ``W = L V R``, with a copy of its samples."""
    return replace(problem, design=ArrayDesign(images(problem.design, bases)))


def rglm_data(n, p, q, seed=0, *, weights=False, noise=0.3, rank=2, offset=0.0):
    """Samples, labels and weights for R-GLM; samples are around `offset`."""
    rng = np.random.default_rng(seed)
    B = rng.standard_normal((p, rank)) @ rng.standard_normal((rank, q))
    X = rng.standard_normal((n, p, q)) + offset
    y = np.tensordot(X, B, axes=2) + 0.7 + noise * rng.standard_normal(n)
    s = rng.uniform(0.2, 3.0, n) if weights else np.ones(n)
    return X, y, s


def rglm_problem(X, y, s, tau, fit_intercept=True):
    """R-GLM as the solvers take it."""
    penalty = SpectralElasticNet(tau, ridge=0.0)
    return Problem(ArrayDesign(X), y, squared(s), penalty, intercept(fit_intercept))


def corrupted_rows(rng, n=25, m=16, rank=3, spikes=0.1, noise=0.02):
    """Rows of low rank with gross outliers, and the clean ones."""
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m)) / np.sqrt(rank)
    mask = rng.random((n, m)) < spikes
    return X + noise * rng.standard_normal((n, m)) + 5.0 * mask * rng.choice([-1, 1], (n, m)), X


def losses(loss, r, *, epsilon=0.1, delta=1.0, quantile=0.5):
    """Losses of residuals by the name of the loss, as they are written."""
    size = np.abs(r)
    return {
        "epsilon_insensitive": np.maximum(size - epsilon, 0.0),
        "absolute": size,
        "huber": np.where(size <= delta, size**2 / (2.0 * delta), size - delta / 2.0),
        "quantile": np.where(r > 0.0, quantile * r, (quantile - 1.0) * r),
    }[loss]


def cvxpy_losses(loss, r):
    """The same of an expression of CVXPY, with the parameters of the table above."""
    import cvxpy as cp

    p = RMR_LOSSES[loss]
    return {
        "epsilon_insensitive": lambda: cp.pos(cp.abs(r) - p["epsilon"]),
        "absolute": lambda: cp.abs(r),
        "huber": lambda: cp.huber(r, p["delta"]) / (2.0 * p["delta"]),
        "quantile": lambda: cp.maximum(p["quantile"] * r, (p["quantile"] - 1.0) * r),
    }[loss]()


def objective(X, y, W, b, *, tau, C, epsilon, weights=None):
    """Objective of RMR, as it is written."""
    weights = np.ones(len(y)) if weights is None else weights
    residual = np.array([np.sum(W * x) for x in X]) + b - y
    loss = np.sum(weights * np.maximum(np.abs(residual) - epsilon, 0.0))
    nuclear = np.linalg.svd(W, compute_uv=False).sum()
    return 0.5 * np.sum(W * W) + tau * nuclear + C * loss


def bound(X, y, beta, *, tau, C, epsilon, weights=None, fit_intercept=True):
    """Lower bound of the optimum of RMR from a dual point, which must be feasible."""
    weights = np.ones(len(y)) if weights is None else weights
    assert beta.shape == np.shape(y)
    assert np.all(np.abs(beta) <= C * weights * (1.0 + 1e-12))
    if fit_intercept:
        assert abs(beta.sum()) <= 1e-12 * np.sum(C * weights)
    Z = np.einsum("i,ijk->jk", beta, X)
    over = np.maximum(np.linalg.svd(Z, compute_uv=False) - tau, 0.0)
    return y @ beta - epsilon * np.sum(np.abs(beta)) - 0.5 * np.sum(over**2)


def certified_gap(X, y, W, b, beta, *, fit_intercept=True, **parameters):
    """Relative duality gap with plain NumPy, from what a fit returns."""
    if not fit_intercept:
        assert b == 0.0
    primal = objective(X, y, W, b, **parameters)
    dual = bound(X, y, beta, fit_intercept=fit_intercept, **parameters)
    return 0.0 if primal <= 0.0 else (primal - max(dual, 0.0)) / primal


def gap_of_result(problem, result):
    """Independent certificate of a solver's result."""
    return certified_gap(
        problem.design.X,
        problem.y,
        result.W.matrix,
        result.b,
        result.beta,
        tau=problem.penalty.tau,
        C=1.0,
        epsilon=float(problem.loss.epsilon[0]),
        weights=problem.loss.upper,
        fit_intercept=problem.unpenalised.size > 0,
    )


def gap_of_model(model, X, y, weights=None):
    """Independent certificate of a fitted RMR."""
    names = ("tau", "C", "epsilon")
    return certified_gap(
        X,
        y,
        model.coef_,
        model.intercept_,
        model.dual_coef_,
        **{name: getattr(model, f"{name}_", getattr(model, name)) for name in names},
        weights=weights,
        fit_intercept=model.fit_intercept,
    )


def cvxpy_rmr(problem):
    """Optimal value and W by a general interior point solver."""
    import cvxpy as cp

    design = problem.design
    W = cp.Variable((design.p, design.q))
    b = cp.Variable() if problem.unpenalised.size else 0.0
    residual = design.X.reshape(design.n, -1) @ cp.vec(W, order="C") + b - problem.y
    loss = problem.loss.upper @ cp.pos(cp.abs(residual) - problem.loss.epsilon)
    penalty = 0.5 * problem.penalty.ridge * cp.sum_squares(W)
    if problem.penalty.tau > 0.0:
        penalty = penalty + problem.penalty.tau * cp.normNuc(W)
    program = cp.Problem(cp.Minimize(loss + penalty))
    accuracy = {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    program.solve(solver=cp.CLARABEL, **accuracy)
    return program.value, W.value


def assert_same_summary(one, other):
    """The same rows exactly, and the same sums up to rounding, whatever the blocks were."""
    one, other = one.capped(), other.capped()
    for mine, yours in zip(one.sorted(), other.sorted(), strict=True):
        if mine is None:
            assert yours is None
            continue
        if mine.dtype.names is None:
            np.testing.assert_array_equal(mine, yours)
            continue
        np.testing.assert_array_equal(mine["index"], yours["index"])
        for name in mine.dtype.names:
            np.testing.assert_allclose(mine[name], yours[name], rtol=1e-9, atol=1e-11)
    for name in ("loss", "sums", "columns", "sizes", "labels", "slopes", "tubes", "limit"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-9)
    for name in ("counts", "bad", "most"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def covariate_data(seed=0, n=90, p=4, q=3):
    """Samples, covariates that depend on them, and the linear predictor of both."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p, q))
    Z = rng.standard_normal((n, 2)) + X[:, 0, :2]
    return X, Z, 2.0 * X[:, 0, 0] + Z @ [1.5, -1.0] + 0.7


def covariate_labels(kind, seed=1):
    """Labels of a family for these samples."""
    _, _, f = covariate_data()
    rng = np.random.default_rng(seed)
    if kind == "normal":
        return f + 0.5 * rng.laplace(size=len(f))
    if kind == "binomial":
        return (rng.random(len(f)) < 1.0 / (1.0 + np.exp(-f))).astype(int)
    return rng.poisson(np.exp(0.4 * f)).astype(float)
