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


class Terminal(io.StringIO):
    def isatty(self):
        return True


def at(monkeypatch, seconds):
    """Let the clock show so many seconds."""
    monkeypatch.setattr(progress.time, "perf_counter", lambda: seconds)


def test_nothing_is_drawn_before_two_seconds():
    stream = Terminal()
    bar = progress.Progress("folds", 3, stream=stream)
    bar.step()
    assert stream.getvalue() == ""


def test_bar_after_two_seconds_tells_what_is_left(monkeypatch):
    at(monkeypatch, 0.0)
    stream = Terminal()
    bar = progress.Progress("folds", 2, stream=stream)
    at(monkeypatch, 10.0)
    bar.step()
    assert "1/2 0:10 left" in stream.getvalue()
    assert bar.words(15.0) == "1/2 0:05 left"  # the clock goes on
    at(monkeypatch, 20.0)
    bar.step()
    assert "2/2 0:00 left" in stream.getvalue()


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
    monkeypatch.setattr(progress, "PACE", 0.0)
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def bars(written):
    """Lengths of the bars in the order in which they were drawn."""
    return [state.count("█") for state in written.split("\r") if "░" in state or "█" in state]


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


def test_a_single_fit_has_a_time_left_from_the_rate_of_its_gap(monkeypatch):
    at(monkeypatch, 0.0)
    line = progress.GapLine("RMR", stream=io.StringIO())

    def note(seconds, method, gap):
        at(monkeypatch, seconds)
        line.show(method, gap, 1e-6, 0.0)
        return line.words(seconds)

    assert note(10.0, "interior point", 1e-1) == "interior point, gap 1e-01 of 1e-06 0:10"
    assert note(12.0, "interior point", 1e-2).endswith("1e-06 0:08 left")
    assert line.words(15.0).endswith("1e-06 0:05 left")  # the clock goes on
    assert line.words(30.0).endswith("1e-06 0:30")  # it was wrong: it is not known
    assert "left" not in note(13.0, "active set", 5e-3)  # another stage
    assert note(14.0, "active set", 1e-6).endswith("1e-06 0:00 left")


def test_where_the_gap_tells_nothing_the_iterations_limit_the_time(monkeypatch):
    at(monkeypatch, 0.0)
    line = progress.GapLine("RMR", stream=io.StringIO())

    def note(seconds, gap, k):
        at(monkeypatch, seconds)
        line.show("first-order", gap, 1e-6, k / 100)
        return line.words(seconds)

    assert note(10.0, 1.0, 0) == "first-order steps, gap 1e+00 of 1e-06 0:10"
    assert note(12.0, 1.0, 10) == "first-order steps, gap 1e+00, at most 0:18 left"
    assert line.words(20.0) == "first-order steps, gap 1e+00, at most 0:10 left"
    # A third of the way in 4 s: the limit is 16 s away, the goal 8 s.
    assert note(14.0, 1e-2, 20) == "first-order steps, gap 1e-02 of 1e-06 0:08 left"
    # At this rate the limit comes first.
    assert note(26.0, 1e-2, 80) == "first-order steps, gap 1e-02, at most 0:04 left"


def test_a_fit_whose_gap_stays_large_has_a_time_left(monkeypatch):
    stream = all_at_once(monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RMR(1e-9, C=1e9, solver="admm", max_iter=5, tol=1e-12).fit(DATA.X, DATA.y)
    assert ", at most 0:00 left" in stream.getvalue()


def test_stages_have_parts_of_the_bar_and_one_time_left(monkeypatch):
    at(monkeypatch, 0.0)
    line = progress.GapLine("GRMR", stream=io.StringIO())
    at(monkeypatch, 10.0)
    with line:
        with progress.turn(0), progress.span(0.0, 0.8):
            progress.tell("split", 1e-3, 1e-6)  # half of 0.8 of the first half
        assert line.share == pytest.approx(progress.ALMOST * 0.2)
        assert line.words(10.0) == "split, gap 1e-03 of 1e-06 0:40 left"
        with progress.turn(1):
            progress.reached("reading", 0.0)
            assert line.words(10.0) == "reading 0:10 left"
            progress.tell("split", 1e-6, 1e-6)
        assert line.share == pytest.approx(progress.ALMOST * 0.75)
        with progress.without_progress():
            progress.tell("inner", 1e-6, 1e-6)
        with progress.turn(0):
            progress.tell("split", 1.0, 1e-6)
        assert line.share == pytest.approx(progress.ALMOST * 0.75)  # it never goes back


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


def test_there_is_room_for_the_time_left(monkeypatch):
    stream = all_at_once(monkeypatch)
    for stage in (*progress.STAGES, "augmented Lagrangian", "alternating directions"):
        with progress.GapLine("GRMRCV") as line:
            line.show(stage, 1e-1, 1e-6, 0.0)
            line.show(stage, 1e-5, 1e-6, 0.0)
            line._draw_now(time.perf_counter())
        last = stream.getvalue().split("\r")[-2].removesuffix(progress.CLEAR)
        assert last.endswith(" left") and len(last) < 80, last


def test_the_time_left_of_a_part_is_that_of_the_whole(monkeypatch):
    at(monkeypatch, 0.0)
    whole, folds = progress.Line("report", stream=io.StringIO()), progress.Progress("folds", 4)
    with whole, progress.span(0.0, 0.5), folds:
        at(monkeypatch, 10.0)
        folds.step(3)
        # Three of four folds are 3/8 of the whole: 10 s so far leave 16.7 s.
        assert whole.words(10.0) == "3/4 0:16 left"
    with whole, progress.span(0.5, 1.0), progress.Progress("refits", 4) as last:
        at(monkeypatch, 20.0)
        last.step()
        assert whole.words(20.0) == "1/4 0:30 left"  # the whole ends with its last part


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


def test_steps_of_another_kind_have_their_own_rate(monkeypatch):
    """A search that goes on elsewhere may need longer for a fit."""
    at(monkeypatch, 0.0)
    bar = progress.Progress("fits", 10, stream=io.StringIO())
    bar.expect(4)
    at(monkeypatch, 4.0)
    bar.step(4)
    assert bar.words(4.0) == "4/10 0:06 left"
    bar.expect(2)
    at(monkeypatch, 7.0)
    bar.step()
    assert bar.words(7.0) == "5/10 0:15 left"
    bar.expect(8)
    assert bar.total == 13
