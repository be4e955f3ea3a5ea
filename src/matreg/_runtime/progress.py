"""A progress line on standard error for work of more than two seconds; it is erased at the end."""

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

# Characters of a bar; the longest text next to it fits into 80 columns.
WIDTH = 18
# Seconds before a line appears, between two updates, and until a line without an update is drawn
# again, so that its clock goes on. If a forecast end is exceeded by the last of these, the forecast
# was wrong and is not shown any more.
PATIENCE, PACE, SILENCE = 2.0, 0.1, 1.0
# A bar is full when the work is over, not when its last stage begins.
ALMOST = 0.97
# The time left is estimated after this share of a stage, or of steps that are counted.
TREND, FEW = 0.1, 0.05
# The whole span, and an unknown end.
WHOLE, UNKNOWN = (0.0, 1.0), math.inf
# Held by the line that is shown: only one is shown at a time.
SHOWN = threading.Lock()
# The escape sequence clears the rest of a longer line.
START, CLEAR = "\r", "\x1b[K"

# Displayed names of the stages of a fit; the glossary of the guide explains them.
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
# The innermost open line of this thread, and the part of its span that the present work covers.
_line: ContextVar[Line | None] = ContextVar("line", default=None)
_span: ContextVar[tuple[float, float]] = ContextVar("span", default=WHOLE)


class Line:
    """A progress line that is drawn once two seconds have passed, and erased at the end.

    A thread redraws the line while the work reports nothing. The bar never goes back. If a line is
    opened inside of another one, the outer line shows it, in the part of its bar that :func:`span`
    assigns. A line in another thread or in a worker process is not shown.

    The stream is standard error by default; lines are only drawn on terminals.
    """

    def __init__(self, label: str, stream: TextIO | None = None) -> None:
        self.label = self.shown = label
        self.stream = sys.stderr if stream is None else stream
        self.live = self.stream.isatty()
        self.outermost = self.drawn = False
        self.share, self.span = 0.0, WHOLE
        self.host: Line | None = None
        # What is being done, and when it will be over, if that is known.
        self.state, self.end = "preparing", UNKNOWN
        # Start of the clock, and the time at which this line was opened inside of another one.
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
        """Receive a certificate; this kind of line does not show it."""

    def reached(self, what: str, share: float) -> None:
        """Draw the present work `what`, the share that is done, and the time left."""
        share = max(share, self.share / ALMOST)
        self._draw(ALMOST * share, what, forecast(share, self.begun))

    def _inside(self, share: float, state: str, end: float, label: str) -> None:
        """Draw the state of a line that was opened inside of this one."""
        self._draw(share, state, end, label)

    def _keep_drawing(self) -> None:
        """Redraw the line regularly until the work is over."""
        wait = max(self.next - time.perf_counter(), 0.0)
        while not self._over.wait(wait):
            with self._drawing:
                self._draw_now(time.perf_counter())
            wait = SILENCE

    def _draw(self, share: float, state: str, end: float, label: str = "") -> None:
        """Draw the share that is done, what is being done, and when it will be over, if known."""
        self.share, self.shown = max(self.share, share), label or self.label
        self.state, self.end = state, end
        if self.host is not None:
            at = part_of(self.span, self.share)
            # For a part of the work, the time left of the whole work is shown.
            if self.span[1] < 1.0:  # else the whole work ends with this part
                end = forecast(max(at, self.host.share), self.host.begun)
            self.host._inside(at, state, end, self.shown)
        elif self.live and (now := time.perf_counter()) >= self.next:
            with self._drawing:
                self._draw_now(now)

    def words(self, now: float) -> str:
        """What is being done, and the time left or, if that is unknown, the time so far."""
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
        """Erase the line before a warning is written; the line is drawn again below the warning."""
        with self._drawing:
            if self.drawn:
                self._write(START + CLEAR)
            self._show(*warning, **options)

    def _write(self, text: str) -> None:
        self.stream.write(text)
        self.stream.flush()


