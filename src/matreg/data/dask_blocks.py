"""Samples in a Dask array: passes as plain delayed tasks, one per block.

Every pass builds a new graph of pure functions: if a worker is lost, Dask computes its tasks again,
and a pass leaves nothing on the workers. Dask decides whether the tasks run on threads, processes
or a cluster: there is no client to pass. Nothing is persisted, scattered or rechunked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from itertools import pairwise
from typing import Any
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from .._runtime.warn import warn
from .._typing import Array, Index, Mask
from ..unpenalised.basis import Columns
from .blocks import Blocks, S, Scan, joined
from .samples import Block


def is_dask(X: Any) -> bool:
    """Whether X is a Dask array."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed") and hasattr(X, "chunks")


def on_blocks(function: Callable[[Array], Array], f: Any, columns: int | None = None) -> Any:
    """``function(f)`` for numbers f (n,), as a Dask array if f is one.

    The function returns an array of shape (n,), or (n, columns) if `columns` is given.
    """
    if not is_dask(f):
        return function(f)
    if columns is None:
        return f.map_blocks(function, dtype=np.float64)
    chunks = (*f.chunks, (columns,))
    return f.map_blocks(function, dtype=np.float64, new_axis=1, chunks=chunks)


def check_sizes(X: Any) -> None:
    """Raise an error for unknown chunk sizes that says how to compute them."""
    if any(np.isnan(size) for sizes in X.chunks for size in sizes):
        raise ValueError(
            "X must have known chunk sizes; they are NaN, as after a selection. Call "
            "X.compute_chunk_sizes() first."
        )


def check_chunks(X: Any) -> None:
    """Raise an error if samples are split among chunks, and say how to rechunk."""
    check_sizes(X)
    if any(len(sizes) > 1 for sizes in X.chunks[1:]):
        rest = ", ".join(f"{axis}: -1" for axis in range(1, X.ndim))
        raise ValueError(
            f"X must be chunked along the samples only; got chunks {X.chunksize} of shape "
            f"{X.shape}. Call X.rechunk({{0: 'auto', {rest}}})."
        )
    if X.numblocks[0] > 20_000:
        warn(
            f"X has {X.numblocks[0]} blocks, and Dask spends about a millisecond on each in every "
            "pass. Larger blocks are faster: X.rechunk({0: 'auto'})."
        )


class DaskBlocks(Blocks):
    """Samples in a Dask array.

    The samples (n, p, q) or (n, p*q) are chunked along the first axis only. Labels and weights are
    arrays in memory or Dask arrays with the same chunks as X; `columns` without a penalty, as
    :func:`matreg.unpenalised.basis.covariates` makes them, are in memory.
    """

    def __init__(
        self, X: Any, y: Any, weights: Any, shape: tuple[int, int], columns: Columns | None = None
    ) -> None:
        check_chunks(X)
        (self.p, self.q) = shape
        self.n = int(X.shape[0])
        self.nbytes = self.n * int(np.prod(X.shape[1:])) * np.dtype(X.dtype).itemsize
        self.rows_read, self.given = 0, (y, weights)
        self.sizes = X.chunks[0]
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(int)
        self.X, self.lazy = X, [array for array in (X, y, weights) if is_dask(array)]
        self.y = split("y", y, self.starts, self.sizes)
        self.weights = split("sample_weight", weights, self.starts, self.sizes)
        self.columns = columns
        parts = pairwise(self.starts)
        self.Z = [None if columns is None else columns.Z[a:b] for a, b in parts]

    def layer(
        self, function: Callable[[Block], Any], some: Iterable[int], rest: tuple[int, ...] = ()
    ) -> dict[Any, Any]:
        """Tasks that call a function on the blocks `some`, with keys that end with `rest`."""
        name, inner = f"matreg-{uuid4().hex}", (0,) * (self.X.ndim - 1)
        return {
            (name, j, *rest): (
                _on_block,
                function,
                *self.starts[k : k + 2].tolist(),
                (self.X.name, int(k), *inner),
                self.y[k],
                self.weights[k],
                self.Z[k],
            )
            for j, k in enumerate(some)
        }

    def graph(self, layer: dict[Any, Any]) -> Any:
        """Graph of these tasks and everything that they depend on."""
        from dask.highlevelgraph import HighLevelGraph

        name = next(iter(layer))[0]
        return HighLevelGraph.from_collections(name, layer, dependencies=self.lazy)

    def compute(self, layer: dict[Any, Any]) -> Any:
        """Result of the last task of a layer."""
        import dask.array
        from dask.delayed import Delayed

        key = list(layer)[-1]
        # Optimised, so that one task reads a chunk and processes it: no worker reads ahead.
        (result,) = dask.compute(Delayed(key, dask.array.optimize(self.graph(layer), [key])))
        return result

    def map_reduce(self, scan: Scan[S], summary_bytes: int = 0) -> S:
        """Merged summaries of all blocks, computed in one pass over the samples."""
        layer = self.layer(scan, range(len(self.sizes)))
        keys = list(layer)
        name = keys[0][0]
        while len(keys) > 1:
            groups = [keys[k : k + 16] for k in range(0, len(keys), 16)]  # one task merges 16
            keys = [(name, len(layer) + k) for k in range(len(groups))]
            layer |= {key: (_merge, group) for key, group in zip(keys, groups, strict=True)}
        whole: S = self.compute(layer)
        self.rows_read += self.n
        return whole

    def map_rows(self, scan: Callable[[Block], Array], columns: int | None = None) -> Any:
        """One number per sample, or `columns` of them, as a Dask array that is not computed yet."""
        import dask.array

        rest: tuple[tuple[int, ...], ...] = () if columns is None else ((columns,),)
        layer = self.layer(scan, range(len(self.sizes)), (0,) * len(rest))
        name = next(iter(layer))[0]
        return dask.array.Array(self.graph(layer), name, (self.sizes, *rest), dtype=np.float64)

    def take(self, runs: list[tuple[int, int]]) -> tuple[Block, Index]:
        """Samples of the index ranges (start, stop), in order, and their indices.

        Only blocks that contain a part of a range are read, each as a whole.
        """
        ends = np.array(runs) - [0, 1]  # the first and the last sample of each run
        blocks = np.searchsorted(self.starts, ends, side="right") - 1
        some = np.unique([k for first, last in blocks for k in range(first, last + 1)])
        layer = self.layer(Runs(runs), some)
        keys = list(layer)
        found = self.compute(layer | {(keys[0][0], "all"): (list, keys)})
        self.rows_read += sum(self.sizes[k] for k in some)
        pieces = sorted((run for block in found for run in block), key=lambda run: run.start)
        return joined(pieces)


