"""Figures of the maps; :func:`maps_figure` puts all of them on one page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Array
from ..estimators._linear_part import linear_part
from ..plotting import COLOURS, GREY, ORANGE, Display, pyplot
from ._axes import MapAxes
from .bootstrap import BootstrapMaps
from .maps import Components, components, pattern
from .permutation import PermutationMap


@dataclass(repr=False)
class PatternDisplay(Display):
    """The filter W and the pattern side by side.

    Parameters
    ----------
    coef, pattern : ndarray of shape (p, q)
        W and the pattern.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_, figure_ : ndarray of two matplotlib axes, matplotlib figure
        Filter and pattern, and the figure they are in.

    Examples
    --------
    >>> from matreg.inspection import PatternDisplay
    >>> display = PatternDisplay.from_estimator(model, X)  # doctest: +SKIP
    """

    coef: Array
    pattern: Array
    names: MapAxes | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: ArrayLike,
        *,
        problem: int | None = None,
        names: MapAxes | None = None,
        axes: Any = None,
    ) -> Self:
        """Draw W and the pattern of a fitted model; `problem` is that of :func:`pattern`."""
        part = linear_part(model, problem)
        names = names or MapAxes.of(part.model)
        return cls(part.coef_in_units, pattern(model, X, problem=problem), names).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, by default new ones."""
        axes = _axes(axes, 2)
        draw_map(axes[0], self.coef, "filter W", self.names, "prediction per unit of X")
        draw_map(axes[1], self.pattern, "pattern", self.names, "X per unit of prediction")
        return self._drawn(axes, axes[0].figure)


@dataclass(repr=False)
class ComponentsDisplay(Display):
    """Row and column profiles of the leading components, with their spread if it is known.

    Parameters
    ----------
    components : Components
        What to draw.
    bootstrap : BootstrapMaps, default=None
        Refits, whose standard deviation is drawn around the profiles.
    n_components : int, default=3
        Number of components to draw, at most the rank.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_, figure_ : ndarray of two matplotlib axes, matplotlib figure
        Row profiles and column profiles, and the figure they are in.

    Examples
    --------
    >>> from matreg.inspection import ComponentsDisplay
    >>> display = ComponentsDisplay.from_estimator(model)  # doctest: +SKIP
    """

    components: Components
    bootstrap: BootstrapMaps | None = None
    n_components: int = 3
    names: MapAxes | None = None

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        problem: int | None = None,
        n_components: int = 3,
        names: MapAxes | None = None,
        axes: Any = None,
    ) -> Self:
        """Draw the components of a fitted model; `problem` is that of :func:`components`."""
        names = names or MapAxes.of(linear_part(model).model)
        return cls(components(model, problem=problem), None, n_components, names).plot(axes)

    @classmethod
    def from_bootstrap(
        cls,
        maps: BootstrapMaps,
        *,
        n_components: int = 3,
        names: MapAxes | None = None,
        axes: Any = None,
    ) -> Self:
        """Draw the components of a model with their spread over refits."""
        return cls(maps.components, maps, n_components, names).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, by default new ones."""
        axes = _axes(axes, 2)
        for axis, side in zip(axes, ("row", "column"), strict=True):
            self._draw_profiles(axis, side)
            axis.set_title(f"{side} profiles")
        if len(self.components.rows):
            look = {"frameon": False, "fontsize": 8, "title_fontsize": 8}
            beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            axes[1].legend(title="singular value", **look, **beside)
        return self._drawn(axes, axes[0].figure)

    def _draw_profiles(self, axis: Any, side: str) -> None:
        """Draw the profiles of the "row" or the "column" side."""
        found, names = self.components, self.names or MapAxes()
        profiles = found.rows if side == "row" else found.columns
        places = np.arange(profiles.shape[1])
        for k, profile in enumerate(profiles[: self.n_components]):
            colour = COLOURS[k % len(COLOURS)]
            label = f"{k + 1}: {found.singular_values[k]:.3g}"
            axis.axhline(0.0, color=GREY, linewidth=0.5)
            if self.bootstrap is not None:
                label += f" ± {self.bootstrap.singular_value_std[k]:.2g}"
                width = getattr(self.bootstrap, f"{side}_std")[k]
                axis.fill_between(places, profile - width, profile + width, color=colour, alpha=0.2)
            axis.plot(places, profile, color=colour, label=label, marker=".", linewidth=1.2)
            axis.spines[["top", "right"]].set_visible(False)
        names.name(axis.xaxis, side)


@dataclass(repr=False)
class BootstrapDisplay(Display):
    """Mean, standard deviation and sign agreement of the refits.

    Parameters
    ----------
    maps : BootstrapMaps
        What :func:`bootstrap_maps` returns.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_, figure_ : ndarray of three matplotlib axes, matplotlib figure
        Mean, standard deviation, sign agreement, and the figure they are in.

    Examples
    --------
    >>> from matreg.inspection import BootstrapDisplay, bootstrap_maps
    >>> display = BootstrapDisplay(bootstrap_maps(model, X, y)).plot()  # doctest: +SKIP
    """

    maps: BootstrapMaps
    names: MapAxes | None = None

    def plot(self, axes: Any = None) -> Self:
        """Draw on three axes, by default new ones."""
        axes = _axes(axes, 3)
        maps, names = self.maps, self.names
        spread = {"cmap": "viridis", "clim": (0, None)}
        signs = {"cmap": "cividis", "clim": (0.5, 1)}
        draw_map(axes[0], maps.mean, "mean of the refits", names, "W")
        draw_map(axes[1], maps.std, "standard deviation", names, "W", **spread)
        draw_map(axes[2], maps.sign_agreement, "same sign", names, "share of the refits", **signs)
        return self._drawn(axes, axes[0].figure)


@dataclass(repr=False)
class PermutationDisplay(Display):
    """W with its significant entries outlined, and the score with the scores of permuted labels.

    Parameters
    ----------
    tested : PermutationMap
        What :func:`permutation_map` returns.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_, figure_ : ndarray of two matplotlib axes, matplotlib figure
        Map and histogram, and the figure they are in.

    Examples
    --------
    >>> from matreg.inspection import PermutationDisplay, permutation_map
    >>> display = PermutationDisplay(permutation_map(model, X, y)).plot()  # doctest: +SKIP
    """

    tested: PermutationMap
    names: MapAxes | None = None

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, by default new ones."""
        axes = _axes(axes, 2)
        tested = self.tested
        count = int(tested.significant.sum())
        title = f"W; {count} entries with p ≤ {tested.alpha:g} (corrected)"
        draw_map(axes[0], tested.coef, title, self.names, "W")
        outline(axes[0], tested.significant)
        axes[1].hist(tested.score_null, bins=20, color=GREY, alpha=0.6, label="permuted labels")
        axes[1].axvline(tested.score, color=ORANGE, label="true labels")
        axes[1].set(xlabel="cross-validated score", ylabel="permutations")
        axes[1].set_title(f"score, p = {tested.score_p_value:.3g}")
        axes[1].spines[["top", "right"]].set_visible(False)
        axes[1].set_ylim(top=1.35 * axes[1].get_ylim()[1])  # room for the legend
        axes[1].legend(frameon=False, fontsize=8, loc="upper center")
        return self._drawn(axes, axes[0].figure)


