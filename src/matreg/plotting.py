"""Figures of paths, of cross-validation and of coefficients.

They follow scikit-learn's display conventions: ``from_estimator`` draws and returns an object that
holds the axes and can draw again. matplotlib is imported when the first figure is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from ._typing import Array
from .estimators.path import RegularizationPath

# Okabe and Ito's colours, which colour-blind readers can tell apart.
BLUE, ORANGE, GREEN, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


def pyplot() -> Any:
    """matplotlib.pyplot, or a sentence that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Figures need matplotlib: pip install matreg[plot]") from error
    return plt


@dataclass
class PathDisplay:
    """Rank and singular values along a path of tau.

    Parameters
    ----------
    path : RegularizationPath
        What to draw.
    chosen : float, default=None
        A tau to mark.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Singular values and rank.
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg import PathDisplay, RMRCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), random_state=0)
    >>> model = RMRCV(n_taus=5, cv=2).fit(data.X, data.y)
    >>> display = PathDisplay.from_estimator(model, data.X, data.y)  # doctest: +SKIP
    """

    path: RegularizationPath
    chosen: float | None = None
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: ArrayLike,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        axes: Any = None,
    ) -> Self:
        """Fit the path of RMRCV or RGLMCV, after `fit`, to samples and draw it."""
        if not hasattr(estimator, "path"):
            raise TypeError(
                f"estimator must be an RMRCV or an RGLMCV; got {type(estimator).__name__}. Draw "
                "other paths with PathDisplay(rmr_path(X, y)).plot()."
            )
        pyplot()  # without it there is no need to begin
        return cls(estimator.path(X, y, sample_weight), estimator.tau_).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, by default new ones."""
        if axes is None:
            _, axes = pyplot().subplots(2, 1, sharex=True, figsize=(6, 5), layout="constrained")
        top, bottom = axes
        taus, values = self.path.taus, self.path.singular_values()
        shown = values[:, (values > 0.0).any(axis=0)]
        colours = pyplot().get_cmap("viridis")(np.linspace(0.0, 0.85, max(shown.shape[1], 1)))
        for column, colour in zip(shown.T, colours, strict=False):
            top.plot(taus, column, color=colour, linewidth=1.2)
        top.set_ylabel("singular values of W")
        bottom.step(taus, self.path.ranks, where="mid", color=BLUE)
        bottom.set_ylabel("rank of W")
        bottom.yaxis.get_major_locator().set_params(integer=True)
        finish_tau_axis(axes, self.chosen)
        self.axes_, self.figure_ = np.asarray(axes), top.figure
        return self


@dataclass
class CVDisplay:
    """Cross-validated score with its standard error, and rank, along tau.

    Parameters
    ----------
    taus, mean, error, rank : ndarray of shape (k,)
        Values of tau, mean scores, their standard errors and mean ranks.
    chosen : float
        The tau that was chosen.
    label : str, default="score"
        What the score is called.

    Attributes
    ----------
    axes_ : ndarray of matplotlib axes
        Score and rank.
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg import CVDisplay, RMRCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), random_state=0)
    >>> model = RMRCV(n_taus=5, cv=2).fit(data.X, data.y)
    >>> display = CVDisplay.from_estimator(model)  # doctest: +SKIP
    """

    taus: Array
    mean: Array
    error: Array
    rank: Array
    chosen: float
    label: str = "score"
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(cls, estimator: Any, *, axes: Any = None) -> Self:
        """Draw the rows of `cv_results_` that differ from the chosen one in tau alone."""
        check_is_fitted(estimator, "cv_results_")
        table, best = estimator.cv_results_, estimator.best_index_
        others = [k for k in table if k.startswith("param_") and k != "param_tau"]
        rows = np.ones(len(table["param_tau"]), dtype=bool)
        for name in others:
            rows &= table[name] == table[name][best]
        rows = np.flatnonzero(rows)[np.argsort(table["param_tau"][rows])]
        scoring = estimator.scoring
        return cls(
            table["param_tau"][rows],
            table["mean_test_score"][rows],
            table["se_test_score"][rows],
            table["mean_coef_rank"][rows],
            float(table["param_tau"][best]),
            scoring.replace("_", " ") if isinstance(scoring, str) else "R² of the folds",
        ).plot(axes)

    def plot(self, axes: Any = None) -> Self:
        """Draw on two axes, by default new ones."""
        if axes is None:
            _, axes = pyplot().subplots(
                2, 1, sharex=True, figsize=(6, 5), height_ratios=(2, 1), layout="constrained"
            )
        top, bottom = axes
        low, high = self.mean - self.error, self.mean + self.error
        top.fill_between(self.taus, low, high, color=BLUE, alpha=0.2, label="± standard error")
        top.plot(self.taus, self.mean, "o-", color=BLUE, markersize=3, label="mean of the folds")
        top.set_ylabel(self.label)
        bottom.plot(self.taus, self.rank, "o-", color=GREEN, markersize=3)
        bottom.set_ylabel("mean rank of W")
        finish_tau_axis(axes, self.chosen)
        top.legend(frameon=False)
        self.axes_, self.figure_ = np.asarray(axes), top.figure
        return self


@dataclass
class CoefDisplay:
    """The coefficient matrix as an image, with its leading singular vectors beside it.

    Parameters
    ----------
    coef : ndarray of shape (p, q)
        W.
    n_vectors : int, default=2
        How many pairs of singular vectors to draw, at most the rank.

    Attributes
    ----------
    axes_ : dict of matplotlib axes
        "coef", "left", "right".
    figure_ : matplotlib figure
        The figure they are in.

    Examples
    --------
    >>> from matreg import CoefDisplay, RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), random_state=0)
    >>> display = CoefDisplay.from_estimator(RMR().fit(data.X, data.y))  # doctest: +SKIP
    """

    coef: Array
    n_vectors: int = 2
    axes_: Any = field(init=False, default=None)
    figure_: Any = field(init=False, default=None)

    @classmethod
    def from_estimator(cls, estimator: Any, *, n_vectors: int = 2) -> Self:
        """Draw the coefficients of a fitted model."""
        check_is_fitted(estimator, "coef_")
        return cls(estimator.coef_, n_vectors).plot()

    def plot(self) -> Self:
        """Draw in a new figure."""
        plt = pyplot()
        figure, axes = plt.subplot_mosaic(
            [["left", "coef"], ["key", "right"]],
            width_ratios=(1, 4),
            height_ratios=(4, 1),
            figsize=(6.1, 5),  # a square matrix is drawn square
            layout="constrained",
        )
        image = show_matrix(axes["coef"], self.coef)
        axes["coef"].set_aspect("auto")  # rows and columns in line with those of the vectors
        figure.colorbar(image, ax=axes["coef"], shrink=0.8, label="W")
        U, d, Vt = np.linalg.svd(self.coef, full_matrices=False)
        rank = int(np.count_nonzero(d > 1e-10 * max(d[0], np.finfo(float).tiny)))
        colours = (BLUE, ORANGE, GREEN, GREY)
        for k in range(min(self.n_vectors, rank)):
            colour = colours[k % len(colours)]
            axes["left"].plot(U[:, k], np.arange(len(U)), color=colour, label=f"{d[k]:.3g}")
            axes["right"].plot(np.arange(Vt.shape[1]), Vt[k], color=colour)
        axes["left"].set(ylim=(len(U) - 0.5, -0.5), ylabel="row", xlabel="left")
        axes["left"].set_xticks([0.0])
        axes["right"].set(xlim=(-0.5, Vt.shape[1] - 0.5), xlabel="column", ylabel="right")
        for index in (axes["left"].yaxis, axes["right"].xaxis):
            index.get_major_locator().set_params(integer=True)
        axes["coef"].set_title(f"{self.coef.shape[0]} x {self.coef.shape[1]}, rank {rank}")
        axes["key"].axis("off")
        if rank:
            lines, labels = axes["left"].get_legend_handles_labels()
            title = "singular\nvalues"
            axes["key"].legend(lines, labels, title=title, frameon=False, loc="center")
        self.axes_, self.figure_ = axes, figure
        return self


def show_matrix(axis: Any, matrix: Array, limit: float | None = None) -> Any:
    """Image of a matrix on a colour scale that is symmetric around zero."""
    limit = limit or float(np.abs(matrix).max()) or 1.0
    image = axis.imshow(matrix, cmap="RdBu_r", vmin=-limit, vmax=limit, interpolation="nearest")
    axis.set_xticks([])
    axis.set_yticks([])
    return image


def finish_tau_axis(axes: Any, chosen: float | None) -> None:
    """Logarithmic axis of tau, with the chosen value marked on all axes."""
    for axis in axes:
        axis.set_xscale("log")
        axis.spines[["top", "right"]].set_visible(False)
        if chosen:
            axis.axvline(chosen, color=ORANGE, linestyle="--", linewidth=1, label="chosen tau")
    axes[-1].set_xlabel("tau")
