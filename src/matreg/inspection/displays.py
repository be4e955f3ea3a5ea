"""Figures of the maps; :func:`maps_figure` puts all of them on one page."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._typing import Array
from ..estimators._linear_part import linear_part
from ..plotting import BLUE, GREEN, GREY, ORANGE, pyplot
from ._axes import MapAxes
from .bootstrap import BootstrapMaps
from .maps import Components, components, pattern
from .permutation import PermutationMap

COLOURS = (BLUE, ORANGE, GREEN, GREY)


@dataclass(repr=False)
class PatternDisplay:
    """The filter W and the pattern side by side.

    Parameters
    ----------
    coef, pattern : ndarray of shape (p, q)
        W and the pattern.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib axes
        Filter and pattern.
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import PatternDisplay
    >>> data = make_matrix_regression(60, (6, 5), random_state=0)
    >>> model = RMR(tau=1.0).fit(data.X, data.y)
    >>> display = PatternDisplay.from_estimator(model, data.X)  # doctest: +SKIP
    """

    coef: Array
    pattern: Array
    names: MapAxes | None = None
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

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
        for axis, matrix, title in zip(
            axes, (self.coef, self.pattern), ("filter W", "pattern"), strict=True
        ):
            image = (self.names or MapAxes()).draw(axis, matrix)
            axis.set_title(title)
            axis.figure.colorbar(image, ax=axis, shrink=0.8)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


@dataclass(repr=False)
class ComponentsDisplay:
    """Row and column profiles of the leading components, with their spread if it is known.

    Parameters
    ----------
    components : Components
        What to draw.
    bootstrap : BootstrapMaps, default=None
        Refits, whose standard deviation is drawn around the profiles.
    n_components : int, default=3
        How many, at most the rank.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib axes
        Row profiles and column profiles.
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import ComponentsDisplay
    >>> data = make_matrix_regression(60, (6, 5), random_state=0)
    >>> model = RMR(tau=1.0).fit(data.X, data.y)
    >>> display = ComponentsDisplay.from_estimator(model)  # doctest: +SKIP
    """

    components: Components
    bootstrap: BootstrapMaps | None = None
    n_components: int = 3
    names: MapAxes | None = None
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

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
        found, names = self.components, self.names or MapAxes()
        for k in range(min(self.n_components, len(found.rows))):
            label = f"{k + 1}: {found.singular_values[k]:.3g}"
            if self.bootstrap is not None:
                label += f" ± {self.bootstrap.singular_value_std[k]:.2g}"
            self._profile(axes[0], found.rows[k], "row_std", k, label)
            self._profile(axes[1], found.columns[k], "column_std", k, label)
        names.rows(axes[0].xaxis)
        names.columns(axes[1].xaxis)
        axes[0].set_title("row profiles")
        axes[1].set_title("column profiles")
        if len(found.rows):
            look = {"frameon": False, "fontsize": 8, "title_fontsize": 8}
            beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)}
            axes[1].legend(title="singular value", **look, **beside)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _profile(self, axis: Any, profile: Array, spread: str, k: int, label: str) -> None:
        places, colour = np.arange(len(profile)), COLOURS[k % len(COLOURS)]
        axis.axhline(0.0, color=GREY, linewidth=0.5)
        axis.plot(places, profile, color=colour, label=label, marker=".", linewidth=1.2)
        if self.bootstrap is not None:
            width = getattr(self.bootstrap, spread)[k]
            axis.fill_between(places, profile - width, profile + width, color=colour, alpha=0.2)
        axis.spines[["top", "right"]].set_visible(False)


@dataclass(repr=False)
class BootstrapDisplay:
    """Mean, standard deviation and sign agreement of the refits.

    Parameters
    ----------
    maps : BootstrapMaps
        What :func:`bootstrap_maps` returns.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_ : ndarray of three matplotlib axes
        Mean, standard deviation, sign agreement.
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg.inspection import BootstrapDisplay, bootstrap_maps
    >>> display = BootstrapDisplay(bootstrap_maps(model, X, y)).plot()  # doctest: +SKIP
    """

    maps: BootstrapMaps
    names: MapAxes | None = None
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    def plot(self, axes: Any = None) -> Self:
        """Draw on three axes, by default new ones."""
        axes = _axes(axes, 3)
        names, maps = self.names or MapAxes(), self.maps
        limit = float(np.abs(maps.mean).max())
        for axis, matrix, title, look in (
            (axes[0], maps.mean, "mean of the refits", {"clim": (-limit, limit)}),
            (axes[1], maps.std, "standard deviation", {"cmap": "viridis", "clim": (0, None)}),
            (axes[2], maps.sign_agreement, "same sign", {"cmap": "cividis", "clim": (0.5, 1)}),
        ):
            image = names.draw(axis, matrix, None, **look)
            axis.set_title(title)
            axis.figure.colorbar(image, ax=axis, shrink=0.8)
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


@dataclass(repr=False)
class PermutationDisplay:
    """W with its significant entries outlined, and the score among those of permuted labels.

    Parameters
    ----------
    tested : PermutationMap
        What :func:`permutation_map` returns.
    names : MapAxes, default=None
        Labels of rows and columns.

    Attributes
    ----------
    axes_ : ndarray of two matplotlib axes
        Map and histogram.
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg.inspection import PermutationDisplay, permutation_map
    >>> display = PermutationDisplay(permutation_map(model, X, y)).plot()  # doctest: +SKIP
    """

    tested: PermutationMap
    names: MapAxes | None = None
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, by default new ones."""
        axes = _axes(axes, 2)
        tested = self.tested
        image = (self.names or MapAxes()).draw(axes[0], tested.coef)
        axes[0].figure.colorbar(image, ax=axes[0], shrink=0.8)
        outline(axes[0], tested.significant)
        count = int(tested.significant.sum())
        axes[0].set_title(f"W; {count} entries with p ≤ {tested.alpha:g} (corrected)")
        axes[1].hist(tested.score_null, bins=20, color=GREY, alpha=0.6, label="permuted labels")
        axes[1].axvline(tested.score, color=ORANGE, label="true labels")
        axes[1].set(xlabel="cross-validated score", ylabel="permutations")
        axes[1].set_title(f"score, p = {tested.score_p_value:.3g}")
        axes[1].spines[["top", "right"]].set_visible(False)
        axes[1].legend(frameon=False, fontsize=8, loc="upper center")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def outline(axis: Any, mask: NDArray[np.bool_]) -> None:
    """Draw a line around the marked entries of a map, and around each of them only once."""
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
    """All maps of a model on one page: what a supplement needs.

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
        Labels of rows and columns.

    Returns
    -------
    matplotlib figure
        At most 8.3 by 11.7 inches, an A4 page.

    Examples
    --------
    >>> from matreg.inspection import maps_figure
    >>> maps_figure(model, X).savefig("maps.pdf")  # doctest: +SKIP
    """
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
