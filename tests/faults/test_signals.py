"""SIGINT and SIGTERM at random moments: the same answer, or one clear sentence, and nobody left.

What a script prints first says that it is at work; the moments are shares of the time that it
takes undisturbed.
"""

import os
import signal
import time

import numpy as np
import pytest

SEED = 0
N_MOMENTS = 2

DATA = """
import numpy as np
data = make_matrix_regression(200, (8, 8), noise_scale=0.5, random_state=0)
print("at work", flush=True)
"""
# Each prints the objective that it reached and the gap that it states.
WORK = {
    "fit": "model = matreg.RMR(tau=3.0, C=1.0, epsilon=0.1).fit(data.X, data.y)",
    "search": "model = matreg.RMRCV(C=1.0, epsilon=0.1, cv=3, n_taus=6).fit(data.X, data.y)",
    "passes": """
import sklearn
data = make_matrix_regression(6000, (6, 5), noise_scale=0.5, random_state=0)
np.save("X.npy", data.X)
with sklearn.config_context(working_memory=1):
    stored = np.load("X.npy", mmap_mode="r")
    model = matreg.RMR(tau=30.0, C=1.0, epsilon=0.1).fit(stored, data.y)
""",
}
TELL = "\nprint('answer', model.objective_, model.dual_gap_, flush=True)\n"


def moments(seconds, seed):
    """Random moments of work that takes some seconds."""
    return np.random.default_rng([SEED, seed]).uniform(0.0, seconds, N_MOMENTS)


def undisturbed(script):
    """Seconds of a script from its first words to its end."""
    script.wait_for("at work")
    begin = time.monotonic()
    assert script.end() == 0, script.stderr
    return time.monotonic() - begin


def disturb(script, number, seconds):
    """Send a signal some seconds after the first words, and return the exit status."""
    script.wait_for("at work")
    time.sleep(seconds)
    os.killpg(script.pid, number)
    return script.end()


def answer(script):
    """Objective and gap that a script has printed, or None."""
    lines = [line for line in script.stdout.splitlines() if line.startswith("answer")]
    return [float(word) for word in lines[0].split()[1:]] if lines else None


@pytest.mark.parametrize("work", WORK)
def test_a_program_ends_in_the_same_answer_or_in_the_interrupt(work, start):
    code = DATA + WORK[work] + TELL
    alone = start(code)
    seconds = undisturbed(alone)
    best, _ = answer(alone)
    for moment in moments(seconds, len(work)):
        script = start(code)
        status = disturb(script, signal.SIGINT, moment)
        assert script.leaves_nobody()
        found = answer(script)
        if found is None:
            assert status != 0 and script.stderr.endswith("\nKeyboardInterrupt\n")
            assert "Error" not in script.stderr  # nothing else went wrong on the way out
        elif "Ctrl-C" not in script.stderr:
            assert found[0] == pytest.approx(best, rel=1e-5)
        elif work == "passes":  # what it had was kept, and the certificate is that of it
            assert found[0] * (1.0 - found[1]) <= best * (1.0 + 1e-6) <= found[0] * (1.0 + 2e-6)


COMMAND = """
import os, sys
from matreg.cli import {name}, main
if not os.path.exists("d.npz"):
    data = make_matrix_regression(150, (6, 6), noise_scale=0.5, random_state=0)
    import numpy as np
    np.savez("d.npz", X=data.X, y=data.y)
    main(["fit", "d.npz", "--tau", "3", "--cv", "0", "-o", "old.skops"])
work = {name}.run
def announced(args):
    print("at work", flush=True)
    work(args)
{name}.run = announced
sys.exit(main({arguments}))
"""
COMMANDS = {
    "fit": ["fit", "d.npz", "--cv", "3", "--n-taus", "6", "-o", "out.skops"],
    "predict": ["predict", "old.skops", "d.npz", "-o", "out.csv"],
    "report": ["report", "old.skops", "d.npz", "--cv", "2", "-o", "out.html"],
}


def whole(path):
    """Whether a file that a command has written is all there."""
    if path.suffix == ".skops":
        from matreg.cli.model_files import load_model

        return load_model(str(path))[0].rank_ > 0
    if path.suffix == ".csv":
        return len(path.read_text().splitlines()) == 151
    return path.read_text().rstrip().endswith("</html>")


ENDS = {signal.SIGINT: ("interrupted", 130), signal.SIGTERM: ("terminated", 143)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_ends_in_a_whole_file_or_in_none(name, start):
    pytest.importorskip("skops", reason="skops is not installed")
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    code = COMMAND.format(name=name, arguments=COMMANDS[name])
    seconds = undisturbed(start(code))
    for moment, (number, (said, expected)) in zip(
        moments(seconds, len(name)), ENDS.items(), strict=True
    ):
        script = start(code)
        status = disturb(script, number, moment)
        assert script.leaves_nobody()
        files = {one.name for one in script.said.iterdir()} - {"stdout", "stderr"}
        out = script.said / COMMANDS[name][-1]
        assert files - {out.name} == {"d.npz", "old.skops"}
        assert not out.exists() or whole(out)
        if status == expected:
            written = out.name if out.exists() else "nothing"
            assert script.stderr.endswith(f"matreg: {said}; written: {written}\n")
            assert "Traceback" not in script.stderr
        else:  # the command was over
            assert "ritten to" in script.stdout and out.exists(), script.stderr


SWALLOWED = """
import signal, sys, time
from matreg.cli import fit, main
class Disturbed:
    def __del__(self):
        signal.raise_signal({number})
def in_a_destructor(args):
    Disturbed()
    time.sleep(600.0)  # longer than scripts may take
def in_compiled_code(args):
    try:
        signal.raise_signal({number})
    except BaseException:
        raise ValueError("invalid matrix") from None
fit.run = {where}
sys.exit(main(["fit", "d.npz"]))
"""


@pytest.mark.parametrize("number", ENDS)
@pytest.mark.parametrize("where", ["in_a_destructor", "in_compiled_code"])
def test_a_signal_whose_exception_is_lost_is_not_forgotten(where, number, start):
    """Python prints and forgets exceptions in destructors, compiled code may replace them."""
    script = start(SWALLOWED.format(number=int(number), where=where))
    said, expected = ENDS[number]
    assert script.end() == expected
    assert script.stderr == f"matreg: {said}; written: nothing\n"


def test_workers_end_with_a_terminated_search(start):
    search = "matreg.RMRCV(C=1.0, epsilon=0.1, cv=100, n_taus=4, n_jobs=2, verbose=1)"
    script = start(DATA + search + ".fit(data.X, data.y)")
    script.wait_for("fits: ", "stderr")
    os.kill(script.pid, signal.SIGTERM)  # to the parent alone, as a batch system does
    assert script.end() == -signal.SIGTERM
    assert script.leaves_nobody()


SLOW_TO_END = """
import signal, time
from joblib import delayed
from matreg._runtime.parallel import in_parallel
def work():
    signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.5), os._exit(0)))
    open("begun", "w").close()
    time.sleep(60.0)
for _ in in_parallel([delayed(work)()] * 2, 2):
    pass
"""


def test_a_terminated_program_ends_after_its_workers(start):
    script = start(SLOW_TO_END)
    while not (script.said / "begun").exists():
        time.sleep(0.01)
    os.kill(script.pid, signal.SIGTERM)
    assert script.end() == -signal.SIGTERM
    assert "popen_loky" not in script.group()  # at once; joblib's tracker of files notices later
    assert script.leaves_nobody()
