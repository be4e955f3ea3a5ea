"""Samples before and after the cleaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ._style import Display, pyplot, show_matrix


@dataclass(repr=False)
class OutlierDisplay(Display):
    """The samples that look most corrupted: observed, cleaned, and their difference.

    Parameters
    ----------
    observed, clean : ndarray of shape (k, p, q)
        Samples before and after the cleaning; NaN in `observed` where entries are missing.
    scores : ndarray of shape (k,)
        Their outlier scores.
    index : ndarray of shape (k,)
        Their indices among all samples.

    Attributes
    ----------
    axes_, figure_ : ndarray of matplotlib axes of shape (3, k), matplotlib figure
        Observed, clean and outlier, one column per sample, and the figure they are in.

    Examples
    --------
    >>> from matreg import GRMR, OutlierDisplay
    >>> display = OutlierDisplay.from_estimator(GRMR().fit(X, y), X)  # doctest: +SKIP
    """

    observed: Array
    clean: Array
    scores: Array
    index: NDArray[np.intp]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: ArrayLike, *, n_samples: int = 5, cmap: str = "viridis"
    ) -> Self:
        """Clean samples by a fitted GRMR or GSMM and draw the worst of them.

        Parameters
        ----------
        estimator : GRMR, GSMM, GRMRCV or GSMMCV
            A fitted model.
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples, of the training or new ones.
        n_samples : int, default=5
            Number of samples to draw, the one with the largest score first.
        cmap : str, default="viridis"
            Colour map of the samples; "gray" for images.
        """
        if not hasattr(estimator, "sample_outlier_score"):
            raise TypeError(
                "estimator must be a model that cleans samples, such as GRMR or GSMM; got "
                f"{type(estimator).__name__}, which does not."
            )
        pyplot()
        check_is_fitted(estimator, "coef_")
        scores = estimator.sample_outlier_score(X)
        worst = np.argsort(-scores, kind="stable")[:n_samples]
        observed = np.asarray(X, dtype=float)[worst]
        clean = np.asarray(estimator.transform(np.asarray(X)[worst]))
        shape = (-1, *estimator.matrix_shape_)
        return cls(observed.reshape(shape), clean.reshape(shape), scores[worst], worst).plot(cmap)

    def plot(self, cmap: str = "viridis") -> Self:
        """Draw in a new figure, observed and clean on one colour scale, outliers on another."""
        k = len(self.index)
        size = (1.6 * k + 1.2, 5.0)
        figure, axes = pyplot().subplots(3, k, figsize=size, squeeze=False, layout="constrained")
        # A gross outlier must not determine the scale of all images.
        low, high = np.nanmin(self.clean), np.nanmax(self.clean)
        limit = float(np.nanmax(np.abs(self.observed - self.clean), initial=0.0))
        for j in range(k):
            for i, image in enumerate((self.observed[j], self.clean[j])):
                shown = axes[i, j].imshow(image, cmap=cmap, vmin=low, vmax=high)
            taken = show_matrix(axes[2, j], self.observed[j] - self.clean[j], limit or 1.0)
            title = f"sample {self.index[j]}\nscore {self.scores[j]:.2g}"
            axes[0, j].set_title(title, fontsize=9)
        for axis in axes.flat:
            axis.set(xticks=[], yticks=[])
            axis.set_facecolor("0.85")  # missing entries
        for axis, label in zip(axes[:, 0], ("observed", "clean", "outlier"), strict=True):
            axis.set_ylabel(label)
        figure.colorbar(shown, ax=axes[:2], shrink=0.7, label="X")
        figure.colorbar(taken, ax=axes[2], shrink=0.9, label="outlier")
        return self._drawn(axes, figure)
