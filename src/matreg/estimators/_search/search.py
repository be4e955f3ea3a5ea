"""Cross-validation over candidates, each a path: what the searching estimators share."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..._runtime.interruption import ADVICE, may_keep
from ..._runtime.parallel import in_parallel
from ..._runtime.progress import Line, track
from ..._runtime.warn import warn
from ..._typing import Array, Covariates, Fold, Index, Mask, Weights
from ...bases import samples_in
from ...data.samples import Samples
from ...linalg.threads import one_thread
from ...robust import weighted_median
from ...scoring import BOUNDED, bounded_scorer, check_score_name, shared_scale
from .._fit.base import MatrixEstimator
from .._fit.callbacks import callback_context, reported, watched
from .._fit.messages import warn_at_edge
from .._fit.several import fit_each, label_tasks, stack
from .._fit.units import Units, bases_of, check_bases, each, l1_list
from .._input.arrays import has_several, to_numbers
from .._input.covariates import INPUT, read_covariates
from .._input.parameters import parametrised
from .._input.stored import is_streamed, refuse_streamed
from .adaptive_search import (
    Found,
    eligible,
    further_steps,
    n_steps,
    owners,
    standard_errors,
    step_counts,
)
from .fold_scores import FoldScore
from .folds import make_folds
from .on_a_part import choose_on_part

# Share of what the model gains over the most regularisation that is worth a warning.
WORTHWHILE = 0.01
# Bytes of training samples of all folds that are remembered together.
REMEMBERED = 2**28
# Parameters whose attribute of that name is not the number used.
NO_NUMBER = ("matrix_shape", "outliers", "solver")
# What a search knows beyond the model that it chose.
SEARCH = ("cv_results_", "best_index_", "best_score_", "taus_", "cv_samples_", "scorer_")


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
    fixed : dict
        Numbers in place of words, the same for all candidates.
    place : tuple of int
        Places of its parameters among those that are tried, in increasing order.
    """

    parameters: dict[str, Any]
    values: Array
    along: str = field(default="tau", kw_only=True)
    fixed: dict[str, Any] = field(default_factory=dict, kw_only=True)
    place: tuple[int, ...] = field(default=(), kw_only=True)

    @property
    def taus(self) -> Array:
        """Tau of each point."""
        return np.asarray(self.column("tau"))

    def column(self, name: str) -> Any:
        """Values of a parameter, one per point: of steps their number, of a matrix the largest."""
        if name == self.along:
            return self.values
        if name == "adaptive":
            return np.full(len(self.values), n_steps(self))
        value = self.parameters[name]
        return np.array([np.max(value) if np.ndim(value) else value] * len(self.values))

    def at(self, k: int) -> dict[str, Any]:
        """All parameters of a point."""
        return self.fixed | self.parameters | {self.along: float(self.values[k])}


class Tried(NamedTuple):
    """What a search has found out.

    Attributes
    ----------
    candidates : list of Candidate
        What was tried.
    scores, ranks : ndarray of shape (folds, points)
        Scores of all points of all candidates, and ranks of W.
    samples : Samples
        What the chosen model is fitted to.
    """

    candidates: list[Candidate]
    scores: Array
    ranks: Array
    samples: Samples


