"""Generalised robust matrix regression with its parameters chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils._param_validation import Interval, StrOptions

from .._typing import Array
from ..families import LossFamily
from ..samples import Samples
from ..solvers import (
    Decomposition,
    GRMRProblem,
    GRMRResult,
    first_samples,
    learned_space,
    problem_tau_max,
    robust_pca,
    tau_grid,
    warn_unless_clean,
    with_noise,
)
from ._base import MatrixRegressor
from ._cleaning import Cleaning
from ._halving import halved
from ._input import check_grid
from ._scale import Units
from ._search import (
    COMMON_CONSTRAINTS,
    NUMBER_OR_LIST,
    PATH_CONSTRAINTS,
    Candidate,
    FoldScore,
    Search,
    number_list,
)
from ._stored import refuse_streamed_cleaning
from .grmr import GRMR
from .rmr import DELTA, LOSS_CONSTRAINTS

_TOLERANCE = Interval(Real, 0, None, closed="left")

# Stands for parameters that are searched, where they do not matter yet.
FIRST = {"tau": 1.0, "limit": 4.0, "noise": None}
# Values to try; gamma is in units of its rule. Besides tau these are six or three candidates.
LIMITS = (3.0, 4.0, 6.0)
GAMMAS = {"replace": (0.5, 1.0), "split": (0.25, 0.5, 1.0)}


@dataclass(frozen=True)
class Family(Candidate):
    """Candidates with one loss; `taus` joins the taus of all of them."""

    steps: tuple[Candidate, ...]


class GRMRCV(Cleaning, Search, MatrixRegressor):
    """G-RMR with tau, gamma and what counts as an outlier chosen by cross-validation.

    By default ten values of tau, two of gamma and three of limit are tried, for data of any scale.
    In each fold robust principal component analysis is done once for all of them. Along tau each
    fit starts from the fit before: from its regression, its split of the samples, and its clean
    signals of the samples that are left out. Therefore long lists of tau are cheap, and long lists
    of the other parameters are not. `halving` and rough folds (`fold_tol`, `fold_split_tol`) save
    time where fits are long; the last fit, to all the data, is always as tight as that of
    :class:`GRMR`.

    Parameters
    ----------
    taus : array-like, default=None
        Values of tau to try. By default a geometric sequence from about the smallest tau with
        W = 0 on all the data, for each C and epsilon.
    n_taus : int, default=10
        Length of that sequence.
    tau_min_ratio : float, default=1e-3
        Smallest value of that sequence relative to its largest.
    gamma : float, array-like or None, default=None
        Values to try. None is a half of the default of :class:`GRMR` and the default itself; with
        ``outliers="split"`` a quarter of it too.
    lam : float, array-like or None, default=None
        Values to try; None is the default of :class:`GRMR`.
    outliers : {"replace", "split"}, default="replace"
        As in :class:`GRMR`.
    noise : float, array-like or None, default=None
        Values to try, each for all cells; None is the estimate of :class:`GRMR`.
    limit : float, array-like or None, default=None
        Values to try; None is 3, 4 and 6.
    C, epsilon : float, str or a list of them, default="scale"
        Values to try: numbers, or words as in :class:`GRMR`. Only one epsilon may be given with
        losses that do not depend on it.
    loss, delta, quantile, coupling
        As in :class:`GRMR`.
    fit_intercept, clean_predict, tol, split_tol, max_iter, matrix_shape
        As in :class:`GRMR`.
    fold_tol, fold_split_tol : float or None, default=None
        `tol` and `split_tol` of the fits in the folds. None is as tight as the last fit. 1.0 and
        1e-2, one alternation with a rough split, take a half to nine tenths of the time, and may
        choose another model where scores are close.
    halving : bool, default=False
        Whether to drop the worse half of the candidates after each fold. A candidate is a
        combination of all parameters but tau; it counts by its best tau on the folds so far. The
        choice is between the candidates that are left after the last fold.
    cv, scoring, one_standard_error, n_jobs
        As in :class:`RMRCV`.
    verbose : int, default=0
        Whether to report progress even without a terminal.

    Attributes
    ----------
    tau_, gamma_, lam_, limit_, C_, epsilon_ : float
        Chosen values.
    delta_ : float
        Number used.
    cv_results_, best_index_, best_score_
        As in :class:`RMRCV`. With `halving`, a candidate that was dropped has a score of NaN on the
        later folds, and a mean of NaN.
    best_estimator_ : GRMR
        The chosen model, fitted to all the data. This estimator has its attributes too.

    Examples
    --------
    >>> from matreg import GRMRCV
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(60, (6, 5), x_rank=3, x_corruption=0.05, random_state=0)
    >>> model = GRMRCV([1.0, 10.0], limit=4.0, cv=3).fit(data.X, data.y)
    >>> model.X_clean_.shape
    (60, 6, 5)
    """

    _plain = GRMR
    _parameter_constraints: dict[str, list[Any]] = {
        **COMMON_CONSTRAINTS,
        **PATH_CONSTRAINTS,
        "gamma": [*NUMBER_OR_LIST, None],
        "lam": [*NUMBER_OR_LIST, None],
        "outliers": [StrOptions({"replace", "split"})],
        "noise": [*NUMBER_OR_LIST, None],
        "limit": [*NUMBER_OR_LIST, None],
        "C": NUMBER_OR_LIST,
        "epsilon": NUMBER_OR_LIST,
        **LOSS_CONSTRAINTS,
        "coupling": [str],
        "clean_predict": ["boolean"],
        "split_tol": [_TOLERANCE],
        "fold_tol": [_TOLERANCE, None],
        "fold_split_tol": [_TOLERANCE, None],
        "halving": ["boolean"],
    }

    def __init__(
        self,
        taus: float | ArrayLike | None = None,
        *,
        n_taus: int = 10,
        tau_min_ratio: float = 1e-3,
        gamma: float | ArrayLike | None = None,
        lam: float | ArrayLike | None = None,
        outliers: str = "replace",
        noise: float | ArrayLike | None = None,
        limit: float | ArrayLike | None = None,
        C: float | str | ArrayLike = "scale",
        epsilon: float | str | ArrayLike = "scale",
        loss: str | LossFamily = "epsilon_insensitive",
        delta: float | str = "scale",
        quantile: float = 0.5,
        coupling: str = "exact",
        fit_intercept: bool = True,
        clean_predict: bool = True,
        cv: Any = None,
        scoring: Any = None,
        one_standard_error: bool = False,
        n_jobs: int | None = None,
        tol: float = 1e-4,
        split_tol: float = 1e-4,
        fold_tol: float | None = None,
        fold_split_tol: float | None = None,
        halving: bool = False,
        max_iter: int = 20,
        verbose: int = 0,
        matrix_shape: tuple[int, int] | None = None,
    ) -> None:
        self.taus = taus
        self.n_taus = n_taus
        self.tau_min_ratio = tau_min_ratio
        self.gamma = gamma
        self.lam = lam
        self.outliers = outliers
        self.noise = noise
        self.limit = limit
        self.C = C
        self.epsilon = epsilon
        self.loss = loss
        self.delta = delta
        self.quantile = quantile
        self.coupling = coupling
        self.fit_intercept = fit_intercept
        self.clean_predict = clean_predict
        self.cv = cv
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.n_jobs = n_jobs
        self.tol = tol
        self.split_tol = split_tol
        self.fold_tol = fold_tol
        self.fold_split_tol = fold_split_tol
        self.halving = halving
        self.max_iter = max_iter
        self.verbose = verbose
        self.matrix_shape = matrix_shape

    def _candidates(self, samples: Samples) -> list[Candidate]:
        def optional(name: str, given: Any) -> list[Any]:
            return [None] if given is None else number_list(name, given, positive=True)

        samples, candidates = samples.distinct(), []
        limits, units = self._limits(), Units(samples, self.fit_intercept)
        fixed = {"delta": units.number("delta", self.delta, DELTA)}
        for C, epsilon in product(self._values("C", units), self._values("epsilon", units)):
            loss = {"C": C, "epsilon": epsilon}
            model = self._single(**fixed, **loss, **FIRST, gamma=None, lam=None)
            taus = self._tau_grid(model, samples)
            gammas = self._gammas(model, samples)
            for gamma, limit, noise, lam in product(
                gammas, limits, optional("noise", self.noise), sorted(optional("lam", self.lam))
            ):
                others = {"gamma": gamma, "limit": limit, "noise": noise, "lam": lam}
                candidates.append(Candidate(loss | others, taus, fixed=fixed))
        return candidates

    def _limits(self) -> list[float]:
        if self.outliers == "split":
            return [4.0]  # not used where outliers are split off
        return number_list("limit", LIMITS if self.limit is None else self.limit, positive=True)

    def _gammas(self, model: GRMR, samples: Samples) -> list[float]:
        """The given values, or the default for all the data times the factors of GAMMAS."""
        if self.gamma is not None:
            return number_list("gamma", self.gamma, positive=True)
        return [factor * model._problem(samples).gamma for factor in GAMMAS[self.outliers]]

    def _tau_grid(self, model: GRMR, samples: Samples) -> Array:
        """The given values, or some below the smallest tau with W = 0 on roughly clean samples."""
        if self.taus is not None:
            return check_grid("taus", self.taus)
        problem = model._problem(samples)
        largest = problem_tau_max(problem.regression(first_samples(problem, model._limits())))
        return tau_grid(largest, self.n_taus, self.tau_min_ratio)

    def _n_tasks(self, folds: list[Any], candidates: list[Candidate]) -> int | None:
        return None if self.halving else len(folds) * len(list(_families(candidates)))

    def _cross_validate(
        self,
        samples: Samples,
        folds: list[Any],
        candidates: list[Candidate],
        score: FoldScore,
    ) -> tuple[Array, Array]:
        def scored(folds: list[Any], candidates: list[Candidate]) -> tuple[Array, Array]:
            grouped: list[Candidate] = [*_families(candidates)]
            return super(GRMRCV, self)._cross_validate(samples, folds, grouped, score)

        return halved(scored, folds, candidates) if self.halving else scored(folds, candidates)

    def _predict_path(
        self, train: Samples, candidate: Candidate, X_test: Array
    ) -> tuple[Array, Array]:
        assert isinstance(candidate, Family)
        pca: Decomposition | None = None
        noise: Array | None = None  # the samples have one noise for all candidates
        predictions, ranks = [], []
        for step in candidate.steps:
            rough = {"tol": self.fold_tol, "split_tol": self.fold_split_tol}
            rough = {name: value for name, value in rough.items() if value is not None}
            model = self._single(**(step.at(0) | rough))
            problem = model._problem(train)
            if self.outliers == "replace" and pca is None:
                pca = robust_pca(problem, model._limits())
            if pca is not None and problem.noise is None:
                noise = with_noise(problem, pca).noise if noise is None else noise
                problem = replace(problem, noise=noise)
            found = self._predict_taus(model, problem, step.taus, X_test, pca)
            predictions.append(found[0])
            ranks.append(found[1])
        return np.concatenate(predictions), np.concatenate(ranks)

    def _predict_taus(
        self,
        model: GRMR,
        problem: GRMRProblem,
        taus: Array,
        X_test: Array,
        pca: Decomposition | None,
    ) -> tuple[Array, Array]:
        """Predictions (k, n_test) and ranks (k,) for k values of tau, each fit from the last."""
        predictions, ranks = np.empty((len(taus), len(X_test))), np.empty(len(taus))
        last: GRMRResult | None = None
        cleaner: Any = None
        for k, tau in enumerate(taus):
            first = pca.copy() if last is None and pca is not None else None
            last = model._solve(replace(problem, tau=float(tau)), last, first)
            if not last.converged:
                model._warn(last)
            space = learned_space(last.problem, last.split)
            cleaner = cleaner or space.cleaner(X_test.reshape(len(X_test), -1))
            clean = cleaner.D
            if self.clean_predict or cleaner.missing is not None:
                warn_unless_clean(cleaner.clean(space), cleaner)
                clean = cleaner.X if self.clean_predict else cleaner.filled
            predictions[k] = clean @ last.fit.W.matrix.reshape(-1) + last.fit.b
            ranks[k] = last.fit.W.rank
        return predictions, ranks

    def _refit(self, samples: Samples, candidate: Candidate, chosen: int) -> None:
        super()._refit(samples, candidate, chosen)
        self.limit_ = candidate.parameters["limit"]

    def _fit_streamed(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        refuse_streamed_cleaning(type(self).__name__, X)


def _families(candidates: list[Candidate]) -> Iterator[Family]:
    """Families of neighbouring candidates with one loss."""

    def loss(candidate: Candidate) -> dict[str, Any]:
        return {key: candidate.parameters[key] for key in ("C", "epsilon")}

    for parameters, group in groupby(candidates, loss):
        steps = tuple(group)
        taus = np.concatenate([one.taus for one in steps])
        yield Family(parameters, taus, steps, fixed=steps[0].fixed)
