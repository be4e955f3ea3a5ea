"""Timing and printing that the benchmarks share."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from matreg.experiments.tables import Table

PRINTED: list[Table] = []  # tables of this process, for the record


def cpu_time(call: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> Any:
    """Seconds of processor time of a call, and its result."""
    start = clock()
    result = call()
    return clock() - start, result


def wall_time(call: Callable[[], Any]) -> Any:
    """Seconds of a call, and its result."""
    return cpu_time(call, time.perf_counter)


def median_time(call: Callable[[], Any], repeats: int) -> Any:
    """Median seconds of several runs, and the last result."""
    runs = [wall_time(call) for _ in range(repeats)]
    return float(np.median([seconds for seconds, _ in runs])), runs[-1][1]


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table, and keep it for the record."""
    text = [[cell if isinstance(cell, str) else f"{cell:.3g}" for cell in row] for row in rows]
    PRINTED.append(Table(title, list(header), text))
    print(f"\n{PRINTED[-1].to_text()}", flush=True)