@parametrised
class Search(MatrixEstimator):
    """Cross-validation over candidates, each a path, and a last fit to all the data."""

    taus: float | ArrayLike | None = field(default=None, kw_only=False)
    n_taus: int = 16
    tau_min_ratio: float = 1e-3
    cv: Any = None
    scoring: Any = None
    one_standard_error: bool = False
    n_jobs: int | None = None

    # The estimator without the search, and which of its parameters are searched besides tau.
    _plain: ClassVar[type[Any]]
    _searched: ClassVar[tuple[str, ...]] = ()
    tau_per_label = True  # unless an estimator has the parameter

    def _candidates(self, samples: Samples) -> list[Candidate]:
        """What to try."""
        raise NotImplementedError

    def _predict_path(
        self, train: Samples, candidate: Candidate, X_test: Array, Z_test: Array | None = None
    ) -> tuple[Array, Array]:
        """Decisions (k, n_test) of the models of a candidate, and their ranks (k,)."""
        raise NotImplementedError

    def _single(self, **chosen: Any) -> Any:
        """The estimator without the search, its parameters as here except for those chosen."""
        own = self.get_params(deep=False)
        shared = {name: own[name] for name in self._plain().get_params(deep=False) if name in own}
        if "adaptive" in shared:  # here a number of steps to try, there what was chosen
            shared["adaptive"] = ()
        shared |= {name: 0.0 for name in ("l1", "ridge") if name in shared}
        model = self._plain(**(shared | {"verbose": 0} | chosen))
        model.__dict__.update({name: vars(self)[name] for name in INPUT if name in vars(self)})
        return model

    @property
    def best_estimator_(self) -> Any:
        """The chosen model without the search, fitted to all the data."""
        check_is_fitted(self, "coef_")
        if "estimators_" in vars(self):
            raise AttributeError(
                f"best_estimator_ is one per label: estimators_[0].best_estimator_ is the first of "
                f"{len(self.estimators_)}."
            )
        model = self._single()
        numbers = {
            name: getattr(self, f"{name}_")
            for name in model.get_params(deep=False)
            if name not in NO_NUMBER and hasattr(self, f"{name}_")
        }
        model.set_params(**numbers)
        own = {*self.get_params(deep=False), *SEARCH}
        model.__dict__.update({name: one for name, one in vars(self).items() if name not in own})
        return model

    def _adopt(self, model: Any) -> None:
        """Take the fitted attributes of the chosen model."""
        given = model.get_params(deep=False)
        fitted = {name: one for name, one in vars(model).items() if name not in given}
        self.__dict__.update(fitted)

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Weights = None,
        groups: ArrayLike | None = None,
        covariates: Covariates = None,
    ) -> Self:
        """Choose the parameters by cross-validation and fit to all the data.

        Parameters
        ----------
        X : array-like of shape (n, p, q) or (n, p*q)
            Samples.
        y : array-like of shape (n,) or (n, k)
            Labels; several columns, of regressors, are k labels as in the model without a search.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses of the fits, and of the scores if `scoring` takes
            weights.
        groups : array-like of shape (n,), default=None
            Groups of the samples, such as people or days. All samples of a group are in one fold
            where `cv` is a number or None; a splitter does with them what it does.
        covariates : array-like of shape (n, m), table or dict of columns, default=None
            What stands beside the matrices, such as age and site, with coefficients that have no
            penalty; see :ref:`covariates`. Categories become columns of 0 and 1.

        Returns
        -------
        self
            The fitted model itself.
        """
        with self._unchanged_on_failure():
            self._forget()
            if self._several_labels and has_several(y):
                if getattr(self, "joint", None) is not None:
                    raise ValueError(
                        f"joint must be None for several labels in {type(self).__name__}; got "
                        f"{self.joint!r}. Search with GridSearchCV over "
                        f"{self._plain.__name__}(joint={self.joint!r}) instead."
                    )
                rest = {"groups": groups, "covariates": covariates}
                if self.tau_per_label:
                    fit_each(self, y, X, sample_weight, rest)
                else:
                    self._fit_alike(y, X, sample_weight, rest)
                return self
            if is_streamed(X):
                self._fit_streamed(X, y, sample_weight, groups, covariates)
                return self
            tried = self._explore(X, y, sample_weight, groups, covariates)
            self._settle(tried, tried.scores)
        return self

    def _explore(
        self, X: Any, y: Any, sample_weight: Weights, groups: Any, covariates: Covariates
    ) -> Tried:
        """Scores of all candidates, those of adaptive steps included."""
        X, y, weights = self._validate_fit(X, y, sample_weight)
        Z = None if covariates is None else read_covariates(self, covariates, len(X))
        given = Samples.of(X, y, weights, Z)
        check_bases(self, given.p, given.q)
        samples = self._structured(given)
        # All that can be wrong with the arguments, before the first fit.
        folds = make_folds(self.cv, X, y, groups, is_classifier(self), weights)
        score = self._score(samples, folds, sample_weight is not None)
        with Line(type(self).__name__):  # the grid of tau may take long
            weighed = replace(samples, weights=self._weigh(y, weights))
            candidates = self._candidates(weighed)
        with callback_context(self, self._n_tasks(folds, candidates)):
            found = self._cross_validate(samples, folds, candidates, score)
            tried = self._further(weighed, samples, folds, score, candidates, *found)
        return Tried(*tried, replace(given, weights=weighed.weights))

    def _settle(self, tried: Tried, scores: Array) -> None:
        """Choose by scores and fit what is chosen to all the data."""
        best, chosen = self._select(tried.candidates, scores, tried.ranks)
        with watched(self):
            self._refit(tried.samples, tried.candidates[best], chosen)

    def _fit_alike(self, y: Any, X: Any, sample_weight: Weights, rest: dict[str, Any]) -> None:
        """Fit several labels with one choice, by the mean of their scores.

        The grids of the labels correspond point by point: numbers are the same for all, words and
        shares of the smallest tau with W = 0 are those of each label.
        """
        if is_streamed(X):
            refuse_streamed(f"{type(self).__name__}(tau_per_label=False)", X)
        if step_counts(self.adaptive)[-1] or getattr(self, "halving", False):
            raise ValueError(
                "tau_per_label must be True with adaptive steps and with halving, which go on from "
                "the choice for one label."
            )
        given = label_tasks(y, sample_weight)
        fits = [clone(self) for _ in given]
        tried = [one._explore(X, *task, **rest) for one, task in zip(fits, given, strict=True)]
        if len({one.scores.shape for one in tried}) > 1:
            raise KeyboardInterrupt  # in the folds of one of the labels
        mean = np.mean([one.scores for one in tried], axis=0)
        for j, (one, own) in enumerate(zip(fits, tried, strict=True)):
            with warnings.catch_warnings():
                if j > 0:  # the choice is that of the first one
                    warnings.filterwarnings("ignore", message=".*The choice")
                one._settle(own, mean)
        stack(self, fits)

    def _structured(self, samples: Samples) -> Samples:
        """Samples in the bases of the rows and columns of W, where there are any."""
        found: Samples = samples_in(samples, bases_of(self))
        return found

    def _further(
        self,
        weighed: Samples,
        samples: Samples,
        folds: list[Fold],
        score: FoldScore,
        *tried: Any,
    ) -> tuple[list[Candidate], Array, Array]:
        """What was tried, with the further steps of adaptive models."""
        candidates, scores, ranks = tried
        most = step_counts(self.adaptive)[-1]
        if most == 0 or len(scores) < len(folds):  # nothing asked for, or interrupted
            return candidates, scores, ranks
        return further_steps(
            candidates,
            scores,
            ranks,
            most=most,
            one_standard_error=self.one_standard_error,
            next_candidate=lambda chosen: self._next_candidate(weighed, candidates[0], chosen),
            cross_validate=lambda new: self._cross_validate(samples, folds, new, score),
        )

    def _next_candidate(
        self, samples: Samples, like: Candidate, chosen: dict[str, Any]
    ) -> Candidate:
        """The path of the next adaptive step, with all else as it was chosen."""
        raise NotImplementedError

    def _refit(self, samples: Samples, candidate: Candidate, chosen: int) -> None:
        """Fit the chosen model to all the data."""
        model = self._single(**candidate.at(chosen))
        model._fit_samples(samples)
        self._adopt(model)
        self.taus_ = candidate.taus if candidate.along == "tau" else candidate.taus[:1]

    def _values(self, name: str, units: Units) -> list[float]:
        """Values of a parameter to try, as numbers."""
        given = getattr(self, name)
        if name == "C":
            return number_list(name, given, positive=True, scaled=units.C)
        if name == "l1":
            return l1_list(given)
        loss = self._single(**{name: each(given)[0]})._loss()
        multiple = self._plain._loss_units[name]
        values = number_list(
            name, given, positive=False, scaled=lambda one: units.number(name, one, multiple)
        )
        if not hasattr(loss, name) and len(values) > 1:
            raise ValueError(
                f"{name} must be one number with loss={self.loss!r}, which does not depend on it; "
                f"got {given!r}."
            )
        return values

    def _score_all(self, y: Any, decisions: Array, sample_weight: Array | None) -> Array:
        return np.asarray(self._single()._score_all(y, decisions, sample_weight))

    def _noise(self, samples: Samples) -> float:
        """Scale of the residuals, in the units of the labels: here those of the best constant."""
        centre = float(weighted_median(samples.y, samples.weights))
        return shared_scale(samples.y - centre, samples.weights)

    def _n_tasks(self, folds: list[Fold], candidates: list[Candidate]) -> int | None:
        """How many tasks the callbacks will hear of, if that is known."""
        return len(folds) * (len(candidates) + step_counts(self.adaptive)[-1])

    def _score(
        self, samples: Samples, folds: list[tuple[Index, Index]], weighted: bool
    ) -> FoldScore:
        """How to score, tried on guesses for all folds."""
        from sklearn.metrics import check_scoring  # late: it takes long to import

        if self.scoring == BOUNDED and not is_classifier(self):
            scorer = self.scorer_ = bounded_scorer(self._noise(samples.distinct()))
        else:
            if isinstance(self.scoring, str):
                check_score_name(self.scoring)
            scorer = None if self.scoring is None else check_scoring(self, scoring=self.scoring)
        score = FoldScore(self, scorer, weighted)
        if scorer is None and is_classifier(self):
            return score  # accuracy, which is always defined
        X, y, weights = samples.X, samples.y, samples.weights
        for train, test in folds:
            # No integers, which pass for classes, and not all equal, where correlations fail.
            guess = min(y[train].mean(), 30.0) + 1e-3 * y.std() * np.linspace(
                1.0, 2.0, len(y[test])
            )
            if is_classifier(self) and (columns := self._combiner()[1]) is not None:
                guess = np.outer(guess, np.linspace(1.0, 2.0, columns))
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

    def _fit_streamed(
        self, X: Any, y: Any, sample_weight: Weights, groups: Any, covariates: Covariates
    ) -> None:
        """Choose and fit on samples that are read block by block."""
        choose_on_part(self, X, y, sample_weight, groups, covariates)

    def _cross_validate(
        self,
        samples: Samples,
        folds: list[Fold],
        candidates: list[Candidate],
        score: FoldScore,
    ) -> tuple[Array, Array]:
        """Scores and ranks, of shape (folds, all values of tau of all candidates)."""
        tasks = list(product(range(len(folds)), range(len(candidates))))
        edges = np.cumsum([0] + [len(candidate.values) for candidate in candidates])
        scores = np.full((len(folds), edges[-1]), np.nan)
        ranks = np.full((len(folds), edges[-1]), np.nan)
        training = Training(samples, folds)
        calls = (
            delayed(_score_fold)(self, score, training, candidates[c], (f, c)) for f, c in tasks
        )
        results = in_parallel(calls, self.n_jobs, ordered=False)
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

    def _summary(self, scores: Array) -> tuple[Array, Array]:
        """Mean scores (points,) and their standard errors, of scores (folds, points)."""
        return scores.mean(axis=0), standard_errors(scores)

    def _select(
        self,
        candidates: list[Candidate],
        scores: Array,
        ranks: Array,
    ) -> tuple[int, int]:
        """Fill `cv_results_` and return the chosen candidate and its chosen tau."""
        index = [(c, k) for c, one in enumerate(candidates) for k in range(len(one.values))]
        mean, error = self._summary(scores)
        scores = scores[: len(ranks)]
        if np.isnan(mean).all():
            raise ValueError(f"scoring={self.scoring!r} is not a number for all that was tried.")
        order = np.where(np.isnan(mean), -np.inf, mean)  # NaN: not in all folds
        names = [candidates[0].along, *candidates[0].parameters]
        names += ["adaptive"] if n_steps(candidates[-1]) > 0 else []
        table: dict[str, Any] = {
            f"param_{name}": np.concatenate([one.column(name) for one in candidates])
            for name in names
        }
        for f, row in enumerate(scores):
            table[f"split{f}_test_score"] = row
        table |= {
            "mean_test_score": mean,
            "std_test_score": scores.std(axis=0),
            "se_test_score": error,
            "rank_test_score": 1 + np.array([(order > m).sum() for m in order]),
            "mean_coef_rank": ranks.mean(axis=0),
        }
        owner, simplest = owners(candidates), self.one_standard_error
        found = Found(mean, error, ranks.mean(axis=0), owner)
        taken = eligible(candidates, found, step_counts(self.adaptive), simplest)
        best = found.best(False, taken)
        enough = mean[best] - error[best]
        best = found.best(simplest, taken)
        self.cv_results_, self.best_index_, self.best_score_ = table, best, float(mean[best])
        same = owner == owner[best]
        top = mean[taken].max()
        order = np.where(taken, order, -np.inf)  # of as many steps as were chosen
        # At each place of a path the best of all paths, as not all points of each are tried.
        place = np.array([k for _, k in index])
        profile = np.full(place.max() + 1, -np.inf)
        np.maximum.at(profile, place, order)
        gain = top - profile[np.isfinite(profile)][0]  # over the most regularisation
        enough = min(enough, top - WORTHWHILE * gain)
        self._warn_at_edges(names, same, order, profile[place], enough)
        return index[best]

    def _warn_at_edges(
        self, names: list[str], same: Mask, scores: Array, profile: Array, enough: float
    ) -> None:
        """Warn where a chosen parameter is the first or the last tried and others score less."""
        for name in names:
            column = self.cv_results_[f"param_{name}"]
            if column.dtype.kind != "f" or name in ("l1", "ridge"):  # where 0 is an end of its own
                continue
            rows = same if name == names[0] else np.ones_like(same)  # of the chosen path, or all
            score = profile if name == names[0] else scores
            tried, chosen = column[rows], float(column[self.best_index_])
            remedy = f"Pass {name} with values beyond."
            if name == "tau" and chosen == tried.max():
                remedy = "At the largest tau, W may be zero: pass larger taus only if it is not."
            elif name == "tau":
                remedy = "Pass smaller taus, or lower tau_min_ratio."
            no_signal = name == "tau" and chosen == tried.max()
            wanted = np.inf if no_signal else enough
            warn_at_edge(name, chosen, tried, score[rows], wanted, remedy)


