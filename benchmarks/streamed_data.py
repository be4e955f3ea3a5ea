"""Samples in files for the benchmarks of large data, and measures of memory and time."""

from __future__ import annotations

import mmap
import os
import resource
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from matreg.datasets import make_shape

SIDE, CHUNK = 32, 20_000
KINDS = ("gaussian", "smooth", "heavy", "sorted")


def write(path: Path, n: int, kind: str) -> np.ndarray:
    """Float32 samples in a file; returns the labels, a tenth of which is wrong.

    "smooth": entries are correlated like those of an image and all samples bright; "heavy": labels
    with the noise of a Cauchy distribution; "sorted": by label.
    """
    rng = np.random.default_rng(0)
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, SIDE, SIDE))
    distance = np.abs(np.subtract.outer(np.arange(SIDE), np.arange(SIDE)))
    L = np.linalg.cholesky(np.exp(-distance / 4.0)).astype(np.float32)
    W = 0.3 * make_shape("cross", SIDE)
    y = np.empty(n)
    for start in range(0, n, CHUNK):
        part = slice(start, min(start + CHUNK, n))
        block = rng.standard_normal((part.stop - start, SIDE, SIDE), dtype=np.float32)
        block = L @ block @ L.T + np.float32(1.0) if kind == "smooth" else block
        X[part] = block
        y[part] = block.reshape(len(block), -1) @ W.reshape(-1) + 0.5
    spread = y.std()
    y += 0.1 * (rng.standard_cauchy(n) if kind == "heavy" else rng.laplace(size=n))
    wrong = rng.random(n) < 0.1
    y[wrong] += rng.choice([-1.0, 1.0], wrong.sum()) * rng.uniform(3.0, 8.0, wrong.sum()) * spread
    if kind == "sorted":
        y = sort(X, path, y)
    X.flush()
    return y


def sort(X: np.memmap[Any, Any], path: Path, y: np.ndarray) -> np.ndarray:
    """Put the samples of a file in the order of their labels; returns these."""
    order = np.argsort(y)
    aside = path.with_suffix(".sorted")
    copy = np.lib.format.open_memmap(aside, mode="w+", dtype=X.dtype, shape=X.shape)
    for start in range(0, len(y), CHUNK):
        copy[start : start + CHUNK] = X[order[start : start + CHUNK]]
    copy.flush()
    aside.rename(path)
    return y[order]


def evict(path: Path) -> None:
    """Remove a file from the cache of the system."""
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)


def direct_read(path: Path, step: int = 2**23) -> float:
    """Seconds to read a file past the cache of the system."""
    file = os.open(path, os.O_RDONLY | os.O_DIRECT)
    room, start = mmap.mmap(-1, step), time.perf_counter()
    while os.readv(file, [room]) == step:
        pass
    os.close(file)
    return time.perf_counter() - start


class Peak:
    """Largest amount of memory that is allocated within a block beside what was before, in GB."""

    def __enter__(self) -> Peak:
        self.before = self.most = anonymous()
        self.done = threading.Event()
        self.watch = threading.Thread(target=self._look, daemon=True)
        self.watch.start()
        return self

    def _look(self) -> None:
        while not self.done.wait(0.02):
            self.most = max(self.most, anonymous())

    def __exit__(self, *error: object) -> None:
        self.done.set()
        self.watch.join()

    @property
    def extra(self) -> float:
        """Largest amount in GB."""
        return self.most - self.before


def anonymous() -> float:
    """Allocated memory of the process now, in GB: pages of a mapped file do not count."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class Clock:
    """Seconds and CPU seconds within a block."""

    def __enter__(self) -> Clock:
        self.start, self.cpu_start = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *error: object) -> None:
        self.seconds = time.perf_counter() - self.start
        self.cpu = time.process_time() - self.cpu_start
