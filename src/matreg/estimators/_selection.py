"""Cross-validation over candidates, each a path of tau: what the selecting estimators share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import isfunction
from itertools import product
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context, is_classifier
from sklearn.utils._param_validation import Interval
from sklearn.utils.metaestimators import available_if

from .._typing import Array, Mask
from ..interruption import ADVICE, may_keep
from ..linalg.threads import one_thread
from ..progress import track
from ._base import MatrixEstimator
from ._callbacks import callback_context, reported, watched
from ._duplicates import Distinct, merge_duplicates
from ._folds import make_folds
from ._input import to_numbers
from ._report import warn_at_edge
from ._scale import each
from ._stored import is_streamed

COMMON_CONSTRAINTS: dict[str, list[Any]] = {
    "cv": ["cv_object"],
    "scoring": [str, callable, None],
    "one_standard_error": ["boolean"],
    "n_jobs": [Integral, None],
    "fit_intercept": ["boolean"],
    "tol": [Interval(Real, 0, None, closed="left")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "verbose": ["verbose"],
    "matrix_shape": [tuple, list, None],
}
# Share of what the model gains over the most regularisation that is worth a warning.
WORTHWHILE = 0.01
NUMBER_OR_LIST = [Interval(Real, 0, None, closed="left"), str, "array-like"]


@dataclass(frozen=True)
class Candidate:
    """A path to try: all parameters but one, and the values of that one in order.

    Attributes
    ----------
    parameters : dict
        Parameters that are the same all along.
    values : ndarray of shape (k,)
        Values of the one that changes, from the most regularisation to the least.
    along : str
        Which one that is.
    """

    parameters: dict[str, Any]
    values: Array
    along: str = field(default="tau", kw_only=True)

    @property
    def taus(self) -> Array:
        """Tau of each point."""
        return self.column("tau")

    def column(self, name: str) -> Any:
        """Values of a parameter, one per point."""
        if name == self.along:
            return self.values
        return np.array([self.parameters[name]] * len(self.values))


class KnownDecisions(BaseEstimator):
    """A fitted model whose decisions on the test samples are known, for scorers."""

    def __init__(self, model: MatrixEstimator, decisions: Array) -> None:
        self.model, self.decisions = model, decisions

    def __sklearn_tags__(self) -> Any:
        return self.model.__sklearn_tags__()

    def __sklearn_is_fitted__(self) -> bool:
        return True

    @property
    def classes_(self) -> Any:
        """Classes of a classifier."""
        return self.model.classes_

    def predict(self, X: ArrayLike) -> Any:
        """Labels of the known decisions."""
        return self.model._labels(self.decisions)

    @available_if(lambda self: hasattr(self.model, "decision_function"))
    def decision_function(self, X: ArrayLike) -> Array:
        """The known decisions."""
        return self.decisions

    @available_if(lambda self: hasattr(self.model, "predict_proba"))
    def predict_proba(self, X: ArrayLike) -> Array:
        """Probabilities of the known decisions."""
        return self.model._probabilities(self.decisions)


class SelectorCV(MatrixEstimator):
    """Cross-validation over candidates, each a path of tau, and a last fit to all the data."""

    # What the subclasses define.
    cv: Any
    scoring: Any
    one_standard_error: bool
    n_jobs: int | None
    verbose: int

    def _candidates(self, distinct: Distinct) -> list[Candidate]:
        """What to try."""
        raise NotImplementedError

    def _predict_path(
        self, train: Distinct, candidate: Candidate, X_test: Array
    ) -> tuple[Array, Array]:
        """Decisions (k, n_test) of the models of a candidate, and their ranks (k,)."""
        raise NotImplementedError

    def _refit(self, X: Array, y: Array, weights: Array, candidate: Candidate, chosen: int) -> None:
        """Fit the chosen model to all the data."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Choose the parameters by cross-validation and fit to all the data.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.
        y : array-like of shape (n,)
            Labels.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses of the fits, and of the scores if `scoring` takes
            weights.
        groups : array-like of shape (n,), default=None
            Groups of the samples, for splitters that ask for them.

        Returns
        -------
        self
            The fitted model itself.
        """
        if is_streamed(X):
            with self._unchanged_on_failure():
                self._fit_streamed(X, y, sample_weight, groups)
            return self
        with self._unchanged_on_failure():
            X, y, weights = self._validate_fit(X, y, sample_weight)
            # All that can be wrong with the arguments, before the first fit.
            folds = make_folds(self.cv, X, y, groups, is_classifier(self), weights)
            score = self._score(X, y, weights, folds, sample_weight is not None)
            candidates = self._candidates(merge_duplicates(X, y, weights))
            with callback_context(self, self._n_tasks(folds, candidates)):
                scores, ranks = self._cross_validate(X, y, weights, folds, candidates, score)
                best = self._select(candidates, scores, ranks)
                with watched(self):
                    self._refit(X, y, weights, candidates[best[0]], best[1])
        return self

    def _n_tasks(self, folds: list[Any], candidates: list[Candidate]) -> int | None:
        """How many tasks the callbacks will hear of, if that is known."""
        return len(folds) * len(candidates)

    def _score(
        self, X: Array, y: Array, weights: Array, folds: list[tuple[Any, Any]], weighted: bool
    ) -> FoldScore:
        """How to score, tried on guesses for all folds."""
        from sklearn.metrics import check_scoring  # late: it takes long to import

        scorer = None if self.scoring is None else check_scoring(self, scoring=self.scoring)
        score = FoldScore(self, scorer, weighted)
        if scorer is None and is_classifier(self):
            return score  # accuracy, which is always defined
        for train, test in folds:
            # No integers, which pass for classes, and not all equal, where correlations fail.
            guess = min(y[train].mean(), 30.0) + 1e-3 * y.std() * np.linspace(
                1.0, 2.0, len(y[test])
            )
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    (value,) = np.ravel(score(guess[None], X[test], y[test], weights[test]))
            except Exception as error:  # a scorer may fail in any way
                raise ValueError(
                    f"scoring={self.scoring!r} cannot score the predictions of "
                    f"{type(self).__name__}: {error}"
                ) from error
            if np.isnan(value):
                raise ValueError(
                    "scoring must be defined on the test samples of every fold, but it is not a "
                    f"number on {len(y[test])} of them. R2, the default, needs two or more: with "
                    "single ones, as of LeaveOneOut, pass scoring='neg_mean_absolute_error' or the "
                    "like."
                )
        return score

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        """Choose and fit on samples that are read block by block."""
        raise NotImplementedError

    def _cross_validate(
        self,
        X: Array,
        y: Array,
        weights: Array,
        folds: list[Any],
        candidates: list[Candidate],
        score: FoldScore,
    ) -> tuple[Array, Array]:
        """Scores and ranks, of shape (folds, all values of tau of all candidates)."""
        tasks = list(product(range(len(folds)), range(len(candidates))))
        edges = np.cumsum([0] + [len(candidate.values) for candidate in candidates])
        scores = np.full((len(folds), edges[-1]), np.nan)
        ranks = np.full((len(folds), edges[-1]), np.nan)
        calls = (
            delayed(_score_fold)(self, score, X, y, weights, folds[f], candidates[c], (f, c))
            for f, c in tasks
        )
        results = Parallel(n_jobs=self.n_jobs, return_as="generator_unordered")(calls)
        left = np.full(len(folds), len(candidates))  # of each fold
        try:
            finished = reported(self, results, lambda: bool((left == 0).any()))
            for (f, c), values, rank in track(finished, "folds", len(tasks), self.verbose):
                scores[f, edges[c] : edges[c + 1]] = values
                ranks[f, edges[c] : edges[c + 1]] = rank
                left[f] -= 1
        except KeyboardInterrupt:
            if left.all() or not may_keep():
                raise
        complete = left == 0
        if not complete.all():
            warn_interrupted(int(complete.sum()), len(folds))
        return scores[complete], ranks[complete]

    def _select(self, candidates: list[Candidate], scores: Array, ranks: Array) -> tuple[int, int]:
        """Fill `cv_results_` and return the chosen candidate and its chosen tau."""
        index = [(c, k) for c, one in enumerate(candidates) for k in range(len(one.values))]
        mean, std = scores.mean(axis=0), scores.std(axis=0)
        if np.isnan(mean).all():
            raise ValueError(f"scoring={self.scoring!r} is not a number for all that was tried.")
        error = std / np.sqrt(max(len(scores) - 1, 1))
        order = np.where(np.isnan(mean), -np.inf, mean)  # NaN: not in all folds
        names = [candidates[0].along, *candidates[0].parameters]
        table: dict[str, Any] = {
            f"param_{name}": np.concatenate([one.column(name) for one in candidates])
            for name in names
        }
        for f, row in enumerate(scores):
            table[f"split{f}_test_score"] = row
        table |= {
            "mean_test_score": mean,
            "std_test_score": std,
            "se_test_score": error,
            "rank_test_score": 1 + np.array([(order > m).sum() for m in order]),
            "mean_coef_rank": ranks.mean(axis=0),
        }
        best = int(np.nanargmax(mean))
        enough = mean[best] - error[best]
        owner = np.array([c for c, _ in index])
        if self.one_standard_error:
            # The first good one of a candidate has the most regularisation.
            best = int(np.flatnonzero((mean >= enough) & (owner == owner[best]))[0])
        self.cv_results_, self.best_index_, self.best_score_ = table, best, float(mean[best])
        same = owner == owner[best]
        known = mean[same & ~np.isnan(mean)]
        gain = np.nanmax(mean) - known[0]  # over the most regularisation
        self._warn_at_edges(names, same, order, min(enough, np.nanmax(mean) - WORTHWHILE * gain))
        return index[best]

    def _warn_at_edges(self, names: list[str], same: Mask, scores: Array, enough: float) -> None:
        """Warn where a chosen parameter is the first or the last tried and others score less."""
        tau = "Pass taus beyond, or lower tau_min_ratio; at the largest tau, W may be zero."
        for name in names:
            column = self.cv_results_[f"param_{name}"]
            if column.dtype.kind != "f":
                continue
            rows = same if name == names[0] else np.ones_like(same)  # of the chosen path, or all
            tried, chosen = column[rows], float(column[self.best_index_])
            remedy = tau if name == "tau" else f"Pass {name} with values beyond."
            no_signal = name == "tau" and chosen == tried.max()
            wanted = np.inf if no_signal else enough
            warn_at_edge(name, chosen, tried, scores[rows], wanted, remedy)


@dataclass(frozen=True)
class FoldScore:
    """Scores of known decisions, weighted where there are weights and the scorer takes them."""

    model: MatrixEstimator
    scorer: Any
    weighted: bool

    def __call__(self, decisions: Array, X: Array, y: Array, weights: Array) -> Array:
        """Scores of each of the k rows of decisions; the model's own where there is no scorer."""
        labels = self.model._decode(y)
        if self.scorer is None:
            return self.model._score_all(labels, decisions, weights if self.weighted else None)
        # A function of one's own may not take weights.
        weighing = (
            {"sample_weight": weights} if self.weighted and not isfunction(self.scorer) else {}
        )
        stand_ins = (KnownDecisions(self.model, one) for one in decisions)
        return np.array([float(self.scorer(one, X, labels, **weighing)) for one in stand_ins])


