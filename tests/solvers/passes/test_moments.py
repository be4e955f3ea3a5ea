"""R-GLM from moments, against the solver on the samples."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from matreg import RGLM
from matreg.bases import PLAIN, Bases, samples_in
from matreg.data.blocks import ArrayBlocks
from matreg.data.moments import Moments
from matreg.data.samples import Samples
from matreg.losses import Squared
from matreg.model import Model
from matreg.penalties.spectral import SpectralElasticNet
from matreg.solvers import mean_curvature, path, tau_max
from matreg.solvers.passes import moments as passes
from matreg.solvers.passes.moments import Reduced, moments, solve_streamed_rglm
from problems import random_data, random_weights

TAUS = np.array([300.0, 30.0, 1.0])


def make_blocks(n=1500, offset=0.0):
    X, y = random_data(n, 5, 4, noise=1.0)
    blocks = ArrayBlocks(X + offset, y, random_weights(n), (5, 4))
    blocks.step = 400
    return blocks


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_two_passes_for_any_number_of_taus(fit_intercept):
    blocks = make_blocks()
    results = solve_streamed_rglm(blocks, TAUS, fit_intercept=fit_intercept)
    assert blocks.rows_read == 2 * blocks.n
    for tau, result in zip(TAUS, results, strict=True):
        model = RGLM(tau=tau, fit_intercept=fit_intercept, tol=1e-9)
        model.fit(blocks.X, blocks.y, blocks.weights)
        assert result.converged
        assert result.primal == pytest.approx(model.objective_, rel=1e-7)
        np.testing.assert_allclose(result.W.matrix, model.coef_, atol=1e-4)


def test_certificate_is_that_of_the_samples():
    blocks = make_blocks(offset=2.0)
    (result,) = solve_streamed_rglm(blocks, np.array([30.0]))
    X, y, s = blocks.X, blocks.y, blocks.weights
    beta = blocks.map_rows(result.dual_of)
    assert abs(beta.sum()) <= 1e-9 * np.abs(beta).sum()
    assert np.linalg.norm(np.tensordot(beta, X, 1), 2) <= 30.0 * (1 + 1e-9)
    assert y @ beta - 0.5 * beta @ (beta / s) == pytest.approx(result.dual, rel=1e-9)
    r = y - np.tensordot(X, result.W.matrix, 2) - result.b
    nuclear = np.linalg.svd(result.W.matrix, compute_uv=False).sum()
    assert 0.5 * s @ r**2 + 30.0 * nuclear == pytest.approx(result.primal, rel=1e-12)


def test_wrong_moments_are_corrected_by_the_exact_gradient():
    blocks = make_blocks()
    (G,) = moments(blocks)
    noise = np.random.default_rng(0).standard_normal(G.shape)
    wrong = G + 1e-4 * np.abs(G).max() * (noise + noise.T)
    wrong[-2:, -2:] = G[-2:, -2:]
    blocks.rows_read = 0
    (result,) = solve_streamed_rglm(blocks, np.array([30.0]), G=wrong, fit_intercept=False)
    assert result.converged
    assert blocks.rows_read > blocks.n


def test_folds_add_up():
    blocks = make_blocks()
    folds = np.arange(blocks.n) % 3
    G = moments(blocks, folds, 3)
    np.testing.assert_allclose(G.sum(axis=0), moments(blocks)[0], rtol=1e-10, atol=1e-8)
    rows = np.hstack([blocks.X.reshape(blocks.n, -1), np.ones((blocks.n, 1)), blocks.y[:, None]])
    some = rows[folds == 1] * np.sqrt(blocks.weights[folds == 1, None])
    np.testing.assert_allclose(G[1], some.T @ some, rtol=1e-9, atol=1e-8)


def test_least_squares():
    blocks = make_blocks()
    (result,) = solve_streamed_rglm(blocks, np.zeros(1))
    model = RGLM(tau=0.0).fit(blocks.X, blocks.y, blocks.weights)
    assert result.converged
    assert result.primal == pytest.approx(model.objective_, rel=1e-10)


def test_bad_samples_and_too_large_ones(monkeypatch):
    blocks = make_blocks()
    with monkeypatch.context() as patch, pytest.raises(ValueError, match="samples of 20 entries"):
        patch.setattr(passes, "MOMENT_ENTRIES", 10)
        moments(blocks)
    blocks.X[777, 1, 1] = np.nan
    with pytest.raises(ValueError, match="sample 777 does"):
        moments(blocks)


def test_equal_samples_have_no_coefficients():
    n = 300
    y = np.random.default_rng(0).standard_normal(n)
    blocks = ArrayBlocks(np.ones((n, 5, 4)), y, np.ones(n), (5, 4))
    (result,) = solve_streamed_rglm(blocks, np.array([1.0]))
    assert result.W.rank == 0
    assert result.b == pytest.approx(y.mean())


@pytest.mark.parametrize("seed", range(5))
def test_equal_samples_have_no_negative_curvature(seed):
    one = 100.0 * np.random.default_rng(seed).standard_normal((1, 5, 4))
    blocks = ArrayBlocks(np.repeat(one, 13, axis=0), np.arange(13.0), random_weights(13), (5, 4))
    assert Reduced(moments(blocks)[0], (5, 4), True).curvature >= 0.0


def test_the_bound_pays_for_the_rounding_of_the_image():
    blocks = ArrayBlocks(np.full((2, 1, 1), 4e15), np.array([1.0, -1.0]), np.ones(2), (1, 1))
    reduced = Reduced(moments(blocks)[0], (1, 1), True)
    nothing = np.zeros(1)  # the image of (1, -1), of terms of 4e15
    t, bound = reduced.bound(SpectralElasticNet(0.0, ridge=1.0), 2.0, 2.0, nothing)
    size = np.abs(blocks.y) @ np.full(2, 4e15)
    assert t == 1.0 and bound <= 1.0 - 0.5 * (0.5 * np.finfo(float).eps * size) ** 2
    t, bound = reduced.bound(SpectralElasticNet(0.0, ridge=1e-6), 2.0, 2.0, nothing)
    assert t == bound == 0.0  # less than nothing is no bound


@pytest.mark.parametrize("bases", [PLAIN, Bases(np.eye(4)[:, :3])], ids=["plain", "bases"])
def test_a_path_on_moments_is_that_on_the_samples(bases):
    X, y = random_data(60, 4, 3)
    model = Model(Squared(), SpectralElasticNet(0.0, ridge=0.0))
    memory = samples_in(Samples.of(X, y, np.ones(60)), bases)
    rows = np.column_stack([X.reshape(60, -1), np.ones(60), y])
    known = samples_in(Moments(rows.T @ rows, 60, 4, 3), bases)
    assert tau_max(model, known) == pytest.approx(tau_max(model, memory), rel=1e-9)
    assert mean_curvature(model, known) == pytest.approx(mean_curvature(model, memory), rel=1e-9)
    taus = np.array([20.0, 5.0])
    test = samples_in(Moments(rows[:20].T @ rows[:20], 20, 4, 3), bases).moments
    both = (path(model, one, "tau", taus, tol=1e-10) for one in (known, memory))
    for found, expected in zip(*both, strict=True):
        np.testing.assert_allclose(found.W.matrix, expected.W.matrix, atol=1e-6)
        assert found.b == pytest.approx(expected.b, abs=1e-6)
        predicted = memory.design.forward(found.W.matrix)[:20] + found.b
        assert known.r2(test, found.W.matrix, found.gamma) == pytest.approx(
            r2_score(y[:20], predicted), abs=1e-9
        )
