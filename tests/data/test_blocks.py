"""Samples that are read block by block."""

import threading
import time

import numpy as np
import pytest

from matreg.data.blocks import ArrayBlocks, FileReader, aligned, sample_runs


@pytest.fixture
def samples():
    return np.random.default_rng(0).standard_normal((500, 4, 3)).astype(np.float32)


def blocks_of(X):
    n = X.shape[0]
    return ArrayBlocks(X, np.arange(n, dtype=float), np.ones(n), (4, 3))


def stored(samples, path, kind):
    if kind == "memmap":
        np.save(path / "X.npy", samples)
        return np.load(path / "X.npy", mmap_mode="r")
    if kind == "zarr":
        zarr = pytest.importorskip("zarr")
        array = zarr.open_array(
            path / "X.zarr", mode="w", shape=samples.shape, chunks=(70, 4, 3), dtype="f4"
        )
        array[:] = samples
        return array
    if kind == "h5py":
        h5py = pytest.importorskip("h5py")
        file = h5py.File(path / "X.h5", "w")
        return file.create_dataset("X", data=samples, chunks=(90, 4, 3))
    return samples


@pytest.mark.parametrize("kind", ["array", "memmap", "zarr", "h5py"])
def test_all_samples_in_order(samples, tmp_path, kind):
    blocks = blocks_of(stored(samples, tmp_path, kind))
    blocks.step = aligned(120, blocks.X)
    parts = list(blocks.each(lambda block: block))
    assert len(parts) > 3
    np.testing.assert_array_equal(np.concatenate([b.X for b in parts]), samples.reshape(500, -1))
    assert np.concatenate([b.y for b in parts]).tolist() == list(range(500))
    assert {b.X.dtype for b in parts} == {np.dtype(np.float32)}
    assert blocks.rows_read == 500


def test_a_slice_of_a_memmap_is_read_from_its_own_place(samples, tmp_path):
    X = stored(samples, tmp_path, "memmap")
    for part in (X[37:], X[100:400]):
        assert isinstance(blocks_of(part).read, FileReader)
        np.testing.assert_array_equal(blocks_of(part).block(5, 9).X, part[5:9].reshape(4, -1))


def test_a_file_that_shrinks(samples, tmp_path):
    blocks = blocks_of(stored(samples, tmp_path, "memmap"))
    with open(tmp_path / "X.npy", "r+b") as file:
        file.truncate(10_000)
    with pytest.raises(ValueError, match=r"X\.npy ends before sample 499"):
        blocks.block(490, 500)


def test_runs_are_all_over_the_samples_and_apart():
    runs = sample_runs(10_000, 1000)
    starts = np.array([start for start, _ in runs])
    assert sum(stop - start for start, stop in runs) == 64 * len(runs)
    assert np.all(np.diff(starts) >= 64)
    assert starts[0] < 1000 and starts[-1] > 9000
    assert sample_runs(10, 1000) == [(0, 10)]


def test_sample_has_the_rows_of_its_indices(samples):
    block, index = blocks_of(samples).sample(200)
    np.testing.assert_array_equal(block.X, samples.reshape(500, -1)[index])
    np.testing.assert_array_equal(block.y, index)


class OneAtATime:
    """An array of which two threads must not read at the same time."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype
        self.busy = threading.Lock()

    def __getitem__(self, key):
        assert self.busy.acquire(blocking=False), "two threads read"
        time.sleep(0.002)
        part = self.X[key]
        self.busy.release()
        return part


def test_arrays_of_other_kinds_are_read_by_one_thread_at_a_time(samples):
    blocks = blocks_of(OneAtATime(samples))
    blocks.step = 20
    found = blocks.map_rows(lambda block: block.X.sum(axis=1))
    np.testing.assert_array_equal(found, samples.reshape(500, -1).sum(axis=1))


def test_an_error_in_a_block_reaches_the_user_and_leaves_no_thread(samples):
    blocks = blocks_of(samples)
    blocks.step = 20

    def fail(block):
        if block.start == 100:
            raise ZeroDivisionError("in block 5")
        return block.y

    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="in block 5"):
        blocks.map_rows(fail)
    assert threading.active_count() == before


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.uint8])
def test_a_block_as_an_operator(samples, dtype):
    X = (20.0 * np.abs(samples)).astype(dtype)
    block = blocks_of(X).block(3, 250)
    flat = X[3:250].reshape(247, 12).astype(float)
    rng = np.random.default_rng(1)
    Ws, betas = rng.standard_normal((3, 12)), rng.standard_normal((2, 247))
    np.testing.assert_allclose(block.design.forward_each(*Ws), Ws @ flat.T, rtol=1e-12)
    sums = block.design.adjoint_each(*betas)
    np.testing.assert_allclose(sums[:, :, 0], betas @ flat, rtol=1e-9, atol=1e-9)


class Whole:
    """A summary, and how many of them there were at a time at most."""

    alive, most, lock = 0, 0, threading.Lock()

    def __init__(self, total):
        self.total = total
        with Whole.lock:
            Whole.alive += 1
            Whole.most = max(Whole.most, Whole.alive)

    def __del__(self):
        with Whole.lock:
            Whole.alive -= 1

    def merge(self, other):
        return Whole(self.total + other.total)


def test_few_large_summaries_are_held_at_a_time(samples):
    blocks = blocks_of(samples)
    blocks.step = 10
    whole = blocks.map_reduce(lambda block: Whole(block.y.sum()), summary_bytes=2**40)
    assert whole.total == sum(range(500))
    assert Whole.most <= 5  # all so far, two more, what they merge to, and one in the making
