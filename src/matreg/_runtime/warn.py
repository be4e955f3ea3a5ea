"""Warnings that point at the line of the user's code that called the library.

The filters of Python's ``warnings`` belong to the whole process: ``catch_warnings`` in two threads
may leave the filters of the other thread behind. The library therefore collects its own advice in a
context variable, which every thread has separately.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Packages whose code does not count as the user's.
INSIDE = ("matreg", "sklearn", "joblib", "contextlib")

Advice = list[tuple[str, type[Warning]]]  # messages and their kinds
_kept: ContextVar[Advice | None] = ContextVar("kept", default=None)


class AdviceWarning(UserWarning):
    """Advice about the data, parameters or result of a valid call, with the remedy.

    All of matreg's warnings are of this class, except scikit-learn's ``ConvergenceWarning`` and
    Python's ``FutureWarning``.

    Examples
    --------
    >>> import warnings
    >>> from matreg import RMR, AdviceWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", AdviceWarning)
    ...     model = RMR(tau=1e6).fit([[[0.0, 1.0]], [[1.0, 0.0]]], [0.0, 1.0])
    >>> model.rank_
    0
    """


def warn(message: str, category: type[Warning] = AdviceWarning) -> None:
    """Issue a warning that points at the first line outside of the library.

    The message says what happened, with numbers, and names the remedy.
    """
    kept = _kept.get()
    if kept is not None:
        kept.append((message, category))
        return
    frame, level = sys._getframe(), 1
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__")).partition(".")[0] in INSIDE
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


@contextmanager
def kept_back() -> Iterator[Advice]:
    """Collect the advice of this thread within the context, instead of showing it."""
    found: Advice = []
    token = _kept.set(found)
    try:
        yield found
    finally:
        _kept.reset(token)


@contextmanager
def without(start: str = "", category: type[Warning] = Warning) -> Iterator[None]:
    """Drop the advice of this thread that begins with `start` and is of this category."""
    with kept_back() as found:
        yield
    for message, kind in found:
        if not (message.startswith(start) and issubclass(kind, category)):
            warn(message, kind)
