"""RMR on samples that are read block by block, against the solver in memory."""

from functools import partial

import numpy as np
import pytest

from matreg._runtime.progress import listening
from matreg.data.blocks import ArrayBlocks
from matreg.losses.piecewise import epsilon_insensitive, hinge
from matreg.penalties.spectral import SpectralElasticNet
from matreg.solvers.passes.loop import Stream, solve_stream
from matreg.solvers.passes.pass_spec import PassSpec, width_for
from matreg.solvers.passes.reduced_problems import Band, graded_problem
from problems import (
    assert_same_summary,
    bound,
    model_of,
    objective,
    random_data,
    random_weights,
)

MEMORY = 3e6  # rows of a reduced problem: a few thousand


def eps_loss(y, weights, C=1.0, epsilon=0.1):
    return epsilon_insensitive(C * weights, epsilon)


def hinge_loss(y, weights, C=1.0):
    return hinge(y, C * weights)


def make_model(tau=100.0, loss_of=eps_loss):
    return model_of(loss_of, SpectralElasticNet(tau))


def make_blocks(n=12_000, dtype=np.float32, weights=None, sort=False):
    X, y = random_data(n, 6, 5, noise=1.0)
    if sort:
        order = np.argsort(y)
        X, y = X[order], y[order]
    weights = np.ones(n) if weights is None else weights
    blocks = ArrayBlocks(X.astype(dtype), y, weights, (6, 5))
    blocks.step = 1700
    return blocks


def look(blocks, near, far=0.0, seed=0, most=100_000):
    rng = np.random.default_rng(1)
    W = 0.5 * rng.standard_normal(30)
    spec = PassSpec(W, np.array([0.2]), True, eps_loss, near, far, 0.0, most, 1.0, 1.0, 1e-12, seed)
    return spec, blocks.map_reduce(spec).capped()


@pytest.mark.parametrize("sort", [False, True], ids=["shuffled", "sorted by label"])
@pytest.mark.parametrize("weighted", [False, True])
def test_certificate_on_all_samples(sort, weighted):
    weights = random_weights(12_000) if weighted else np.ones(12_000)
    blocks, model = make_blocks(weights=weights, sort=sort), make_model()
    result = solve_stream(blocks, model, memory=MEMORY)
    assert result.converged and result.gap <= 1e-6
    X = blocks.X.astype(float)
    parameters = {"tau": 100.0, "C": 1.0, "epsilon": 0.1, "weights": weights}
    primal = objective(X, blocks.y, result.W.matrix, result.b, **parameters)
    dual = bound(X, blocks.y, blocks.map_rows(result.dual_of), **parameters)
    assert primal == pytest.approx(result.primal, rel=1e-10)
    assert dual == pytest.approx(result.dual, rel=1e-10)
    assert blocks.rows_read / blocks.n < 8


def hard_data(images, cauchy, sort, n=20_000):
    """Samples like images or independent ones; labels with heavy tails or in order."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 6, 5))
    if images:  # neighbours are alike, and all are bright
        roots = [
            np.linalg.cholesky(np.exp(-np.abs(np.subtract.outer(range(k), range(k))) / 4.0))
            for k in (6, 5)
        ]
        X = roots[0] @ X @ roots[1].T + 2.0
    W = np.outer(rng.standard_normal(6), rng.standard_normal(5))
    noise = rng.standard_cauchy(n) if cauchy else rng.laplace(size=n)
    y = X.reshape(n, -1) @ W.ravel() + noise
    order = np.argsort(y) if sort else slice(None)
    return X[order].astype(np.float32), y[order]


@pytest.mark.parametrize("sort", [False, True], ids=["shuffled", "sorted"])
@pytest.mark.parametrize("cauchy", [False, True], ids=["light tails", "heavy tails"])
@pytest.mark.parametrize("images", [False, True], ids=["independent", "images"])
def test_hard_data_converge_with_a_certificate(images, cauchy, sort):
    X, y = hard_data(images, cauchy, sort)
    blocks = ArrayBlocks(X, y, np.ones(len(y)), (6, 5))
    blocks.step = 1700
    result = solve_stream(blocks, make_model(), memory=1.5e6)  # two thousand rows
    passes = blocks.rows_read / blocks.n
    assert result.converged and result.n_iter == len(result.history) == round(passes) < 8
    parameters = {"tau": 100.0, "C": 1.0, "epsilon": 0.1}
    primal = objective(X.astype(float), y, result.W.matrix, result.b, **parameters)
    dual = bound(X.astype(float), y, blocks.map_rows(result.dual_of), **parameters)
    assert primal == pytest.approx(result.primal, rel=1e-10)
    assert (primal - dual) / primal <= 1e-6


def whole_numbers(kind, n=20_000):
    """Samples and labels of whole numbers, so that many residuals are equal at the solution."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (n, 6, 5)).astype(np.float32)
    W = np.outer([1, 0, -1, 0, 0, 1], [0, 1, 0, 1, 0]).astype(float)
    f = X.reshape(n, -1) @ W.ravel()
    labels = {
        "interpolated": f,
        "discrete noise": f + rng.integers(-3, 4, n),
        "counts without a signal": rng.poisson(2.0, n).astype(float),
    }
    return X, labels[kind]


