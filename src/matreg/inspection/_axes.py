"""Rows and columns of a map with the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..plotting import show_matrix

MOST_TICKS, MOST_LETTERS = 12, 20


@dataclass(frozen=True)
class MapAxes:
    """Names of the rows and columns of all maps of a model.

    Parameters
    ----------
    row_labels, column_labels : sequence, default=None
        One label a row and a column: names of channels, times, wavelengths. Numbers by default.
    row_name, column_name : str, default="row" and "column"
        What the rows and the columns are, with their unit.

    Examples
    --------
    >>> from matreg.inspection import MapAxes
    >>> MapAxes(column_labels=[250, 300, 350], column_name="excitation, nm").column_name
    'excitation, nm'
    """

    row_labels: Sequence[Any] | None = None
    column_labels: Sequence[Any] | None = None
    row_name: str = "row"
    column_name: str = "column"

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse labels that do not fit a map."""
        for name, labels, length in (
            ("row_labels", self.row_labels, shape[0]),
            ("column_labels", self.column_labels, shape[1]),
        ):
            if labels is not None and len(labels) != length:
                raise ValueError(f"{name} must have {length} entries; got {len(labels)}.")

    def draw(self, axis: Any, matrix: Array, limit: float | None = None, **image: Any) -> Any:
        """Draw a map with its rows and columns named."""
        self.check(matrix.shape)
        drawn = show_matrix(axis, matrix, limit)
        drawn.set(**image)
        axis.set_aspect("auto" if max(matrix.shape) > 4 * min(matrix.shape) else "equal")
        self.rows(axis.yaxis, matrix.shape[0])
        self.columns(axis.xaxis, matrix.shape[1])
        return drawn

    def rows(self, axis: Any, count: int) -> None:
        """Name the rows along an axis."""
        _ticks(axis, self.row_labels, count, self.row_name)

    def columns(self, axis: Any, count: int) -> None:
        """Name the columns along an axis."""
        _ticks(axis, self.column_labels, count, self.column_name)


def _ticks(axis: Any, labels: Sequence[Any] | None, count: int, name: str) -> None:
    """At most a dozen labels, evenly spaced, so that many channels stay readable."""
    axis.set_label_text(name)
    texts = [_text(label) for label in (range(count) if labels is None else labels)]
    most = MOST_TICKS
    if axis.axis_name == "x":  # where long labels would run into each other
        most = min(most, max(2, MOST_LETTERS // max(len(text) for text in texts)))
    step = -(-count // most)
    axis.set_ticks(np.arange(0, count, step), texts[::step], fontsize=8)


def _text(label: Any) -> str:
    return f"{label:.4g}" if isinstance(label, (float, np.floating)) else str(label)
