"""A scale of colours in which something can be seen of the samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array

# Neighbours in an image are alike. From this many times their spread on, they are not.
UNLIKE = 3.0
# Per cent of the entries that are beyond the ends of the scale, at either end.
BEYOND = 1.0
# Robust standard deviations at the ends of the scale where columns have units of their own.
ENDS = 3.0
# Samples from which the scale is learned.
ENOUGH = 500


@dataclass(frozen=True)
class Picture:
    """How samples are shown.

    Attributes
    ----------
    low, high : float
        Ends of the scale.
    centre, spread : ndarray of shape (p, 1), (1, q) or (1, 1)
        What is subtracted from a sample, and what it is divided by.
    note : str
        The scale in words.
    """

    low: float
    high: float
    centre: Array
    spread: Array
    note: str

    @property
    def colours(self) -> str:
        """Colours from both sides of zero where there are two sides."""
        return "RdBu_r" if self.low == -self.high else "viridis"

    def of(self, sample: Array) -> Array:
        """A sample (p, q) on the scale."""
        return (sample - self.centre) / self.spread

    @property
    def look(self) -> dict[str, Any]:
        """Options of an image."""
        return {"cmap": self.colours, "vmin": self.low, "vmax": self.high}


def picture_of(samples: Array) -> Picture:
    """The scale of samples (n, p, q).

    All entries share it, but where neighbouring columns, or rows, have quite other levels or
    spreads: these have units of their own, and each is shown relative to itself.
    """
    some = samples[:: max(1, len(samples) // ENOUGH)]
    for axis, name in ((2, "column"), (1, "row")):
        centre, spread = _of_each(some, axis)
        if _differ(centre, spread):
            shape = (1, -1) if axis == 2 else (-1, 1)
            safe = np.where(spread > 0.0, spread, 1.0)
            note = (
                f"The {name}s have units of their own: each is shown in its standard deviations "
                f"from its median, from −{ENDS:g} to {ENDS:g}."
            )
            return Picture(-ENDS, ENDS, centre.reshape(shape), safe.reshape(shape), note)
    low, high = np.nanpercentile(some, [BEYOND, 100.0 - BEYOND])
    if not high > low:
        low, high = float(np.nanmin(some)), float(np.nanmax(some))
    if low < 0.0 < high:
        low, high = -max(-low, high), max(-low, high)
    note = f"All pictures have the scale {low:.3g} to {high:.3g}, beyond which are few entries."
    return Picture(float(low), float(high), np.zeros((1, 1)), np.ones((1, 1)), note)


def _of_each(samples: Array, axis: int) -> tuple[Array, Array]:
    """Median and standard deviation of every column (axis 2) or row (axis 1) of all samples."""
    flat = np.moveaxis(samples, axis, 0).reshape(samples.shape[axis], -1)
    return np.nanmedian(flat, axis=1), np.nanstd(flat, axis=1)


def _differ(centre: Array, spread: Array) -> bool:
    """Whether neighbours differ in level by some spreads, or in spread by some times."""
    if len(centre) < 2 or not (spread > 0.0).any():
        return False
    jumps = np.abs(np.diff(centre)) / max(float(np.median(spread)), np.finfo(float).tiny)
    known = spread[spread > 0.0]
    ratios = np.abs(np.diff(np.log(known))) if len(known) > 1 else np.zeros(1)
    return bool(np.median(jumps) > UNLIKE or np.median(ratios) > np.log(UNLIKE))
