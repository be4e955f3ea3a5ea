"""Colours, grids of images and files of figures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.files import writing
from .._typing import Array
from ..plotting import pyplot

# Okabe and Ito's colours, which colour-blind readers can distinguish; markers help in print.
STYLE: dict[str, dict[str, Any]] = {
    "SVR": {"color": "#E69F00", "marker": "s"},
    "R-GLM": {"color": "#0072B2", "marker": "o"},
    "RMR": {"color": "#D55E00", "marker": "^"},
    "G-RMR": {"color": "#009E73", "marker": "D"},
    "Huber ridge": {"color": "#CC79A7", "marker": "v"},
    "RMR, adaptive": {"color": "#56B4E9", "marker": "P"},
    "Intercept only": {"color": "#555555", "marker": "x"},
}
LOOK = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 10,
    "legend.frameon": False,
    "lines.markersize": 4,
    "savefig.bbox": "tight",
    "svg.hashsalt": "matreg",
}


def save(draw: Callable[[], Any], folder: Path, stem: str) -> list[Path]:
    """Draw a figure, write it as ``stem.png`` and ``stem.svg``, and return both paths."""
    plt = pyplot()
    with plt.rc_context(LOOK):
        figure = draw()
        paths = [folder / f"{stem}.{kind}" for kind in ("png", "svg")]
        for path in paths:
            # Without a date the same numbers give the same file.
            date = {"Date": None} if path.suffix == ".svg" else {}
            with writing(path) as stream:
                figure.savefig(stream, format=path.suffix[1:], dpi=150, metadata=date)
        plt.close(figure)
    return paths


def image_grid(
    rows: Mapping[str, Sequence[Array]],
    columns: Sequence[str],
    *,
    captions: Mapping[str, Sequence[str]] | None = None,
    limits: Mapping[str, float] | None = None,
    cmap: str = "RdBu_r",
    size: float = 1.25,
    colorbar: str | None = None,
) -> Any:
    """A figure with labelled rows of images, with a caption below each image.

    The colours of "gray" images run from 0 to the limit, others from minus the limit; by default it
    is the row's largest absolute value. `size` is the width of an image in inches, and `colorbar`
    the label of a colour bar, for images that share a scale.
    """
    height = size + (0.2 if captions else 0.0)
    figure, grid = pyplot().subplots(
        len(rows),
        len(columns),
        figsize=(size * len(columns) + (1.0 if colorbar else 0.0), height * len(rows)),
        squeeze=False,
        layout="constrained",
    )
    for axes_row, (label, images) in zip(grid, rows.items(), strict=True):
        top = (limits or {}).get(label) or max(float(np.abs(image).max()) for image in images)
        for j, (axes, image) in enumerate(zip(axes_row, images, strict=True)):
            axes.imshow(image, cmap=cmap, vmin=0.0 if cmap == "gray" else -top, vmax=top)
            axes.set(xticks=[], yticks=[])
            axes.spines[:].set_visible(False)
            if captions:
                axes.set_xlabel(captions[label][j], fontsize=7, labelpad=2)
        axes_row[0].set_ylabel(label)
    for axes, title in zip(grid[0], columns, strict=True):
        axes.set_title(title)
    if colorbar:
        figure.colorbar(grid[0, 0].images[0], ax=grid, shrink=0.4, aspect=30, label=colorbar)
    return figure