def draw_map(
    axis: Any, matrix: Array, title: str, names: MapAxes | None, unit: str, **look: Any
) -> None:
    """Draw a map with its title, the names of rows and columns, and a colour bar with its unit."""
    image = (names or MapAxes()).draw(axis, matrix)
    image.set(**look)
    axis.set_title(title)
    axis.figure.colorbar(image, ax=axis, shrink=0.8, label=unit)


def outline(axis: Any, mask: NDArray[np.bool_]) -> None:
    """Draw one line around each region of marked entries of a map."""
    padded = np.pad(mask.astype(bool), 1)
    for i, j in zip(*np.nonzero(padded[1:, 1:-1] != padded[:-1, 1:-1]), strict=True):
        axis.plot([j - 0.5, j + 0.5], [i - 0.5, i - 0.5], color="black", linewidth=1.4)
    for i, j in zip(*np.nonzero(padded[1:-1, 1:] != padded[1:-1, :-1]), strict=True):
        axis.plot([j - 0.5, j - 0.5], [i - 0.5, i + 0.5], color="black", linewidth=1.4)


def maps_figure(
    model: Any,
    X: ArrayLike,
    *,
    bootstrap: BootstrapMaps | None = None,
    permutation: PermutationMap | None = None,
    names: MapAxes | None = None,
) -> Any:
    """All maps of a model on one page, for example for a supplement.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline or search around one.
    X : array-like of shape (n, p, q) or (n, p*q)
        Samples for the pattern.
    bootstrap : BootstrapMaps, default=None
        From :func:`bootstrap_maps`.
    permutation : PermutationMap, default=None
        From :func:`permutation_map`.
    names : MapAxes, default=None
        Labels of rows and columns; by default those of the samples of `fit`, if they had any.

    Returns
    -------
    matplotlib figure
        At most 8.3 by 11.7 inches, an A4 page.

    Examples
    --------
    >>> from matreg.inspection import maps_figure
    >>> maps_figure(model, X).savefig("maps.pdf")  # doctest: +SKIP
    """
    names = names or MapAxes.of(linear_part(model).model)
    rows = 2 + (bootstrap is not None) + (permutation is not None)
    page = pyplot().figure(figsize=(8.3, 2.9 * rows), layout="constrained")
    parts = iter(page.subfigures(rows, 1))
    PatternDisplay.from_estimator(model, X, names=names, axes=next(parts).subplots(1, 2))
    drawn = ComponentsDisplay(components(model), bootstrap, names=names)
    drawn.plot(next(parts).subplots(1, 2))
    if bootstrap is not None:
        BootstrapDisplay(bootstrap, names).plot(next(parts).subplots(1, 3))
    if permutation is not None:
        PermutationDisplay(permutation, names).plot(next(parts).subplots(1, 2))
    return page


def _axes(axes: Any, count: int) -> Any:
    if axes is None:
        _, axes = pyplot().subplots(1, count, figsize=(3.8 * count, 3.4), layout="constrained")
    axes = np.asarray(axes)
    if axes.shape != (count,):
        raise ValueError(f"axes must be {count} matplotlib axes; got shape {axes.shape}.")
    return axes
