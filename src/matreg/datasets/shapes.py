"""Binary pictures that serve as the true coefficient matrix of simulated regressions."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_scalar

from .._typing import Mask

Grid = NDArray[np.float64]


def _inside_polygon(x: Grid, y: Grid, vertices: Grid) -> Mask:
    """Which points of the grid lie inside a closed polygon, by the even-odd rule.

    A point is inside when a ray from it to the right meets the outline an odd number of times.
    """
    x0, y0 = vertices.T
    x1, y1 = np.roll(vertices, -1, axis=0).T
    inside = np.zeros(x.shape, dtype=bool)
    for row, height in enumerate(y[:, 0]):
        cut = (y0 <= height) != (y1 <= height)
        slope = (x1[cut] - x0[cut]) / (y1[cut] - y0[cut])
        crossings = x0[cut] + (height - y0[cut]) * slope
        inside[row] = np.count_nonzero(crossings[:, None] > x[row], axis=0) % 2 == 1
    return inside


def _cross(x: Grid, y: Grid) -> Mask:
    near, far = np.minimum(abs(x), abs(y)), np.maximum(abs(x), abs(y))
    return (near < 0.22) & (far < 0.66)


def _t(x: Grid, y: Grid) -> Mask:
    bar = (abs(x) < 0.66) & (y > 0.22)
    stem = abs(x) < 0.22
    return (bar | stem) & (abs(y) < 0.66)


def _butterfly(x: Grid, y: Grid) -> Mask:
    # A well-known butterfly-shaped polar curve; its radius stays positive, so the outline does
    # not cross itself and the wings stay filled at every size.
    angle = np.linspace(0.0, 2.0 * np.pi, 2000, endpoint=False)
    odd = -np.sin(angle) + 2 * np.sin(3 * angle) + 2 * np.sin(5 * angle) - np.sin(7 * angle)
    radius = 8.0 + odd + 3 * np.cos(2 * angle) - 2 * np.cos(4 * angle)
    outline = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    low, high = outline.min(axis=0), outline.max(axis=0)
    outline = (outline - (low + high) / 2) * (1.7 / (high - low).max())
    return _inside_polygon(x, y, outline)


TRIANGLE = np.array([[-0.7, -0.6], [0.7, -0.6], [0.0, 0.65]])
_DRAW: dict[str, Callable[[Grid, Grid], Mask]] = {
    "square": lambda x, y: (abs(x) < 0.5) & (abs(y) < 0.5),
    "cross": _cross,
    "t": _t,
    "triangle": lambda x, y: _inside_polygon(x, y, TRIANGLE),
    "circle": lambda x, y: x**2 + y**2 < 0.62**2,
    "butterfly": _butterfly,
}

SHAPES: tuple[str, ...] = tuple(_DRAW)
"""Names that :func:`make_shape` knows."""


def make_shape(name: str, size: int = 64) -> NDArray[np.float64]:
    """Draw a shape as a matrix of zeros and ones.

    Square (rank 1), cross and T (rank 2) have exactly low rank; triangle, circle and butterfly
    only approximately. The drawings are new: papers show such shapes without giving their pixels.

    Parameters
    ----------
    name : {"square", "cross", "t", "triangle", "circle", "butterfly"}
        What to draw.
    size : int, default=64
        Number of rows and columns, at least 8.

    Returns
    -------
    ndarray of shape (size, size)
        1 inside the shape, 0 outside; the first row is the top.

    Examples
    --------
    >>> from matreg.datasets import make_shape
    >>> import numpy as np
    >>> cross = make_shape("cross", size=32)
    >>> cross.shape, int(np.linalg.matrix_rank(cross))
    ((32, 32), 2)
    """
    if name not in _DRAW:
        raise ValueError(f"name must be one of {', '.join(SHAPES)}; got {name!r}.")
    check_scalar(size, "size", Integral, min_val=8)
    centres = (np.arange(size) + 0.5) * (2.0 / size) - 1.0
    x, y = np.meshgrid(centres, centres[::-1])
    return _DRAW[name](x, y).astype(float)
