"""Searches along paths, each point of which is solved from the previous one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from ..._runtime.progress import equal_parts, reached, without_progress
from ..._typing import Array, Covariates, Parameters, Weights
from ..._validation.arrays import check_grid
from ...data.blocks import Blocks
from ...data.samples import UNIT_ROWS, Samples
from ...scoring import shared_scale
from ...solvers import SolverResult, leave_one_out, path, solve, tau_grid
from .._fit.convex import AS_UNIT, ConvexEstimator, Part
from .._input.fit_input import FitInput
from .._input.parameters import parametrised
from ..path import RegularizationPath
from ..path import path as path_of
from .candidates import Candidate, Decided, SearchOutcome, Starts, in_grid
from .left_out import check_each_left_out, check_left_out, leave_out
from .rounds import decided
from .search import Search

# Largest number of samples on which the noise is measured.
NOISE_ROWS = 500


@parametrised
class PathSearch(Search):
    """Search along paths, each point of which is solved from the previous one."""

    l1: float | ArrayLike = 0.0

    def path(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: Weights = None,
        covariates: Covariates = None,
    ) -> RegularizationPath:
        """Fit the path of all values of tau that were tried, with the other parameters as chosen.

        Parameters
        ----------
        X, y, sample_weight, covariates
            As in `fit`; a classifier must have two classes.

        Returns
        -------
        RegularizationPath
            Solutions with their certificates, largest tau first.
        """
        check_is_fitted(self, "taus_")
        given: Parameters = {
            "taus": self.taus_,
            "sample_weight": sample_weight,
            "covariates": covariates,
            "verbose": self.verbose,
        }
        return path_of(self.best_estimator_, X, y, **given)

    def _given(self, given: FitInput) -> Samples | Blocks:
        self._single()._check_stored(given)
        return super()._given(given)

    def _candidates(self, samples: Samples) -> list[Candidate]:
        if self._leaves_one_out:
            check_left_out(self._single()._model_kind(), 'cv="loo"')
            self._check_left_out()
        samples = samples.distinct()
        single = self._single()
        units = single._units(samples, single._parts(samples))
        lists = {name: self._values(name, units) for name in self._searched}
        taus = None if self.taus is None else check_grid("taus", self.taus)
        model = self._single(tau=0.0, **{name: values[0] for name, values in lists.items()})
        parts = model._parts(samples)
        model._declare(samples, parts)
        fixed = {
            name: getattr(model, f"{name}_")
            for name in (*model._loss_units, "loss")
            if name not in lists and hasattr(model, f"{name}_")
        }
        along_C = "C" in lists and all(len(lists[name]) == 1 for name in lists if name != "C")
        if taus is not None and along_C and len(taus) < len(lists["C"]) and is_classifier(self):
            Cs, fixed = np.sort(lists["C"]), fixed | {"l1": lists["l1"][0]}
            return [Candidate({"tau": float(tau)}, Cs, along="C", fixed=fixed) for tau in taus]
        candidates: list[Candidate] = []
        first: dict[tuple[int, ...], Candidate] = {}
        for parameters, place in in_grid(lists):
            # The smallest tau with W = 0 is proportional to C, as the loss is.
            kind = tuple(at for name, at in zip(lists, place, strict=True) if name != "C")
            like = first.get(kind) if taus is None and self.covariate_ridge == 0.0 else None
            if like is None:
                model = self._single(tau=0.0, **(fixed | parameters))
                grid = self._tau_grid(model, samples, parts)
            else:
                grid = parameters["C"] / like.parameters["C"] * like.values
            candidates.append(Candidate(parameters, grid, fixed=fixed, place=place))
            first.setdefault(kind, candidates[-1])
        return candidates

    def _tau_grid(self, model: ConvexEstimator, samples: Samples, parts: list[Part]) -> Array:
        """The given values of tau, or a geometric grid from the smallest tau with W = 0 down."""
        if self.taus is not None:
            return check_grid("taus", self.taus)
        declared = model._declare(samples, parts)
        largest = model._tau_max(declared, samples, parts, AS_UNIT)
        return tau_grid(largest, self.n_taus, self.tau_min_ratio)

    def _next_candidate(self, samples: Samples, like: Candidate, chosen: Parameters) -> Candidate:
        parameters = {name: chosen[name] for name in (*self._searched, "adaptive")}
        samples = samples.distinct()
        model = self._single(tau=0.0, **(like.fixed | parameters))
        taus = self._tau_grid(model, samples, model._parts(samples))
        return Candidate(parameters, taus, fixed=like.fixed)

    def _posed(self, samples: Samples) -> tuple[Samples, list[Part]]:
        """The samples, with weights multiplied by those of their classes, and the problems."""
        model = self._single()
        samples = replace(samples, weights=model._weigh(samples.y, samples.weights))
        return samples, model._parts(samples)

    def _decide_path(
        self, train: tuple[Samples, Any], candidate: Candidate, test: Samples, start: Starts
    ) -> Decided:
        distinct, (samples, parts) = train
        model = self._single(**({"tau": 0.0} | candidate.at(0)))
        declared = model._declare(samples, parts)
        limits: Parameters = {"tol": self.tol, "max_iter": self.max_iter}
        flat, doubts = test.X.reshape(test.n, -1), np.zeros(len(candidate.values))
        decisions, points = [], []
        for k, part in enumerate(equal_parts(parts)):
            limits["start"] = None if start is None else start[k]
            tried = path(declared, part.samples, candidate.along, candidate.values, **limits)
            # With cv="loo" most of the time is spent after the fits.
            count = None if self._leaves_one_out else len(candidate.values)
            own = list(point_by_point(tried, count))
            apart = zip(*([one for _, one in part.apart(each)] for each in own), strict=True)
            decisions += [decided(list(each), flat, test.Z) for each in apart]
            points.append(own)
            if self._leaves_one_out:
                check_each_left_out(declared, part.samples, 'cv="loo"')
                for j, (value, point) in enumerate(zip(candidate.values, own, strict=True)):
                    posed = declared.at(**{candidate.along: value})
                    doubt = leave_out(decisions[-1][j], posed, part, distinct, point)
                    doubts[j] = np.maximum(doubts[j], doubt)
                    reached("fits", (j + 1) / len(own))
        ranks = np.mean([[float(point.W.rank) for point in own] for own in points], axis=0)
        by_place = [list(own) for own in zip(*points, strict=True)]
        combine, _ = model._combiner()
        return Decided(combine(np.array(decisions)), np.array([ranks, doubts]), by_place)

    # -- the noise: scale of leave-one-out residuals

    def _score_candidates(
        self, given: Samples, groups: ArrayLike | None, weighted: bool
    ) -> SearchOutcome:
        """As in other searches; the noise, which both score and tube use, is fitted once."""
        self._known_noise: dict[str, float] = {}
        try:
            return super()._score_candidates(given, groups, weighted)
        finally:
            del self._known_noise

    def _noise(self, samples: Samples) -> float:
        """Scale of the leave-one-out residuals of a first fit, to a subsample if there are many."""
        if getattr(self, "penalty", None) is not None:  # it has no "scale" of tau
            return super()._noise(samples)
        check_left_out(self._single()._model_kind(), "The noise")
        # The score passes all samples, the tube those on which units are measured: both give `few`.
        few = samples.few(UNIT_ROWS).few(NOISE_ROWS).distinct()
        key = joblib.hash((few.X, few.y, few.weights, few.Z))
        known = vars(self).get("_known_noise", {})
        if key not in known:
            known[key] = min(self._fitted_noise(few), super()._noise(few))
        return float(known[key])

    def _fitted_noise(self, few: Samples) -> float:
        """Scale of the leave-one-out residuals of a first fit.

        The fit has tau and C of "scale", and an epsilon of 0, because a tube would hide the noise.
        """
        first = {"C": "scale", "epsilon": 0.0, "l1": 0.0, "ridge": 0.0}
        words: Parameters = {name: first[name] for name in self._searched}
        words |= {"tau": "scale", "adaptive": 0}
        model = self._single(**words)
        declared = model._declare(few, [Part(few)])
        problem = declared.on(few)
        result = solve(declared, few, tol=self.tol, max_iter=self.max_iter)
        loo = leave_one_out(problem, result.W, result.gamma, result.beta)
        of_labels = declared.loss.mean((problem.y - loo.residuals)[: few.n]) - few.y
        return shared_scale(of_labels, few.weights)


def point_by_point(tried: Iterator[SolverResult], count: int | None) -> Iterator[SolverResult]:
    """Solutions of a path as they are found; with a `count` of them, progress is reported."""
    done = 0
    while True:
        with without_progress():
            point = next(tried, None)
        if point is None:
            return
        done += 1
        if count is not None:
            reached("fits", done / count)
        yield point
