"""Rows and columns of a map with the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from .._runtime.text import counted
from .._typing import Array
from .._validation.axes import UNNAMED
from ..plotting._style import set_ticks, show_matrix

MOST_NAMES = 12
LONGEST_IMAGE = 1.5  # photographs are 3 : 2 at most


@dataclass(frozen=True)
class MapAxes:
    """Names of the rows and columns of all maps of a model.

    Parameters
    ----------
    row_coords, column_coords : sequence, default=None
        One name or number for each row and column: channels, times, wavelengths.
    row_label, column_label : str, default="row" and "column"
        What the rows and the columns are, with their unit.

    Examples
    --------
    >>> from matreg.inspection import MapAxes
    >>> MapAxes(column_coords=[250, 300, 350], column_label="excitation, nm").column_label
    'excitation, nm'
    """

    row_coords: Sequence[Any] | None = None
    column_coords: Sequence[Any] | None = None
    row_label: str = "row"
    column_label: str = "column"

    @classmethod
    def of(cls, model: Any) -> Self:
        """Names of the samples that a model was fitted to, if they had any."""
        labels = model._matrix_labels() or UNNAMED
        return cls(*labels.coords, *labels.dims)

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse coordinates that do not fit a map."""
        for name, coords, length in (
            ("row_coords", self.row_coords, shape[0]),
            ("column_coords", self.column_coords, shape[1]),
        ):
            if coords is not None and len(coords) != length:
                size = counted(length, "entry", "entries")
                raise ValueError(f"{name} must have {size}; got {len(coords)}.")

    def draw(self, axis: Any, matrix: Array) -> Any:
        """Draw a map with its rows and columns named."""
        self.check(matrix.shape)
        drawn = show_matrix(axis, matrix)
        axis.set_aspect(aspect_of(matrix.shape))
        self.name(axis.yaxis, "row")
        self.name(axis.xaxis, "column")
        return drawn

    def name(self, axis: Any, side: str) -> None:
        """Name each "row" or each "column" along an axis."""
        coords = getattr(self, f"{side}_coords")
        axis.set_label_text(getattr(self, f"{side}_label"))
        set_ticks(axis, coords, MOST_NAMES)
        length = sum(len(text.get_text()) for text in axis.get_ticklabels())
        if axis.axis_name == "x" and coords is not None and length > 25:  # names would overlap
            axis.set_tick_params(labelrotation=90)
        axis.set_tick_params(labelsize=8)


def aspect_of(shape: tuple[int, ...]) -> str:
    """Aspect of a map: "equal" if the matrix may be an image, "auto" if it is long."""
    return "auto" if max(shape) > LONGEST_IMAGE * min(shape) else "equal"
