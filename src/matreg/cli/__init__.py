"""The command ``matreg``: one module per command, each with its options and what it does.

Nothing heavy is imported before a command runs, so that ``matreg --help`` answers at once.
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
from . import fit, inspect, outputs, predict, report, reproduce
from .options import Help

COMMANDS = (fit, predict, inspect, report, reproduce)
EXAMPLE = """examples:
  matreg fit data.npz -o model.skops
  matreg predict model.skops new.npz -o predictions.csv
  matreg report model.skops data.npz -o report.html
  matreg fit --help           options and examples of a command

exit status: 0, 1 after an error, 2 for wrong arguments, 130 after Ctrl-C
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
        Exit status: 0, or 1 with a sentence on standard error, 2 for wrong arguments, or 130 when
        interrupted, even if what was finished has been kept and written.
    """
    args = _parser().parse_args(arguments)
    outputs.WRITTEN.clear()
    with warnings.catch_warnings(), _watching_interrupts() as interrupts:
        warnings.showwarning = _warn
        try:
            args.run(args)
        except (ImportError, OSError, ValueError, TypeError, KeyError, MemoryError) as error:
            outputs.say(f"matreg: {_sentence(error)}", sys.stderr)
            return 1
        except KeyboardInterrupt:
            interrupts.append(signal.SIGINT)
    if interrupts:
        written = ", ".join(outputs.WRITTEN) or "nothing"
        outputs.say(f"matreg: interrupted; written: {written}", sys.stderr)
        return 130
    return 0


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


@contextmanager
def _watching_interrupts() -> Iterator[list[int]]:
    """Note each Ctrl-C: a search that keeps its finished folds returns as if there were none."""
    seen: list[int] = []

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        signal.default_int_handler(number, frame)

    main_thread = threading.current_thread() is threading.main_thread()
    # Jobs in the background ignore Ctrl-C, and programs around this one may have their own way.
    if not main_thread or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield seen
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield seen
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _sentence(error: BaseException) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError):
        return f"The memory of this machine does not suffice. {error}".strip()
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return text or type(error).__name__


def _warn(message: Any, *_: Any, **__: Any) -> None:
    """Write a warning as one line, without a place in the code."""
    outputs.say(f"matreg: warning: {message}", sys.stderr)
