"""``matreg reproduce``: the paper's experiments."""

from __future__ import annotations

import argparse
import time
from typing import Any

from .outputs import check_folder, say

# Names of the experiments in matreg.experiments, which takes long to import.
NAMES = ("shapes", "tau-path", "finance", "head-pose", "risk-bound", "label-noise", "smm")
HELP = "run the paper's experiments"
DESCRIPTION = (
    "Run an experiment of the paper: print its table with our numbers beside the "
    "paper's, and write the table (CSV, Markdown), the figures (PNG, SVG) and a record of "
    "versions, seeds, parameters and times (JSON)."
)
EXAMPLES = """examples:
  matreg reproduce shapes --quick
  matreg reproduce finance --rounds 10 --out results
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("experiment", choices=[*NAMES, "all"])
    parser.add_argument("--out", default="results", metavar="DIR", help="folder for the files")
    parser.add_argument(
        "--rounds", type=_positive, metavar="N", help="repetitions (default: a short form)"
    )
    parser.add_argument("--seed", type=int, default=0, help="start of the random numbers")
    parser.add_argument("--quick", action="store_true", help="everything small, one round")
    parser.add_argument("--data", metavar="DIR", help="folder of the QMUL or FEI faces (head-pose)")
    parser.add_argument(
        "--jobs", type=int, default=-1, metavar="N", help="processes (default: one per core)"
    )


def run(args: argparse.Namespace) -> None:
    """Run one experiment, or all."""
    from ..experiments import Options
    from ..experiments.figures import pyplot
    from ..experiments.records import commit

    options = Options(
        rounds=args.rounds, seed=args.seed, quick=args.quick, data=args.data, jobs=args.jobs
    )
    pyplot().switch_backend("Agg")  # fails before the work if matplotlib is missing
    commit()
    check_folder(args.out)
    for name in NAMES if args.experiment == "all" else [args.experiment]:
        _reproduce(name, options, args.out)


def _reproduce(name: str, options: Any, out: str) -> None:
    from ..experiments import EXPERIMENTS

    start = time.perf_counter()
    result = EXPERIMENTS[name](options)
    seconds = time.perf_counter() - start
    print(result.to_text())
    paths = result.save(out, options, seconds)
    say(f"{seconds:.0f} s. Written to {out}: {', '.join(path.name for path in paths)}\n")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1; got {number}")
    return number
