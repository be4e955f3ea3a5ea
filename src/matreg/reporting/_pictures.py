"""A colour scale that shows the differences between samples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Array
from ..preprocessing.units import LARGEST_RATIO, extreme_scales

UNLIKE = 3.0  # neighbours that differ by this many times their spread have different units
BEYOND = 1.0  # per cent of the entries that are beyond each end of the scale
ENDS = 3.0  # standard deviations at the ends of the scale if columns have different units
SIGNED = 0.1  # of the scale, on both sides of zero: otherwise entries count as of one sign
ENOUGH = 500  # samples that the scale is computed from


@dataclass(frozen=True)
class Picture:
    """How samples are shown."""

    low: float  # ends of the scale
    high: float
    centre: Array | float  # subtracted from a sample: a number, a row (1, q) or a column (p, 1)
    spread: Array | float  # the divisor, of the same shape
    note: str  # the scale in words

    def of(self, sample: Array) -> Array:
        """A sample (p, q) on the scale."""
        return (sample - self.centre) / self.spread

    @property
    def look(self) -> dict[str, Any]:
        """Options of an image: a scale that is symmetric around zero is white there."""
        cmap = "RdBu_r" if self.low == -self.high else "viridis"
        return {"cmap": cmap, "vmin": self.low, "vmax": self.high}


def picture_of(samples: Array) -> Picture:
    """The scale of samples (n, p, q).

    All entries share it, unless most neighbouring columns, or rows, have very different levels or
    spreads, or some differ so much that a fit warns of it: these have different units, and each is
    shown relative to its median.
    """
    some = samples[:: max(1, len(samples) // ENOUGH)]
    for axis, name in ((2, "column"), (1, "row")):
        centre, spread = _of_each(some, axis)
        ratio = extreme_scales(some, f"{name}s")[0]
        if _differ(centre, spread) or ratio >= LARGEST_RATIO:
            shape = (1, -1) if axis == 2 else (-1, 1)
            safe = np.where(spread > 0.0, spread, 1.0)
            note = (
                f"The {name}s have different units: each is shown relative to its median, from "
                f"−{ENDS:g} to {ENDS:g} of its standard deviations."
            )
            return Picture(-ENDS, ENDS, centre.reshape(shape), safe.reshape(shape), note)
    low, high = np.nanpercentile(some, [BEYOND, 100.0 - BEYOND])
    if not high > low:
        low, high = float(np.nanmin(some)), float(np.nanmax(some))
    if low < 0.0 < high and min(-low, high) > SIGNED * max(-low, high):
        low, high = -max(-low, high), max(-low, high)
    ends = (f"{float(f'{end:.3g}'):g}" for end in (low, high))  # 3580 instead of 3.58e+03
    note = f"All pictures share the scale {' to '.join(ends)}; few entries are beyond it."
    return Picture(float(low), float(high), 0.0, 1.0, note)


def _of_each(samples: Array, axis: int) -> tuple[Array, Array]:
    """Median and standard deviation of every column (axis 2) or row (axis 1) of all samples."""
    flat = np.moveaxis(samples, axis, 0).reshape(samples.shape[axis], -1)
    return np.nanmedian(flat, axis=1), np.nanstd(flat, axis=1)


def _differ(centre: Array, spread: Array) -> bool:
    """Whether the levels of neighbours differ by several spreads, or their spreads by a factor."""
    if len(centre) < 2 or not (spread > 0.0).any():
        return False
    jumps = np.abs(np.diff(centre)) / max(float(np.median(spread)), np.finfo(float).tiny)
    known = spread[spread > 0.0]
    ratios = np.abs(np.diff(np.log(known))) if len(known) > 1 else np.zeros(1)
    return bool(np.median(jumps) > UNLIKE or np.median(ratios) > np.log(UNLIKE))
