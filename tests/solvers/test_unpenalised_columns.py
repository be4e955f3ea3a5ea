"""Covariates in R-GLM and on blocks: equal to what is known of both by other means."""

from dataclasses import replace

import numpy as np
import pytest

from matreg.data.blocks import ArrayBlocks
from matreg.design import ArrayDesign
from matreg.losses.piecewise import epsilon_insensitive, hinge, squared
from matreg.losses.smooth import Logistic, Poisson
from matreg.penalties.spectral import SpectralElasticNet
from matreg.problem import Problem
from matreg.solvers.choose import solve_rmr
from matreg.solvers.first_order import solve_universal
from matreg.solvers.passes.loop import solve_stream
from matreg.solvers.passes.moments import solve_streamed_rglm
from matreg.solvers.rglm.solve import rglm_tau_max, solve_rglm
from matreg.solvers.rglm.standard_form import StandardForm
from matreg.unpenalised.basis import NOTHING, covariates
from problems import model_of

N, P, Q = 150, 5, 4
FAMILIES = ("normal", "binomial", "poisson")


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((N, P, Q))
    Z = rng.standard_normal((N, 3)) + 0.5 * X[:, 0, :3]
    return X, Z, X[:, 0, 0] + Z @ [1.0, -1.0, 0.5] + 0.3, rng.uniform(0.5, 2.0, N)


def labels(family, f, seed=1):
    rng = np.random.default_rng(seed)
    if family == "normal":
        return f + 0.5 * rng.standard_normal(N)
    if family == "binomial":
        return (rng.random(N) < 1.0 / (1.0 + np.exp(-f))).astype(float)
    return rng.poisson(np.exp(0.5 * f)).astype(float)


def pose(family, tau, basis=None, ones=True):
    X, Z, f, s = data()
    y, basis = labels(family, f), covariates(Z, ones) if basis is None else basis
    penalty = SpectralElasticNet(tau, ridge=0.0)
    if family == "normal":
        return Problem(ArrayDesign(X), y, squared(s), penalty, basis)
    loss = Logistic(y, s) if family == "binomial" else Poisson(y, s)
    return Problem(ArrayDesign(X), np.zeros(N), loss, penalty, basis)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ones", [True, False], ids=["ones", "no ones"])
def test_both_bounds_hold_and_meet(family, ones):
    problem = pose(family, 1.0, ones=ones)
    largest = rglm_tau_max(problem)
    for factor in (1.001, 0.3, 0.05):
        posed = replace(problem, penalty=problem.penalty.at(factor * largest))
        result = solve_rglm(posed, tol=1e-8)
        assert result.converged and (result.W.rank == 0) == (factor > 1.0)
        assert problem.unpenalised.off(result.beta, problem.linear_gamma) <= 1e-13
        lower, upper = problem.loss.bounds
        assert np.all((result.beta >= lower) & (result.beta <= upper))
        norm = np.linalg.norm(problem.design.adjoint(result.beta), 2)
        assert norm <= posed.penalty.tau * (1.0 + 1e-12)
        assert posed.dual_at(result.beta, 0.0) == pytest.approx(result.dual, rel=1e-10)
        fitted = problem.design.forward(result.W.matrix) + problem.unpenalised.times(result.gamma)
        value = problem.loss.value(problem.y - fitted) + posed.penalty.value_of(result.W)
        assert value == pytest.approx(result.primal, rel=1e-8)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_first_order_steps_find_the_same(family):
    problem = pose(family, 3.0)
    one, other = solve_universal(problem, tol=1e-7), solve_rglm(problem, tol=1e-9)
    assert one.converged and one.primal == pytest.approx(other.primal, rel=1e-6)


def test_the_normal_family_is_least_squares_of_what_the_covariates_leave():
    X, Z, f, s = data()
    root = np.sqrt(s)
    columns = root[:, None] * np.column_stack([np.ones(N), Z])

    def rest(A):
        return A - columns @ np.linalg.lstsq(columns, A, rcond=None)[0]

    rows = rest(root[:, None] * X.reshape(N, -1)).reshape(X.shape)
    z = rest(root * labels("normal", f))
    plain = Problem(
        ArrayDesign(rows), z, squared(np.ones(N)), SpectralElasticNet(3.0, 0.0), NOTHING
    )
    result, other = solve_rglm(pose("normal", 3.0), tol=1e-10), solve_rglm(plain, tol=1e-10)
    assert result.primal == pytest.approx(other.primal, rel=1e-9)
    np.testing.assert_allclose(result.W.matrix, other.W.matrix, atol=1e-6)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_large_tau_leaves_a_generalised_linear_model(family):
    api = pytest.importorskip("statsmodels.api")
    _, Z, f, s = data()
    names = {"normal": "Gaussian", "binomial": "Binomial", "poisson": "Poisson"}
    model = api.GLM(
        labels(family, f),
        api.add_constant(Z),
        family=getattr(api.families, names[family])(),
        var_weights=s,
    )
    problem = pose(family, 1e4)
    result = solve_rglm(problem, tol=1e-10)
    assert result.W.rank == 0
    found = problem.unpenalised.coefficients(result.gamma)
    np.testing.assert_allclose(found, model.fit(tol=1e-14).params, rtol=1e-6)


