"""A progress line on standard error for work that takes more than a moment, erased at the end."""

from __future__ import annotations

import math
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from multiprocessing import parent_process
from typing import Any, Self, TextIO, TypeVar

T = TypeVar("T")

# Characters of a bar, beside which the longest note has room in 80 columns.
WIDTH = 18
# Seconds before a line appears, between two updates, and until a line without an update is drawn
# again, so that its clock goes on; a time left that ended so long ago was wrong.
PATIENCE, PACE, SILENCE = 2.0, 0.1, 1.0
# A bar is full when the work is over, not when its last stage begins.
ALMOST = 0.97
# The time left is estimated after this share of a stage, and of steps that are counted.
TREND, FEW = 0.1, 0.05
# The whole span, and an end that cannot be told.
WHOLE, UNKNOWN = (0.0, 1.0), math.inf
# Held by the line that is shown: one at a time.
SHOWN = threading.Lock()
# The escape sequence clears the rest of a longer line.
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

# Takes the present method, the gap and its goal; returns whether the fit should stop.
Listener = Callable[[str, float, float], bool]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
# The innermost open line of this thread, and the part of its span that the present work is.
_line: ContextVar[Line | None] = ContextVar("line", default=None)
_span: ContextVar[tuple[float, float]] = ContextVar("span", default=WHOLE)


class Line:
    """A line that is drawn once two seconds have passed, and erased at the end.

    A thread draws it again while the work reports nothing. The bar never goes back. A line inside
    of another one is drawn in its place, in the part of its bar that :func:`span` assigns. A line
    in another thread or in a worker process shows nothing.

    The stream is standard error by default; only terminals are written to.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = self.shown = label
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.outermost = self.drawn = False
        self.share, self.span = 0.0, WHOLE
        self.host: Line | None = None
        # What is being done, and when it is over if that can be told.
        self.state, self.end = "preparing", UNKNOWN
        # When the clock began, and when this line was opened inside of another.
        self.start = self.begun = time.perf_counter()
        self.next = self.start + PATIENCE
        self._drawing, self._over = threading.Lock(), threading.Event()
        self._clock: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.host, self.span = _line.get(), _span.get()
        if self.host is None:
            self.outermost = parent_process() is None and SHOWN.acquire(blocking=False)
        else:
            self.start = self.host.start
        _line.set(self)
        _span.set(WHOLE)
        if not self.outermost:
            self.live = False
        if self.live:
            self._show, warnings.showwarning = warnings.showwarning, self._show_above
            self._clock = threading.Thread(target=self._keep_drawing, daemon=True)
            self._clock.start()
        return self

    def __exit__(self, *error: object) -> None:
        _line.set(self.host)
        _span.set(self.span)
        self._over.set()
        if self._clock is not None:
            self._clock.join()
        if self.live and warnings.showwarning == self._show_above:
            warnings.showwarning = self._show
        if self.drawn:
            self._write(START + CLEAR)
        if self.outermost:
            SHOWN.release()

    def show(self, method: str, gap: float, goal: float, spent: float) -> None:
        """Receive a certificate, which this kind of line does not show."""

    def reached(self, what: str, share: float) -> None:
        """Draw the work that is done, its share of the whole way, and the time left."""
        share = max(share, self.share / ALMOST)
        self._draw(ALMOST * share, what, forecast(share, self.begun))

    def _inside(self, share: float, state: str, end: float, label: str) -> None:
        """Draw the state of a line inside of this one in its place."""
        self._draw(share, state, end, label)

    def _keep_drawing(self) -> None:
        """Draw the line now and then until the work is over."""
        wait = max(self.next - time.perf_counter(), 0.0)
        while not self._over.wait(wait):
            with self._drawing:
                self._draw_now(time.perf_counter())
            wait = SILENCE

    def _draw(self, share: float, state: str, end: float, label: str = "") -> None:
        """Draw the share that is done and what is being done, until when if that is known."""
        self.share, self.shown = max(self.share, share), label or self.label
        self.state, self.end = state, end
        if self.host is not None:
            at = part_of(self.span, self.share)
            if self.span[1] < 1.0:  # else the whole ends with this part
                end = forecast(max(at, self.host.share), self.host.begun)
            self.host._inside(at, state, end, self.shown)
        elif self.live and (now := time.perf_counter()) >= self.next:
            with self._drawing:
                self._draw_now(now)

    def words(self, now: float) -> str:
        """What is being done, and the time left or, where that cannot be told, the time so far."""
        if self.end == UNKNOWN or now > self.end + SILENCE:
            return f"{self.state} {clock(now - self.start)}"
        return f"{self.state} {clock(max(self.end - now, 0.0))} left"

    def _draw_now(self, now: float) -> None:
        full = int(WIDTH * self.share)
        bar = "█" * full + "░" * (WIDTH - full)
        text = f"{self.shown} {bar} {self.words(now)}"
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

    Examples
    --------
    >>> with Progress("fits", 2) as bar:
    ...     for _ in range(2):
    ...         bar.step()
    """

    def __init__(
        self, label: str, total: int, verbose: int = 0, stream: TextIO | None = None
    ) -> None:
        self.total, self.done, self.partly, self.before = total, 0, 0.0, 0
        super().__init__(label, stream)
        self.state = f"0/{total}"
        self.plain = bool(verbose) and not self.live

    def __enter__(self) -> Self:
        super().__enter__()
        outer = self.host
        while outer is not None and outer.host is not None and not isinstance(outer, Progress):
            outer = outer.host
        alone = self.outermost if outer is None else outer.outermost
        self.plain = self.plain and alone and not isinstance(outer, Progress)
        return self

    def expect(self, count: int) -> None:
        """Begin steps of another kind, so many at least: the time left is that at their rate."""
        self.total = max(self.total, self.done + count)
        self.begun, self.before = time.perf_counter(), self.done

    def step(self, count: int = 1) -> None:
        """Count one more step as done, or several."""
        self.done, self.partly = self.done + count, 0.0
        if self.plain and self.done * 10 // self.total > (self.done - count) * 10 // self.total:
            seconds = time.perf_counter() - self.start
            self._write(f"{self.label}: {self.done}/{self.total}, {clock(seconds)}\n")
        self._count()

    def show(self, method: str, gap: float, goal: float, spent: float) -> None:
        """Draw how far the present step is, by its gap."""
        self.reached(method, part_of(_span.get(), way(gap, goal)))

    def reached(self, what: str, share: float) -> None:
        """Draw how far the present step is."""
        self.partly = max(self.partly, ALMOST * share)
        self._count()

    def _inside(self, share: float, state: str, end: float, label: str) -> None:
        self.reached(label, share)

    def _count(self) -> None:
        """Draw the steps that are done."""
        share = (self.done + self.partly) / self.total
        enough = 0.0 if self.done > self.before else FEW
        end = forecast(share, self.begun, self.before / self.total, enough)
        self._draw(share, f"{self.done}/{self.total}", end)


