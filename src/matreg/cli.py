"""The command ``matreg``."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from . import __version__
from .experiments import EXPERIMENTS, Options
from .experiments.figures import require_matplotlib


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Arguments instead of those of the process.

    Returns
    -------
    int
        Exit status: 0, or 1 with a sentence on standard error, or 130 when interrupted.
    """
    args = _parser().parse_args(arguments)
    options = Options(
        rounds=args.rounds, seed=args.seed, quick=args.quick, data=args.data, jobs=args.jobs
    )
    names = list(EXPERIMENTS) if args.experiment == "all" else [args.experiment]
    try:
        require_matplotlib()  # now, not after minutes of computing
        for name in names:
            _reproduce(name, options, args.out)
    except (ImportError, OSError) as error:
        print(f"matreg: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nmatreg: interrupted", file=sys.stderr)
        return 130
    return 0


def _reproduce(name: str, options: Options, out: str) -> None:
    start = time.perf_counter()
    result = EXPERIMENTS[name](options)
    seconds = time.perf_counter() - start
    print(result.to_text())
    paths = result.save(out, options, seconds)
    print(f"{seconds:.0f} s. Written to {out}: {', '.join(path.name for path in paths)}\n")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="matreg", description="Robust regression on matrices.")
    parser.add_argument("--version", action="version", version=f"matreg {__version__}")
    commands = parser.add_subparsers(required=True, metavar="command")
    reproduce = commands.add_parser(
        "reproduce",
        help="run the paper's experiments",
        description="Run an experiment of the paper: print its table with our numbers beside the "
        "paper's, and write the table (CSV, Markdown), the figures (PNG, SVG) and a record of "
        "versions, seeds, parameters and times (JSON).",
    )
    reproduce.add_argument("experiment", choices=[*EXPERIMENTS, "all"])
    reproduce.add_argument("--out", default="results", metavar="DIR", help="folder for the files")
    reproduce.add_argument(
        "--rounds", type=_positive, metavar="N", help="repetitions (default: a short form)"
    )
    reproduce.add_argument("--seed", type=int, default=0, help="start of the random numbers")
    reproduce.add_argument("--quick", action="store_true", help="everything small, one round")
    reproduce.add_argument("--data", metavar="DIR", help="folder of the QMUL faces (head-pose)")
    reproduce.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="processes (default: one a core)"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {number}")
    return number
