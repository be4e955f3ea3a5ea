"""Dask arrays: the same answers as in memory, whatever the chunks, and whatever dies."""

import gc
import os
import signal
import time
from functools import partial

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st

from matreg import RGLM, RMR, SMM
from matreg.data.blocks import ArrayBlocks, sample_runs
from matreg.losses.piecewise import epsilon_insensitive
from matreg.solvers.passes.pass_spec import PassSpec
from problems import assert_same_summary, random_data

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
from matreg.data.dask_blocks import DaskBlocks, Runs  # noqa: E402

N, P, Q = 12_000, 6, 5
PARAMETERS = {"tau": 100.0, "C": 1.0, "epsilon": 0.1}


def tube(y, weights):
    return epsilon_insensitive(weights, 0.1)


@pytest.fixture(scope="module")
def data():
    X, y = random_data(N, P, Q, noise=1.0)
    return X.astype(np.float32), y


@pytest.fixture(autouse=True)
def little_memory():
    with sklearn.config_context(working_memory=2):
        yield


def uneven(X, seed=0):
    """Chunks of random sizes, an empty one and one of a single row among them."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(X) - 1, 7))
    cuts = np.sort(np.concatenate([cuts, [cuts[3], cuts[3] + 1]]))
    sizes = tuple(int(size) for size in np.diff([0, *cuts, len(X)]))
    assert 0 in sizes and 1 in sizes
    return da.from_array(X, chunks=(sizes, *X.shape[1:]))


def memory(data):
    X, y = data
    return ArrayBlocks(X, y, np.ones(len(y)), (P, Q))


@given(
    cuts=st.lists(st.integers(0, 1000), max_size=6),
    far=st.sampled_from([0.0, 2.0]),
    most=st.sampled_from([1, 60, 1000]),
    ties=st.booleans(),
)
@settings(deadline=None, max_examples=40)
def test_what_is_seen_does_not_depend_on_the_chunks(data, cuts, far, most, ties):
    X, y = data[0][:1000], data[1][:1000]
    W = np.full(P * Q, 0.1)
    if ties:  # two of three samples lie on a kink
        fitted = X.reshape(1000, -1).astype(float) @ W + 0.2 + 0.1 * np.sign(y)
        y = np.where(np.arange(1000) % 3 > 0, fitted, y)
    sizes = tuple(int(size) for size in np.diff([0, *sorted(cuts), 1000]))
    lazy = DaskBlocks(da.from_array(X, chunks=(sizes, P, Q)), y, np.ones(1000), (P, Q))
    lens = PassSpec(W, np.array([0.2]), True, tube, 0.3, far, 0.02, most, 1.0, 1.0, 1e-12, 5)
    with dask.config.set(scheduler="sync"):
        seen = lazy.map_reduce(lens)
    assert_same_summary(seen, memory((X, y)).map_reduce(lens))
    assert len(seen.capped().rows) <= most


def test_sample_does_not_depend_on_the_chunks(data):
    lazy = DaskBlocks(uneven(data[0]), data[1], np.ones(N), (P, Q))
    with dask.config.set(scheduler="sync"):
        block, index = lazy.sample(1000)
    other, same = memory(data).sample(1000)
    np.testing.assert_array_equal(index, same)
    np.testing.assert_array_equal(block.X, other.X)
    assert sum(stop - start for start, stop in Runs(sample_runs(N, 1000)).runs) == len(index)


def test_single_samples_do_not_depend_on_the_chunks(data):
    lazy = DaskBlocks(uneven(data[0]), data[1], np.ones(N), (P, Q))
    runs = [(int(i), int(i) + 1) for i in np.arange(3, N, 977)]
    with dask.config.set(scheduler="sync"):
        block, index = lazy.take(runs)
    other, same = memory(data).take(runs)
    np.testing.assert_array_equal(index, same)
    np.testing.assert_array_equal(block.X, other.X)
    np.testing.assert_array_equal(block.y, data[1][index])


def test_lazy_predictions_labels_and_dual_variables(data):
    X, y = data
    lazy = uneven(X)
    ran = []
    counted = lazy.map_blocks(lambda block: ran.append(1) or block, dtype=X.dtype, meta=X[:0])
    with dask.config.set(scheduler="sync"):
        labels = da.from_array(y, chunks=(lazy.chunks[0],))
        model = RMR(**PARAMETERS).fit(lazy, labels)
        ran.clear()
        predicted = model.predict(counted)
        assert not ran and isinstance(predicted, da.Array) and predicted.shape == (N,)
        np.testing.assert_allclose(predicted.compute(), model.predict(X), rtol=1e-10, atol=1e-10)
        assert ran
        dual = model.dual_coef_
        assert isinstance(dual, da.Array) and abs(float(dual.sum().compute())) < 1e-6
        assert model.score(lazy, y) == pytest.approx(model.score(X, y), rel=1e-10)
    expected = RMR(**PARAMETERS).fit(X.astype(float), y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=2e-6)


def test_small_arrays_are_loaded(data):
    X, y = data[0][:300], data[1][:300]
    model = RMR(**PARAMETERS).fit(da.from_array(X, chunks=(100, P, Q)), y)
    np.testing.assert_array_equal(model.coef_, RMR(**PARAMETERS).fit(X, y).coef_)


@pytest.fixture(scope="module")
def from_file(data, tmp_path_factory):
    """What the same samples give from a mapped file."""
    path = tmp_path_factory.mktemp("samples") / "X.npy"
    np.save(path, data[0])
    with sklearn.config_context(working_memory=2):
        return RMR(**PARAMETERS).fit(np.load(path, mmap_mode="r"), data[1])


@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=5)
def test_coefficients_do_not_depend_on_the_chunks(data, from_file, seed):
    with dask.config.set(scheduler="sync"), sklearn.config_context(working_memory=2):
        model = RMR(**PARAMETERS).fit(uneven(data[0], seed), data[1])
    assert model.n_iter_ == from_file.n_iter_
    np.testing.assert_allclose(model.coef_, from_file.coef_, rtol=1e-10, atol=1e-10)


def test_a_block_that_is_shorter_than_its_chunk(data):
    X, y = data
    short = da.from_array(X, chunks=(4000, P, Q)).map_blocks(
        lambda block: block[:-1], dtype=X.dtype, chunks=(4000, P, Q), meta=X[:0]
    )
    with dask.config.set(scheduler="sync"), pytest.raises(ValueError, match="chunks say 4000"):
        RMR(**PARAMETERS).fit(short, y)


def test_labelled_arrays_on_dask_are_not_loaded_silently(data):
    xarray = pytest.importorskip("xarray")
    X, y = data
    labelled = xarray.DataArray(uneven(X), dims=("trial", "channel", "time"))
    model = RMR(**PARAMETERS).fit(X[:300], y[:300])
    for call in (lambda: RMR(**PARAMETERS).fit(labelled, y), lambda: model.predict(labelled)):
        with pytest.raises(ValueError, match=r"Pass its Dask array, X\.data"):
            call()
    small = model.predict(labelled[:100])  # fits, and is loaded
    np.testing.assert_allclose(small, model.predict(X[:100]), rtol=1e-12)
    with dask.config.set(scheduler="sync"):
        assert RMR(**PARAMETERS).fit(labelled.data, y).dual_gap_ <= 1e-6


def test_rglm(data):
    X, y = data
    with dask.config.set(scheduler="sync"):
        model = RGLM(tau=300.0).fit(uneven(X), y)
    assert model.n_passes_ == 2.0
    expected = RGLM(tau=300.0).fit(X.astype(float), y).objective_
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_classes(data, classes):
    X, f = data
    names = np.array(["low", "middle", "high"])
    y = names[np.digitize(f, [-2.0, 2.0])] if classes == 3 else names[(f > 0.0).astype(int)]
    lazy, parameters = uneven(X), {"tau": 10.0, "C": 1.0, "tol": 1e-5}
    with dask.config.set(scheduler="sync"):
        labels = da.from_array(y, chunks=(lazy.chunks[0],))
        model = SMM(**parameters).fit(lazy, labels)
        predicted = model.predict(lazy)
        assert isinstance(predicted, da.Array) and predicted.dtype == model.classes_.dtype
        np.testing.assert_array_equal(predicted.compute(), model.predict(X))
        decisions = model.decision_function(lazy)
        expected = model.decision_function(X)
        assert decisions.shape == expected.shape
        np.testing.assert_allclose(decisions.compute(), expected, rtol=1e-9, atol=1e-9)
        assert model.dual_coef_.compute().shape == ((N,) if classes == 2 else (3, N))
        assert model.score(lazy, y) == model.score(X, y)
    memory = SMM(**parameters).fit(X.astype(float), y)
    np.testing.assert_allclose(model.objective_, memory.objective_, rtol=2e-5)


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_means_and_probabilities_are_lazy(data, family):
    X, f = data
    y = f > 0.0 if family == "binomial" else np.round(np.exp(f / 5.0))
    model = RGLM(tau=10.0, family=family).fit(X[:500], y[:500])
    ran = []
    lazy = uneven(X).map_blocks(lambda b: ran.append(1) or b, dtype=X.dtype, meta=X[:0])
    names = ["predict", "predict_proba", "predict_log_proba", "decision_function"]
    with dask.config.set(scheduler="sync"):
        for name in names if family == "binomial" else names[:1]:
            found = getattr(model, name)(lazy)
            expected = getattr(model, name)(X)
            assert isinstance(found, da.Array) and found.shape == expected.shape and not ran
            np.testing.assert_allclose(found.compute(), expected, rtol=1e-9, atol=1e-9)
            ran.clear()


def test_labels_that_are_not_computed_yet_are_checked_by_block(data):
    X, y = data
    lazy = da.from_array(X, chunks=(4000, P, Q))
    wrong = np.where(np.arange(N) == 7001, np.nan, y)
    weights = np.where(np.arange(N) == 9, -1.0, 1.0)
    with dask.config.set(scheduler="sync"):
        with pytest.raises(ValueError, match="y must hold finite numbers; got nan for sample 7001"):
            RMR(**PARAMETERS).fit(lazy, da.from_array(wrong, chunks=4000))
        labels = da.from_array(y, chunks=4000)
        with pytest.raises(ValueError, match=r"sample_weight must hold non-negative.*sample 9"):
            RMR(**PARAMETERS).fit(lazy, labels, da.from_array(weights, chunks=4000))


def test_chunks_that_do_not_do(data):
    X, y = data
    model = RMR(**PARAMETERS)
    with pytest.raises(ValueError, match=r"X\.rechunk\(\{0: 'auto', 1: -1, 2: -1\}\)"):
        model.fit(da.from_array(X, chunks=(1000, 3, Q)), y)
    lazy = da.from_array(X, chunks=(1000, P, Q))
    unknown = lazy[da.from_array(y, chunks=1000) > -np.inf]
    with pytest.raises(ValueError, match="compute_chunk_sizes"):
        model.fit(unknown, y)
    with pytest.raises(ValueError, match=r"y must have the chunks of X"):
        model.fit(lazy, da.from_array(y, chunks=500))
    with pytest.raises(ValueError, match="one number per sample"):
        model.fit(lazy, da.from_array(y[:-1], chunks=1000))


def test_an_error_in_a_block_reaches_the_user(data):
    X, y = data

    def fails(block):
        raise OSError("chunk 3 is gone")

    broken = da.from_array(X, chunks=(4000, P, Q)).map_blocks(fails, dtype=X.dtype, meta=X[:0])
    with dask.config.set(scheduler="sync"), pytest.raises(OSError, match="chunk 3 is gone"):
        RMR(**PARAMETERS).fit(broken, y)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "20s"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client


def assert_nothing_left(cluster):
    """No results stay on the workers, once they have heard that nobody wants them."""
    gc.collect()  # the frames of an error hold what they were at
    deadline = time.monotonic() + 20.0
    while any(cluster.has_what().values()):
        assert time.monotonic() < deadline, cluster.has_what()
        time.sleep(0.1)


class Deadly:
    """A look at blocks that kills the worker which has a given block in its hands, once."""

    def __init__(self, scan, flag, start):
        self.scan, self.flag, self.start = scan, flag, start

    def __call__(self, block):
        if block.start == self.start and not self.flag.exists():
            self.flag.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return self.scan(block)


@pytest.mark.filterwarnings("ignore:Running on a single-machine scheduler")  # on purpose
def test_a_cluster_gives_the_same_coefficients_even_if_a_worker_dies(
    data, cluster, tmp_path, monkeypatch
):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    load = partial(load_rows, str(tmp_path / "X.npy"))
    parts = [
        da.from_delayed(dask.delayed(load)(a, a + 2000), (2000, P, Q), dtype=X.dtype)
        for a in range(0, N, 2000)
    ]
    lazy = da.concatenate(parts)
    calm = RMR(**PARAMETERS).fit(lazy, y)
    before = set(cluster.run(os.getpid).values())
    passes, plain, flag = [], DaskBlocks.map_reduce, tmp_path / "killed"

    def second_is_deadly(blocks, scan):
        passes.append(scan)
        return plain(blocks, Deadly(scan, flag, 4000) if len(passes) == 2 else scan)

    monkeypatch.setattr(DaskBlocks, "map_reduce", second_is_deadly)
    struck = RMR(**PARAMETERS).fit(lazy, y)
    monkeypatch.undo()
    victim = int(flag.read_text())  # in the second pass, with a block in its hands
    assert victim in before and len(passes) == calm.n_iter_ > 2
    assert struck.n_passes_ == calm.n_passes_
    np.testing.assert_allclose(struck.coef_, calm.coef_, rtol=1e-12, atol=1e-14)
    with dask.config.set(scheduler="sync"):
        alone = RMR(**PARAMETERS).fit(lazy, y)
    np.testing.assert_allclose(alone.coef_, calm.coef_, rtol=1e-10, atol=1e-12)
    cluster.wait_for_workers(2, timeout=20)
    assert victim not in cluster.run(os.getpid).values()
    assert_nothing_left(cluster)


def test_predictions_are_those_of_memory_even_if_a_worker_dies(data, cluster, tmp_path):
    X, y = data
    np.save(tmp_path / "X.npy", X)
    load = partial(deadly_rows, tmp_path / "killed", str(tmp_path / "X.npy"))
    parts = [
        da.from_delayed(dask.delayed(load)(a, a + 2000), (2000, P, Q), dtype=X.dtype)
        for a in range(0, N, 2000)
    ]
    model = RMR(tau=10.0, C=1.0, epsilon=0.1).fit(X[:300], y[:300])
    before = set(cluster.run(os.getpid).values())
    predicted = model.predict(da.concatenate(parts)).compute()
    np.testing.assert_allclose(predicted, model.predict(X), rtol=1e-10, atol=1e-10)
    assert int((tmp_path / "killed").read_text()) in before
    cluster.wait_for_workers(2, timeout=60)
    assert_nothing_left(cluster)


def test_a_cluster_says_what_is_wrong_in_a_block(data, cluster):
    X, y = data
    lazy = da.from_array(X, chunks=(4000, P, Q))
    broken = lazy.map_blocks(fails_at_the_third_block, dtype=X.dtype, meta=X[:0])
    with pytest.raises(OSError, match="chunk 2 is gone"):
        RMR(**PARAMETERS).fit(broken, y)
    holes = X.copy()
    holes[[7001, 9000]] = np.nan
    with pytest.raises(ValueError, match="sample 7001 does"):
        RMR(**PARAMETERS).fit(da.from_array(holes, chunks=(4000, P, Q)), y)
    assert_nothing_left(cluster)


def fails_at_the_third_block(block, block_info=None):
    if block_info and block_info[0]["chunk-location"][0] == 2:
        raise OSError("chunk 2 is gone")
    return block


def load_rows(path, a, b):
    return np.array(np.load(path, mmap_mode="r")[a:b])


def deadly_rows(flag, path, a, b):
    """Read a block, and kill the worker that has the third one in its hands, once."""
    if a == 4000 and not flag.exists():
        flag.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return load_rows(path, a, b)
