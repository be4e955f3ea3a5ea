"""Tables of numbers as text, Markdown and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike


class Stat(NamedTuple):
    """Mean and standard deviation over rounds."""

    mean: float
    std: float

    @classmethod
    def of(cls, values: ArrayLike) -> Stat:
        """Summarise the values of the rounds; one round has no deviation."""
        values = np.asarray(values, dtype=float)
        return cls(float(values.mean()), float(values.std(ddof=1)) if values.size > 1 else np.nan)


Cell = str | int | float | Stat | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under column names.

    Attributes
    ----------
    title : str
        What the table shows.
    columns : sequence of str
        Names of the columns.
    rows : sequence of sequences
        Cells: text, numbers, :class:`Stat`, or None where there is nothing to say.
    digits : int
        Decimals of the numbers in text and Markdown; CSV keeps them all.
    """

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    digits: int = 4

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
        pairs = [any(isinstance(row[j], Stat) for row in self.rows) for j in range(self._width)]
        header = [
            name
            for column, pair in zip(self.columns, pairs, strict=True)
            for name in ([f"{column} mean", f"{column} std"] if pair else [column])
        ]
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(header)
        for row in self.rows:
            writer.writerow(
                [
                    value
                    for cell, pair in zip(row, pairs, strict=True)
                    for value in (_spread(cell) if pair else [cell])
                ]
            )
        return stream.getvalue()

    def to_record(self) -> dict[str, Any]:
        """Everything as JSON knows it; :meth:`from_record` makes the same table again."""
        rows = [[_to_json(cell) for cell in row] for row in self.rows]
        columns = list(self.columns)
        return {"title": self.title, "columns": columns, "rows": rows, "digits": self.digits}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Table:
        """Table of what :meth:`to_record` gave."""
        rows = [[_from_json(cell) for cell in row] for row in record["rows"]]
        return cls(record["title"], record["columns"], rows, record["digits"])

    @property
    def _width(self) -> int:
        return len(self.columns)

    def formatted(self) -> list[list[str]]:
        """Cells as text and Markdown show them."""
        return [[_format(cell, self.digits) for cell in row] for row in self.rows]


def _to_json(cell: Cell) -> Any:
    if not isinstance(cell, Stat):
        return cell
    # One round has no deviation, which JSON has no number for.
    return {"mean": cell.mean, "std": None if np.isnan(cell.std) else cell.std}


def _from_json(cell: Any) -> Cell:
    if not isinstance(cell, dict):
        return cell
    return Stat(cell["mean"], np.nan if cell["std"] is None else cell["std"])


def _spread(cell: Cell) -> list[Cell]:
    return [cell.mean, cell.std] if isinstance(cell, Stat) else [cell, None]


def _format(cell: Cell, digits: int) -> str:
    if cell is None:
        return ""
    if isinstance(cell, Stat):
        mean = f"{cell.mean:.{digits}f}"
        return mean if np.isnan(cell.std) else f"{mean} ± {cell.std:.{digits}f}"
    return f"{cell:.{digits}f}" if isinstance(cell, float) else str(cell)
