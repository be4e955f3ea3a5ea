"""Ctrl-C: real signals to real processes, alone and with workers."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from matreg._runtime import interruption

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")

# Where tests run in the background Ctrl-C is ignored, and children inherit that.
DATA = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from matreg import RMR, RMRCV, path
from matreg.datasets import make_matrix_regression
from sklearn.model_selection import cross_val_score
data = make_matrix_regression(120, (8, 8), noise_scale=0.5, random_state=0)
search = RMRCV(C="scale", cv=10, verbose=1)
"""
LOOPS = {
    "paths": "while True: path(RMR(), data.X, data.y, n_taus=200, verbose=1)",
    "searches": "cross_val_score(search, data.X, data.y, cv=100)",
}
SEARCH = """
search.set_params(n_jobs=2, cv=60, taus=[50.0 / 2**k for k in range(10)]).fit(data.X, data.y)
print(len([name for name in search.cv_results_ if name.startswith("split")]))
"""


@pytest.fixture
def started():
    """Start a script in a process group of its own, which is gone at the end."""
    runs = []

    def start(code):
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"}
        run = subprocess.Popen(
            [sys.executable, "-c", DATA + code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
            start_new_session=True,
        )
        # A script that does not end fails the test instead of holding it up.
        watchdog = threading.Timer(120.0, run.kill)
        watchdog.start()
        runs.append((run, watchdog))
        return run

    yield start
    for run, watchdog in runs:
        watchdog.cancel()
        run.stdout.close()
        run.stderr.close()
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


def press_ctrl_c_after(words, run):
    """Press it when the words appear; a terminal sends the signal to all of the group."""
    for line in run.stderr:
        if words in line:
            os.killpg(run.pid, signal.SIGINT)
            return
    raise AssertionError(f"{words!r} never appeared")


@pytest.mark.parametrize("loop", LOOPS)
def test_pressed_twice_a_loop_ends(started, loop):
    run = started(LOOPS[loop])
    press_ctrl_c_after("1", run)
    press_ctrl_c_after(interruption.ADVICE, run)
    _, errors = run.communicate(timeout=60)
    assert errors.rstrip().endswith("KeyboardInterrupt") and run.returncode != 0


def test_a_search_with_workers_keeps_finished_folds_and_leaves_no_process(started):
    run = started(SEARCH)
    press_ctrl_c_after("fits: 60/600", run)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 0, errors
    assert 6 <= int(output) < 60 and f"on the {int(output)} of 60 folds" in errors
    deadline = time.monotonic() + 10.0
    while time.monotonic() < deadline:
        try:
            os.killpg(run.pid, 0)  # is anybody left in the group?
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("processes are left behind")


def test_a_second_time_later_on_is_a_first_time(monkeypatch):
    now = iter([0.0, 1.0, 2.0, 2.0 + 2.0 * interruption.AGAIN])
    monkeypatch.setattr(interruption.time, "monotonic", lambda: next(now))
    assert [interruption.may_keep() for _ in range(4)] == [True, False, False, True]
    monkeypatch.setattr(interruption, "parent_process", lambda: object())
    monkeypatch.setattr(interruption.time, "monotonic", lambda: 1000.0)
    assert not interruption.may_keep()
