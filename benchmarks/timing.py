"""Timing and printing that the benchmarks share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from matreg.experiments.tables import Table

# Tables of the benchmark that runs, for its record.
PRINTED: list[Table] = []


def median_time(function: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """Median seconds of several runs, and the last result."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = function()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds)), result


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print rows under a header, columns aligned."""
    text = [[cell if isinstance(cell, str) else f"{cell:.3g}" for cell in row] for row in rows]
    PRINTED.append(Table(title, list(header), text))
    widths = [max(len(r[k]) for r in [list(header), *text]) for k in range(len(header))]
    print(f"\n{title}")
    for row in [list(header), *text]:
        print("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    print(flush=True)
