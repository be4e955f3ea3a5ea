"""The progress bar appears late, on terminals, and elsewhere only when asked for."""

import contextlib
import io
import os
import struct
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from matreg import GRMR, GRMRCV, GSMM, RGLM, RMR, RMRCV, SMM
from matreg._runtime import progress
from matreg.datasets import make_matrix_regression
from matreg.estimators._search import rounds
from terminals import Terminal, all_at_once, bars


def test_nothing_is_drawn_before_two_seconds():
    stream = Terminal()
    bar = progress.Progress("folds", 3, stream=stream)
    bar.step()
    assert stream.getvalue() == ""


def test_without_a_terminal_only_on_request():
    silent, asked = io.StringIO(), io.StringIO()
    for stream, verbose in ((silent, 0), (asked, 1)):
        bar = progress.Progress("path", 20, verbose, stream)
        for _ in range(20):
            bar.step()
    assert silent.getvalue() == ""
    assert asked.getvalue().count("path:") == 10


def test_work_that_says_nothing_shows_a_line_and_its_clock(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    monkeypatch.setattr(progress, "SILENCE", 0.05)
    stream = Terminal()
    with progress.Line("SMM", stream):
        time.sleep(0.3)
    assert stream.getvalue().count("SMM ░") > 1 and "preparing 0:00" in stream.getvalue()
    assert stream.getvalue().endswith(ERASED)
    with progress.Progress("folds", 20, stream=stream):
        time.sleep(0.2)
    assert "0/20 0:00" in stream.getvalue()
    written = stream.getvalue()
    time.sleep(0.15)
    assert stream.getvalue() == written  # nothing is drawn after the end


def test_the_bar_never_goes_back_and_is_not_full_before_the_end(monkeypatch):
    stream = all_at_once(monkeypatch)
    with progress.GapLine("RMR") as line:
        for gap, goal in ((1e-2, 1e-4), (6e-5, 1e-4), (0.5, 1e-6), (1e-5, 1e-6), (1e-7, 1e-6)):
            line.show("first-order", gap, goal, 0.0)
    found = bars(stream.getvalue())
    assert found == sorted(found) and max(found) < progress.WIDTH
    assert "first-order steps" in stream.getvalue()


def test_what_is_inside_of_a_line_is_drawn_in_its_part(monkeypatch):
    stream = all_at_once(monkeypatch)
    with progress.Line("RMRCV") as whole:
        with progress.span(0.0, 0.5):
            list(progress.track(range(2), "fits", 2))
        assert whole.share == 0.5
        with progress.span(0.5, 1.0), progress.GapLine("RMR"):
            progress.tell("interior point", 1e-3, 1e-6)
        assert whole.share == pytest.approx(0.5 + 0.5 * progress.ALMOST * 0.5)
    written = stream.getvalue()
    assert "fits █████████░" in written and "RMR █████████████░" in written
    assert bars(written) == sorted(bars(written))
    with progress.Progress("labels", 2) as counted:  # of what it counts it takes the share alone
        with progress.GapLine("RMR"):
            progress.tell("interior point", 1e-3, 1e-6)
        assert counted.share == pytest.approx(0.25 * progress.ALMOST**2)
        counted.step()
        assert counted.share == 0.5
    assert "labels ████░" in stream.getvalue() and " 0/2 0:00 left" in stream.getvalue()


def test_every_word_of_the_line_is_in_the_glossary():
    glossary = (Path(__file__).parents[2] / "docs" / "guide" / "glossary.md").read_text()
    words = {*progress.STAGES.values(), "path", "pass", "gap", "left", "preparing"}
    words |= {"left out", "second order", "refits", "fits", "labels", "reading", "cleaning"}
    words |= {"report", "figures", "predict", "at most"}
    words |= {"interior point", "working set", "least squares", "alternation", "bootstrap"}
    assert all(f"**{word}**" in glossary for word in words)


def test_only_the_outermost_bar_is_drawn(monkeypatch):
    stream = all_at_once(monkeypatch)
    for _ in progress.track(range(2), "outer", 2):
        for _ in progress.track(range(3), "inner", 3, verbose=1):
            pass
    assert "outer" in stream.getvalue() and "inner" not in stream.getvalue()
    for _ in progress.track(range(3), "inner", 3):  # now it is the outermost itself
        pass
    assert "inner" in stream.getvalue()


def test_a_warning_has_a_line_of_its_own(monkeypatch):
    stream = all_at_once(monkeypatch)
    before = warnings.showwarning
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(
            warnings, "showwarning", lambda *told, **_: stream.write(f"{told[0]}\n")
        )
        inside = warnings.showwarning
        with progress.Progress("folds", 2) as bar:
            bar.step()
            warnings.warn("mind", stacklevel=1)
            bar.step()
        assert warnings.showwarning is inside
    assert f"{progress.START}{progress.CLEAR}mind\n{progress.START}folds" in stream.getvalue()
    monkeypatch.undo()
    assert warnings.showwarning is before


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
    assert "fits" in stream.getvalue() and "path" not in stream.getvalue()


class Heard(progress.Progress):
    """A bar that notes what it is told: shares of a step, and None for steps."""

    told = []

    def step(self, count=1):
        self.told.append(None)
        super().step(count)

    def reached(self, what, share):
        self.told.append(share)
        super().reached(what, share)


@pytest.mark.parametrize("cv", [2, "loo"])
def test_each_point_of_a_path_moves_the_bar_of_a_search(monkeypatch, cv):
    stream = all_at_once(monkeypatch)
    monkeypatch.setattr(rounds, "Progress", Heard)
    monkeypatch.setattr(Heard, "told", [])
    RMRCV(n_taus=9, C=1.0, cv=cv).fit(DATA.X, DATA.y)
    assert Heard.told[:4] == [1.0, 2.0, 3.0, None]  # the coarse path, before its end
    assert bars(stream.getvalue()) == sorted(bars(stream.getvalue()))
    before, _, _ = stream.getvalue().partition(" 3/")
    assert " left" in before


def test_track_yields_everything(capsys):
    assert list(progress.track(range(3), "x", 3)) == [0, 1, 2]
    assert capsys.readouterr().err == ""


DATA = make_matrix_regression(60, (4, 4), noise_scale=0.5, random_state=0)
ERASED = "\r\x1b[K"
SHOWN = {
    "RMR": (RMR(), ["RMR █", "augmented Lagrangian", "gap", "of 1e-06"]),
    "ADMM": (RMR(solver="admm", max_iter=20), ["RMR ", "ADMM"]),
    "RGLM": (RGLM(), ["RGLM ", "gap"]),
    "GRMR": (GRMR(), ["GRMR ", "split", "alternation", " left"]),
    "two classes": (SMM(), ["SMM ", "gap"]),
    "three classes": (SMM(), ["SMM ", "1/3", "3/3"]),
    "RMRCV": (RMRCV(n_taus=3, cv=2), ["fits ", " left", "RMR "]),
    "adaptive": (RMRCV(n_taus=3, cv=2, adaptive=1), ["fits ", " left", "RMR "]),
    "binomial": (RGLM(family="binomial"), ["RGLM ", "proximal Newton, gap"]),
    "GSMM": (GSMM(), ["GSMM ", "1/3", " left"]),
    "GRMRCV": (GRMRCV(n_taus=2, cv=2, halving=True), ["fits ", " left", "GRMR"]),
    "several": (RMR(), ["labels ", "1/2", " left"]),
    "printed": (RMR(verbose=1), []),
}


@pytest.mark.parametrize("name", SHOWN)
@pytest.mark.filterwarnings("ignore")
def test_a_long_fit_shows_one_line_on_a_terminal_and_erases_it(monkeypatch, name):
    stream = all_at_once(monkeypatch)
    model, words = SHOWN[name]
    labels = {"two classes": DATA.y > 0.0, "three classes": np.digitize(DATA.y, [0.0, 1.0])}
    labels |= {"binomial": DATA.y > 0.0, "GSMM": labels["three classes"]}
    labels["several"] = np.column_stack([DATA.y, DATA.y[::-1]])
    model.fit(DATA.X, labels.get(name, DATA.y))
    written = stream.getvalue()
    assert all(word in written for word in words), written
    assert written.endswith(ERASED if words else "") and "\n" not in written
    assert all(len(state) < 80 for state in written.replace("\x1b[K", "").split("\r"))
    assert bars(written) == sorted(bars(written)), written  # it never goes back
    assert bool(written) == bool(words)  # nothing in the midst of a table that is printed


FIT = """
from matreg import RMR
from matreg._runtime import progress
from matreg.datasets import make_matrix_regression
progress.PATIENCE, progress.PACE = -1.0, 0.0
data = make_matrix_regression(60, (4, 4), noise_scale=0.5, random_state=0)
RMR().fit(data.X, data.y)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals of POSIX")
def test_the_line_fits_a_narrow_terminal():
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 30, 0, 0))  # 30 columns
    run = subprocess.Popen([sys.executable, "-c", FIT], stderr=theirs)
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # how Linux ends a terminal
        while part := os.read(ours, 4096):
            written += part
    os.close(ours)
    assert run.wait() == 0, written
    text = written.decode()
    assert text.endswith(ERASED) and "\n" not in text
    assert max(map(len, text.replace("\x1b[K", "").split("\r"))) == 29


def test_only_this_thread_and_this_fit_are_heard():
    heard = []
    with progress.listening(lambda *words: heard.append(words) or len(heard) > 1):
        assert not progress.tell("first", 0.5, 0.1)
        assert progress.tell("second", 0.2, 0.1)
        other = threading.Thread(target=progress.tell, args=("elsewhere", 0.2, 0.1))
        other.start()
        other.join()
    assert not progress.tell("later", 0.2, 0.1)
    assert [words[0] for words in heard] == ["first", "second"]