@pytest.mark.parametrize("epsilon", [0.0, 1.0])
@pytest.mark.parametrize(
    ("kind", "most"),
    [
        ("interpolated", 1500),
        ("counts without a signal", 1500),
        ("discrete noise", 6000),
        ("discrete noise", 1500),
    ],
)
def test_more_samples_on_a_kink_than_rows(kind, most, epsilon, monkeypatch):
    X, y = whole_numbers(kind)
    blocks = ArrayBlocks(X, y, np.ones(len(y)), (6, 5))
    blocks.step = 1700
    kept, whole = [], blocks.map_reduce
    monkeypatch.setattr(blocks, "map_reduce", lambda spec: kept.append(whole(spec)) or kept[-1])
    model = make_model(2.0, partial(eps_loss, epsilon=epsilon))
    result = solve_stream(blocks, model, memory=most * 3 * 8 * 30)
    assert max(len(summary.rows) for summary in kept) <= 2 * most
    assert max(result.history["rows"]) <= most
    if (kind, most) != ("discrete noise", 1500):  # whose proof needs more rows
        assert result.converged and result.n_iter < 12
    values = {"tau": 2.0, "C": 1.0, "epsilon": epsilon}
    primal = objective(X.astype(float), y, result.W.matrix, result.b, **values)
    dual = bound(X.astype(float), y, blocks.map_rows(result.dual_of), **values)
    assert primal == pytest.approx(result.primal, rel=1e-10)
    assert dual == pytest.approx(result.dual, rel=1e-9)


def test_samples_of_weight_zero_do_not_count():
    weights = np.zeros(12_000)
    weights[1::3] = 1.0
    blocks = make_blocks(weights=weights)
    some = ArrayBlocks(blocks.X[1::3], blocks.y[1::3], np.ones(4000), (6, 5))
    result, alone = (solve_stream(one, make_model(), memory=1e6) for one in (blocks, some))
    assert result.converged and alone.converged
    assert result.primal == pytest.approx(alone.primal, rel=2e-6)


def test_hinge_loss():
    blocks = make_blocks()
    blocks.y = np.where(blocks.y > 0.0, 1.0, -1.0)
    result = solve_stream(blocks, make_model(10.0, hinge_loss), memory=MEMORY)
    assert result.converged


def test_a_band_bounds_the_optimum_and_its_dual_point_is_one_of_all_samples():
    blocks, model = make_blocks(2000), make_model()
    spec, summary = look(blocks, near=0.3)
    band = Band(model, blocks, spec, summary)
    posed = band.problem
    assert posed.design.n < 1500
    rng = np.random.default_rng(0)
    beta = posed.feasible(rng.uniform(posed.loss.lower, posed.loss.upper))
    proven, lift = band.proven(beta)
    lifted = blocks.map_rows(lift)
    whole = bound(blocks.X.astype(float), blocks.y, lifted, tau=100.0, C=1.0, epsilon=0.1)
    assert proven == pytest.approx(whole, rel=1e-12)
    assert abs(lifted.sum()) <= 1e-14 * np.abs(lifted).sum()
    proven, lift = band.proven(0.999 * beta + 1e-6 * posed.loss.upper)  # whose sum is not zero
    lifted = blocks.map_rows(lift)
    whole = bound(blocks.X.astype(float), blocks.y, lifted, tau=100.0, C=1.0, epsilon=0.1)
    assert proven == pytest.approx(whole, rel=1e-12)
    assert abs(lifted.sum()) <= 1e-14 * np.abs(lifted).sum() and np.abs(lifted).max() <= 1.0
    assert band.proven(np.full_like(beta, np.nan))[0] == -np.inf


