"""The progress bar appears late, on terminals, and elsewhere only when asked for."""

import io
import sys

import pytest

from matreg import RMRCV, progress
from matreg.datasets import make_matrix_regression


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_drawn_before_two_seconds():
    stream = Terminal()
    bar = progress.Progress("folds", 3, stream=stream)
    bar.step()
    assert stream.getvalue() == ""


def test_bar_after_two_seconds_tells_what_is_left(monkeypatch):
    now = iter([0.0, 10.0, 20.0])
    monkeypatch.setattr(progress.time, "perf_counter", lambda: next(now))
    stream = Terminal()
    bar = progress.Progress("folds", 2, stream=stream)
    bar.step()
    assert "1/2 0:10 left" in stream.getvalue()
    bar.step()
    assert "2/2 in 0:20" in stream.getvalue()


def test_without_a_terminal_only_on_request():
    silent, asked = io.StringIO(), io.StringIO()
    for stream, verbose in ((silent, 0), (asked, 1)):
        bar = progress.Progress("path", 20, verbose, stream)
        for _ in range(20):
            bar.step()
    assert silent.getvalue() == ""
    assert asked.getvalue().count("path:") == 10


def all_at_once(monkeypatch):
    """A terminal, on which bars appear at once."""
    stream = Terminal()
    monkeypatch.setattr(progress, "PATIENCE", -1.0)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def test_only_the_outermost_bar_is_drawn(monkeypatch):
    stream = all_at_once(monkeypatch)
    for _ in progress.track(range(2), "outer", 2):
        for _ in progress.track(range(3), "inner", 3, verbose=1):
            pass
    assert "outer" in stream.getvalue() and "inner" not in stream.getvalue()
    for _ in progress.track(range(3), "inner", 3):  # now it is the outermost itself
        pass
    assert "inner" in stream.getvalue()


def test_an_interrupted_bar_makes_room_for_the_next(monkeypatch):
    stream = all_at_once(monkeypatch)

    def interrupted():
        yield 1
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(progress.track(interrupted(), "first", 2))
    list(progress.track(range(2), "second", 2))
    assert "second" in stream.getvalue()


def test_bars_of_workers_are_not_drawn(monkeypatch):
    stream = all_at_once(monkeypatch)
    monkeypatch.setattr(progress, "parent_process", lambda: object())
    list(progress.track(range(2), "worker", 2, verbose=1))
    assert stream.getvalue() == ""


def test_a_search_over_paths_draws_one_bar(monkeypatch):
    stream = all_at_once(monkeypatch)
    data = make_matrix_regression(30, (3, 3), random_state=0)
    RMRCV(n_taus=3, cv=2, verbose=1).fit(data.X, data.y)
    assert "folds" in stream.getvalue() and "path" not in stream.getvalue()


def test_track_yields_everything(capsys):
    assert list(progress.track(range(3), "x", 3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
