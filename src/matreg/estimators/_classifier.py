"""Classifiers by large margins: several classes as problems of two, and their decisions together.

A problem of two classes has the labels -1 and 1. More classes are told apart one against one, a
problem for each pair on the samples of both, or one against the rest, a problem for each class on
all samples.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _ovr_decision_function
from sklearn.utils.validation import check_is_fitted

from .._typing import Array
from ..dask_blocks import is_dask
from ..solvers import SolverResult
from ._base import MatrixEstimator
from ._classes import check_weighted_classes, classes_at, encode_classes
from ._duplicates import Distinct, merge_duplicates
from ._stored import is_streamed
from ._streamed import decide_streamed, linear
from ._wrong_labels import class_outlier_score

CLASSIFIER_CONSTRAINTS: dict[str, list[Any]] = {
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "multi_class": [StrOptions({"one_vs_one", "one_vs_rest"})],
}


@dataclass(frozen=True)
class TwoClasses:
    """One of the problems of two classes.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Samples that take part.
    signs : ndarray of shape (m,)
        Their labels, -1 or 1.
    """

    rows: NDArray[np.intp]
    signs: Array

    def everywhere(self, weights: Array) -> tuple[Array, Array]:
        """Labels and weights of all samples: those that take no part have weight zero."""
        signs, some = -np.ones(len(weights)), np.zeros(len(weights))
        signs[self.rows], some[self.rows] = self.signs, weights[self.rows]
        return signs, some

    def distinct(self, X: Array, weights: Array) -> Distinct:
        """The samples of the problem, each once."""
        everything = len(self.rows) == len(X)
        samples = X if everything else np.ascontiguousarray(X[self.rows])
        return merge_duplicates(samples, self.signs, weights[self.rows])


class MatrixClassifier(ClassifierMixin, MatrixEstimator):
    """Base of classifiers whose samples are matrices."""

    C_: float
    loss: str
    class_weight: dict[Any, float] | str | None
    multi_class: str

    def _validate_labels(self, y: Any, n: int) -> Array:
        """Index of the class of each sample."""
        self.classes_, index = encode_classes(y, n)
        return index

    def _decode(self, y: Array) -> Any:
        return self.classes_[y.astype(int)]

    def _weigh_classes(self, y: Array, weights: Array) -> Array:
        """Weights of samples times those of their classes."""
        k = len(self.classes_)
        check_weighted_classes(y, weights, k)
        if self.class_weight is None:
            return weights
        index = y.astype(int)
        if isinstance(self.class_weight, dict):
            labels = self.classes_[index]
            factors = compute_class_weight(self.class_weight, classes=self.classes_, y=labels)
            if not (np.isfinite(factors) & (factors > 0.0)).all():
                raise ValueError(
                    f"class_weight must have positive weights; got {self.class_weight!r}."
                )
        else:  # every class the same weight in all
            factors = weights.sum() / (k * np.bincount(index, weights=weights, minlength=k))
        return weights * factors[index]

    def _problems(self, y: Array) -> Iterator[TwoClasses]:
        """The problems of two classes, in the order of `coef_`."""
        k = len(self.classes_)
        if self.multi_class == "one_vs_rest" and k > 2:
            everyone = np.arange(len(y))
            yield from (TwoClasses(everyone, np.where(y == c, 1.0, -1.0)) for c in range(k))
            return
        for first, second in combinations(range(k), 2):
            rows = np.flatnonzero((y == first) | (y == second))
            yield TwoClasses(rows, np.where(y[rows] == second, 1.0, -1.0))

    def _store_all(self, results: list[tuple[TwoClasses, Distinct, SolverResult]], n: int) -> None:
        """Fitted attributes, with a first axis of problems if there are several."""
        columns: dict[str, list[Any]] = {}
        scores = np.full((len(results), n), np.nan)
        bound = self.C_ if self.loss == "hinge" else np.inf
        for k, (problem, distinct, result) in enumerate(results):
            scores[k, problem.rows] = class_outlier_score(result, distinct, bound)
            self._store(result, distinct)
            dual = np.zeros(n)
            dual[problem.rows] = self.dual_coef_
            self.dual_coef_ = dual
            for name in PER_PROBLEM:
                columns.setdefault(name, []).append(getattr(self, name))
        if len(results) > 1:
            for name, column in columns.items():
                setattr(self, name, column if name == "history_" else np.array(column))
        self.label_outlier_score_ = np.fmax.reduce(scores)

    def _combine(self, f: Array) -> Array:
        """Decisions (..., n) or (..., n, k) from those of the problems, (m, ..., n)."""
        return combined(f, len(self.classes_), self.multi_class)

    def _labels(self, f: Array) -> NDArray[Any]:
        index = (f > 0.0).astype(int) if f.ndim == 1 else f.argmax(axis=-1)
        return classes_at(self.classes_, index)

    def _score_all(self, y: Any, decisions: Array, sample_weight: Array | None) -> Array:
        right = np.array([self._labels(f) == y for f in decisions])
        return np.average(right, axis=1, weights=sample_weight)

    def decision_function(self, X: ArrayLike) -> Array:
        """Decisions on samples.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples of the same shape as in `fit`.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            For two classes ``<coef_, X_i> + intercept_``, positive for the second one. For more
            one column per class, the largest for the class that is predicted: one against the rest
            the decision of the class, one against one the number of its votes, with the sum of its
            decisions, scaled to less than 1/2, to break ties.
        """
        if is_dask(X) or is_streamed(X):
            check_is_fitted(self, "coef_")
            k = len(self.classes_)
            combine = partial(combined, k=k, multi_class=self.multi_class)
            return decide_streamed(self, X, combine=combine, columns=None if k == 2 else k)
        X = self._validate_samples(X, keeps_dtype=True)
        W, b = self.coef_.reshape(-1, X[0].size), np.atleast_1d(self.intercept_)
        return self._combine(linear(X.reshape(len(X), -1), W, b))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the classes of samples.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples of the same shape as in `fit`.

        Returns
        -------
        ndarray of shape (n,)
            Entries of `classes_`.
        """
        return self._labels(self.decision_function(X))