class Runs:
    """Function that returns the parts of given index ranges (start, stop) that lie in a block."""

    def __init__(self, runs: list[tuple[int, int]]) -> None:
        self.runs = runs

    def __call__(self, block: Block) -> list[Block]:
        """The parts of the index ranges that lie in a block, each as a block."""
        end = block.start + len(block.y)
        found = []
        for start, stop in self.runs:
            a, b = max(start, block.start) - block.start, min(stop, end) - block.start
            if a < b:
                part = block.part(a, b)
                found.append(part._replace(X=part.X.copy()))
        return found


def split(name: str, values: Any, starts: NDArray[Any], sizes: tuple[int, ...]) -> list[Any]:
    """Labels or weights of each block: one number if all are equal, else arrays or Dask keys."""
    if not is_dask(values):
        if values.min() == values.max():  # no array has to be sent to the workers
            return [float(values[0])] * len(sizes)
        return [values[a:b] for a, b in pairwise(starts)]
    if values.chunks[0] != sizes:
        raise ValueError(f"{name} must have the chunks of X; call .rechunk((X.chunks[0],)) on it.")
    return [(values.name, k) for k in range(len(sizes))]


def _on_block(
    function: Callable[[Block], Any],
    start: int,
    stop: int,
    X: NDArray[Any],
    y: Any,
    weights: Any,
    Z: Array | None,
) -> Any:
    """Call a function on the block from start to stop; it runs on a worker."""
    X = np.asarray(X)
    if len(X) != stop - start:
        raise ValueError(
            f"X has {len(X)} samples in the block that begins with sample {start}, where its "
            f"chunks say {stop - start}: the source of X has changed. Make X anew."
        )
    labels, weights = (
        np.broadcast_to(np.asarray(part, dtype=np.float64), len(X)) for part in (y, weights)
    )
    check_part("y", "finite", labels, np.isfinite(labels), start)
    good = (weights >= 0.0) & (weights < np.inf)
    check_part("sample_weight", "non-negative", weights, good, start)
    flat = X.reshape(len(X), int(np.prod(X.shape[1:])))  # -1 would fail for an empty block
    return function(Block(start, flat, labels, weights, Z))


def check_part(name: str, kind: str, values: Array, good: Mask, start: int) -> None:
    """Raise an error for invalid labels or weights; Dask arrays are checked once computed."""
    wrong = np.flatnonzero(~good)
    if len(wrong):
        raise ValueError(
            f"{name} must hold {kind} numbers; got {values[wrong[0]]} for sample "
            f"{start + int(wrong[0])}."
        )


def _merge(parts: list[Any]) -> Any:
    """Merge summaries; it runs on a worker."""
    return reduce(lambda whole, part: whole.merge(part), parts)


def few_labels(y: Any) -> Array:
    """Labels of the first, the middle and the last block of a Dask array."""
    import dask

    blocks = sorted({0, len(y.chunks[0]) // 2, len(y.chunks[0]) - 1})
    return np.concatenate(dask.compute(*(y.blocks[k] for k in blocks))).astype(np.float64)
