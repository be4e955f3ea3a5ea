"""The command ``matreg``: one module a command, each with its options and what it does."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from typing import Any

from .. import __version__
from . import fit, inspect, predict, report, reproduce

COMMANDS = (fit, predict, inspect, report, reproduce)


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
        interrupted.
    """
    args = _parser().parse_args(arguments)
    with warnings.catch_warnings():
        warnings.showwarning = _say
        try:
            args.run(args)
        except (ImportError, OSError, ValueError, TypeError, KeyError) as error:
            print(f"matreg: {_sentence(error)}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            print("\nmatreg: interrupted", file=sys.stderr)
            return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="matreg", description="Robust learning on matrices.")
    parser.add_argument("--version", action="version", version=f"matreg {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    for command in COMMANDS:
        command.add_command(commands)
    return parser


def _sentence(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return " ".join(text.split()) or type(error).__name__


def _say(message: Any, *_: Any, **__: Any) -> None:
    """Write a warning as one line, without a place in the code."""
    print(f"matreg: warning: {' '.join(str(message).split())}", file=sys.stderr)
