"""The command ``matreg``: one module per command, with its help, its options and `run`.

Nothing heavy is imported before a command runs, so that ``matreg --help`` is fast.

fit  predict  inspect  report  reproduce      the commands
options       options of the data; choice: the model, and which parameters folds choose
data          samples, labels and groups of a file; readers: formats; tables: CSV
axes          names and coordinates; labels: checks whether labels are numbers or classes
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
AGAIN = 0.1  # seconds after which a lost signal is raised again
EXAMPLES = """examples:
  matreg fit data.npz -o model.skops
  matreg predict model.skops new.npz -o predictions.csv
  matreg report model.skops data.npz -o report.html
  matreg fit --help           options and examples of a command

exit status: 0, 1 after an error, 2 for wrong arguments, 130 after Ctrl-C, 143 after SIGTERM
"""


# Errors whose messages are shown without a traceback; storage libraries raise RuntimeError.
HANDLED = (ImportError, OSError, ValueError, TypeError, KeyError, MemoryError, RuntimeError)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Exit status: 0; 1 after an error, with a sentence on standard error; 2 for wrong arguments; 130
    when interrupted, even if finished results were kept and written; 143 when terminated.
    """
    args = _parser().parse_args(arguments)
    files.WRITTEN.clear()
    with warnings.catch_warnings(), _watching_signals() as seen:
        warnings.showwarning = _warn
        try:
            args.run(args)
        except HANDLED as error:
            if not seen:  # compiled code may turn the exception of a signal into another error
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
        epilog=EXAMPLES,
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"matreg {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in COMMANDS:
        added = commands.add_parser(
            command.__name__.rpartition(".")[2],
            help=command.HELP,
            description=command.DESCRIPTION,
            epilog=command.EXAMPLES,
            formatter_class=Help,
        )
        command.add_options(added)
        added.set_defaults(run=command.run)
    return parser


class Terminated(BaseException):
    """SIGTERM as an exception that no handler catches, so that files and workers are cleaned up."""


@contextmanager
def _watching_signals() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM: after Ctrl-C a search with finished folds returns as usual."""
    seen: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    def terminate(number: int, frame: Any) -> None:
        seen.append(number)
        raise Terminated

    def swallowed(found: Any) -> None:
        """Raise a signal again if it arrived in a destructor, where Python ignores exceptions."""
        if isinstance(found.exc_value, KeyboardInterrupt | Terminated):
            again.append(threading.Timer(AGAIN, _raise_in_main_thread, seen[-1:]))
            again[-1].start()
        else:
            reported(found)

    ways: dict[int, tuple[Any, Any]] = {  # the usual handler, and its replacement
        signal.SIGINT: (signal.default_int_handler, interrupt),
        signal.SIGTERM: (signal.SIG_DFL, terminate),
    }
    main_thread = threading.current_thread() is threading.main_thread()
    # Jobs in the background ignore Ctrl-C, and a program around this one may have other handlers.
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


def _raise_in_main_thread(number: int) -> None:
    """Raise a signal that interrupts the main thread even if it waits in a system call."""
    thread = threading.main_thread().ident
    if thread is not None and hasattr(signal, "pthread_kill"):
        signal.pthread_kill(thread, number)
    else:
        signal.raise_signal(number)


def _sentence(error: BaseException) -> str:
    """An error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"The memory of this machine does not suffice. {error}".strip()
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text or type(error).__name__


def _warn(message: Any, *_: Any, **__: Any) -> None:
    """Write a warning as one line, without file and line number."""
    outputs.say(f"matreg: warning: {message}", sys.stderr)
