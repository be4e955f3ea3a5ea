"""Cross-validation over candidates, each of which is a path: the base of all searches."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import field, replace
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context, clone, is_classifier
from sklearn.utils.validation import check_is_fitted

from ..._runtime.progress import Line, equal_parts, span, without_progress
from ..._runtime.warn import without
from ..._typing import Array, Covariates, Fold, Parameters, Weights
from ..._validation.arrays import has_several
from ..._validation.stored import refuse_streamed
from ...data.samples import Samples, SampleSet
from ...robust import weighted_median
from ...scoring import BOUNDED, bounded_scorer, check_score_name, shared_scale
from .._fit.base import MatrixEstimator, SingleFit
from .._fit.callbacks import callback_context, watched
from .._fit.several import each_label, fit_each, given_labels, stack
from .._fit.units import Units, each, l1_list, with_numbers
from .._input.covariates import INPUT
from .._input.fit_input import FitInput
from .._input.parameters import parametrised
from .adaptive_search import (
    PointScores,
    eligible,
    further_steps,
    owners,
    standard_errors,
    step_counts,
)
from .block_by_block import tried_on_part
from .candidates import Candidate, Decided, SearchOutcome, Starts, number_list
from .coarse_to_fine import CoarseToFine
from .fold_scores import FoldScore
from .folds import Training, make_folds
from .left_out import jackknife_error, warn_of_doubt
from .rounds import Rounds
from .selection import table_of, warn_at_edges

# Share of the time of a search that its folds are expected to take; the rest is the last fit.
SEARCHED = 0.9
# Attributes of a search that the chosen model does not have.
SEARCH = ("cv_results_", "best_index_", "best_score_", "taus_", "cv_samples_", "score_scale_")


@parametrised
class Search(MatrixEstimator):
    """Cross-validation over candidates, each of which is a path, and a last fit to all the data."""

    taus: float | ArrayLike | None = field(default=None, kw_only=False)
    n_taus: int = 16
    tau_min_ratio: float = 1e-3
    cv: object = None
    scoring: object = None
    one_standard_error: bool = False
    n_jobs: int | None = None

    # The estimator without the search, and which of its parameters are searched besides tau.
    _plain: ClassVar[type[SingleFit]]
    _searched: ClassVar[tuple[str, ...]] = ()
    tau_per_label = True  # unless an estimator has the parameter

    def _candidates(self, samples: Samples) -> list[Candidate]:
        """The paths to try."""
        raise NotImplementedError

    def _posed(self, samples: Samples) -> Any:
        """What all candidates share on the training samples of a fold, such as their problems."""
        return None

    def _decide_path(
        self, train: tuple[Samples, Any], candidate: Candidate, test: Samples, start: Starts
    ) -> Decided:
        """Fit the k models of a candidate, each started from the previous one.

        With `cv="loo"` the decisions on each sample are those of the fit without it.
        """
        raise NotImplementedError

    @property
    def _tries_all(self) -> bool:
        """Whether all points are tried, so that the scores of several labels can be averaged."""
        return self.taus is not None or not self.tau_per_label

    @property
    def _leaves_one_out(self) -> bool:
        return isinstance(self.cv, str)

    def _check_left_out(self) -> None:
        """Refuse models whose leave-one-out fits do not follow from one fit."""
        if (joint := getattr(self, "joint", None)) is not None:
            raise ValueError(
                f'joint must be None with cv="loo", which is for one problem per class or label; '
                f"got {joint!r}. Pass a number of folds, such as cv=5."
            )
        if np.any([np.max(one) > 0.0 for one in l1_list(getattr(self, "l1", 0.0))]):
            raise ValueError(
                f'l1 must be 0 with cv="loo"; got {self.l1!r}. Pass a number of folds, such as '
                "cv=5."
            )
        if step_counts(self.adaptive)[-1]:  # their bases depend on the labels of all samples
            raise ValueError(
                'adaptive must be 0 with cv="loo": pass a number of folds, such as cv=5.'
            )

    def _single(self, **chosen: Any) -> SingleFit:
        """The estimator without the search, with the parameters of this one except `chosen`."""
        kinds: tuple[Any, Any] = (self._plain, type(self))
        plain, own = map(parameter_names, kinds)
        shared = {name: getattr(self, name) for name in plain & own}
        if "adaptive" in shared:  # in a search, the numbers of steps to try
            shared["adaptive"] = ()
        shared |= {name: 0.0 for name in ("l1", "ridge") if name in shared}
        model = self._plain(**(shared | {"verbose": 0} | chosen))
        model.__dict__.update({name: vars(self)[name] for name in INPUT if name in vars(self)})
        return model

    @property
    def best_estimator_(self) -> SingleFit:
        """The chosen model without the search, fitted to all the data."""
        check_is_fitted(self, "coef_")
        if "estimators_" in vars(self):
            raise AttributeError(
                f"Each of the {len(self.estimators_)} labels has a best_estimator_: that of the "
                "first is estimators_[0].best_estimator_."
            )
        model = self._single()
        own = {*self.get_params(deep=False), *SEARCH}
        model.__dict__.update({name: one for name, one in vars(self).items() if name not in own})
        return with_numbers(model)

    @property
    def scorer_(self) -> Any:
        """The scorer of the bounded absolute error, with the scale of the last search."""
        return bounded_scorer(self.score_scale_)

    def _adopt(self, model: MatrixEstimator) -> None:
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
            Labels; for regressors, k columns are k labels, as without a search.
        sample_weight : array-like of shape (n,), default=None
            Non-negative weights of the losses of the fits, and of the scores if `scoring` takes
            weights.
        groups : array-like of shape (n,), default=None
            Groups of the samples, such as people or days. If `cv` is a number or None, all samples
            of a group are in one fold; a splitter receives the groups.
        covariates : array-like of shape (n, m), table or dict of columns, default=None
            Further variables, such as age and site, whose coefficients have no penalty; see
            :ref:`covariates`. Categories become columns of 0 and 1.

        Returns
        -------
        self
            The fitted model itself.
        """
        given = FitInput(X, y, sample_weight, covariates, groups)
        with self._unchanged_on_failure(), Line(type(self).__name__):
            self._forget()
            several = self._several_labels and has_several(y)
            if several and getattr(self, "joint", None) is None:
                (fit_each if self.tau_per_label else fit_alike)(self, given)
            else:
                tried = self._try(given)
                self._choose_and_fit(tried, tried.scores)
        return self

    def _try(self, data: FitInput) -> SearchOutcome:
        """Scores of all candidates; blocks of samples go to :meth:`_try_on_blocks`."""
        given = self._given(data)
        if isinstance(given, Samples):
            return self._score_candidates(given, data.groups, data.sample_weight is not None)
        return self._try_on_blocks(given, data)

    _try_on_blocks = tried_on_part

    def _score_candidates(
        self, given: Samples, groups: ArrayLike | None, weighted: bool
    ) -> SearchOutcome:
        """Scores of all candidates, those of adaptive steps included."""
        given = given.compared()
        y = given.y if given.table is None else given.table
        samples = self._structured(given).compared()
        # Errors in the arguments are raised here, before the first fit.
        folds = make_folds(self.cv, given.X, y, groups, is_classifier(self), given.weights)
        with without_progress():  # the first fits and the grid of tau
            score = self._score(samples, folds, weighted)
            weighed = replace(samples, weights=self._weigh(y, samples.weights))
            candidates = self._candidates(weighed)
        steps = step_counts(self.adaptive)[-1]
        with callback_context(self, self._n_tasks(folds, candidates)):
            with span(0.0, SEARCHED / (1 + steps)):
                found = self._cross_validate(samples, folds, candidates, score)
            with span(SEARCHED / (1 + steps), SEARCHED):
                tried = further_steps(
                    candidates,
                    *found,
                    most=steps if len(found[0]) == len(folds) else 0,  # else interrupted
                    one_standard_error=self.one_standard_error,
                    next_candidate=partial(self._next_candidate, weighed, candidates[0]),
                    cross_validate=lambda new: self._cross_validate(samples, folds, new, score),
                )
        return SearchOutcome(*tried, replace(given, weights=weighed.weights))

    def _choose_and_fit(self, tried: SearchOutcome, scores: Array) -> None:
        """Choose parameters by scores (folds, points), and fit with them to all the data."""
        best, chosen = self._select(tried.candidates, scores, tried.ranks)
        with span(SEARCHED, 1.0), watched(self):
            self._refit(tried.samples, tried.candidates[best], chosen)

    def _next_candidate(self, samples: Samples, like: Candidate, chosen: Parameters) -> Candidate:
        """The path of the next adaptive step, with all other parameters as chosen."""
        raise NotImplementedError

    def _refit(self, samples: SampleSet, candidate: Candidate, chosen: int) -> None:
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

    def _noise(self, samples: Samples) -> float:
        """Scale of the residuals in the units of the labels; here residuals of the median."""
        centre = float(weighted_median(samples.y, samples.weights))
        return shared_scale(samples.y - centre, samples.weights)

    def _n_tasks(self, folds: list[Fold], candidates: list[Candidate]) -> int | None:
        """Number of tasks that callbacks will be told of; None if it is not known."""
        further = step_counts(self.adaptive)[-1]
        return len(folds) * (len(candidates) + further) if self._tries_all else None

    def _score(self, samples: Samples, folds: list[Fold], weighted: bool) -> FoldScore:
        """The score of the search, checked on guessed decisions for all folds."""
        from sklearn.metrics import check_scoring  # late: it takes long to import

        if self.scoring == BOUNDED and not is_classifier(self):
            apart = [samples.distinct()]
            if samples.table is not None:
                apart = [samples.part(*one) for one in each_label(samples)]
            noise = np.mean([self._noise(one) for one in apart])
            self.score_scale_ = float(noise)
            scorer = self.scorer_
        else:
            if isinstance(self.scoring, str):
                check_score_name(self.scoring, bounded=False)
            scorer = None if self.scoring is None else check_scoring(self, scoring=self.scoring)
        score = FoldScore(self, scorer, weighted)
        if scorer is not None or not is_classifier(self):  # accuracy is always defined
            score.check(samples, folds)
        return score

    def _cross_validate(
        self, samples: Samples, folds: list[Fold], candidates: list[Candidate], score: FoldScore
    ) -> tuple[Array, Array]:
        """Scores and ranks, each of shape (folds, points).

        With `cv="loo"`: scores (1 + tenths, points), on all samples and without each tenth of
        them, and an array (2, points) of ranks and doubts.
        """
        grid = CoarseToFine(candidates, self._tries_all, self.one_standard_error)
        return Rounds(self, grid, Training(samples, folds, self._posed), score).run()

    def _summary(self, scores: Array) -> tuple[Array, Array]:
        """Mean scores (points,) and their standard errors (points,), of scores (folds, points)."""
        if self._leaves_one_out:
            return scores[0], jackknife_error(scores[1:])
        return scores.mean(axis=0), standard_errors(scores)

    def _select(self, candidates: list[Candidate], scores: Array, ranks: Array) -> tuple[int, int]:
        """Set `cv_results_`; return the indices of the chosen candidate and of its chosen value."""
        mean, error = self._summary(scores)
        if np.isnan(mean).all():
            raise ValueError(f"scoring={self.scoring!r} is NaN for all candidates.")
        doubts = ranks[1] if self._leaves_one_out else None
        ranks = ranks if doubts is None else ranks[:1]
        found = PointScores(mean, error, ranks.mean(axis=0), owners(candidates))
        names = [candidates[0].along, *candidates[0].parameters]
        names += ["adaptive"] if candidates[-1].n_steps > 0 else []
        taken = eligible(candidates, found, step_counts(self.adaptive), self.one_standard_error)
        best = found.best(self.one_standard_error, taken)
        self.cv_results_ = table_of(candidates, names, scores[: len(ranks)], found)
        self.best_index_, self.best_score_ = best, float(mean[best])
        place = np.concatenate([np.arange(len(one.values)) for one in candidates])
        warn_at_edges(self.cv_results_, names, found, best, taken, place)
        if doubts is not None:
            self.cv_results_["loo_doubt"] = doubts
            warn_of_doubt(self.cv_results_, best, doubts)
        return int(found.owner[best]), int(place[best])


