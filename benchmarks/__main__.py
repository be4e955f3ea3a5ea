"""Run a benchmark and keep its record, or run all benchmarks of speed.

    python -m benchmarks                                  speed, growth and paths
    python -m benchmarks solvers --skip clarabel          one, with its options
    python -m benchmarks fold_accuracy --record results   its tables too as JSON and Markdown

A benchmark with several records has a hyphen and a further word in their names:
``python -m benchmarks beside-units units --record results``. A record has the tables that
:func:`benchmarks.timing.print_table` printed, with the options, the seeds, the commit, the
versions, the machine and the seconds. The seeds are the text ``SEEDS`` of the benchmark, which may
name its options in braces.
"""

from __future__ import annotations

import argparse
import runpy
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from unittest.mock import patch

from matreg.experiments.records import about, commit, write_record

from . import timing

SPEED = (
    "solvers",
    "growth",
    "paths",
    "grmr_speed",
    "grmr_recovery",
    "grmr_detail",
    "grmr_missing",
)


def run_all() -> None:
    """Run the benchmarks of speed, each in another process."""
    for name in SPEED:
        print(f"== benchmarks.{name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)


def run_one(name: str, options: list[str]) -> None:
    """Run one benchmark in this process; ``--record FOLDER`` writes its tables there."""
    folder = None
    if "--record" in options:
        k = options.index("--record")
        if k + 1 == len(options):
            sys.exit("--record needs a folder")
        folder = options[k + 1]
        options = options[:k] + options[k + 2 :]
    sys.argv = [name, *options]
    commit()  # remembered, as the code may change while the benchmark runs
    start = time.perf_counter()
    drawn = run_module(f"benchmarks.{name.partition('-')[0]}")
    if folder is not None:
        save(name, options, drawn, Path(folder), time.perf_counter() - start)


def run_module(module: str) -> dict[str, Any]:
    """Run a module as a command; its options as argparse read them, defaults too, and its seeds."""
    read: dict[str, Any] = {}
    parse = argparse.ArgumentParser.parse_args

    def parse_args(self: argparse.ArgumentParser, *given: Any) -> argparse.Namespace:
        found = parse(self, *given)
        read.update(vars(found))
        return found

    with patch.object(argparse.ArgumentParser, "parse_args", parse_args):
        seeds = runpy.run_module(module, run_name="__main__").get("SEEDS")
    kept = {name: value for name, value in read.items() if not isinstance(value, Path)}
    return {"options": kept, "seeds": seeds and seeds.format(**read)}


def save(
    name: str, options: list[str], drawn: dict[str, Any], folder: Path, seconds: float
) -> None:
    """Write the record of a benchmark that has run."""
    if not timing.PRINTED:
        sys.exit(f"benchmarks.{name} prints no table, so that there is nothing to record")
    if not drawn["seeds"]:
        sys.exit(f"benchmarks.{name} does not say its seeds, so that it cannot be recorded")
    folder.mkdir(parents=True, exist_ok=True)
    command = " ".join(["python -m benchmarks", name, *options])
    own = {"experiment": name, "command": command, "form": "", "notes": []}
    for path in write_record(own | drawn | about(timing.PRINTED, seconds), folder):
        print(f"Written: {path}")


if __name__ == "__main__":
    run_one(sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else run_all()
