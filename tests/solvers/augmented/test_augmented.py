"""RMR on many samples in memory, against the solver for few and against its own definitions."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from matreg.design import ArrayDesign
from matreg.losses.piecewise import (
    absolute,
    epsilon_insensitive,
    hinge,
    huber,
    pinball,
    squared_hinge,
)
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.augmented import subsamples as solve
from matreg.solvers.augmented.augmented import AugmentedLagrangian, solve_augmented
from matreg.solvers.augmented.incremental_gram import IncrementalGram
from matreg.solvers.augmented.newton import through_coefficients, through_samples
from matreg.solvers.augmented.smoothed_objective import SmoothedObjective
from matreg.solvers.augmented.subsamples import solve_many
from matreg.solvers.certificate import Tracker
from matreg.solvers.interior.attempts import solve_cold
from matreg.unpenalised.basis import ONES, covariates, intercept
from problems import random_data, random_weights

LOSSES = {
    "epsilon-insensitive": lambda y, c: epsilon_insensitive(c, 0.1),
    "absolute": lambda y, c: absolute(c),
    "quantile": lambda y, c: pinball(c, 0.8),
    "hinge": hinge,
    "squared hinge": squared_hinge,
    "huber": lambda y, c: huber(c, 0.3),
}


def problem_of(loss, n=400, p=5, q=4, tau=5.0, seed=0, weights=None, unpenalised=ONES):
    X, y = random_data(n, p, q, seed=seed, noise=1.0)
    if "hinge" in loss:
        y = np.where(y > np.median(y), 1.0, -1.0)
    weights = np.ones(n) if weights is None else weights
    penalty = SpectralElasticNet(tau)
    return Problem(ArrayDesign(X), y, LOSSES[loss](y, weights), penalty, unpenalised)


@pytest.mark.parametrize("loss", LOSSES)
def test_same_optimum_as_the_solver_for_few_samples(loss):
    problem = problem_of(loss, weights=random_weights(400))
    many, cold = solve_many(problem, tol=1e-8), solve_cold(problem, tol=1e-8)
    assert many.converged and many.gap <= 1e-8
    assert many.primal == pytest.approx(cold.primal, rel=1e-7)
    # The certificate is what the problem itself says of the points.
    assert problem.primal(many.W)[0] == pytest.approx(many.primal, rel=1e-12)
    assert problem.dual(many.beta) == pytest.approx(many.dual, rel=1e-12)


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (1, 6), (6, 1)])
@pytest.mark.parametrize("tau", [0.0, 2.0, 1e4])
def test_any_shape_and_tau(shape, tau):
    p, q = shape
    problem = problem_of("epsilon-insensitive", 300, p, q, tau, unpenalised=intercept(tau > 0.0))
    result = solve_many(problem)
    assert result.converged
    assert result.primal == pytest.approx(solve_cold(problem).primal, rel=2e-6)
    if tau == 1e4:
        assert result.W.rank == 0


def test_linear_term_is_that_of_samples_far_away():
    problem = problem_of("epsilon-insensitive", 300)
    far = np.random.default_rng(3).standard_normal((2, 5, 4))
    slopes = np.array([3.0, -2.0])
    loss = epsilon_insensitive(np.append(problem.loss.upper, np.abs(slopes)), 0.1)
    X = np.concatenate([problem.design.X, far])
    y = np.append(problem.y, 1e4 * np.sign(slopes))
    whole = replace(problem, design=ArrayDesign(X), y=y, loss=loss)
    T = -np.einsum("i,ijk->jk", slopes, far)
    short = replace(problem, linear=T, linear_gamma=-float(slopes.sum()))
    constant = float(np.abs(slopes) @ (np.full(2, 1e4) - 0.1))
    result = solve_augmented(short, tol=1e-9)
    expected = solve_cold(whole, tol=1e-11).primal - constant
    assert result.primal == pytest.approx(expected, abs=1e-4)


def test_units_do_not_matter():
    problem = problem_of("epsilon-insensitive")
    X, y = 1e3 * problem.design.X, 1e-4 * problem.y
    # W is 1e-7 as large, so the loss must count 1e-10 and tau 1e-7 times as much.
    loss = epsilon_insensitive(np.full(400, 1e-10), 1e-5)
    scaled = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(5.0 * 1e-7))
    one, other = solve_many(problem), solve_many(scaled)
    assert other.converged
    assert other.primal * 1e14 == pytest.approx(one.primal, rel=3e-6)
    assert other.n_iter == one.n_iter


def smoothed_at(problem, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((problem.design.p, problem.design.q))
    beta = rng.uniform(problem.loss.lower, problem.loss.upper)
    objective = SmoothedObjective(problem, beta, rng.standard_normal(W.shape), width=2.0, s2=3.0)
    gamma = np.full(problem.unpenalised.size, 0.3)
    return objective, objective.at(W, gamma, problem.design.forward(W))


@pytest.mark.parametrize("loss", ["epsilon-insensitive", "hinge", "huber"])
def test_gradient_against_differences(loss):
    problem = problem_of(loss, 50)
    problem = replace(problem, linear=np.full((5, 4), 0.2), linear_gamma=0.7)
    objective, at = smoothed_at(problem)
    gradient, slope_gamma = objective.gradient(at, problem.design.adjoint(at.beta))
    rng = np.random.default_rng(1)
    dW, dgamma, h = rng.standard_normal((5, 4)), np.array([0.8]), 1e-6
    AdW = problem.design.forward(dW)
    ahead = objective.at(at.W + h * dW, at.gamma + h * dgamma, at.AW + h * AdW)
    back = objective.at(at.W - h * dW, at.gamma - h * dgamma, at.AW - h * AdW)
    slope = np.vdot(gradient, dW) + slope_gamma @ dgamma
    assert (ahead.value - back.value) / (2 * h) == pytest.approx(slope, rel=1e-6)
    assert objective.slope(at, dW, dgamma, AdW) == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize("shape", [(4, 4), (6, 3), (3, 6)])
@pytest.mark.parametrize("k", [0, 1, 3])
def test_both_systems_give_the_direction_of_the_dense_hessian(shape, k):
    p, q = shape
    Z = np.random.default_rng(2).standard_normal((60, 2))
    basis = covariates(Z) if k == 3 else intercept(k == 1)
    problem = problem_of("epsilon-insensitive", 60, p, q, unpenalised=basis)
    objective, at = smoothed_at(problem)
    gradient, slope = objective.gradient(at, problem.design.adjoint(at.beta))
    sums = IncrementalGram(problem.design, basis)
    found = [
        through_samples(objective, problem.design, at, gradient, slope),
        through_coefficients(objective, sums, at, gradient, slope),
    ]
    rows = np.hstack([problem.design.X.reshape(60, -1), basis.columns(60)])[at.smoothed]
    H = rows.T @ (objective.weights[at.smoothed, None] * rows)
    for k, E in enumerate(np.eye(p * q)):
        E = E.reshape(p, q)
        JE = at.threshold.apply(E, lambda O: O)
        H[: p * q, k] += (problem.penalty.ridge * E + objective.s2 * (E - JE)).reshape(-1)
    expected = np.linalg.solve(H, -np.append(gradient.reshape(-1), slope))
    for dW, dgamma in found:
        step = np.append(dW.reshape(-1), dgamma)
        np.testing.assert_allclose(step, expected, rtol=1e-8, atol=1e-10)


def test_sums_follow_what_changes():
    problem = problem_of("epsilon-insensitive", 200)
    sums, rng = IncrementalGram(problem.design, ONES), np.random.default_rng(0)
    beta, smoothed = np.zeros(200), np.zeros(200, dtype=bool)
    flat = np.hstack([problem.design.X.reshape(200, -1), np.ones((200, 1))])
    for _ in range(5):
        some = rng.integers(0, 200, 20)
        beta = beta.copy()
        beta[some] = rng.standard_normal(20)
        smoothed = smoothed.copy()
        smoothed[some] = ~smoothed[some]
        weights = rng.uniform(1.0, 2.0, 200)
        np.testing.assert_allclose(sums.adjoint(beta), problem.design.adjoint(beta), atol=1e-12)
        expected = flat[smoothed].T @ (weights[smoothed, None] * flat[smoothed])
        np.testing.assert_allclose(sums.gram(smoothed, weights), expected, atol=1e-10)


def test_samples_of_other_types_stay_what_they_are():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (300, 4, 5)).astype(np.uint8)
    y = X.reshape(300, -1) @ rng.standard_normal(20) / 100 + rng.laplace(size=300)
    loss, penalty = epsilon_insensitive(np.ones(300), 0.1), SpectralElasticNet(10.0)
    kept = solve_many(Problem(ArrayDesign(X), y, loss, penalty))
    double = solve_many(Problem(ArrayDesign(X.astype(float)), y, loss, penalty))
    assert kept.converged
    assert kept.primal == pytest.approx(double.primal, rel=1e-6)


def test_goes_on_from_where_another_problem_ended():
    problem = problem_of("epsilon-insensitive", 2000)
    first = solve_augmented(problem)
    close = replace(problem, penalty=problem.penalty.at(4.5))
    again = solve_augmented(close, first.start)
    assert again.converged
    assert again.primal == pytest.approx(solve_augmented(close).primal, rel=2e-6)


def test_cold_start_has_nearly_all_samples_within_the_smoothing():
    problem = problem_of("epsilon-insensitive", 500)
    from matreg.solvers.certificate import Tracker

    run = AugmentedLagrangian(problem, Tracker(problem, 1e-6), None)
    assert not run.start.W.any()
    assert run.smoothing.width > np.abs(problem.y).max()


def test_where_a_working_set_fails_the_augmented_lagrangian_goes_on_and_it_is_counted(monkeypatch):
    problem = problem_of("epsilon-insensitive")
    expected = solve_many(problem)

    def failing(problem, *, tol, **others):
        tracker = Tracker(problem, tol, method="working set")
        return tracker.result(3)

    monkeypatch.setattr(solve, "finish", failing)
    result = solve_many(problem)
    assert result.converged and "working set" in result.history["method"]
    assert result.method == "augmented Lagrangian"
    assert result.n_iter == result.history["iteration"].max()
    assert result.primal == pytest.approx(expected.primal, rel=2e-6)


def test_a_far_start_takes_no_more_memory_than_the_samples():
    """As in searches, where C changes thirtyfold: kernel matrices of thousands of samples."""
    rng = np.random.default_rng(0)
    n, p = 6000, 10
    X = rng.integers(0, 256, size=(n, p, p)).astype(np.uint8)
    W = np.outer(rng.normal(size=p), rng.normal(size=p))
    y = np.tensordot(X.astype(float), W) / 255.0 + 0.1 * rng.normal(size=n)
    loss = epsilon_insensitive(np.full(n, 2e-5), 0.05)
    first = Problem(ArrayDesign(X), y, loss, SpectralElasticNet(1.0))
    last = replace(solve_many(first), kept=None)
    other = replace(first, loss=loss.times(1.0 / 30.0), penalty=SpectralElasticNet(1.0 / 30.0))
    start = replace(last.start, beta=last.beta / 30.0)
    tracemalloc.start()
    try:
        found = solve_many(other, start=start)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found.converged
    assert peak <= 8 * X.size  # the samples in float64


@pytest.mark.parametrize("loss", ["tube", "huber"])
@pytest.mark.parametrize("seed", range(4))
def test_groups_without_a_sample_within_the_smoothing(loss, seed):
    """With as many columns as a group each, of which a subsample and a smoothing may see none."""
    rng, n = np.random.default_rng(2 * seed), 30 + 30 * (seed % 2)
    X, group = rng.standard_normal((n, 1, 1)), rng.integers(0, 6, n)
    y = X[:, 0, 0] + group + 0.5 * rng.laplace(size=n)
    c = np.full(n, 1.2)
    cost = huber(c, 0.5) if loss == "huber" else epsilon_insensitive(c, 0.1)
    columns = covariates((group[:, None] == np.arange(5)).astype(float))
    problem = Problem(ArrayDesign(X), y, cost, SpectralElasticNet(2.0), columns)
    result = solve_many(problem)
    assert result.converged
    assert result.primal == pytest.approx(solve_cold(problem, tol=1e-8).primal, rel=2e-6)
