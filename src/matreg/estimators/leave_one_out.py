"""What a fitted model says of each sample without having seen it, from the one fit."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Mask
from ..families import in_units
from ..model import Model
from ..penalties import SpectralElasticNet
from ..samples import Samples
from ..solvers import (
    LeaveOneOut,
    RGLMState,
    SolverResult,
    jackknife_plus,
    leave_one_out,
    refined,
    solve,
    starting_point,
)
from ._fit.convex import Part
from ._fit.units import Units
from ._input.stored import refuse_streamed
from ._search.left_out import check_left_out
from ._search.search import NO_NUMBER

# Relative duality gap of the fit that samples are taken from.
TOL = 1e-7
# Doubt up to which residuals are trusted.
TRUSTED = 0.05
# Changes of predictions, relative to their spread, that are more than the tolerance of a fit.
CHANGED = 0.05


@dataclass(frozen=True)
class LeaveOneOutResult:
    """Predictions of all samples by fits without them, and what the samples do to the fit.

    Samples of weight zero are in no fit, and copies of a sample are left out together. A
    classifier of several classes has one row of residuals, leverages and influences per problem of
    two classes, NaN for samples that are not in it.

    Attributes
    ----------
    predictions : ndarray of shape (n,)
        Labels, classes or counts that the fits without them predict.
    decisions : ndarray of shape (n,) or (n, n_classes)
        Their decisions, for regressors the predictions before the mean of the family.
    residuals : ndarray of shape (n,) or (problems, n)
        Labels minus predictions; for classes -1 and 1 minus decisions, for "binomial" 0 or 1 minus
        the probability.
    score : float
        Score of the predictions, as `score` of the model: R^2 or accuracy.
    leverage : ndarray of shape (n,) or (problems, n)
        Slope by which the prediction of a sample follows its own label, from 0 to 1.
    influence : ndarray of shape (n,) or (problems, n)
        Root mean square change of all decisions as the sample is removed, in the units of the
        decisions; NaN from about 2,900 samples on.
    refitted : ndarray of bool of shape (n,)
        Samples without which the model was fitted anew, as their residuals were in doubt.
    doubt : float
        Mean error that is left in the residuals relative to their mean size, an estimate; NaN from
        about 2,900 samples on, where it is not known.
    """

    predictions: NDArray[Any]
    decisions: Array
    residuals: Array
    score: float
    leverage: Array
    influence: Array
    refitted: Mask
    doubt: float
    _interval: Any = field(repr=False)

    @property
    def trusted(self) -> bool:
        """Whether the doubt is known and at most five per cent."""
        return self.doubt <= TRUSTED

    def predict_interval(self, X: ArrayLike, confidence: float = 0.9) -> tuple[Array, Array]:
        """Intervals that cover the labels of new samples, by jackknife+.

        For samples that are exchangeable they cover with at least the probability
        ``2 confidence - 1``, whatever the model, and as a rule with about `confidence`.

        Parameters
        ----------
        X : array-like of shape (m, p, q) or (m, p*q)
            New samples.
        confidence : float, default=0.9
            Probability to cover.

        Returns
        -------
        lower, upper : ndarray of shape (m,)
            Ends of the intervals, in the units of the labels.
        """
        if self._interval is None:
            raise ValueError("Intervals are for numbers and counts, and this model has classes.")
        return self._interval.predict(X, self.residuals, confidence)


@dataclass(frozen=True)
class Intervals:
    """Predictions of new samples by all fits without one sample."""

    estimator: Any
    model: Model
    group: Any
    loo: LeaveOneOut

    def predict(self, X: ArrayLike, residuals: Array, confidence: float) -> tuple[Array, Array]:
        """Intervals by jackknife+."""
        kept = self.group >= 0
        samples: Array = self.estimator._validate_samples(X)
        clean = self.estimator._cleaner()
        samples = samples if clean is None else clean(samples)
        W, b = self.estimator.coef_.reshape(-1), self.estimator.intercept_
        columns = np.ones((len(samples), int(self.model.fit_intercept)))
        at = self.loo.response.of(samples, columns)
        every = self.loo.predictions(at, samples.reshape(len(samples), -1) @ W + b)
        every = every[self.group[kept]]
        return jackknife_plus(residuals[kept], self.model.loss.mean(every), confidence)


@dataclass(frozen=True)
class OneProblem:
    """One of the problems of a model without each of its samples."""

    part: Part
    result: SolverResult
    loo: LeaveOneOut
    residuals: Array
    refitted: Mask
    doubt: float

    def of_given(self, values: Array, n: int, elsewhere: float) -> Array:
        """Values of distinct samples as values of all n samples."""
        group = self.part.samples.group
        return self.part.everywhere(np.where(group >= 0, values[group], elsewhere), n, np.nan)


def leave_one_out_of(
    model: Any, X: Any, y: Any, sample_weight: Any = None, refits: int = 10
) -> LeaveOneOutResult:
    """Leave-one-out predictions of a fitted model; :meth:`MatrixEstimator.leave_one_out` says how.

    Parameters
    ----------
    model : fitted model
        RMR, SMM, RGLM, GRMR or a search of them.
    X, y, sample_weight : array-like
        Samples of the fit.
    refits : int
        Fits at most, for each problem.
    """
    check_is_fitted(model, "coef_")
    refuse_streamed("leave_one_out", X)
    names = ("row_basis", "column_basis")
    structured = [name for name in names if getattr(model, name, None) is not None]
    beside = ["covariates"] if hasattr(model, "covariate_coef_") else []
    steps = ["adaptive steps"] if len(getattr(model, "adaptive_", ())) else []
    if structured or beside or steps:
        raise ValueError(
            f"leave_one_out is for models without {', '.join([*beside, *steps, *structured])}. "
            "With them, take sklearn.model_selection.cross_val_predict."
        )
    fitted = with_numbers(getattr(model, "best_estimator_", model))
    samples, parts, declared = pose(fitted, X, y, sample_weight)
    check_left_out(declared, "leave_one_out")
    found = [solve_left_out(fitted, declared, part, k, refits) for k, part in enumerate(parts)]
    return gathered(fitted, declared, samples, found)


def with_numbers(model: Any) -> Any:
    """A copy of a fitted model whose parameters are the numbers that it has used."""
    model = copy.copy(model)
    numbers = {
        name: getattr(model, f"{name}_")
        for name in model.get_params(deep=False)
        if name not in NO_NUMBER and hasattr(model, f"{name}_")
    }
    return model.set_params(**numbers)


def pose(fitted: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Samples, list[Part], Model]:
    """Samples, problems and what is minimised; that of GRMR on its clean samples."""
    if not hasattr(fitted, "X_clean_"):
        samples = fitted._read(X, y, sample_weight)
        check_number(fitted, samples.n)
        parts = fitted._parts(samples)
        return samples, parts, fitted._declare(samples, parts)
    _, y, weights = fitted._validate_fit(X, y, sample_weight)
    check_number(fitted, len(y))
    samples = Samples.of(fitted.X_clean_, y, weights)
    part = Part(samples.distinct())
    loss = in_units(fitted._loss(), Units(part.samples, fitted.fit_intercept).number)
    penalty = SpectralElasticNet(fitted.tau_)
    return samples, [part], Model(loss, penalty, fitted.C_, fitted.fit_intercept)


def check_number(fitted: Any, n: int) -> None:
    """Refuse samples that are not as many as those of the fit."""
    if np.shape(fitted.dual_coef_)[-1] != n:
        raise ValueError(
            f"X must hold the {np.shape(fitted.dual_coef_)[-1]} samples of fit; got {n}."
        )


def solve_left_out(fitted: Any, model: Model, part: Part, k: int, refits: int) -> OneProblem:
    """One of the problems without each of its samples, from its solution."""
    W = fitted.coef_.reshape(-1, *fitted.matrix_shape_)[k]
    b = float(np.atleast_1d(fitted.intercept_)[k])
    dual = np.atleast_2d(fitted.dual_coef_)[k]
    samples = part.samples
    gamma = np.full(int(model.fit_intercept), b)
    beta = samples.gather(dual if part.rows is None else dual[part.rows])
    start = starting_point(W, gamma, beta)
    if model.penalty.ridge == 0.0:
        start = replace(start, state=RGLMState(W, model.penalty.tau))
    result = solve(model, samples, start=start, tol=TOL)
    moved = samples.design.forward(result.W.matrix - W) + result.b - b
    spread = float(samples.design.forward(W).std()) + float(np.abs(samples.y).mean())
    if np.abs(moved).max() > CHANGED * spread:
        raise ValueError(
            "X, y and sample_weight must be those of fit, and the fit must have converged: on "
            f"these samples the optimum changes predictions by up to {np.abs(moved).max():.3g}."
        )
    problem = model.on(samples)
    loo = leave_one_out(problem, result.W, result.gamma, result.beta)
    if loo.dbeta is None:
        none = np.zeros(samples.n, dtype=bool)
        return OneProblem(part, result, loo, loo.residuals, none, np.nan)
    better = refined(loo, problem, result.W, result.gamma, result.beta, most=refits)
    lean = replace(loo, removals=None)  # the samples need not be kept
    return OneProblem(part, result, lean, better.residuals, better.refitted, better.doubt)


def gathered(
    fitted: Any, model: Model, samples: Samples, found: list[OneProblem]
) -> LeaveOneOutResult:
    """Results of all problems together, for all samples that were given."""
    n, flat = samples.n, samples.X.reshape(samples.n, -1)
    f = [flat @ one.result.W.matrix.reshape(-1) + one.result.b for one in found]
    for decisions, one in zip(f, found, strict=True):
        target = model.loss.target(one.part.samples.y)
        known = one.of_given(target - one.residuals, n, np.nan)
        np.copyto(decisions, known, where=~np.isnan(known))
    decisions = fitted._combiner()[0](np.array(f))
    labels, weights = fitted._decode(samples.y), samples.weights
    margins = hasattr(fitted, "multi_class")  # whose labels are -1 and 1
    own = [one.of_given(one.part.samples.y, n, np.nan) if margins else samples.y for one in found]
    many = found[0].loo.dbeta is None
    columns = {
        "residuals": [y - model.loss.mean(one) for y, one in zip(own, f, strict=True)],
        "leverage": [one.of_given(one.loo.leverage, n, 0.0) for one in found],
        "influence": [
            np.full(n, np.nan) if many else one.of_given(one.loo.influence, n, 0.0) for one in found
        ],
    }
    refitted = [
        np.nan_to_num(one.of_given(one.refitted.astype(float), n, 0.0)) > 0.0 for one in found
    ]
    alone, regressor = len(found) == 1, not is_classifier(fitted)
    return LeaveOneOutResult(
        predictions=fitted._labels(decisions),
        decisions=decisions,
        score=float(fitted._score_all(labels, decisions[None], weights)[0]),
        refitted=np.any(refitted, axis=0),
        doubt=float(np.max([one.doubt for one in found])),
        _interval=Intervals(fitted, model, found[0].part.samples.group, found[0].loo)
        if regressor
        else None,
        **{name: part[0] if alone else np.array(part) for name, part in columns.items()},
    )