def test_entries_of_the_samples_that_are_covariates_drop_out():
    """What is left of them is rounding, from which a small tau would make large coefficients."""
    X, _, f, s = data()
    basis = covariates(X[:, 0, :1] + 1.0)
    penalty = SpectralElasticNet(0.5, 0.0)
    form = StandardForm(Problem(ArrayDesign(X), f, squared(s), penalty, basis))
    assert not form.design.X[:, 0, 0].any()
    assert np.abs(np.sqrt(s) @ form.design.X.reshape(N, -1)).max() <= 1e-11


def test_moments_on_blocks():
    X, Z, f, s = data()
    y, basis = labels("normal", f), covariates(Z)
    blocks = ArrayBlocks(X, y, s, (P, Q), basis)
    blocks.step = 40
    results = solve_streamed_rglm(blocks, np.array([10.0, 3.0]), tol=1e-9)
    for tau, result in zip((10.0, 3.0), results, strict=True):
        memory = solve_rglm(pose("normal", tau), tol=1e-10)
        assert result.converged and result.primal == pytest.approx(memory.primal, rel=1e-8)
        np.testing.assert_allclose(result.gamma, memory.gamma, atol=1e-6)
        beta = blocks.map_rows(result.dual_of)
        assert np.abs(basis.sums(beta)).max() <= 1e-11 * np.abs(beta).sum()
        bound = y @ beta - 0.5 * beta @ (beta / s)
        assert bound == pytest.approx(result.dual, rel=1e-10)


def tube(y, weights):
    return epsilon_insensitive(weights, 0.1)


BLOCK_LOSSES = {"tube": tube, "hinge": hinge}


def many(name, n=6000):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, 4, 3)).astype(np.float32)
    Z = rng.standard_normal((n, 2)) + 0.5 * X[:, 0, :2]
    y = X[:, 0, 0] + Z @ [1.0, -1.0] + rng.standard_normal(n)
    return X, covariates(Z), np.sign(y) if name == "hinge" else y


@pytest.mark.slow
@pytest.mark.parametrize("name", BLOCK_LOSSES)
def test_passes_over_blocks_find_what_memory_finds(name):
    X, basis, y = many(name)
    weights, penalty = np.ones(len(y)), SpectralElasticNet(30.0)
    loss = BLOCK_LOSSES[name](y, weights)
    blocks = ArrayBlocks(X, y, weights, (4, 3), basis)
    blocks.step = 2000
    result = solve_stream(blocks, model_of(BLOCK_LOSSES[name], penalty), memory=2e5)
    problem = Problem(ArrayDesign(X.astype(float)), y, loss, penalty, basis)
    memory = solve_rmr(problem, tol=1e-8)
    assert result.converged and memory.converged
    assert result.primal == pytest.approx(memory.primal, rel=1e-6)
    beta = blocks.map_rows(result.dual_of)
    assert problem.infeasibility(beta, problem.dual_image(beta)) <= 1e-13
    assert problem.dual(beta) == pytest.approx(result.dual, rel=1e-9)


def test_dask_blocks_carry_the_covariates():
    da = pytest.importorskip("dask.array")
    from matreg.data.dask_blocks import DaskBlocks

    X, basis, y = many("tube", 4000)
    weights, model = np.ones(len(y)), model_of(tube, SpectralElasticNet(30.0))
    plain = ArrayBlocks(X, y, weights, (4, 3), basis)
    lazy = da.from_array(X, chunks=(1000, 4, 3))
    expected = solve_stream(plain, model, memory=2e5)
    found = solve_stream(DaskBlocks(lazy, y, weights, (4, 3), basis), model, memory=2e5)
    assert found.converged and found.primal == pytest.approx(expected.primal, rel=1e-6)
