"""A progress bar on standard error for what takes longer than a moment."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from multiprocessing import parent_process
from typing import Self, TextIO, TypeVar

T = TypeVar("T")

WIDTH = 30
PATIENCE = 2.0
# Held by the bar that is shown: there is one line for it.
SHOWN = threading.Lock()


class Progress:
    """Bar with the time left, drawn once more than two seconds have passed.

    On a terminal it is redrawn in place. Elsewhere nothing is written, unless asked for: then a
    line every ten per cent. A bar that is opened while another one is, or in a worker process,
    whose parent has the bar, shows nothing.

    Parameters
    ----------
    label : str
        What is being done.
    total : int
        Number of steps.
    verbose : int, default=0
        Whether to write where there is no terminal too.
    stream : file, default=None
        Where to write instead of standard error.

    Examples
    --------
    >>> with Progress("fits", 2) as bar:
    ...     for _ in range(2):
    ...         bar.step()
    """

    def __init__(
        self, label: str, total: int, verbose: int = 0, stream: TextIO | None = None
    ) -> None:
        self.label, self.total, self.done = label, total, 0
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.plain = bool(verbose) and not self.live
        self.start = time.perf_counter()

    def __enter__(self) -> Self:
        self.outermost = parent_process() is None and SHOWN.acquire(blocking=False)
        if not self.outermost:
            self.live = self.plain = False
        return self

    def __exit__(self, *error: object) -> None:
        if self.outermost:
            SHOWN.release()

    def step(self) -> None:
        """Count one more step as done."""
        self.done += 1
        seconds = time.perf_counter() - self.start
        if self.live and seconds > PATIENCE:
            self._draw(seconds)
        elif self.plain and self.done * 10 // self.total > (self.done - 1) * 10 // self.total:
            self._write(f"{self.label}: {self.done}/{self.total}, {clock(seconds)}\n")

    def _draw(self, seconds: float) -> None:
        full = WIDTH * self.done // self.total
        bar = "█" * full + "░" * (WIDTH - full)
        left = seconds / self.done * (self.total - self.done)
        note = f"{clock(left)} left" if self.done < self.total else f"in {clock(seconds)}\n"
        # The escape sequence clears what a longer line before has left.
        self._write(f"\r{self.label} {bar} {self.done}/{self.total} {note}\x1b[K")

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


def track(items: Iterable[T], label: str, total: int, verbose: int = 0) -> Iterator[T]:
    """Iterate with a progress bar."""
    with Progress(label, total, verbose) as bar:
        for item in items:
            yield item
            bar.step()


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
