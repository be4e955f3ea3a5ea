"""The progress bar appears late, on terminals, and elsewhere only when asked for."""

import io

from matreg import progress


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


def test_track_yields_everything(capsys):
    assert list(progress.track(range(3), "x", 3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""