def combined(f: Array, k: int, multi_class: str) -> Array:
    """Decisions (..., n) or (..., n, k) on k classes from those of the problems, (m, ..., n)."""
    if len(f) == 1:
        return f[0]
    if multi_class == "one_vs_rest":
        return np.moveaxis(f, 0, -1)
    flat = f.reshape(len(f), -1).T
    votes = _ovr_decision_function(flat > 0.0, flat, k)
    return np.asarray(votes).reshape(*f.shape[1:], k)


def problem_names(model: Any) -> dict[str, list[Any]]:
    """Names of the problems of a model with several, in the order of `coef_`, and their classes."""
    every = list(model.classes_)
    if model.multi_class == "one_vs_rest":
        return {f"{one}": every for one in every}
    return {f"{one} or {other}": [one, other] for one, other in combinations(every, 2)}


def coef_of(model: Any, problem: int | None = None) -> Array:
    """W of a fitted model, of shape (p, q).

    Parameters
    ----------
    model : fitted model
        What has `coef_`.
    problem : int, default=None
        Which of the problems of two classes, where there are several.
    """
    coef = np.asarray(model.coef_)
    coefs = coef if coef.ndim == 3 else coef[None]
    if problem is None and len(coefs) == 1:
        return coefs[0]
    if problem is not None and 0 <= problem < len(coefs):
        return coefs[problem]
    if len(coefs) == 1:
        raise ValueError(f"problem must be 0 or None for a model with one W; got {problem}.")
    names = list(problem_names(model))
    listed = ", ".join(f"{k} ({name})" for k, name in enumerate(names[:3]))
    raise ValueError(
        f"problem must say which of the {len(coefs)} matrices of coefficients is meant: "
        f"{listed}{', ...' if len(names) > 3 else ''}; got {problem}. Where there is no such "
        "parameter, fit two classes alone."
    )


PER_PROBLEM = (
    "coef_",
    "intercept_",
    "rank_",
    "dual_coef_",
    "objective_",
    "dual_gap_",
    "n_iter_",
    "history_",
)