class Training:
    """Training samples of folds, remembered: those of all folds, or of the last one if large.

    Parameters
    ----------
    samples : Samples
        All samples.
    folds : list of (train, test)
        Their indices.
    pose : callable, default=None
        What is made of the training samples of a fold and remembered with them.
    """

    def __init__(
        self, samples: Samples, folds: list[Fold], pose: Callable[[Samples], Any] | None = None
    ) -> None:
        self.samples, self.folds, self.pose = samples, folds, pose
        self.made: dict[int, tuple[Samples, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "made": {}}

    def train(self, f: int) -> tuple[Samples, Any]:
        """Training samples of a fold, each once, and what is made of them."""
        if f not in self.made:
            index, every = self.folds[f][0], self.samples
            X = np.ascontiguousarray(every.X[index])
            Z = None if every.Z is None else every.Z[index]
            samples = Samples.of(X, every.y[index], every.weights[index], Z).distinct()
            if len(self.folds) * X.nbytes > REMEMBERED:
                self.made.clear()
            self.made[f] = samples, None if self.pose is None else self.pose(samples)
        return self.made[f]

    def test(self, f: int) -> tuple[Array, Array, Array, Array | None]:
        """Test samples of a fold with labels, weights and covariates."""
        index, every = self.folds[f][1], self.samples
        Z = None if every.Z is None else every.Z[index]
        return every.X[index], every.y[index], every.weights[index], Z


def _score_fold(
    model: Search,
    score: FoldScore,
    training: Training,
    candidate: Candidate,
    key: tuple[int, int],
) -> tuple[tuple[int, int], Array, Array]:
    """Scores of all models of a candidate on one fold."""
    X, y, weights, Z = training.test(key[0])
    # The folds keep the cores busy; threads within them would only be in each other's way.
    with one_thread(0):
        decisions, ranks = model._predict_path(training.train(key[0])[0], candidate, X, Z)
    return key, score(decisions, X, y, weights), ranks


def warn_interrupted(finished: int, planned: int) -> None:
    """Say on how many folds the choice is made after all."""
    warn(
        f"Interrupted: the choice is made on the {finished} of {planned} folds that are finished. "
        + ADVICE,
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