class Progress(Line):
    """Progress bar of counted steps, with the time left.

    On a terminal the bar is redrawn in place. Elsewhere nothing is written, unless `verbose` is
    set: then one line is written for every ten per cent.

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
        """Begin at least `count` steps of another kind; their rate now determines the time left."""
        self.total = max(self.total, self.done + count)
        self.begun, self.before = time.perf_counter(), self.done

    def step(self, count: int = 1) -> None:
        """Count `count` more steps as done."""
        self.done, self.partly = self.done + count, 0.0
        if self.plain and self.done * 10 // self.total > (self.done - count) * 10 // self.total:
            seconds = time.perf_counter() - self.start
            self._write(f"{self.label}: {self.done}/{self.total}, {clock(seconds)}\n")
        self._count()

    def show(self, method: str, gap: float, goal: float, spent: float) -> None:
        """Draw the progress of the present step, computed from its gap."""
        self.reached(method, part_of(_span.get(), way(gap, goal)))

    def reached(self, what: str, share: float) -> None:
        """Draw the progress of the present step."""
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
    """Progress bar of a single fit: how far its duality gap is on the way to the goal.

    Gaps fall geometrically, so that the bar is in the logarithm of the gap. The bar does not go
    back if another stage begins with a larger gap. Once a method has gone a tenth of the way, the
    time left is extrapolated from its rate: mostly an overestimate, since the last steps are the
    largest. Before that, or if this is less, the time left is "at most" the time of the iterations
    that the method may still take. In a fit of several problems one after another, for which
    :func:`span` is set, the time left is extrapolated from the rate so far.

    Examples
    --------
    >>> with GapLine("RMR") as line:
    ...     line.show("interior point", 1e-3, 1e-6, spent=0.01)
    """

    stage, began = "", (0.0, 0.0, 0.0)

    def show(self, method: str, gap: float, goal: float, spent: float) -> None:
        """Draw the present method, its relative gap, the goal of the gap, and the time left."""
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
    """Time at which work will be over of which `share` is done, at the rate since the time `then`.

    At that time the share `before` was done. If less than `enough` was done since, the result is
    UNKNOWN.
    """
    now, step = time.perf_counter(), share - before
    return now + (now - then) / step * (1.0 - share) if step > 0.0 and step >= enough else UNKNOWN


def way(gap: float, goal: float) -> float:
    """Progress of a relative gap from 1 (result 0) to the goal (result 1), in its logarithm.

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
    """Share of the whole work that is reached at a share of its part `span`."""
    low, high = span
    return low + share * (high - low)


@contextmanager
def span(low: float, high: float) -> Iterator[None]:
    """Let the work within the context be a part of the present work, from `low` to `high`.

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
    """Iterate over items, each of which is an equal part of the present work."""
    for k, item in enumerate(items):
        with span(k / len(items), (k + 1) / len(items)):
            yield item


def turn(k: int) -> AbstractContextManager[None]:
    """Span of round k of an unknown number of rounds: half of the span that is left."""
    return span(1.0 - 0.5**k, 1.0 - 0.5 ** (k + 1))


@contextmanager
def without_progress() -> Iterator[None]:
    """Do not report the progress of the work within, such as a small problem in a larger fit."""
    line, listener = _line.get(), _listener.get()
    _line.set(None)
    _listener.set(None)
    try:
        yield
    finally:
        _line.set(line)
        _listener.set(listener)


def reached(what: str, share: float) -> None:
    """Report to the line what is being done, and the share of it that is done."""
    line = _line.get()
    if line is not None:
        line.reached(what, part_of(_span.get(), share))


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Call a listener with the certificates of the fits within the context, in this thread."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(method: str, gap: float, goal: float, spent: float = 0.0) -> bool:
    """Report the relative gap and its goal to the line and the listener; return whether to stop.

    `spent` is the number of iterations so far, divided by the number that the method may take.
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
    """Width of a terminal, in characters."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):  # something that only looks like one
        return 80


def clock(seconds: float) -> str:
    """A time in minutes and seconds, such as 1:05."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
