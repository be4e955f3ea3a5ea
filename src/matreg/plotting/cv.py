"""Figure of a choice by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..scoring import score_of_search
from ._style import BLUE, GREEN, Display, finish_tau_axis, panels


@dataclass(repr=False)
class CVDisplay(Display):
    """Cross-validated score with its standard error, and rank, along tau.

    Parameters
    ----------
    taus, mean, error : ndarray of shape (k,)
        Values of tau, mean scores and their standard errors. For a score that is minus an error,
        as "neg_mean_absolute_error", `mean` is the error itself.
    rank : ndarray of shape (k,) or None
        Mean ranks of W; None where they are not known.
    chosen : float
        The tau that was chosen.
    label : str, default="score"
        What the score is called.

    Attributes
    ----------
    axes_, figure_ : ndarray of matplotlib axes, matplotlib figure
        Score and rank, and the figure they are in.

    Examples
    --------
    >>> from matreg import RMRCV, CVDisplay
    >>> display = CVDisplay.from_estimator(RMRCV().fit(X, y))  # doctest: +SKIP
    """

    taus: Array
    mean: Array
    error: Array
    rank: Array | None
    chosen: float
    label: str = "score"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None) -> Self:
        """Draw the rows of `cv_results_` that differ from the chosen one only in tau.

        Parameters
        ----------
        estimator : RMRCV, RGLMCV, GRMRCV, or a search such as GridSearchCV over tau
            After `fit`; it may be in a Pipeline or a TransformedTargetRegressor.
        ax : matplotlib axes or a pair of them, default=None
            For the score, and for the rank; new ones by default.

        Returns
        -------
        CVDisplay
            With its axes.
        """
        search = _searching(estimator)
        if hasattr(search, "coef_") and not hasattr(search, "cv_results_"):
            raise TypeError(
                "estimator must be a search, such as RMRCV or GridSearchCV; got "
                f"{type(search).__name__}, which chooses no parameters."
            )
        check_is_fitted(search, "cv_results_")
        table, best = search.cv_results_, search.best_index_
        tau = _column_of_tau(table)
        rows = ~np.isnan(np.asarray(table["mean_test_score"], dtype=float))  # NaN: not tried
        for name in table:
            if name.startswith("param_") and name != tau:
                rows &= np.asarray(table[name] == table[name][best], dtype=bool)
        try:
            taus = np.asarray(table[tau], dtype=float)
        except ValueError:
            raise ValueError(
                f"estimator must have searched over numbers for tau; got {table[tau][0]!r}. "
                "RMRCV and the other searches of matreg find numbers themselves."
            ) from None
        rows = np.flatnonzero(rows)[np.argsort(taus[rows])]
        name, is_error = score_of_search(search)
        mean = table["mean_test_score"][rows]
        where = "by leave-one-out" if getattr(search, "cv", None) == "loo" else "of the folds"
        return cls(
            taus[rows],
            -mean if is_error else mean,
            _standard_error(table)[rows],
            table["mean_coef_rank"][rows] if "mean_coef_rank" in table else None,
            float(taus[best]),
            f"{name} {where}",
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw on two axes, by default new ones; on one axis, draw only the score."""
        number = 1 if self.rank is None else 2
        size = (6, 3.5 if number == 1 else 5)
        found = panels(ax, number, height_ratios=(2, 1)[:number], figsize=size)
        top = found[0]
        low, high = self.mean - self.error, self.mean + self.error
        top.fill_between(self.taus, low, high, color=BLUE, alpha=0.2, label="± standard error")
        score = "mean of the folds" if self.label.endswith("of the folds") else "score"
        top.plot(self.taus, self.mean, "o-", color=BLUE, markersize=3, label=score)
        top.set_ylabel(self.label)
        for bottom in found[1:]:
            bottom.plot(self.taus, self.rank, "o-", color=GREEN, markersize=3)
            bottom.set_ylabel("mean rank of W")
        finish_tau_axis(found, self.chosen)
        top.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
        return self._drawn(np.array(found), top.figure)


def _searching(estimator: Any) -> Any:
    """The search inside a pipeline or a transformed-target regressor."""
    if hasattr(estimator, "cv_results_"):
        return estimator
    if isinstance(estimator, Pipeline):
        return _searching(estimator[-1])
    return _searching(estimator.regressor_) if hasattr(estimator, "regressor_") else estimator


def _column_of_tau(table: dict[str, Any]) -> str:
    names = [name for name in table if name == "param_tau" or name.endswith("__tau")]
    if len(names) != 1:
        raise ValueError("estimator must have searched over tau; its cv_results_ have no tau.")
    return names[0]


def _standard_error(table: dict[str, Any]) -> Array:
    if "se_test_score" in table:
        return np.asarray(table["se_test_score"])
    folds = sum(name.startswith("split") and name.endswith("_test_score") for name in table)
    return np.asarray(table["std_test_score"]) / np.sqrt(max(folds - 1, 1))