class GapLine(Line):
    """Bar of a single fit: how far its duality gap is on the way to the goal.

    Gaps fall geometrically, so that the bar is in the logarithm of the gap. It keeps its place
    where another stage begins with a larger gap. Once a method has gone a tenth of the way, the
    time that it needs for the rest at this rate is the time left: as a rule too much, since the
    last steps are the largest. Before that, and where it is less, the time left is "at most" that
    of the iterations which the method may still take. In a fit of several problems one after
    another, which :func:`span` tells, it is the time that the rest takes at the rate so far.

    Examples
    --------
    >>> with GapLine("RMR") as line:
    ...     line.show("interior point", 1e-3, 1e-6, spent=0.01)
    """

    stage, began = "", (0.0, 0.0, 0.0)

    def show(self, method: str, gap: float, goal: float, spent: float) -> None:
        """Draw the method at work, its relative gap, where that is to go, and the time left."""
        name, share = STAGES.get(method, method), way(gap, goal)
        state = f"{name}, gap {min(gap, 1.0):.0e}"
        if _span.get() != WHOLE:
            self.reached(f"{state} of {goal:.0e}", part_of(_span.get(), share))
            return
        if method != self.stage:
            self.stage, self.began = method, (time.perf_counter(), share, spent)
        then, before, earlier = self.began
        end, latest = forecast(share, then, before), forecast(spent, then, earlier, 0.0)
        state += ", at most" if latest < end else f" of {goal:.0e}"
        self._draw(ALMOST * share, state, min(end, latest))


def forecast(share: float, then: float, before: float = 0.0, enough: float = TREND) -> float:
    """When work is over of which a share is done, at the rate since `then`, when `before` was done.

    Too small a step since then tells nothing.
    """
    now, step = time.perf_counter(), share - before
    return now + (now - then) / step * (1.0 - share) if step > 0.0 and step >= enough else UNKNOWN


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


def part_of(span: tuple[float, float], share: float) -> float:
    """Where a share of a part is in the whole."""
    low, high = span
    return low + share * (high - low)


@contextmanager
def span(low: float, high: float) -> Iterator[None]:
    """Make the work within a part of the present work, from one share of it to another.

    Examples
    --------
    >>> with GapLine("GRMR") as line, span(0.0, 0.5), span(0.0, 0.2):
    ...     tell("split", 1e-6, 1e-6)
    False
    >>> round(line.share, 3)  # 0.97 of a tenth
    0.097
    """
    outer = _span.get()
    _span.set((part_of(outer, low), part_of(outer, high)))
    try:
        yield
    finally:
        _span.set(outer)


def equal_parts(items: Sequence[T]) -> Iterator[T]:
    """Iterate over work of which each item is the same part."""
    for k, item in enumerate(items):
        with span(k / len(items), (k + 1) / len(items)):
            yield item


def turn(k: int) -> AbstractContextManager[None]:
    """Round k of an unknown number of rounds: each is half of what is left."""
    return span(1.0 - 0.5**k, 1.0 - 0.5 ** (k + 1))


@contextmanager
def without_progress() -> Iterator[None]:
    """Report no progress of the work within, such as a small problem inside of a larger fit."""
    line, listener = _line.get(), _listener.get()
    _line.set(None)
    _listener.set(None)
    try:
        yield
    finally:
        _line.set(line)
        _listener.set(listener)


def reached(what: str, share: float) -> None:
    """Tell the line how far some work is."""
    line = _line.get()
    if line is not None:
        line.reached(what, part_of(_span.get(), share))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a listener with the certificates of the fits within, in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(method: str, gap: float, goal: float, spent: float = 0.0) -> bool:
    """Tell the line and the listener how far the relative gap is; return whether to stop.

    `spent` is the share of the iterations, of those that the method may take.
    """
    line, listener = _line.get(), _listener.get()
    if line is not None:
        line.show(method, gap, goal, spent)
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
