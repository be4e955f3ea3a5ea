"""Drawing: colours, images and files that all experiments share."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.files import writing
from .._typing import Array

# Okabe and Ito's colours, which the colour-blind can tell apart; markers help in print.
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


def require_matplotlib() -> Any:
    """Import pyplot, or say in a sentence how to get it.

    Returns
    -------
    module
        ``matplotlib.pyplot``, set to write files only.
    """
    try:
        importlib.import_module("matplotlib").use("Agg")
        return importlib.import_module("matplotlib.pyplot")
    except ImportError as error:
        raise ImportError('The figures need matplotlib: pip install "matreg[plot]"') from error


def save(draw: Callable[[], Any], folder: Path, stem: str) -> list[Path]:
    """Draw a figure and write it as PNG and SVG.

    Parameters
    ----------
    draw : callable
        Returns the figure.
    folder : Path
        Where to.
    stem : str
        Name of the files without the ending.

    Returns
    -------
    list of Path
        The two files.
    """
    plt = require_matplotlib()
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
    """Images in rows and columns, by default with a colour scale symmetric around zero.

    Parameters
    ----------
    rows : mapping
        Label of a row and its images.
    columns : sequence of str
        Titles of the columns.
    captions : mapping, default=None
        A line below each image, by row.
    limits : mapping, default=None
        Largest value of the colour scale by row; by default the row's largest absolute value.
    cmap : str, default="RdBu_r"
        Colour map; "gray" images run from 0 to their limit, others from minus the limit.
    size : float, default=1.25
        Inches of an image.
    colorbar : str, default=None
        Label of a colour bar, for images that share a scale.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.
    """
    plt = require_matplotlib()
    height = size + (0.2 if captions else 0.0)
    figure, grid = plt.subplots(
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
        image = grid[0, 0].images[0]
        figure.colorbar(image, ax=grid, shrink=0.4, aspect=30, label=colorbar)
    return figure