def _score_fold(
    model: SelectorCV,
    score: FoldScore,
    X: Array,
    y: Array,
    weights: Array,
    fold: tuple[Any, Any],
    candidate: Candidate,
    key: tuple[int, int],
) -> tuple[tuple[int, int], Array, Array]:
    """Scores of all models of a candidate on one fold."""
    train, test = fold
    distinct = merge_duplicates(np.ascontiguousarray(X[train]), y[train], weights[train])
    # The folds keep the cores busy; threads within them would only be in each other's way.
    with one_thread(0):
        decisions, ranks = model._predict_path(distinct, candidate, X[test])
    return key, score(decisions, X[test], y[test], weights[test]), ranks


def warn_interrupted(finished: int, planned: int) -> None:
    """Say on how many folds the choice is made after all."""
    warnings.warn(
        f"Interrupted: the choice is made on the {finished} of {planned} folds that are finished. "
        + ADVICE,
        stacklevel=5,
    )


def number_list(
    name: str, given: Any, positive: bool, scaled: Callable[[Any], float] = float
) -> list[float]:
    """A number or a list of numbers as a list; with `scaled`, words such as "scale" too."""
    if any(isinstance(one, str) for one in each(given)):
        given = [scaled(one) for one in each(given)]
    values = to_numbers(name, given)
    bad = values <= 0.0 if positive else values < 0.0
    if values.ndim != 1 or values.size == 0 or bad.any() or not np.isfinite(values).all():
        kind = "positive" if positive else "non-negative"
        raise ValueError(f"{name} must be a {kind} number or a list of them; got {given!r}.")
    return [float(value) for value in values]
