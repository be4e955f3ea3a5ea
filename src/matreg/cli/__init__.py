"""The command ``matreg``: one module per command, each with its options and what it does.

Nothing heavy is imported before a command runs, so that ``matreg --help`` answers at once.

fit  predict  inspect  report  reproduce      the commands
options       where things are in the data; choice: which model and what is chosen by folds
data          samples, labels and groups of a file; readers: formats; tables: CSV
axes          names and coordinates; labels: labels that may not be what they look like
model_files   fitted models in files; outputs: files and lines that are written
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from .. import __version__
from .._runtime import files
from . import fit, inspect, outputs, predict, report, reproduce
from .options import Help

COMMANDS = (fit, predict, inspect, report, reproduce)
AGAIN = 0.1  # seconds after which a signal that was swallowed is raised again
EXAMPLE = """examples:
  matreg fit data.npz -o model.skops
  matreg predict model.skops new.npz -o predictions.csv
  matreg report model.skops data.npz -o report.html
  matreg fit --help           options and examples of a command

exit status: 0, 1 after an error, 2 for wrong arguments, 130 after Ctrl-C, 143 after SIGTERM
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Arguments instead of those of the process.

    Returns
    -------
    int
        Exit status: 0, or 1 with a sentence on standard error, 2 for wrong arguments, 130 when
        interrupted, even if what was finished has been kept and written, or 143 when terminated.
    """
    args = _parser().parse_args(arguments)
    files.WRITTEN.clear()
    with warnings.catch_warnings(), _watching_signals() as seen:
        warnings.showwarning = _warn
        try:
            args.run(args)
        except (ImportError, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
            outputs.say(f"matreg: {_sentence(error)}", sys.stderr)
            return 1
        except KeyboardInterrupt:
            seen.append(signal.SIGINT)
        except Terminated:
            pass
    if not seen:
        return 0
    said = "terminated" if signal.SIGTERM in seen else "interrupted"
    written = ", ".join(files.WRITTEN) or "nothing"
    outputs.say(f"matreg: {said}; written: {written}", sys.stderr)
    return 143 if said == "terminated" else 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="matreg",
        description="Robust learning on matrices.",
        epilog=EXAMPLE,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"matreg {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in COMMANDS:
        command.add_command(commands)
    return parser


class Terminated(BaseException):
    """SIGTERM, as an exception that nothing catches on its way: files and workers are cleared."""


@contextmanager
def _watching_signals() -> Iterator[list[int]]:
    """Note Ctrl-C and SIGTERM.

    A search that keeps its finished folds returns as if there had been no Ctrl-C.
    """
    seen: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    def terminate(number: int, frame: Any) -> None:
        seen.append(number)
        raise Terminated

    def swallowed(found: Any) -> None:
        """Python prints and forgets what is raised in a destructor: the signal comes again."""
        if isinstance(found.exc_value, KeyboardInterrupt | Terminated):
            again.append(threading.Timer(AGAIN, signal.raise_signal, seen[-1:]))
            again[-1].start()
        else:
            reported(found)

    ways: dict[int, tuple[Any, Any]] = {  # what is usual, and what is put in its place
        signal.SIGINT: (signal.default_int_handler, interrupt),
        signal.SIGTERM: (signal.SIG_DFL, terminate),
    }
    main_thread = threading.current_thread() is threading.main_thread()
    # Jobs in the background ignore Ctrl-C, and programs around this one may have their own way.
    changed = [
        number
        for number, (usual, _) in ways.items()
        if main_thread and signal.getsignal(number) is usual
    ]
    again: list[threading.Timer] = []
    reported = sys.unraisablehook
    try:
        for number in changed:
            signal.signal(number, ways[number][1])
        sys.unraisablehook = swallowed
        yield seen
    finally:
        sys.unraisablehook = reported
        for number in changed:
            signal.signal(number, signal.SIG_IGN)
        for timer in again:
            timer.cancel()
            timer.join()
        for number in changed:
            signal.signal(number, ways[number][0])


def _sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"The memory of this machine does not suffice. {error}".strip()
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text or type(error).__name__


def _warn(message: Any, *_: Any, **__: Any) -> None:
    """Write a warning as one line, without a place in the code."""
    outputs.say(f"matreg: warning: {message}", sys.stderr)
