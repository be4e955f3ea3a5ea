"""CSV files of many kinds: semicolons, decimal commas, empty cells, columns of names."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.warn import warn

DELIMITERS = (",", ";", "\t")
# Cells without a value, in lower case.
MISSING = ("", "na", "n/a", "nan", "null")


@dataclass
class Table:
    """Columns of a CSV file."""

    path: Path
    cells: dict[str, list[str]]  # cells of each column, by its name in the header line
    lines: list[int]  # line of the file in which each row begins
    commas: bool  # whether commas may be decimal
    taken: set[str] = field(default_factory=set)  # columns that an option has named

    def column(self, name: str, option: str) -> NDArray[Any]:
        """Remove a column from the table and return it, as numbers if all its cells are."""
        if name not in self.cells:
            raise ValueError(f"{self.path} has {self._instead_of(name)} with {option}.")
        self.taken.add(name)
        return to_numbers_or_words(self.cells.pop(name), self.commas)

    def _instead_of(self, name: str) -> str:
        """Say why a column cannot be taken, and which ones can."""
        if name in self.taken:
            return f"the column {name!r}, but another option has taken it: name another column"
        left = list(self.cells)
        if close := get_close_matches(name, left, 3):
            return f"no column {name!r}: name one that is there, such as {', '.join(close)},"
        if len(left) == 1 and len(left[0].split()) > 1:
            return (
                f"only the column {left[0][:30]!r}: separate the cells by commas, semicolons or "
                f"tabs, and name the column {name!r}"
            )
        some = ", ".join(left) if len(left) < 5 else f"{', '.join(left[:2])}, ..., {left[-1]}"
        return f"no column {name!r}: its header line has {some}. Name one of them"

    def samples(self, columns: Sequence[str]) -> tuple[NDArray[Any], str | None]:
        """Numbers (n, m) of some columns, and a sentence about empty cells if there are any."""
        X = np.empty((len(self.lines), len(columns)))
        for k, name in enumerate(columns):
            X[:, k] = self._numbers(name)
        empty = np.argwhere(np.isnan(X))
        if not len(empty):
            return X, None
        row, column = empty[0]
        return X, (
            f"{self.path} has {len(empty)} empty cells among the samples, the first in line "
            f"{self.lines[row]}, column {columns[column]!r}"
        )

    def _numbers(self, name: str) -> NDArray[Any]:
        cells = self.cells[name]
        found = to_numbers(cells, self.commas)
        if found is not None:
            return found
        bad = [k for k, one in enumerate(cells) if to_numbers([one], self.commas) is None]
        if not bad:
            first = next(k for k, one in enumerate(cells) if "." in one)
            raise ValueError(
                f"{self.path} has decimal commas and points in column {name!r}: {cells[first]} in "
                f"line {self.lines[first]} is ambiguous, as its point may be decimal or may "
                "separate thousands. Use the same decimal sign in the whole column."
            )
        raise ValueError(
            f"{self.path} must have numbers in all columns except labels and groups; column "
            f"{name!r} has {cells[bad[0]]!r} in line {self.lines[bad[0]]}. Leave the column out "
            f"with --drop {name!r}."
        )


def read_table(path: Path) -> Table:
    """Read a CSV file with a header line; cells are separated by commas, semicolons or tabs."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            delimiter = _delimiter(stream.readline())
            stream.seek(0)
            reader = csv.reader(stream, delimiter=delimiter)
            rows = [(reader.line_num, row) for row in reader if row]
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be text in UTF-8; byte {error.start} is not.") from error
    except csv.Error as error:
        raise ValueError(f"{path} must be a CSV file: {error}.") from error
    if len(rows) < 2:
        raise ValueError(f"{path} must have a header line and at least one sample.")
    header = [name.strip() for name in rows[0][1]]
    _check_rows(path, header, rows)
    columns: dict[str, list[str]] = {}
    for name, cells in zip(header, zip(*(row for _, row in rows[1:]), strict=True), strict=True):
        columns[name] = [cell.strip() for cell in cells]
    if columns.pop("", None) is not None:
        warn(f"{path} has a column without a name, which is left out.")
    return Table(path, columns, [line for line, _ in rows[1:]], delimiter != ",")


def _delimiter(header: str) -> str:
    """The separator by which the header line has the most cells."""
    return max(DELIMITERS, key=lambda one: len(next(csv.reader([header], delimiter=one), [])))


def _check_rows(path: Path, header: list[str], rows: list[tuple[int, list[str]]]) -> None:
    for line, row in rows:
        if len(row) != len(header):
            # 1,5 is two cells between commas.
            commas = " Decimal commas need semicolons or tabs between the cells."
            raise ValueError(
                f"{path} must have {len(header)} cells in each line; line {line} has {len(row)}."
                + (commas if len(row) > len(header) else "")
            )
    name, times = Counter(header).most_common(1)[0]
    if times > 1:
        raise ValueError(f"{path} must name each column once; {name!r} is there {times} times.")


def to_numbers_or_words(cells: list[str], commas: bool) -> NDArray[Any]:
    """A column as numbers if all its cells are, NaN for those that are empty."""
    found = to_numbers(cells, commas)
    return np.array(cells) if found is None else found


def to_numbers(cells: Sequence[str], commas: bool) -> NDArray[Any] | None:
    """Numbers, NaN for empty cells; None if a cell is neither.

    With `commas`, 1,5 is one and a half. A column with both commas and points is not read as
    numbers: next to 1,5 the cell 1.234 may mean 1234.
    """
    decimal = commas and any("," in cell for cell in cells)
    if decimal and any("." in cell for cell in cells):
        return None
    try:
        return np.array([_number(cell.replace(",", ".") if decimal else cell) for cell in cells])
    except ValueError:
        return None


def _number(cell: str) -> float:
    if cell.strip().lower() in MISSING:
        return float("nan")
    if "_" in cell:
        raise ValueError  # a name such as 1_2, which is 12 to Python
    return float(cell)
