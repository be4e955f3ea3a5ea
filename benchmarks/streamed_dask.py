"""Passes through Dask: two worker processes beside the file, and a hundred slots that sleep.

python -m benchmarks.large --parts dask slots [--samples 1000000] [--folder .]
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.streamed import HEADER, rmr, row_of
from benchmarks.streamed_data import SIDE, Clock, write
from benchmarks.timing import print_table
from matreg.data.dask_blocks import DaskBlocks
from matreg.data.samples import Block


def load(path: str, offset: int, start: int, stop: int) -> np.ndarray:
    """Samples of a file by its path: a mapped array would be copied into the task."""
    size = SIDE * SIDE
    X = np.fromfile(path, np.float32, (stop - start) * size, offset=offset + start * size * 4)
    return X.reshape(-1, SIDE, SIDE)


def lazy(path: Path, n: int, step: int = 8_000) -> Any:
    """A Dask array of the samples of a file."""
    import dask
    import dask.array as da

    offset = int(np.load(path, mmap_mode="r").offset)
    parts = []
    for start in range(0, n, step):
        stop = min(start + step, n)
        task = dask.delayed(load)(str(path), offset, start, stop)
        parts.append(da.from_delayed(task, (stop - start, SIDE, SIDE), dtype=np.float32))
    return da.concatenate(parts)


def on_dask(n: int, folder: Path) -> None:
    from distributed import Client, LocalCluster

    path = folder / "matreg-dask.npy"
    y = write(path, n, "gaussian")
    X, rows = lazy(path, n), []
    file = rmr(n)
    rows.append(row_of("file", file, np.load(path, mmap_mode="r"), y))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster, Client(cluster) as client:
        rmr(n, tol=1e-1).fit(X[: n // 10], y[: n // 10])  # workers import what they need
        before = sum(client.run(time.process_time).values())
        model = rmr(n, verbose=1)
        rows.append(row_of("Dask, two processes", model, X, y))
        workers = sum(client.run(time.process_time).values()) - before
    off = float(np.abs(model.coef_ - file.coef_).max())
    path.unlink()
    cpu = (rows[1][1] + workers / 2.0) / rows[0][1]
    print(f"coefficients differ by {off:.1e}; the workers took {workers:.1f} CPU s in all")
    title = f"Dask over the file: {rows[1][2] / rows[0][2]:.2f}, by CPU time {cpu:.2f}"
    print_table(title, HEADER, rows)


@dataclass(frozen=True)
class Count:
    """A summary that is a number."""

    number: int

    def merge(self, other: Count) -> Count:
        """Sum of both."""
        return Count(self.number + other.number)


@dataclass(frozen=True)
class Sleep:
    """A scan that takes its time and does nothing."""

    seconds: float

    def __call__(self, block: Block) -> Count:
        """Number of samples of a block."""
        time.sleep(self.seconds)
        return Count(len(block.y))


def slots(blocks: int = 3_200, seconds: float = 0.1) -> None:
    import dask.array as da
    from distributed import Client, LocalCluster

    X = da.zeros((blocks * 4, 2, 2), chunks=(4, 2, 2))
    options = {"n_workers": 4, "threads_per_worker": 25, "dashboard_address": None}
    rows = []
    with LocalCluster(**options) as cluster, Client(cluster):
        many = DaskBlocks(X, np.zeros(len(X)), np.ones(len(X)), (2, 2))
        many.map_reduce(Sleep(0.0))
        for _ in range(3):
            with Clock() as clock:
                found = many.map_reduce(Sleep(seconds))
            assert found.number == len(X)
            ideal = blocks * seconds / 100.0
            rows.append([blocks, ideal, clock.seconds, clock.seconds / ideal, clock.cpu])
    header = ["blocks", "ideal s", "pass s", "ratio", "CPU s of client and scheduler"]
    print_table("4 processes x 25 threads", header, rows)
