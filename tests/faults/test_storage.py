"""Chunks of zarr folders that are missing, damaged or changed between two passes."""

import pytest
import sklearn

from matreg import RMR
from matreg.data.blocks import ArrayBlocks
from problems import random_data

zarr = pytest.importorskip("zarr", reason="zarr is not installed")
N, P, Q, ROWS = 12_000, 4, 3, 1000
PARAMETERS = {"tau": 40.0, "C": 1.0, "epsilon": 0.1}


@pytest.fixture
def stored(tmp_path):
    X, y = random_data(N, P, Q, noise=1.0)
    array = zarr.create_array(
        str(tmp_path / "X.zarr"), shape=X.shape, chunks=(ROWS, P, Q), dtype=X.dtype, fill_value=0.0
    )
    array[:] = X
    with sklearn.config_context(working_memory=1):
        yield array, y, tmp_path / "X.zarr"


def chunk_file(folder, k):
    """The file of the k-th chunk along the samples."""
    (path,) = [
        one for one in folder.rglob("*") if one.is_file() and one.parts[-3:] == (str(k), "0", "0")
    ]
    return path


@pytest.fixture
def after_a_pass(monkeypatch):
    """Do something to the storage when the first pass is over."""

    def arrange(action):
        passes, plain = [], ArrayBlocks.map_reduce

        def watched(self, *arguments, **options):
            if len(passes) == 1:
                action()
            passes.append(1)
            return plain(self, *arguments, **options)

        monkeypatch.setattr(ArrayBlocks, "map_reduce", watched)
        return passes

    return arrange


def test_a_damaged_chunk_between_passes_is_an_error_and_leaves_the_model(stored, after_a_pass):
    X, y, folder = stored
    passes = after_a_pass(lambda: chunk_file(folder, 3).write_bytes(b"no longer what it was"))
    model = RMR(**PARAMETERS)
    with pytest.raises(OSError, match=r"X cannot be read from sample \d+ to \d+: "):
        model.fit(X, y)
    assert len(passes) >= 2
    assert not hasattr(model, "coef_")


def test_a_missing_chunk_between_passes_is_said(stored, after_a_pass):
    """Zarr reads a chunk that is not there as its fill value, without a word."""
    X, y, folder = stored
    after_a_pass(lambda: chunk_file(folder, 3).unlink())
    model = RMR(**PARAMETERS)
    with pytest.raises(ValueError, match=r"X was changed .* from 0 to 11999 are not those"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")
