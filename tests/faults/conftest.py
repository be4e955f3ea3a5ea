"""Scripts in processes of their own, which tests interrupt, limit and kill."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

# Imports once and forks for each script, which then runs as the main program of its process.
NURSERY = """
import json, os, signal, sys
import matreg, matreg.cli.fit, matreg.cli.data, matreg.cli.model_files, matreg.inspection
from matreg.datasets import make_matrix_regression
for line in sys.stdin:
    asked = json.loads(line)
    if "wait" in asked:
        print(os.waitstatus_to_exitcode(os.waitpid(asked["wait"], 0)[1]), flush=True)
        continue
    child = os.fork()
    if not child:
        break
    print(child, flush=True)
else:
    os._exit(0)
os.setsid()
signal.alarm(120)  # a script that does not end fails the test instead of holding it up
for number, name in ((1, "stdout"), (2, "stderr")):
    os.dup2(os.open(os.path.join(asked["folder"], name), os.O_CREAT | os.O_RDWR), number)
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs ignore it
os.chdir(asked["folder"])
exec(asked["code"])
"""


@dataclass
class Script:
    """A running script; its output is in files beside its folder."""

    nursery: subprocess.Popen
    pid: int
    said: Path

    @property
    def stdout(self):
        return (self.said / "stdout").read_text()

    @property
    def stderr(self):
        return (self.said / "stderr").read_text()

    def wait_for(self, words, stream="stdout"):
        deadline = time.monotonic() + 60.0
        while words not in (self.said / stream).read_text():
            assert time.monotonic() < deadline, self.stderr
            time.sleep(0.002)

    def end(self):
        """Exit status, negative for a signal."""
        return int(_ask(self.nursery, {"wait": self.pid}))

    def group(self):
        """What the processes of its group are, those that wait to be collected left out."""
        listed = subprocess.run(
            ["ps", "-ww", "-eo", "pgid=,stat=,args="], capture_output=True, text=True
        )
        fields = (line.split(maxsplit=2) for line in listed.stdout.splitlines())
        return "".join(
            args for pgid, stat, args in fields if int(pgid) == self.pid and "Z" not in stat
        )

    def leaves_nobody(self, seconds=20.0):
        """Whether its process group is soon empty."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            try:
                os.killpg(self.pid, 0)
            except ProcessLookupError:
                return True
            time.sleep(0.05)
        os.killpg(self.pid, signal.SIGKILL)
        return False


def _ask(nursery, question):
    nursery.stdin.write(json.dumps(question) + "\n")
    nursery.stdin.flush()
    return nursery.stdout.readline()


@pytest.fixture(scope="session")
def nursery():
    if sys.platform == "win32":
        pytest.skip("signals, limits and forks of POSIX")
    with subprocess.Popen(
        [sys.executable, "-c", NURSERY],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1"},
    ) as process:
        yield process
        process.stdin.close()


@pytest.fixture
def start(nursery, tmp_path):
    """Start Python code in a folder of its own, ``folder``."""
    scripts = []

    def start(code):
        said = tmp_path / f"said-{len(scripts)}"
        said.mkdir()
        for name in ("stdout", "stderr"):
            (said / name).touch()
        pid = int(_ask(nursery, {"code": code, "folder": str(said)}))
        scripts.append(Script(nursery, pid, said))
        return scripts[-1]

    yield start
    for script in scripts:
        with suppress(ProcessLookupError):  # those that a test has left when it failed
            os.killpg(script.pid, signal.SIGKILL)
