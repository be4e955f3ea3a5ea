"""Figure of a coefficient matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.extmath import svd_flip

from .._typing import Array
from .._validation.axes import UNNAMED
from ..estimators._linear_part import linear_part
from ._style import COLOURS, Display, pyplot, set_ticks, show_matrix

# Largest numbers of legible names next to rows and below columns.
ROW_NAMES, COLUMN_NAMES = 24, 6


@dataclass(repr=False)
class CoefDisplay(Display):
    """The coefficient matrix as an image, with its leading singular vectors next to it.

    Parameters
    ----------
    coef : ndarray of shape (p, q)
        W.
    n_vectors : int, default=2
        Number of pairs of singular vectors to draw, at most the rank.
    row_label, column_label : str, default="row" and "column"
        What rows and columns are, such as "channel" and "time (s)".
    row_coords, column_coords : array-like of shape (p,) and (q,), default=None
        Names, numbers or times of rows and columns; by default they are numbered.

    Attributes
    ----------
    axes_, figure_ : dict of matplotlib axes, matplotlib figure
        "coef", "left", "right", or "coef" alone on given axes; and the figure they are in.

    Examples
    --------
    >>> from matreg import RMR, CoefDisplay
    >>> display = CoefDisplay.from_estimator(RMR().fit(X, y))  # doctest: +SKIP
    """

    coef: Array
    n_vectors: int = 2
    row_label: str = "row"
    column_label: str = "column"
    row_coords: ArrayLike | None = None
    column_coords: ArrayLike | None = None

    def __post_init__(self) -> None:
        if self.coef.ndim != 2:
            raise ValueError(
                f"coef must be one matrix (p, q); got shape {self.coef.shape}. Reshape flat "
                "coefficients: coef.reshape(p, q)."
            )
        sizes = {"row_coords": self.coef.shape[0], "column_coords": self.coef.shape[1]}
        for name, size in sizes.items():
            given = getattr(self, name)
            if given is not None and np.shape(given) != (size,):
                raise ValueError(
                    f"{name} must have {size} entries for a coefficient matrix of shape "
                    f"{self.coef.shape}; got shape {np.shape(given)}."
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        problem: int | None = None,
        n_vectors: int = 2,
        row_label: str | None = None,
        column_label: str | None = None,
        row_coords: ArrayLike | None = None,
        column_coords: ArrayLike | None = None,
        ax: Any = None,
        cmap: Any = "RdBu_r",
    ) -> Self:
        """Draw the coefficients of a fitted model.

        Parameters
        ----------
        estimator : fitted model, or a Pipeline, search or TransformedTargetRegressor around one
            The model whose coefficients are drawn.
        problem : int, default=None
            Which of the problems of two classes, for a classifier of more.
        n_vectors : int, default=2
            Number of pairs of singular vectors to draw.
        row_label, column_label, row_coords, column_coords
            As in :class:`CoefDisplay`; by default those of the samples that the model was fitted
            to, if they had any.
        ax : matplotlib axes, default=None
            Where to draw the image, then without the singular vectors; a new figure by default.
        cmap : str or matplotlib colormap, default="RdBu_r"
            Colours, white or black at zero in the middle.

        Returns
        -------
        CoefDisplay
            With its axes.
        """
        part = linear_part(estimator, problem, "estimator")
        labels = part.model._matrix_labels() or UNNAMED
        return cls(
            part.coef_in_units,
            n_vectors,
            row_label or labels.dims[0],
            column_label or labels.dims[1],
            labels.coords[0] if row_coords is None else row_coords,
            labels.coords[1] if column_coords is None else column_coords,
        ).plot(ax, cmap=cmap)

    def plot(self, ax: Any = None, *, cmap: Any = "RdBu_r") -> Self:
        """Draw in a new figure, or only the image on given axes."""
        U, d, Vt = np.linalg.svd(self.coef, full_matrices=False)
        U, Vt = svd_flip(U, Vt)  # the largest entry of each left vector is positive
        rank = int(np.count_nonzero(d > 1e-10 * max(d[0], np.finfo(float).tiny)))
        if ax is not None:
            axes, figure = {"coef": ax}, ax.figure
        else:
            figure, axes = pyplot().subplot_mosaic(
                [["left", "coef"], ["key", "right"]],
                width_ratios=(1, 4),
                height_ratios=(4, 1),
                figsize=(6.1, 5),  # a square matrix is drawn square
                layout="constrained",
            )
        image = show_matrix(axes["coef"], self.coef, cmap=cmap)
        axes["coef"].set_aspect("auto")  # rows and columns in line with those of the vectors
        if ax is not None:
            self._label(ax, ax)
        else:
            axes["coef"].set(xticks=[], yticks=[])
            self._draw_vectors(axes, U, d, Vt, rank)
        figure.colorbar(image, ax=axes["coef"], shrink=0.8, label="W")
        axes["coef"].set_title(f"{self.coef.shape[0]} x {self.coef.shape[1]}, rank {rank}")
        return self._drawn(axes, figure)

    def _label(self, rows: Any, columns: Any) -> None:
        """Name rows and columns on the axes next to and below the image."""
        set_ticks(rows.yaxis, self.row_coords, ROW_NAMES)
        set_ticks(columns.xaxis, self.column_coords, COLUMN_NAMES)
        rows.set_ylabel(self.row_label)
        columns.set_xlabel(self.column_label)

    def _draw_vectors(self, axes: Any, U: Array, d: Array, Vt: Array, rank: int) -> None:
        """Draw the leading singular vectors next to and below the image."""
        left, right, key = axes["left"], axes["right"], axes["key"]
        for k in range(min(self.n_vectors, rank)):
            colour = COLOURS[k % len(COLOURS)]
            left.plot(U[:, k], np.arange(len(U)), color=colour, label=f"{d[k]:.3g}")
            right.plot(np.arange(Vt.shape[1]), Vt[k], color=colour)
        left.set(ylim=(len(U) - 0.5, -0.5), xlabel="left\nvectors")
        left.set_xticks([0.0])
        right.set(xlim=(-0.5, Vt.shape[1] - 0.5), ylabel="right\nvectors")
        self._label(left, right)
        key.axis("off")
        if rank:
            lines, labels = left.get_legend_handles_labels()
            key.legend(lines, labels, title="singular\nvalues", frameon=False, loc="center")
