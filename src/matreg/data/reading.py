"""Reading slices of samples from arrays in memory, files and other kinds of storage."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray


def reader(X: Any) -> Callable[[int, int], NDArray[Any]]:
    """Function of (start, stop) that reads these samples.

    Pages of a mapped file count as used memory once they are read, and a file that shrinks while it
    is mapped kills the process. Blocks of a memmap are therefore read from its file.
    """
    if isinstance(X, np.memmap) and X.filename is not None and (by_rows(X) or by_entries(X)):
        return FileReader(X)
    return lambda start, stop: read_slice(X, start, stop)


def read_slice(X: Any, start: int, stop: int) -> NDArray[Any]:
    """Samples from `start` to `stop`; errors of the storage library are raised as an OSError."""
    try:
        return np.asarray(X[start:stop])
    except (MemoryError, ValueError):
        raise
    except Exception as error:
        raise OSError(f"X cannot be read from sample {start} to {stop - 1}: {error}") from error


def by_rows(X: NDArray[Any]) -> bool:
    """Whether samples are stored one after another."""
    return bool(X.flags.c_contiguous)


def by_entries(X: NDArray[Any]) -> bool:
    """Whether the same entry of all samples is stored contiguously, as in Fortran order."""
    return X.strides[0] == X.itemsize


class FileReader:
    """Reads samples of a mapped file, in C or in Fortran order, without mapping them.

    X may also be a slice of another memmap along the samples.
    """

    def __init__(self, X: np.memmap[Any, Any]) -> None:
        assert X.filename is not None
        self.path = os.fspath(X.filename)
        self.dtype, self.row = X.dtype, X.shape[1:]
        first = np.frombuffer(X._mmap, dtype=np.uint8).ctypes.data  # type: ignore[attr-defined]
        mapped_from = X.offset - X.offset % mmap.ALLOCATIONGRANULARITY
        self.offset = mapped_from + X.ctypes.data - first
        self.strides, self.by_rows = X.strides, by_rows(X)

    def __call__(self, start: int, stop: int) -> NDArray[Any]:
        """Samples from `start` to `stop`."""
        with open(self.path, "rb", buffering=0) as file:
            if self.by_rows:
                stride = int(np.prod(self.row)) * self.dtype.itemsize
                out = np.empty((stop - start, *self.row), dtype=self.dtype)
                self.fill(out, file, start * stride, stop)
                return out
            # One read per entry: the parts of a block are far apart, but long.
            columns = np.empty((*self.row, stop - start), dtype=self.dtype)
            for entry in np.ndindex(*self.row):
                at = int(np.dot(entry, self.strides[1:])) + start * self.dtype.itemsize
                self.fill(columns[entry], file, at, stop)
            return np.moveaxis(columns, -1, 0)

    def fill(self, out: NDArray[Any], file: BinaryIO, at: int, stop: int) -> None:
        """Fill an array with the bytes of the file from the offset `at`."""
        file.seek(self.offset + at)
        buffer = memoryview(out.reshape(-1).view(np.uint8).data)
        while len(buffer):
            got = file.readinto(buffer)  # type: ignore[attr-defined]
            if not got:
                raise ValueError(
                    f"{self.path} ends before sample {stop - 1} of X: the file was shortened "
                    "after it was opened. Write it again and open it with np.load(..., "
                    'mmap_mode="r").'
                )
            buffer = buffer[got:]
