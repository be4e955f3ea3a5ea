"""Options and results of an experiment, and the record of a result."""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.files import writing
from .._runtime.packages import versions
from .figures import save
from .tables import Table

WHOLE = 10  # the paper's repetitions


@dataclass(frozen=True)
class Options:
    """Settings that all experiments share."""

    rounds: int | None = None  # repetitions; None is the short form of the experiment
    seed: int = 0
    quick: bool = False  # whether to make everything small, to see that it runs
    data: str | None = None  # folder of the QMUL or FEI faces
    jobs: int = 1  # processes; -1 is one per core

    def seeds(self, short: int) -> range:
        """One seed per round; by default the rounds of the short form, or one if quick."""
        rounds = self.rounds if self.rounds is not None else 1 if self.quick else short
        return range(self.seed, self.seed + rounds)


def which_form(rounds: int) -> str:
    """Whether a number of repetitions is the short or the whole form of an experiment."""
    return "the whole form" if rounds >= WHOLE else f"the short form (--rounds {WHOLE} is whole)"


@dataclass(frozen=True)
class Result:
    """Outcome of an experiment."""

    name: str  # name of the experiment and of its files
    form: str  # which form was run, in a sentence
    tables: Sequence[Table]  # the main table first
    figures: Mapping[str, Callable[[], Any]]  # functions that draw, by name
    seeds: Sequence[int]  # seeds of the rounds
    parameters: Mapping[str, Any]  # everything that was set or chosen
    values: Mapping[str, Any]  # raw numbers
    notes: Sequence[str] = ()

    def to_text(self) -> str:
        """Tables and notes for a terminal."""
        return "\n".join([*(table.to_text() for table in self.tables), *self.notes, self.form])

    def save(self, folder: str | os.PathLike[str], options: Options, seconds: float) -> list[Path]:
        """Write tables, figures and the record into a folder, and return the paths of the files."""
        root = Path(folder)
        root.mkdir(parents=True, exist_ok=True)
        paths = []
        for number, table in enumerate(self.tables, start=1):
            stem = self.name if number == 1 else f"{self.name}-{number}"
            paths += [_write(root / f"{stem}.csv", table.to_csv())]
        paths += write_record(self.record(options, seconds), root)
        for key, draw in self.figures.items():
            paths += save(draw, root, f"{self.name}-{key}")
        return paths

    def record(self, options: Options, seconds: float) -> dict[str, Any]:
        """The numbers, the command that computes them, and the tables."""
        record = {
            "experiment": self.name,
            "command": _command(self.name, options),
            "form": self.form,
            "options": vars(options),
            "seeds": list(self.seeds),
            "parameters": self.parameters,
            "values": self.values,
            "notes": list(self.notes),
        }
        return record | about(self.tables, seconds)


def about(tables: Sequence[Table], seconds: float) -> dict[str, Any]:
    """The entries that all records have: tables, date, seconds, commit, versions and machine."""
    return {
        "tables": [table.to_record() for table in tables],
        "seconds": round(seconds, 2),
        "date": datetime.now(UTC).date().isoformat(),
        "commit": commit(),
        "versions": versions(),
        "machine": {"platform": platform.platform(), "cores": os.cpu_count()},
    }


def write_record(record: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write a record as JSON, and its tables as Markdown."""
    name = record["experiment"]
    return [
        _write(folder / f"{name}.md", to_markdown(record)),
        _write(folder / f"{name}.json", json.dumps(record, indent=1, default=_plain) + "\n"),
    ]


def to_markdown(record: Mapping[str, Any]) -> str:
    """Tables and notes of a record, then the line of its origin."""
    tables = [Table.from_record(table).to_markdown() for table in record["tables"]]
    paragraphs = [*tables, *(f"{note}\n" for note in [*record["notes"], record["form"]] if note)]
    return "\n".join([*paragraphs, origin(record) + "\n"])


def origin(record: Mapping[str, Any]) -> str:
    """Command, date, commit and seconds of a record in a sentence."""
    code = f"commit {record['commit'][:9]}" if record["commit"] else "an unknown commit"
    changed = " with changes" if str(record["commit"]).endswith("+") else ""
    took = record["seconds"]
    seconds = "" if took is None else f", {took:.0f} s on {record['machine']['cores']} cores"
    return f"*`{record['command']}`, {record['date']}, {code}{changed}{seconds}.*"


@cache
def commit() -> str | None:
    """Commit of the source, with a plus if the package has changed since; None without git.

    The first call is remembered: call it before the work, as the source may change meanwhile.
    """
    here = Path(__file__)

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here.parent), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    try:
        git("ls-files", "--error-unmatch", here.name)  # refuses a repository around a venv
        changed = git("status", "--porcelain", "--", str(here.parent.parent))
        return git("rev-parse", "HEAD") + ("+" if changed else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def _command(name: str, options: Options) -> str:
    """The command that runs an experiment with these options, without the number of processes."""
    words = ["matreg", "reproduce", name]
    words += [] if options.rounds is None else ["--rounds", str(options.rounds)]
    words += ["--seed", str(options.seed)] if options.seed else []
    words += ["--quick"] if options.quick else []
    words += ["--data", "DIR"] if options.data else []
    return " ".join(words)


def _plain(value: Any) -> Any:
    """Turn NumPy's types into types of JSON."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    return str(value)


def _write(path: Path, text: str) -> Path:
    with writing(path, "w") as stream:
        stream.write(text)
    return path
