"""One line on standard error about what takes longer than a moment, erased when it is over."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from multiprocessing import parent_process
from typing import Any, Self, TextIO, TypeVar

T = TypeVar("T")

WIDTH = 30
# Seconds before a line appears, between two of its states, and after which a line whose work says
# nothing is drawn again, so that its clock goes on.
PATIENCE, PACE, SILENCE = 2.0, 0.1, 1.0
# A bar is full when the work is over, not when its last stage begins.
ALMOST = 0.97
# Share of the way in one stage from which the time left is estimated; stages that come back.
TREND, ALTERNATING = 0.1, ("alternation", "split of the samples")
# Held by the line that is shown: there is one for all.
SHOWN = threading.Lock()
# The escape sequence clears what a longer line before has left.
START, CLEAR = "\r", "\x1b[K"

# What the stages of a fit are called on the line; the glossary of the guide explains them.
STAGES = {
    "W = 0": "start",
    "admm": "ADMM",
    "first-order": "first-order steps",
    "crossover": "polishing",
    "exact split": "split of the samples",
    "flagged split": "split of the samples",
    "paper's split": "split of the samples",
}

# Takes the method at work, the gap and its goal; tells whether the fit should stop.
Listener = Callable[[str, float, float], bool]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


class Line:
    """A line that is drawn once two seconds have passed, and erased at the end.

    A thread draws it where the work itself says nothing for a while. The bar never goes back. A
    line that is opened while another one is, or in a worker process, whose parent has the line,
    shows nothing.

    Parameters
    ----------
    label : str
        What is being done.
    stream : file, default=None
        Where to write instead of standard error. Only terminals are written to.
    since : float, default=None
        When the work began, by ``time.perf_counter``; by default now.

    Examples
    --------
    >>> with Line("defaults"):
    ...     pass
    """

    def __init__(
        self, label: str, stream: TextIO | None = None, since: float | None = None
    ) -> None:
        self.label = label
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.outermost = self.drawn = False
        self.share = 0.0
        self.note: Callable[[float], str] = self._waiting
        self.start = time.perf_counter() if since is None else since
        self.next = self.start + PATIENCE
        self._drawing, self._over = threading.Lock(), threading.Event()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.outermost = parent_process() is None and SHOWN.acquire(blocking=False)
        if not self.outermost:
            self.live = False
        if self.live:
            self._show, warnings.showwarning = warnings.showwarning, self._show_above
            self._clock = threading.Thread(target=self._keep_drawing, daemon=True)
            self._clock.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        if self._clock is not None:
            self._clock.join()
        if self.live and warnings.showwarning == self._show_above:
            warnings.showwarning = self._show
        if self.drawn:
            self._write(START + CLEAR)
        if self.outermost:
            SHOWN.release()

    def _waiting(self, seconds: float) -> str:
        """The note before the work has said anything."""
        return f"preparing {clock(seconds)}"

    def _keep_drawing(self) -> None:
        """Draw the line now and then until the work is over."""
        wait = max(self.next - time.perf_counter(), 0.0)
        while not self._over.wait(wait):
            with self._drawing:
                self._draw_now(time.perf_counter())
            wait = SILENCE

    def _draw(self, share: float, note: Callable[[float], str]) -> None:
        """Draw the share that is done, with a note that is a function of the seconds so far."""
        self.share, self.note = max(self.share, share), note
        now = time.perf_counter()
        if self.live and now >= self.next:
            with self._drawing:
                self._draw_now(now)

    def _draw_now(self, now: float) -> None:
        full = int(WIDTH * self.share)
        bar = "█" * full + "░" * (WIDTH - full)
        text = f"{self.label} {bar} {self.note(now - self.start)}"
        # A line that wraps could not be erased.
        self._write(START + text[: columns(self.stream) - 1] + CLEAR)
        self.drawn, self.next = True, now + PACE

    def _show_above(self, *warning: Any, **options: Any) -> None:
        """Erase the line for a warning, which would be written on it; it is drawn again below."""
        with self._drawing:
            if self.drawn:
                self._write(START + CLEAR)
            self._show(*warning, **options)

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class Progress(Line):
    """Bar of steps, with the time left.

    On a terminal it is redrawn in place. Elsewhere nothing is written, unless asked for: then a
    line every ten per cent.

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
        self.total, self.done = total, 0
        super().__init__(label, stream)
        self.plain = bool(verbose) and not self.live

    def __enter__(self) -> Self:
        super().__enter__()
        self.plain = self.plain and self.outermost
        return self

    def step(self, count: int = 1) -> None:
        """Count one more step as done, or several."""
        self.done += count
        if self.plain and self.done * 10 // self.total > (self.done - count) * 10 // self.total:
            seconds = time.perf_counter() - self.start
            self._write(f"{self.label}: {self.done}/{self.total}, {clock(seconds)}\n")
        self._draw(self.done / self.total, self._note)

    def _waiting(self, seconds: float) -> str:
        return f"0/{self.total} {clock(seconds)}"

    def _note(self, seconds: float) -> str:
        left = seconds / self.done * (self.total - self.done)
        return f"{self.done}/{self.total} {clock(left)} left"


