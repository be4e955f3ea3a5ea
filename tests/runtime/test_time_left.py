"""The time left that progress bars show, of counted work and of single fits."""

import io
import time
import warnings

import pytest

from matreg import RMR
from matreg._runtime import progress
from matreg.datasets import make_matrix_regression
from terminals import Terminal, all_at_once


def at(monkeypatch, seconds):
    """Let the clock show so many seconds."""
    monkeypatch.setattr(progress.time, "perf_counter", lambda: seconds)


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
    data = make_matrix_regression(60, (4, 4), noise_scale=0.5, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        RMR(1e-9, C=1e9, solver="admm", max_iter=5, tol=1e-12).fit(data.X, data.y)
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
