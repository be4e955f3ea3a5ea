"""Cross-validation of models that clean their samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from ..._runtime.interruption import may_keep
from ..._runtime.progress import equal_parts, reached, without_progress
from ..._typing import Array, Fold, Parameters
from ..._validation.arrays import check_grid
from ...data.samples import Samples, SampleSet
from ...solvers import (
    Decomposition,
    GRMRProblem,
    LearnedSpace,
    NewSamples,
    learned_space,
    prepare,
    tau_grid,
)
from .._fit.cleaning import Cleaning, JointFit, units_in_bases
from .._fit.units import check_bases, each
from .._input.parameters import parametrised
from .adaptive_search import owners
from .candidates import Candidate, Decided, Starts, in_grid, number_list
from .fold_scores import FoldScore
from .folds import warn_interrupted
from .left_out import check_each_left_out, leave_out
from .rounds import decided
from .search import Search

# Placeholders of searched parameters; None stands for the defaults of gamma and lam.
FIRST: Parameters = {"tau": 1.0, "limit": 4.0, "gamma": None, "lam": None}
# Values to try; gamma is relative to its default.
LIMITS = (3.0, 4.0, 6.0)
GAMMAS = {"replace": (0.5, 1.0), "split": (0.25, 0.5, 1.0)}


Scored = Callable[[list[Fold], list[Candidate]], tuple[Array, Array]]


@parametrised
class JointSearch(Cleaning, Search):
    """Search over tau, the parameters of the loss, and those of the cleaning."""

    gamma: float | ArrayLike | None = None
    lam: float | ArrayLike | None = None
    limit: float | ArrayLike | None = None
    n_taus: int = 10
    fold_tol: float | None = None
    fold_split_tol: float | None = None
    halving: bool = False

    _plain: ClassVar[type[JointFit]]

    @property
    def _tries_all(self) -> bool:
        return super()._tries_all or self.halving

    def _candidates(self, samples: Samples) -> list[Candidate]:
        if self._leaves_one_out:
            self._check_left_out()
            if self.halving:
                raise ValueError('halving drops candidates fold by fold: cv must not be "loo".')
        others: dict[str, list[Any]] = {
            "gamma": [] if self.gamma is None else number_list("gamma", self.gamma, positive=True),
            "limit": self._limits(),
            "noise": self._noises(),
            "lam": [None] if self.lam is None else number_list("lam", self.lam, positive=True),
        }
        samples, candidates = samples.distinct(), []
        units = units_in_bases(self, samples)
        lists = {name: self._values(name, units) for name in self._searched}
        for loss, place in in_grid(lists):
            model = self._single(**loss, **FIRST, noise=others["noise"][0])
            problem = model._problem(samples)
            taus = self._tau_grid(model, problem, samples)
            names = [one for one in (*model._loss_units, "loss") if one not in loss]
            fixed = {one: vars(model)[f"{one}_"] for one in names if f"{one}_" in vars(model)}
            if self.gamma is None:
                others["gamma"] = [factor * problem.gamma for factor in GAMMAS[self.outliers]]
            for own, further in in_grid(others):
                candidates.append(Candidate(loss | own, taus, fixed=fixed, place=place + further))
        return candidates

    def _limits(self) -> list[float]:
        if self.outliers == "split":
            return [4.0]  # not used where outliers are split off
        return number_list("limit", LIMITS if self.limit is None else self.limit, positive=True)

    def _noises(self) -> list[Any]:
        """Values of `noise` to try, each a number for all cells or a word."""
        words = [one for one in each(self.noise) if one is None or one == "tails"]
        numbers = [one for one in each(self.noise) if not (one is None or one == "tails")]
        return words + (number_list("noise", numbers, positive=True) if numbers else [])

    def _tau_grid(self, model: JointFit, problem: GRMRProblem, samples: Samples) -> Array:
        """The given values, or a grid from about the smallest tau with W = 0 down."""
        if self.taus is not None:
            return check_grid("taus", self.taus)
        first = prepare(problem, model._limits())
        largest = model._largest_tau(first, samples, problem.model.adaptive)
        return tau_grid(largest, self.n_taus, self.tau_min_ratio)

    def _structured(self, samples: SampleSet) -> Any:
        check_bases(self, samples.p, samples.q)
        return samples  # cleaning comes before the change of bases

    def _next_candidate(self, samples: Samples, like: Candidate, chosen: Parameters) -> Candidate:
        parameters = {name: chosen[name] for name in (*like.parameters, "adaptive")}
        model = self._single(**(like.fixed | parameters | {"tau": 0.0}))
        samples = samples.distinct()
        taus = self._tau_grid(model, model._problem(samples), samples)
        return Candidate(parameters, taus, fixed=like.fixed)

    def _n_tasks(self, folds: list[Fold], candidates: list[Candidate]) -> int | None:
        return None if self.halving else super()._n_tasks(folds, candidates)

    def _cross_validate(
        self, samples: Samples, folds: list[Fold], candidates: list[Candidate], score: FoldScore
    ) -> tuple[Array, Array]:
        def scored(folds: list[Fold], candidates: list[Candidate]) -> tuple[Array, Array]:
            return super(JointSearch, self)._cross_validate(samples, folds, candidates, score)

        return halved(scored, folds, candidates) if self.halving else scored(folds, candidates)

    def _posed(self, samples: Samples) -> Parameters:
        """Cache for the robust PCA and the noise, which the first candidates fill."""
        return {}

    def _decide_path(
        self, train: tuple[Samples, Any], candidate: Candidate, test: Samples, start: Starts
    ) -> Decided:
        """As in other searches; the first fit starts from robust PCA, as the last one does.

        With `cv="loo"` samples are left out of the regression only: the clean samples are those of
        the fit to all samples.
        """
        samples, known = train
        rough = {"tol": self.fold_tol, "split_tol": self.fold_split_tol}
        rough = {name: value for name, value in rough.items() if value is not None}
        model = self._single(**(candidate.at(0) | rough))
        samples = replace(samples, weights=model._weigh(samples.y, samples.weights))
        problem, pca = model._problem(samples), None
        if self.outliers == "replace":
            kind = "noise, tails" if problem.tails else "noise"
            given = problem.noise is not None
            problem = problem if given else replace(problem, noise=known.get(kind))
            with without_progress():
                first = prepare(problem, model._limits(), known.get("pca"))
            problem, pca = first.problem, first.pca
            known |= {"pca": pca} if given else {"pca": pca, kind: problem.noise}
        return self._predict_taus(model, problem, samples, candidate.values, test, pca)

    def _predict_taus(
        self,
        model: JointFit,
        problem: GRMRProblem,
        samples: Samples,
        taus: Array,
        test: Samples,
        pca: Decomposition | None,
    ) -> Decided:
        """Decisions on test samples for k taus, each fit started from the previous one."""
        fits = model._along(problem, samples, taus, None if pca is None else pca.copy())
        new, split, decisions, facts = NewSamples(test.X.reshape(test.n, -1)), None, [], []
        for tau in taus:
            with without_progress():
                parts, results, whole = next(fits)
                if whole.split is not split:
                    split = whole.split
                    clean = self._completed_rows(learned_space(whole.problem, split), new)
            bases = whole.problem.bases
            f = decided([replace(one, W=bases.restore(one.W)) for one in results], clean, test.Z)
            doubts = [0.0]
            if self._leaves_one_out:
                posed = whole.problem.at(float(tau)).model
                for one in parts:
                    check_each_left_out(posed, one.samples, 'cv="loo"')
                each = zip(f, parts, results, strict=True)
                doubts = [leave_out(g, posed, p, samples, one) for g, p, one in each]
            decisions.append(model._combiner()[0](f))
            facts.append([np.mean([one.W.rank for one in results]), np.max(doubts)])
            reached("fits", len(facts) / len(taus))
        return Decided(np.array(decisions), np.transpose(facts), [[] for _ in taus])

    def _completed_rows(self, space: LearnedSpace, new: NewSamples) -> Array:
        """Test samples (n_test, p*q) for predictions: cleaned, or only filled in."""
        if not self.clean_predict and new.missing is None:
            return new.D
        clean = new.clean(space)
        return clean if self.clean_predict else new.filled

    def _refit(self, samples: SampleSet, candidate: Candidate, chosen: int) -> None:
        super()._refit(samples, candidate, chosen)
        self.limit_ = candidate.parameters["limit"]


def halved(scored: Scored, folds: list[Fold], candidates: list[Candidate]) -> tuple[Array, Array]:
    """Scores and ranks (folds, points), NaN on the folds after a candidate was dropped.

    `scored` computes the scores and ranks (folds, points) for given folds and candidates. After
    each fold the better half of the candidates is kept, ranked by their best tau so far. After
    Ctrl-C only the finished folds are returned.
    """
    owner = owners(candidates)
    scores, ranks = (np.full((len(folds), len(owner)), np.nan) for _ in range(2))
    kept = list(range(len(candidates)))
    for f, fold in enumerate(equal_parts(folds)):
        columns = np.isin(owner, kept)
        try:
            found = scored([fold], [candidates[c] for c in kept])
        except KeyboardInterrupt:
            if f == 0 or not may_keep():
                raise
            warn_interrupted(f, len(folds))
            return scores[:f], ranks[:f]
        scores[f, columns], ranks[f, columns] = (values[0] for values in found)
        mean = scores[: f + 1].mean(axis=0)
        best = sorted(kept, key=lambda c: -mean[owner == c].max())
        kept = sorted(best[: (len(kept) + 1) // 2])
    return scores, ranks