class GapLine(Line):
    """Bar of a single fit: how far its duality gap is on the way to the goal.

    Gaps fall geometrically, so that the bar is in the logarithm of the gap. It keeps its place
    where another stage begins with a larger gap. Once a method has gone a tenth of the way, the
    time that it needs for the rest at this rate is the time left: as a rule too much, one to three
    times the truth, as the last steps are the largest. Fits that alternate have none.

    Examples
    --------
    >>> with GapLine("RMR") as line:
    ...     line.show("interior point", 1e-3, 1e-6)
    """

    stage, began, alternates = "", (0.0, 0.0), False

    def show(self, method: str, gap: float, goal: float) -> None:
        """Draw the method at work, its relative gap, where that is to go, and the time left."""
        name, share = STAGES.get(method, method), way(gap, goal)
        seconds = time.perf_counter() - self.start
        if method != self.stage:
            self.stage, self.began = method, (seconds, share)
        self.alternates |= name.startswith(ALTERNATING)
        then, before = self.began
        end = None
        if share - before >= TREND and not self.alternates:
            end = seconds + (seconds - then) / (share - before) * (1.0 - share)
        state = f"{name}, gap {gap:.0e} of {goal:.0e}"
        self._draw(ALMOST * share, lambda now: f"{state} {clock(now)}{about(end, now)}")


def about(end: float | None, now: float) -> str:
    """What is left until the end that is expected, if there is one."""
    return "" if end is None else f", about {clock(max(end - now, 0.0))} left"


def way(gap: float, goal: float) -> float:
    """Share of the way of a relative gap from 1 to the goal, in its logarithm.

    Examples
    --------
    >>> round(way(1e-2, 1e-6), 2), way(2.0, 1e-6), way(0.0, 0.0)
    (0.33, 0.0, 1.0)
    """
    smallest = sys.float_info.epsilon
    if gap <= max(goal, smallest):
        return 1.0
    if not gap < 1.0:
        return 0.0
    return math.log(gap) / math.log(max(goal, smallest))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let a listener hear of the certificates of the fits within, in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(method: str, gap: float, goal: float) -> bool:
    """Tell the listener how far a fit is; return whether it should stop.

    Parameters
    ----------
    method : str
        What is at work.
    gap : float
        Relative duality gap.
    goal : float
        Where it is to go.
    """
    listener = _listener.get()
    return listener is not None and listener(method, gap, goal)


def track(items: Iterable[T], label: str, total: int, verbose: int = 0) -> Iterator[T]:
    """Iterate with a progress bar."""
    with Progress(label, total, verbose) as bar:
        for item in items:
            yield item
            bar.step()


def columns(stream: TextIO) -> int:
    """Width of a terminal."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # something that only looks like one
        return 80


def clock(seconds: float) -> str:
    """Minutes and seconds."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
