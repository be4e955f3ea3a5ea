"""Samples that are read block by block, from any kind of storage.

Solvers for data that exceed the memory use only :class:`Blocks`: passes over all samples, which
reduce each block to a small summary, and one small subsample.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from threading import Lock
from typing import Any, NoReturn, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._runtime.progress import reached
from .._typing import Array, Index
from ..linalg.threads import allowed, one_thread
from ..thresholds import MANY_SAMPLES, THREADED_NUMBERS
from ..unpenalised.basis import Basis, Columns, intercept
from .reading import FileReader, reader
from .samples import Block, Samples
from .units import check_units, check_weighed, largest

# Bytes of a block. One block is read while others are processed.
BLOCK = 2**24
# Number of consecutive samples that a subsample reads at a time.
RUN = 64


class Summary(Protocol):
    """The reduction of a block; summaries of several blocks can be merged in any order."""

    def merge(self, other: Any) -> Any:
        """Summary of this part of the samples and another one together."""
        ...


S = TypeVar("S", bound=Summary)
T = TypeVar("T")
Scan = Callable[[Block], S]


class Blocks:
    """Samples of shape (p, q) with labels and weights, read block by block.

    Each kind of storage is a subclass that defines `map_reduce`, `map_rows` and `take`.
    """

    in_memory = None
    X: Any
    # Number of samples, and number of rows and of columns of a sample.
    n: int
    p: int
    q: int
    nbytes: int  # size of all samples as they are stored
    rows_read: int  # number of samples read so far
    given: tuple[Any, Any]  # labels and weights as the user gave them
    # Indices of samples of a rare class, of which a subsample needs enough.
    rare: Index = np.zeros(0, dtype=np.intp)
    # Covariates as columns without a penalty, including ones; None without covariates.
    columns: Columns | None = None
    moments: Array | None = None  # second moments of all samples, once they are known

    def map_reduce(self, scan: Scan[S], summary_bytes: int = 0) -> S:
        """Merged summaries of all blocks, computed in one pass.

        A summary takes about `summary_bytes`.
        """
        raise NotImplementedError

    def map_rows(self, scan: Callable[[Block], Array], columns: int | None = None) -> Any:
        """One number per sample, or `columns` of them, in the order of the samples."""
        raise NotImplementedError

    def take(self, runs: list[tuple[int, int]]) -> tuple[Block, Index]:
        """Samples of the index ranges (start, stop), in order, and their indices."""
        raise NotImplementedError

    def sample(self, rows: int) -> tuple[Block, Index]:
        """About this number of samples, spread over all the data, and their indices.

        An error is raised if products of their entries and of the labels and weights, of all
        samples if these are in memory, would leave the range of float64. If all these samples have
        weight zero, samples with a positive weight are taken instead, and their weights are scaled
        down so that each sample still stands for ``n / len(index)`` samples.
        """
        block, index = self.take(sample_runs(self.n, rows))
        if not (block.weights > 0.0).any():
            weights = np.asarray(self.given[1])
            check_weighed(weights)
            some = np.flatnonzero(weights > 0.0)
            places = np.linspace(0, len(some) - 1, min(max(rows, RUN), len(some))).astype(int)
            block, index = self.take([(int(i), int(i) + 1) for i in some[places]])
            block = block._replace(weights=len(some) / self.n * block.weights)
        y, weights = (
            one if isinstance(one, np.ndarray) else part
            for one, part in zip(self.given, (block.y, block.weights), strict=True)
        )
        check_units(block.X, y, weights)
        return block, index

    def refuse(self, first: float) -> None:
        """Raise an error that says why the sums of sample `first` are not finite.

        If `first` is infinite, there is no such sample, and nothing is raised.
        """
        if first < np.inf:
            block, _ = self.take([(int(first), int(first) + 1)])
            check_units(block.X, block.y, block.weights)
            refuse_sample(int(first), block.X)

    def subsample(self, rows: int) -> tuple[Samples, Index]:
        """About this number of samples in memory, weighted to represent all, and their indices."""
        block, index = self.sample(rows)
        X = block.X if len(index) >= MANY_SAMPLES else block.X.astype(np.float64)
        Z = block.Z if self.columns is None or block.Z is None else self.columns.given(block.Z)
        weights = self.n / len(index) * block.weights
        return Samples.of(X.reshape(-1, self.p, self.q), block.y, weights, Z), index

    def few(self, rows: int) -> Samples:
        """About this number of distinct samples in memory, weighted to represent all."""
        return self.subsample(rows)[0].distinct()

    def unpenalised(self, fit_intercept: bool) -> Basis:
        """The columns without a penalty: covariates and ones, as far as there are any."""
        return intercept(fit_intercept) if self.columns is None else self.columns

    def distinct(self) -> Self:
        """The object itself: duplicates are not merged."""
        return self

    def part(self, rows: Index | None, y: Array) -> Self:
        """All samples with other labels; samples that are not in `rows` have weight zero.

        `y` holds the labels of the samples in `rows`, or of all samples if `rows` is None.
        """
        index = np.arange(self.n) if rows is None else rows
        labels, some = np.full(self.n, -1.0), np.zeros(self.n)
        labels[index], some[index] = y, np.asarray(self.given[1])[index]
        blocks = self._with(labels, some)
        sides = [np.flatnonzero((labels == side) & (some > 0.0)) for side in np.unique(y)]
        blocks.rare = min(sides, key=len)
        return blocks

    def reweighed(self, weights: Any) -> Self:
        """The samples with other weights."""
        return self if weights is self.given[1] else self._with(self.given[0], weights)

    def _with(self, y: Any, weights: Any) -> Self:
        """The samples with other labels and weights."""
        shape = (self.p, self.q)
        return type(self)(self.X, y, weights, shape, self.columns)  # type: ignore[call-arg]


class ArrayBlocks(Blocks):
    """Samples in any object that has ``shape`` and ``dtype`` and can be sliced along the samples.

    X has the shape (n, p, q) or (n, p*q), labels and weights (n,). `columns` without a penalty are
    those that :func:`matreg.unpenalised.basis.covariates` makes of covariates.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    >>> blocks = ArrayBlocks(X, np.zeros(2), np.ones(2), (2, 3))
    >>> blocks.map_rows(lambda block: block.X.sum(axis=1))
    array([15, 51], dtype=uint64)
    """

    def __init__(
        self,
        X: Any,
        y: Array,
        weights: Array,
        shape: tuple[int, int],
        columns: Columns | None = None,
    ) -> None:
        self.X, self.y, self.weights, self.columns = X, y, weights, columns
        self.given = (y, weights)
        self.n, (self.p, self.q) = int(X.shape[0]), shape
        row = int(np.prod(X.shape[1:])) * np.dtype(X.dtype).itemsize
        self.nbytes = self.n * row
        self.rows_read = 0
        self.seen: dict[tuple[int, int], int] = {}  # a hash of some samples of each block
        self.step = aligned(max(1, BLOCK // row), X)
        self.read = reader(X)
        # Several threads can read a file at a time; other kinds of storage may not allow it.
        self.reading = nullcontext() if isinstance(self.read, FileReader) else Lock()

    def block(self, start: int, stop: int | None = None) -> Block:
        """The samples from `start` to `stop`, one step by default."""
        stop = min(start + self.step if stop is None else stop, self.n)
        with self.reading:
            X = self.read(start, stop)
        if len(X) != stop - start:
            raise ValueError(
                f"X ends before sample {stop - 1}: it was shortened after it was opened, when it "
                f"had {self.n} samples. Open it again."
            )
        some = slice(start, stop)
        Z = None if self.columns is None else self.columns.Z[some]
        return Block(start, X.reshape(stop - start, -1), self.y[some], self.weights[some], Z)

    def _refuse_changes(self, block: Block) -> None:
        """Raise an error if samples changed since the last pass; one sample in 64 is compared.

        No bound would hold for samples that change. Zarr reads a deleted chunk as its fill value,
        without a warning.
        """
        mark = hash(block.X[::64].tobytes())
        if self.seen.setdefault((block.start, len(block.y)), mark) != mark:
            raise ValueError(
                f"X was changed while it was read: samples from {block.start} to "
                f"{block.start + len(block.X) - 1} are not those of the pass before. Restore them, "
                "and fit again when no program writes to X."
            )

    def map_reduce(self, scan: Scan[S], summary_bytes: int = 0) -> S:
        """Merged summaries of all blocks, computed in one pass over the samples.

        Summaries larger than a block are computed one after another.
        """
        summaries = self.each(scan, one_at_a_time=summary_bytes > BLOCK)
        whole = next(summaries)
        for summary in summaries:
            whole = whole.merge(summary)
        return whole

    def map_rows(self, scan: Callable[[Block], Array], columns: int | None = None) -> Array:
        """One number per sample, or `columns` of them, in the order of the samples."""
        return np.concatenate(list(self.each(scan)))

    def each(self, treat: Callable[[Block], T], one_at_a_time: bool = False) -> Iterator[T]:
        """Apply a function to each block, and yield the results in the order of the blocks.

        Each of a few threads reads a block and processes it: while one reads, others compute. If
        one block is processed at a time, the linear algebra uses several threads.
        """

        def read_and_treat(start: int) -> T:
            block = self.block(start)
            self._refuse_changes(block)
            return treat(block)

        # One thread that reads keeps four others busy.
        count = 1 if one_at_a_time else min(allowed(), 4) + 1
        before = self.rows_read
        with (
            ThreadPoolExecutor(count) as pool,
            one_thread(THREADED_NUMBERS if one_at_a_time else 0),
        ):
            under_way: deque[Future[T]] = deque()
            for start in range(0, self.n, self.step):
                under_way.append(pool.submit(read_and_treat, start))
                self.rows_read += min(self.step, self.n - start)
                if len(under_way) > count:
                    yield under_way.popleft().result()
                    reached("reading", (self.rows_read - before) / self.n)
            while under_way:
                yield under_way.popleft().result()

    def take(self, runs: list[tuple[int, int]]) -> tuple[Block, Index]:
        """Samples of the index ranges (start, stop), in order, and their indices."""
        self.rows_read += sum(stop - start for start, stop in runs)
        return joined([self.block(start, stop) for start, stop in runs])


def joined(runs: list[Block]) -> tuple[Block, Index]:
    """Several blocks as one, and the indices of their samples, which must be finite."""
    index = np.concatenate([np.arange(run.start, run.start + len(run.y)) for run in runs])
    parts = [np.concatenate(part) for part in list(zip(*runs, strict=True))[1:4]]
    Z = None if runs[0].Z is None else np.concatenate([run.Z for run in runs if run.Z is not None])
    bad = np.flatnonzero(~np.isfinite(parts[0]).all(axis=1))
    if len(bad):
        refuse_sample(int(index[bad[0]]), parts[0][bad[0]])
    return Block(runs[0].start, parts[0], parts[1], parts[2], Z), index


def refuse_sample(i: int, X: NDArray[Any]) -> NoReturn:
    """Raise an error for the sample X of index i, which is not finite or too large."""
    if not np.isfinite(X).all():
        raise ValueError(f"X must not hold NaN or infinity; sample {i} does. X[{i}] shows it.")
    raise ValueError(
        f"Sample {i} of X has entries of sizes up to {largest(X):.3g}, and their products with the "
        "coefficients leave the range of float64. Pass X in other units."
    )


def sample_runs(n: int, rows: int) -> list[tuple[int, int]]:
    """Index ranges (start, stop) of `RUN` samples each, with about `rows` samples together.

    One range is drawn at random from each of several equal parts of the data. Reading single
    samples would be as slow as reading all. Equal parts represent sorted data well, and they do
    not depend on the blocks. If `rows` is at least n, one range holds all samples.
    """
    if rows >= n:
        return [(0, n)]
    count = max(1, min(rows, n) // RUN)
    spacing = n / count
    length = min(RUN, n)
    offsets = np.random.default_rng(0).random(count) * (spacing - length)
    starts = (np.arange(count) * spacing + np.maximum(offsets, 0.0)).astype(int)
    return [(int(start), min(int(start) + length, n)) for start in starts]


def aligned(rows: int, X: Any) -> int:
    """Number of samples of a block: a multiple of those of a stored chunk, if X has chunks."""
    chunks = getattr(X, "chunks", None)
    if not chunks or not isinstance(chunks[0], int) or chunks[0] <= 0:
        return rows
    return max(rows // chunks[0], 1) * int(chunks[0])
