"""A terminal without a screen, and the progress bars that were drawn on it."""

import io
import sys

from matreg._runtime import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def all_at_once(monkeypatch):
    """A terminal, on which bars appear at once."""
    stream = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(progress, "PACE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def bars(written):
    """Lengths of the bars in the order in which they were drawn."""
    return [state.count("█") for state in written.split("\r") if "░" in state or "█" in state]
