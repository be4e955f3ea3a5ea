"""Scores of given decisions, such as those of a whole path."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import isfunction
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from ..._typing import Array, Fold, Values
from ...data.samples import Samples
from .._fit.base import MatrixEstimator
from .._fit.fitted import deciding
from .._fit.several import each_label


@dataclass(frozen=True)
class FoldScore:
    """Scores of given decisions, weighted if there are weights and the scorer takes them."""

    model: MatrixEstimator
    scorer: Any
    weighted: bool

    def __call__(self, decisions: Array, samples: Samples) -> Array:
        """Scores (k,) of the rows of decisions (k, n); without a scorer, the model's own score.

        For labels that are fitted jointly, this is the mean of the scores of the labels, each on
        the samples that have the label, with labels in units of their spread.
        """
        if samples.table is None:
            return self.of_label(self.model._decode(samples.y), decisions, samples)
        scores = []
        for j, (rows, labels) in enumerate(each_label(samples)):
            if len(rows) == 0:
                return np.full(len(decisions), np.nan)
            scores.append(self.of_label(labels, decisions[:, rows, j], samples.take(rows)))
        return np.asarray(np.mean(scores, axis=0))

    def of_label(self, labels: Values, decisions: Array, samples: Samples) -> Array:
        """Scores (k,) of the rows of decisions (k, n) on one label."""
        X, weights = samples.X, samples.weights
        if self.scorer is None:
            return self.model._score_all(labels, decisions, weights if self.weighted else None)
        # A user's function may not take weights.
        weighing = (
            {"sample_weight": weights} if self.weighted and not isfunction(self.scorer) else {}
        )

        def score(f: Array) -> float:
            return float(self.scorer(deciding(self.model, lambda X: f), X, labels, **weighing))

        return np.array([score(f) for f in decisions])

    def check(self, samples: Samples, folds: list[Fold]) -> None:
        """Refuse a scorer that fails on guessed decisions, or that is undefined on a fold."""
        for _, index in folds:
            test = samples.take(index)
            guess = self._guess(test, 1e-3 * samples.y.std())
            try:
                (value,) = np.ravel(self(guess[None], test))
            except Exception as error:  # a scorer may fail in any way
                raise ValueError(
                    f"scoring={self.model.scoring!r} cannot score the predictions of "
                    f"{type(self.model).__name__}: {error}"
                ) from error
            if np.isnan(value):
                raise ValueError(
                    "scoring must be defined on the test samples of every fold, but it is not a "
                    f"number on {test.n} of them. R2, the default, needs two or more: with "
                    "folds of single samples, as those of LeaveOneOut, pass a score such as "
                    "scoring='neg_mean_absolute_error'."
                )

    def _guess(self, samples: Samples, near: float) -> Array:
        """Decisions near the labels: a score that warns of them would also warn of a good fit.

        They are not integers, which pass for classes, nor all equal, for which correlations fail.
        """
        y, table = samples.y, samples.table
        columns = self.model._combiner()[1] if table is None else table.shape[1]
        ramp = near * np.linspace(1.0, 2.0, samples.n)
        if not is_classifier(self.model):
            guess = np.minimum(y, 30.0) + ramp  # beyond, a mean of counts overflows
            return guess if columns is None else np.outer(guess, np.linspace(1.0, 2.0, columns))
        if columns is None:
            return y - 0.5 + ramp
        return np.asarray(np.eye(columns)[y.astype(int)] + ramp[:, None])
