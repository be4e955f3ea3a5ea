"""What the figures share: colours, axes, images of matrices and their labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._runtime.packages import optional
from .._typing import Array

# Okabe and Ito's colours, which colour-blind readers can tell apart.
COLOURS = BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"
CLOSEST = 10  # tick labels are at least 1 / CLOSEST of the axis apart


@dataclass(repr=False)
class Display:
    """Base of the displays, with the axes and the figure on which they were drawn."""

    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    def _drawn(self, axes: Any, figure: Any) -> Self:
        """Store the axes and the figure of the drawing, and return the display."""
        self.axes_, self.figure_ = axes, figure
        return self


def pyplot() -> Any:
    """matplotlib.pyplot; if it is missing, the error says how to install it."""
    return optional("matplotlib.pyplot", "plot")


def show_matrix(axis: Any, matrix: Array, limit: float | None = None, cmap: Any = "RdBu_r") -> Any:
    """Image of a matrix on a colour scale that is symmetric around zero; NaN are left white."""
    size = np.abs(matrix)
    limit = limit or float(np.max(size, where=np.isfinite(size), initial=0.0)) or 1.0
    return axis.imshow(matrix, cmap=cmap, vmin=-limit, vmax=limit, interpolation="nearest")


def set_ticks(axis: Any, coordinates: ArrayLike | None, most_names: int) -> None:
    """Mark rows or columns of a matrix, at 0, 1, 2, ..., by their coordinates or their numbers.

    Monotone numbers are marked at round values; only some of many names are shown.
    """
    if coordinates is None:
        axis.get_major_locator().set_params(integer=True)
        return
    values = np.asarray(coordinates)
    steps = np.diff(values) if values.dtype.kind in "fiu" else np.zeros(1)
    if len(values) > 1 and ((steps > 0).all() or (steps < 0).all()):
        _set_round_ticks(axis, values.astype(float))
        return
    index = np.arange(0, len(values), -(-len(values) // most_names))
    axis.set_ticks(index, labels=[str(value) for value in values[index]])
    if len(index) > 12:
        axis.set_tick_params(labelsize=7)


def _set_round_ticks(axis: Any, values: Array) -> None:
    """Set ticks at round values of monotone coordinates (k,), at interpolated places."""
    from matplotlib.ticker import MaxNLocator

    low, high = values.min(), values.max()
    ticks = np.asarray(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high))
    rounding = 1e-9 * (high - low)
    ticks = ticks[(ticks >= low - rounding) & (ticks <= high + rounding)]
    order = np.argsort(values)
    place = np.interp(ticks, values[order], order.astype(float))
    ticks, place = _apart(ticks, place, (len(values) - 1) / CLOSEST)
    axis.set_ticks(place, labels=[f"{0.0 if abs(t) < rounding else t:g}" for t in ticks])


def _apart(ticks: Array, place: Array, least: float) -> tuple[Array, Array]:
    """Ticks at least `least` apart, with their places; uneven coordinates may be closer."""
    kept = [0]
    for k in range(1, len(place)):
        if abs(place[k] - place[kept[-1]]) >= least:
            kept.append(k)
    return ticks[kept], place[kept]


def finish_tau_axis(axes: Sequence[Any], chosen: float | None) -> None:
    """Logarithmic axis of tau, with the chosen value marked on all axes."""
    for axis in axes:
        axis.set_xscale("log")
        axis.spines[["top", "right"]].set_visible(False)
        if chosen:
            axis.axvline(chosen, color=ORANGE, linestyle="--", linewidth=1, label="chosen tau")
    axes[-1].set_xlabel("tau")


def panels(ax: Any, number: int, **layout: Any) -> list[Any]:
    """The given axes, at most `number` of them, or `number` new axes."""
    if ax is None:
        _, ax = pyplot().subplots(number, 1, sharex=True, layout="constrained", **layout)
    found = list(np.ravel(np.asarray(ax, dtype=object)))
    if len(found) > number:
        raise ValueError(f"ax must be at most {number} axes; got {len(found)}.")
    return found
