"""Figure of a regularisation path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from .._typing import Array
from ..estimators._linear_part import linear_part
from ..estimators.path import RegularizationPath
from ._style import BLUE, Display, finish_tau_axis, panels, pyplot

NAMED = 4  # number of singular values in the legend, besides the last one


@dataclass(repr=False)
class PathDisplay(Display):
    """Singular values and rank of W along a path of tau.

    Parameters
    ----------
    path : RegularizationPath
        What to draw.
    chosen : float, default=None
        A tau to mark.

    Attributes
    ----------
    axes_, figure_ : ndarray of matplotlib axes, matplotlib figure
        Singular values and rank, and the figure they are in.

    Examples
    --------
    >>> from matreg import RMRCV, PathDisplay
    >>> display = PathDisplay.from_estimator(RMRCV().fit(X, y), X, y)  # doctest: +SKIP
    """

    path: RegularizationPath
    chosen: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        ax: Any = None,
        cmap: Any = "viridis",
    ) -> Self:
        """Fit the path of a fitted RMRCV or RGLMCV to samples and draw it.

        Parameters
        ----------
        estimator : RMRCV, RGLMCV, or a Pipeline, search or TransformedTargetRegressor around one
            After `fit`.
        X, y, sample_weight : array-like
            Samples, labels and weights, such as those of `fit`.
        ax : matplotlib axes or a pair of them, default=None
            For the singular values, and for the rank; new ones by default.
        cmap : str or matplotlib colormap, default="viridis"
            Colours of the singular values.

        Returns
        -------
        PathDisplay
            With its axes.
        """
        part = linear_part(estimator, argument="estimator")
        model = part.model
        if not hasattr(model, "path"):
            raise TypeError(
                f"estimator must be an RMRCV or an RGLMCV; got {type(model).__name__}. Draw "
                "other paths with PathDisplay(matreg.path(model, X, y)).plot()."
            )
        pyplot()  # fails at once if matplotlib is missing
        path = model.path(part.transformed(X), part.transformed_target(y), sample_weight)
        return cls(path, model.tau_).plot(ax, cmap=cmap)

    def plot(self, ax: Any = None, *, cmap: Any = "viridis") -> Self:
        """Draw on two axes, by default new ones; on one axis, draw only the singular values."""
        found = panels(ax, 2, figsize=(6, 5))
        self._draw_values(found[0], cmap)
        for bottom in found[1:]:
            bottom.step(self._values, self.path.ranks, where="mid", color=BLUE)
            bottom.set_ylabel("rank of W")
            bottom.yaxis.get_major_locator().set_params(integer=True)
        finish_tau_axis(found, self.chosen)
        if self.path.Cs is not None:
            found[-1].set_xlabel("C")
        if found[0].get_legend_handles_labels()[0]:
            above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": NAMED + 2}
            found[0].legend(frameon=False, title="singular value", fontsize="small", **above)
        return self._drawn(np.array(found), found[0].figure)

    @property
    def _values(self) -> Array:
        """The parameter that varies along the path."""
        return self.path.taus if self.path.Cs is None else self.path.Cs

    def _draw_values(self, axis: Any, cmap: Any) -> None:
        """Draw the singular values that are positive somewhere on the path."""
        values = self.path.singular_values()
        shown = values[:, (values > 0.0).any(axis=0)]
        count = shown.shape[1]
        colours = pyplot().get_cmap(cmap)(np.linspace(0.0, 0.85, max(count, 1)))
        for k, (column, colour) in enumerate(zip(shown.T, colours, strict=False)):
            label = str(k + 1) if k < NAMED or k == count - 1 else None
            axis.plot(self._values, column, color=colour, linewidth=1.2, label=label)
        axis.set_ylabel("singular values of W")
