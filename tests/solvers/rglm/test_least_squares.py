"""The solver of R-GLM against CVXPY, and its certificate against plain NumPy."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matreg.datasets import make_matrix_regression, make_shape
from matreg.design import ArrayDesign
from matreg.losses.piecewise import epsilon_insensitive, squared
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.rglm import least_squares
from matreg.solvers.rglm.least_squares import (
    solve_least_squares,
)
from matreg.solvers.rglm.proximal_newton import ProximalPoint
from matreg.solvers.rglm.solve import rglm_tau_max, solve_rglm
from matreg.solvers.rglm.standard_form import StandardForm, flat
from problems import rglm_data, rglm_problem


def objective(X, y, s, tau, W, b):
    r = np.tensordot(X, W, axes=2) + b - y
    return 0.5 * np.sum(s * r**2) + tau * np.linalg.norm(W, "nuc")


def assert_certified(X, y, s, tau, intercept, result, tol=1e-6):
    """All that the result claims, computed without the package."""
    W = result.W.matrix
    primal = objective(X, y, s, tau, W, result.b)
    np.testing.assert_allclose(primal, result.primal, rtol=1e-9)
    beta = result.beta
    size = np.abs(beta).sum() + np.finfo(float).tiny
    assert intercept or result.b == 0.0
    assert not intercept or abs(beta.sum()) <= 1e-13 * size
    image = np.einsum("i,ipq->pq", beta, X)
    assert np.linalg.norm(image, 2) <= tau * (1 + 1e-9) + 1e-13 * size * np.abs(X).max()
    dual = y @ beta - 0.5 * np.sum(beta**2 / s)
    np.testing.assert_allclose(dual, result.dual, rtol=1e-8, atol=1e-12 * primal)
    np.testing.assert_allclose(result.gap, (primal - dual) / primal, atol=1e-9)
    assert result.converged and result.gap <= tol
    assert np.linalg.matrix_rank(W) == result.W.rank


def cvxpy_fit(X, y, s, tau, intercept):
    n, p, q = X.shape
    B, b = cp.Variable((p, q)), cp.Variable()
    r = X.reshape(n, -1) @ cp.vec(B, order="C") - y
    if intercept:
        r = r + b
    loss = 0.5 * cp.sum_squares(cp.multiply(np.sqrt(s), r))
    problem = cp.Problem(cp.Minimize(loss + tau * cp.normNuc(B)))
    problem.solve(solver=cp.CLARABEL)
    return B.value, problem.value


SHAPES = [(40, 4, 5), (12, 4, 5), (60, 6, 2), (30, 1, 6), (30, 6, 1), (200, 4, 4)]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weights", [True, False])
def test_agrees_with_cvxpy(shape, intercept, weights):
    X, y, s = rglm_data(*shape, seed=sum(shape), weights=weights)
    tau_max = rglm_tau_max(rglm_problem(X, y, s, 1.0, intercept))
    for fraction in (0.5, 0.03):
        tau = fraction * tau_max
        result = solve_rglm(rglm_problem(X, y, s, tau, intercept), tol=1e-9)
        assert_certified(X, y, s, tau, intercept, result, tol=1e-9)
        B, value = cvxpy_fit(X, y, s, tau, intercept)
        np.testing.assert_allclose(result.primal, value, rtol=1e-6)
        if shape[0] > shape[1] * shape[2]:  # strictly convex
            np.testing.assert_allclose(result.W.matrix, B, atol=2e-3 * np.abs(B).max())


@pytest.mark.parametrize("shape", [(50, 6, 8), (30, 6, 8), (400, 6, 8), (1, 3, 4), (2, 5, 1)])
@pytest.mark.parametrize("fraction", [0.9, 0.1, 1e-3, 1e-6])
@pytest.mark.parametrize("intercept", [True, False])
def test_certificate(shape, fraction, intercept):
    X, y, s = rglm_data(*shape, weights=True)
    tau = fraction * max(rglm_tau_max(rglm_problem(X, y, s, 1.0, intercept)), 1e-3)
    result = solve_rglm(rglm_problem(X, y, s, tau, intercept))
    if shape[0] == 1 and intercept:  # the intercept fits it
        assert result.primal == 0.0 and result.converged and result.W.rank == 0
    else:
        assert_certified(X, y, s, tau, intercept, result)


@settings(max_examples=25, deadline=None)
@given(
    n=st.integers(1, 40),
    p=st.integers(1, 6),
    q=st.integers(1, 6),
    fraction=st.sampled_from([0.7, 0.1, 1e-2, 1e-4]),
    seed=st.integers(0, 10_000),
)
def test_any_shape_converges(n, p, q, fraction, seed):
    X, y, s = rglm_data(n, p, q, seed)
    tau = fraction * rglm_tau_max(rglm_problem(X, y, s, 1.0)) if n > 1 else 1.0
    result = solve_rglm(rglm_problem(X, y, s, tau))
    assert result.converged


@pytest.mark.parametrize("n", [30, 80, 100])
@pytest.mark.parametrize("exponent", range(-12, 0, 2))
def test_a_tiny_tau_converges(n, exponent):
    """Fewer samples than entries, as many, and more: the labels may be fitted exactly."""
    X, y, s = rglm_data(n, 10, 8, seed=n)
    assert solve_rglm(rglm_problem(X, y, s, 10.0**exponent)).converged


@pytest.mark.parametrize("x_scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("y_scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("n", [30, 300])
def test_scaling_laws(x_scale, y_scale, n):
    X, y, s = rglm_data(n, 5, 6)
    tau = 0.05 * rglm_tau_max(rglm_problem(X, y, s, 1.0))
    plain = solve_rglm(rglm_problem(X, y, s, tau), tol=1e-10)
    scaled = solve_rglm(
        rglm_problem(x_scale * X, y_scale * y, s, x_scale * y_scale * tau), tol=1e-10
    )
    assert scaled.converged
    np.testing.assert_allclose(scaled.primal, y_scale**2 * plain.primal, rtol=1e-9)
    W = scaled.W.matrix * x_scale / y_scale
    np.testing.assert_allclose(W, plain.W.matrix, atol=1e-4)


def test_weights_scale_like_tau():
    X, y, s = rglm_data(50, 4, 5)
    one = solve_rglm(rglm_problem(X, y, s, 5.0), tol=1e-10)
    three = solve_rglm(rglm_problem(X, y, 3.0 * s, 15.0), tol=1e-10)
    np.testing.assert_allclose(three.primal, 3.0 * one.primal, rtol=1e-9)
    np.testing.assert_allclose(three.W.matrix, one.W.matrix, atol=1e-5)


def test_large_offsets_do_no_harm():
    X, y, s = rglm_data(60, 5, 4)
    plain = solve_rglm(rglm_problem(X, y, s, 5.0), tol=1e-9)
    moved = solve_rglm(rglm_problem(X + 1e4, y + 1e6, s, 5.0), tol=1e-9)
    assert moved.converged
    np.testing.assert_allclose(moved.primal, plain.primal, rtol=1e-6)
    np.testing.assert_allclose(moved.W.matrix, plain.W.matrix, atol=1e-4)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("n", [15, 200])
def test_tau_max(intercept, n):
    X, y, s = rglm_data(n, 4, 5, weights=True)
    tau_max = rglm_tau_max(rglm_problem(X, y, s, 1.0, intercept))
    centre = np.average(y, weights=s) if intercept else 0.0
    expected = np.linalg.norm(np.einsum("i,ipq->pq", s * (y - centre), X), 2)
    np.testing.assert_allclose(tau_max, expected, rtol=1e-10)
    at = solve_rglm(rglm_problem(X, y, s, tau_max, intercept))
    assert at.W.rank == 0 and at.n_iter == 0 and at.gap < 1e-12
    assert at.b == pytest.approx(centre)
    below = solve_rglm(rglm_problem(X, y, s, 0.999 * tau_max, intercept), tol=1e-9)
    assert below.W.rank == 1 and below.converged


@pytest.mark.parametrize("n", [10, 60, 500])
@pytest.mark.parametrize("intercept", [True, False])
def test_tau_zero_is_least_squares(n, intercept):
    X, y, s = rglm_data(n, 4, 5, weights=True)
    result = solve_rglm(rglm_problem(X, y, s, 0.0, intercept))
    root = np.sqrt(s)[:, None]
    centre = np.average(X, axis=0, weights=s) if intercept else np.zeros((4, 5))
    y_centre = np.average(y, weights=s) if intercept else 0.0
    A = root * (X - centre).reshape(n, -1)
    w = np.linalg.lstsq(A, root[:, 0] * (y - y_centre), rcond=1e-12)[0]
    np.testing.assert_allclose(result.W.matrix.ravel(), w, atol=1e-9)
    assert result.converged and result.gap <= 1e-10
    if n > 21:
        assert_certified(X, y, s, 0.0, intercept, result)
    else:
        assert result.primal <= 1e-20


def test_tau_zero_with_dependent_columns():
    X, y, s = rglm_data(60, 4, 5)
    X[:, 1] = 2.0 * X[:, 0]
    result = solve_rglm(rglm_problem(X, y, s, 0.0))
    assert_certified(X, y, s, 0.0, True, result)
    np.testing.assert_allclose(result.W.matrix[1], 2.0 * result.W.matrix[0], atol=1e-10)


@pytest.mark.parametrize("tau", [0.0, 1e-3, 1.0])
@pytest.mark.parametrize("kind", ["constant y", "X = 0", "constant X", "one sample"])
def test_nothing_to_learn(tau, kind):
    X, y, s = rglm_data(9, 3, 4, weights=True)
    if kind == "constant y":
        y = np.full(9, 0.1)
    elif kind == "X = 0":
        X = np.zeros_like(X)
    elif kind == "constant X":
        X = np.broadcast_to(X[0], X.shape).copy()
    else:
        X, y, s = X[:1], y[:1], s[:1]
    result = solve_rglm(rglm_problem(X, y, s, tau))
    assert result.converged and result.W.rank == 0
    predicted = np.tensordot(X, result.W.matrix, axes=2) + result.b
    np.testing.assert_allclose(predicted, np.average(y, weights=s), rtol=1e-12)


@pytest.mark.parametrize("fraction", [0.1, 1e-2, 1e-3])
def test_both_methods_find_the_same(fraction, monkeypatch):
    X, y, s = rglm_data(40, 6, 5)
    tau = fraction * rglm_tau_max(rglm_problem(X, y, s, 1.0))
    problem = rglm_problem(X, y, s, tau)
    mixed = solve_rglm(problem, tol=1e-8)
    monkeypatch.setattr(least_squares, "EXPECTED_STEPS", np.inf)
    gradient = solve_least_squares(problem, tol=1e-8, max_iter=100_000)
    monkeypatch.setattr(least_squares, "EXPECTED_STEPS", 0)
    newton = solve_least_squares(problem, tol=1e-8)
    assert mixed.converged and gradient.converged and newton.converged
    assert newton.n_iter < 100
    np.testing.assert_allclose([mixed.primal, newton.primal], gradient.primal, rtol=2e-8)


@pytest.mark.parametrize("ridge", [0.0, 3.0])
@pytest.mark.parametrize("shape", [(12, 5, 4), (60, 4, 7)])
def test_newton_direction_solves_its_system(shape, ridge):
    X, y, s = rglm_data(*shape)
    form = StandardForm(rglm_problem(X, y, s, 2.0))
    method = ProximalPoint(form, SpectralElasticNet(2.0, ridge), np.zeros(shape[1:]))
    point, h = method.point, 1e-6
    assert point.threshold.r > 0
    x = method.direction(point)
    moved = method.at(point.beta + h * x)
    # Along x the gradient falls at the rate of itself.
    slope = (moved.gradient - point.gradient) / h
    np.testing.assert_allclose(slope, -point.gradient, atol=1e-4 * np.linalg.norm(x))
    change = (moved.value - method.at(point.beta - h * x).value) / (2 * h)
    np.testing.assert_allclose(change, point.gradient @ x, rtol=1e-5)


def test_many_samples_are_compressed():
    X, y, s = rglm_data(300, 4, 5, weights=True)
    form = StandardForm(rglm_problem(X, y, s, 1.0))
    rows, z = form.rows
    assert rows.n == 20 and len(z) == 20
    np.testing.assert_allclose(flat(rows).T @ flat(rows), flat(form.design).T @ flat(form.design))
    np.testing.assert_allclose(rows.adjoint(z), form.design.adjoint(form.z))


def test_lipschitz_bounds_the_norm():
    for shape in [(150, 12, 12), (40, 8, 8), (900, 12, 12)]:
        form = StandardForm(rglm_problem(*rglm_data(*shape), 1.0))
        exact = np.linalg.norm(flat(form.design), 2) ** 2
        assert exact * (1 - 1e-9) <= form.lipschitz <= 1.2 * exact


def test_start_along_a_path():
    X, y, s = rglm_data(60, 8, 8)
    first = rglm_problem(X, y, s, 0.5 * rglm_tau_max(rglm_problem(X, y, s, 1.0)))
    state = solve_rglm(first).start
    again = solve_rglm(first, start=state)
    assert again.n_iter <= 10 and again.converged
    # The same objects: what was prepared serves; equal ones: only the coefficients.
    next_one = Problem(
        first.design, first.y, first.loss, SpectralElasticNet(0.9 * first.penalty.tau, 0.0)
    )
    assert state.prepared.form.serves(next_one) and not state.prepared.form.serves(
        rglm_problem(X, y, s, 1.0)
    )
    assert solve_rglm(next_one, start=state).kept.prepared.form is state.prepared.form
    # What was prepared stays with the samples, for problems of the same weights alone.
    light = solve_rglm(next_one, start=state.plain())
    assert light.converged and light.kept.prepared.form is state.prepared.form
    heavier = replace(next_one, loss=squared(np.full(60, 2.0)))
    for other in (heavier, rglm_problem(X, y, s, 1.0)):
        found = solve_rglm(other, start=state.plain())
        assert found.converged and found.kept.prepared.form is not state.prepared.form
    other_shape = rglm_problem(*rglm_data(20, 3, 3), 1.0)
    assert solve_rglm(other_shape, start=state).converged


def test_reference_case():
    data = make_matrix_regression(500, coef=make_shape("cross"), random_state=0)
    problem = rglm_problem(data.X, data.y, np.ones(500), 1500.0)
    result = solve_rglm(problem)
    assert_certified(data.X, data.y, np.ones(500), 1500.0, True, result)
    assert result.n_iter < 400


def test_stops_where_rounding_forbids_progress():
    X, y, s = rglm_data(30, 5, 5)
    result = solve_rglm(rglm_problem(X, y, s, 1.0), tol=0.0)
    assert result.gap < 1e-12 and result.n_iter < 1000


def test_rejects_other_problems():
    X, y, s = rglm_data(10, 2, 2)
    penalty = SpectralElasticNet(1.0, ridge=0.0)
    with pytest.raises(ValueError, match="smooth loss"):
        solve_rglm(Problem(ArrayDesign(X), y, epsilon_insensitive(s, 0.1), penalty))
    with pytest.raises(ValueError, match="no linear term"):
        solve_rglm(Problem(ArrayDesign(X), y, squared(s), penalty, linear=np.ones((2, 2))))


def test_verbose_prints_the_history(capsys):
    X, y, s = rglm_data(20, 3, 3)
    result = solve_rglm(rglm_problem(X, y, s, 0.5), verbose=1)
    assert len(capsys.readouterr().out.splitlines()) == len(result.history) + 1
