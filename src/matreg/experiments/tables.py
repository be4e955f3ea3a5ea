"""Tables of numbers as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array


class Stat(NamedTuple):
    """Mean and standard deviation over rounds."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: ArrayLike) -> Stat:
        """Mean and deviation of the values of the rounds; one round has no deviation."""
        values = np.asarray(values, dtype=float)
        return cls(float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else np.nan)

    @classmethod
    def of_each(cls, values: Array) -> list[Stat]:
        """Mean and deviation of each column of values (rounds, methods)."""
        return [cls.of(column) for column in values.T]


Cell = str | int | float | Stat | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]  # None is an empty cell
    digits: int = 4  # decimals in text and Markdown; CSV keeps all

    def to_text(self) -> str:
        """Aligned columns for a terminal."""
        cells = [list(self.columns), *self.formatted()]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells]
        return "\n".join([self.title, "", lines[0], "-" * len(lines[0]), *lines[1:], ""])

    def to_markdown(self) -> str:
        """Write a Markdown table under its title."""
        rows = [self.columns, ["---"] * len(self.columns), *self.formatted()]
        return "\n".join([f"**{self.title}**", "", *(f"| {' | '.join(row)} |" for row in rows), ""])

    def to_csv(self) -> str:
        """Comma-separated values; a mean and its deviation are two columns."""
        cells = zip(self.columns, *self.rows, strict=True)
        pairs = [any(isinstance(cell, Stat) for cell in column) for column in cells]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        names = (
            [f"{c} mean", f"{c} std"] if two else [c]
            for c, two in zip(self.columns, pairs, strict=True)
        )
        writer.writerow(chain(*names))
        writer.writerows(chain(*map(_spread, row, pairs)) for row in self.rows)
        return stream.getvalue()

    def to_record(self) -> dict[str, Any]:
        """The table in types of JSON; :meth:`from_record` makes the same table again."""
        rows = [[_to_json(cell) for cell in row] for row in self.rows]
        columns = list(self.columns)
        return {"title": self.title, "columns": columns, "rows": rows, "digits": self.digits}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Table:
        """Table of a dict from :meth:`to_record`."""
        rows = [[_from_json(cell) for cell in row] for row in record["rows"]]
        return cls(record["title"], record["columns"], rows, record["digits"])

    def formatted(self) -> list[list[str]]:
        """Cells as they are in text and Markdown."""
        return [[_format(cell, self.digits) for cell in row] for row in self.rows]


def _to_json(cell: Cell) -> Any:
    if not isinstance(cell, Stat):
        return cell
    # JSON has no NaN for the deviation of one round.
    return {"mean": cell.mean, "std": None if np.isnan(cell.std) else cell.std}


def _from_json(cell: Any) -> Cell:
    if not isinstance(cell, dict):
        return cell
    return Stat(cell["mean"], np.nan if cell["std"] is None else cell["std"])


def _spread(cell: Cell, pair: bool) -> list[Cell]:
    """A cell of CSV, or the two of a mean and its deviation."""
    if isinstance(cell, Stat):
        return list(cell)
    return [cell, None] if pair else [cell]


def _format(cell: Cell, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Stat):
        mean = f"{cell.mean:.{digits}f}"
        return mean if np.isnan(cell.std) else f"{mean} ± {cell.std:.{digits}f}"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)