def test_groups_pay_for_the_rounding_of_their_sums():
    """Terms of 1e18 cancel; the ridge on what is left of them is not known to be zero."""
    y = np.array([1e-4, -1e-4])
    blocks = ArrayBlocks(np.full((2, 1, 1), 1e10), y, np.ones(2), (1, 1))
    loss_of, none = partial(eps_loss, C=1e8, epsilon=0.0), np.zeros(1)
    lens = PassSpec(none, none, True, loss_of, 0.0, 0.0, 0.0, 10, 1.0, 1.0, 1e-12, 0)
    model = model_of(loss_of, SpectralElasticNet(0.0))
    band = Band(model, blocks, lens, blocks.map_reduce(lens))
    assert len(band.rows) == 0 and len(band.groups) == 2
    proven, lift = band.proven(np.array([1e8, -1e8]))
    assert proven <= 2e4 - 1e3
    np.testing.assert_array_equal(blocks.map_rows(lift), [1e8, -1e8])


def test_the_norms_of_groups_bound_those_of_their_samples():
    blocks = make_blocks(2000, weights=random_weights(2000))
    lens, seen = look(blocks, near=0.3)
    band = Band(make_model(), blocks, lens, seen)
    flat = blocks.X.reshape(2000, -1).astype(float)
    r = blocks.y - flat @ lens.W - lens.gamma
    groups, _ = lens.groups(eps_loss(blocks.y, blocks.weights), r)
    groups[:, seen.rows["index"]] = 0.0
    sizes = np.abs(groups[band.groups]) @ np.linalg.norm(flat, axis=1)
    stated = np.abs(seen.slopes[band.groups]) * band.problem.design.norms[len(band.rows) :]
    assert np.all(sizes <= stated) and np.all(stated <= 3.0 * sizes)


@pytest.mark.parametrize("most", [100_000, 300])
def test_a_heavy_row_leaves_no_rounding_in_the_sums_of_the_others(most):
    weights = np.ones(2000)
    weights[[3, 1990]] = 1e12
    blocks = make_blocks(2000, weights=weights)
    spec, summary = look(blocks, near=0.3, most=most)
    assert {3, 1990} <= set(summary.rows["index"]) and len(summary.rows) <= most
    r = blocks.y - blocks.X.reshape(2000, -1).astype(float) @ spec.W - 0.2
    groups, _ = spec.groups(eps_loss(blocks.y, weights), r)
    groups[:, summary.rows["index"]] = 0.0
    np.testing.assert_allclose(summary.slopes, groups.sum(axis=1), rtol=1e-13)
    np.testing.assert_allclose(summary.labels, groups @ blocks.y, rtol=1e-11)