def fit_alike(search: Search, given: FitInput) -> None:
    """Fit several labels with one choice of parameters, made by the mean of their scores.

    The grids of the labels correspond point by point: numbers are the same for all labels; words
    and multiples of the smallest tau with W = 0 are converted to numbers for each label.
    """
    refuse_streamed(f"{type(search).__name__}(tau_per_label=False)", given.X)
    if step_counts(search.adaptive)[-1] or getattr(search, "halving", False):
        raise ValueError(
            "tau_per_label must be True with adaptive steps and with halving: both decide "
            "separately for each label which candidates to try next."
        )
    labels = given_labels(given)
    fits = [clone(search) for _ in labels]
    tasks = equal_parts(list(zip(fits, labels, strict=True)))
    tried = [one._try(label) for one, label in tasks]
    if len({one.scores.shape for one in tried}) > 1:
        raise KeyboardInterrupt  # in the folds of one of the labels
    mean = np.mean([one.scores for one in tried], axis=0)
    for j, (one, own) in enumerate(zip(fits, tried, strict=True)):
        # All labels have the same choice: warnings about it are shown once.
        with without("The choice") if j > 0 else nullcontext():
            one._choose_and_fit(own, mean)
    stack(search, fits)


@cache
def parameter_names(kind: Any) -> frozenset[str]:
    """Names of the parameters of an estimator; cached, as scikit-learn inspects the signature."""
    return frozenset(kind._get_param_names())