def test_a_graded_problem_has_the_slope_of_all_samples():
    blocks, model = make_blocks(2000), make_model()
    spec, summary = look(blocks, near=0.1, far=2.0)
    posed = graded_problem(model, blocks, summary)
    assert posed.design.n < 1500
    r = posed.y - posed.design.forward(spec.W.reshape(6, 5)) - spec.gamma
    gradient = posed.dual_image(posed.loss.gradient(r))
    r = blocks.y - blocks.X.reshape(2000, -1) @ spec.W - spec.gamma
    exact = np.tensordot(eps_loss(blocks.y, np.ones(2000)).gradient(r), blocks.X, 1)
    np.testing.assert_allclose(gradient, exact, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("far", [0.0, 2.0])
def test_what_is_seen_does_not_depend_on_the_blocks(far):
    blocks = make_blocks(3000)
    one = look(blocks, 0.3, far)[1]
    blocks.step = 577
    other = look(blocks, 0.3, far)[1]
    assert_same_summary(one, other)


def test_an_empty_block_changes_nothing():
    blocks = make_blocks(500)
    spec, summary = look(blocks, 0.3)
    empty = spec(blocks.block(0).part(0, 0))
    assert_same_summary(empty.merge(summary), summary)
    assert_same_summary(summary.merge(empty), summary)


def test_width_keeps_as_many_rows_as_asked():
    blocks = make_blocks()
    counts = look(blocks, 0.3)[1].counts
    for far in (0.0, 3.0):
        near = width_for(counts, 1.0, 2000, far)
        assert 1200 < len(look(blocks, near, far)[1].rows) < 2500


def test_heavy_samples_are_always_kept():
    weights = np.ones(2000)
    weights[[7, 1900]] = 1000.0
    summary = look(make_blocks(2000, weights=weights), near=1e-6)[1]
    assert {7, 1900} <= set(summary.rows["index"])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_the_first_bad_sample_is_named(bad):
    blocks = make_blocks()
    sampled = blocks.sample(Stream(blocks, make_model(), 1e-6, MEMORY, 0).rows)[1]
    hidden = int(np.setdiff1d(np.arange(5000, blocks.n), sampled)[0])
    blocks.X[[hidden, 11_990], 2, 3] = bad
    with pytest.raises(ValueError, match=f"sample {hidden} does"):
        solve_stream(blocks, make_model(), memory=MEMORY)


def test_bad_samples_among_the_first_ones():
    blocks = make_blocks()
    blocks.X[:] = np.nan
    with pytest.raises(ValueError, match="must not hold NaN"):
        solve_stream(blocks, make_model(), memory=MEMORY)


class Interrupting(ArrayBlocks):
    """Blocks of which a pass is interrupted."""

    passes, last = 0, 3

    def map_reduce(self, scan):
        self.passes += 1
        if self.passes == self.last:
            raise KeyboardInterrupt
        return super().map_reduce(scan)


def test_interrupt_keeps_the_best_so_far():
    good = make_blocks()
    blocks = Interrupting(good.X, good.y, good.weights, (6, 5))
    with pytest.warns(UserWarning, match="Interrupted after 2 passes"):
        result = solve_stream(blocks, make_model(), tol=0.0, memory=MEMORY)
    value = objective(
        good.X.astype(float), good.y, result.W.matrix, result.b, tau=100.0, C=1.0, epsilon=0.1
    )
    assert result.primal == pytest.approx(value, rel=1e-10)
    assert not result.converged


def test_what_the_last_reduced_problem_has_proven_is_a_row_of_the_history():
    good = make_blocks()
    blocks = Interrupting(good.X, good.y, good.weights, (6, 5))
    blocks.last = 4
    with pytest.warns(UserWarning, match="Interrupted after 3 passes"):
        result = solve_stream(blocks, make_model(), tol=0.0, memory=MEMORY)
    assert result.n_iter == 3 and 0.0 < result.gap < 0.1
    for name in ("primal", "dual", "gap"):
        assert result.history[name][-1] == getattr(result, name)
    assert result.history["gigabytes"][-1] == 0.0  # it was no pass


def test_too_few_rows_never_give_a_wrong_gap():
    blocks = make_blocks(6000)
    model = make_model(0.5, partial(eps_loss, C=10.0))
    result = solve_stream(blocks, model, memory=8e5)  # a thousand rows
    X = blocks.X.astype(float)
    value = objective(X, blocks.y, result.W.matrix, result.b, tau=0.5, C=10.0, epsilon=0.1)
    assert result.primal == pytest.approx(value, rel=1e-10)
    assert result.dual <= value


def test_lines_of_the_passes(capsys):
    result = solve_stream(make_blocks(), make_model(), memory=MEMORY, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:5] == ["pass", "time", "solving", "reading", "GB"]
    table = result.history
    seconds = np.cumsum(table["solving"] + table["reading"])
    np.testing.assert_allclose(seconds, table["time"], atol=5e-3)
    assert len(lines) == 1 + len(result.history) == 1 + result.n_iter
    assert result.history["rows"][-1] > 0


def test_a_callback_hears_of_every_pass_and_may_stop():
    heard = []

    def listener(method, gap, goal):
        heard.append(method)
        return method == "pass 2"

    with listening(listener):
        result = solve_stream(make_blocks(), make_model(), memory=MEMORY)
    assert [method for method in heard if method.startswith("pass")] == ["pass 1", "pass 2"]
    assert not result.converged and len(result.history) == 2
