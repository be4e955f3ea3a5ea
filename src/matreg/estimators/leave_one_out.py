"""Leave-one-out predictions of a fitted model, computed from this one fit."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import is_classifier
from sklearn.utils import check_scalar
from sklearn.utils.validation import check_is_fitted

from .._typing import Array, Covariates, Mask, Values
from .._validation.stored import refuse_streamed
from ..bases import PLAIN, Bases, samples_in
from ..data.samples import Samples
from ..model import Model
from ..penalties.spectral import SpectralElasticNet
from ..solvers import (
    Refined,
    SolverResult,
    Start,
    jackknife_plus,
    last_step,
    leave_one_out,
    refined,
    solve,
)
from ._fit.base import MatrixEstimator
from ._fit.convex import Part, gamma_of
from ._fit.several import given_labels
from ._fit.units import Units, bases_of, in_numbers, with_numbers
from ._input.covariates import new_covariates
from ._input.fit_input import FitInput
from ._search.left_out import (
    TRUSTED,
    check_each_left_out,
    check_left_out,
    doubt_of,
    shown_residuals,
)
from ._search.rounds import decided

# Relative duality gap of the fit from which samples are left out.
TOL = 1e-7
# Advice where leave-one-out predictions cannot be computed from one fit.
FOLDS = "Take folds instead: sklearn.model_selection.cross_val_predict(model, X, y)."
# Change of predictions, relative to their spread, above which the fit is not that of these samples.
CHANGED = 0.05


@dataclass(frozen=True)
class LeaveOneOutResult:
    """Predictions of each sample by the fit without it, and its influence on the fit.

    Samples of weight zero are in no fit. Copies of a sample are left out together. A classifier of
    several classes has one row of residuals, leverages and influences per problem of two classes,
    NaN for samples that are not in it.

    Attributes
    ----------
    predictions : ndarray of shape (n,)
        Labels, classes or counts that the fits without the sample predict.
    decisions : ndarray of shape (n,) or (n, n_classes)
        Decisions of these fits; for regressors the linear predictors ``<W, X> + b``.
    residuals : ndarray of shape (n,) or (problems, n)
        Labels minus predictions, NaN where the label is missing; for classes -1 and 1 minus
        decisions, for "binomial" 0 or 1 minus the probability.
    score : float
        Score of the predictions, as `score` of the model: R^2 or accuracy.
    leverage : ndarray of shape (n,) or (problems, n)
        Derivative of the prediction of a sample with respect to its own label, from 0 to 1.
    influence : ndarray of shape (n,) or (problems, n)
        Root mean square change of the decisions of all distinct samples, each counted once, when
        the sample is removed, in the units of the decisions; NaN from about 2,900 samples on.
    refitted : ndarray of bool of shape (n,)
        Samples without which the model was fitted again, because their residuals were in doubt.
    doubt : float
        Estimated mean error of the residuals, relative to their mean size: the size of their
        second-order terms plus the error that five of the refits measured. NaN if it is not known:
        with fewer refits, from about 2,900 samples on, and for adaptive models, whose bases depend
        on the labels of all samples, so that the residuals are too small. Infinite if a fit without
        one sample is not unique, except where only the intercept is not (without covariates): every
        fit takes the middle of the interval of optimal intercepts. Infinite, too, if the fit is far
        from its optimum or has none, of which it warned.
    """

    predictions: Values
    decisions: Array
    residuals: Array
    score: float
    leverage: Array
    influence: Array
    refitted: Mask
    doubt: float
    _interval: Intervals | None

    def __repr__(self) -> str:
        return (
            f"LeaveOneOutResult(n={len(self.predictions)}, score={self.score:.4g}, "
            f"refitted={int(self.refitted.sum())}, doubt={self.doubt:.2g})"
        )

    @property
    def trusted(self) -> bool:
        """Whether the doubt is known and at most 5 %."""
        return self.doubt <= TRUSTED

    def predict_interval(
        self, X: ArrayLike, confidence: float = 0.9, covariates: Covariates = None
    ) -> tuple[Array, Array]:
        """Prediction intervals for new samples, by jackknife+.

        For exchangeable samples, and parameters that were not chosen with their labels, the
        intervals cover a new label with a probability of at least ``2 confidence - 1`` up to the
        `doubt`, whatever the model, and usually with about `confidence`. Residuals have no weights:
        a sample of weight 2 counts once, two copies of a sample count twice.

        Parameters
        ----------
        X : array-like of shape (m, p, q) or (m, p*q)
            New samples.
        confidence : float, default=0.9
            Nominal probability that an interval covers the label.
        covariates : array-like of shape (m, k), table or dict of columns, default=None
            Covariates of the new samples, if `fit` had covariates.

        Returns
        -------
        lower, upper : ndarray of shape (m,)
            Ends of the intervals, in the units of the labels.
        """
        if self._interval is None:
            raise ValueError("Intervals are for numbers and counts; this model predicts classes.")
        return self._interval.predict(X, covariates, self.residuals, confidence)


@dataclass(frozen=True)
class Intervals:
    """Prediction intervals for new samples, from all fits without one sample."""

    estimator: MatrixEstimator
    mean: Callable[[Array], Array]
    one: OneProblem

    def predict(
        self, X: ArrayLike, covariates: Covariates, residuals: Array, confidence: float
    ) -> tuple[Array, Array]:
        """Lower and upper ends (m,) of jackknife+ intervals for m new samples."""
        estimator, one = self.estimator, self.one
        given: Array = estimator._validate_samples(X)
        clean = estimator._cleaner()
        given = given if clean is None else clean(given)
        Z = new_covariates(estimator, covariates, len(given))
        samples = bases_of(estimator).image(given)
        (f,) = decided([one.result], samples.reshape(len(given), -1), Z)
        ones = np.ones((len(given), int(estimator.fit_intercept)))
        columns = (ones if Z is None else np.hstack([ones, Z])) @ one.back
        group = one.part.samples.group
        kept = group >= 0
        every = one.found.predictions(one.bases.image(samples), columns, f)[group[kept]]
        ends = jackknife_plus(residuals[kept], self.mean(every), confidence)
        least = 0.0 if estimator._loss().labels == "counts" else -np.inf
        return np.maximum(ends[0], least), np.maximum(ends[1], least)


@dataclass(frozen=True)
class OneProblem:
    """One problem of a model, and its solutions without each of its samples."""

    part: Part
    result: SolverResult  # in the coordinates of the samples of the part
    found: Refined
    back: Array  # (m, k): maps a column of ones and covariates to the unpenalised columns
    bases: Bases = PLAIN  # bases of the last step of an adaptive model

    def of_given(self, values: Array, n: int, elsewhere: float) -> Array:
        """Values of distinct samples as values of all n samples."""
        group = self.part.samples.group
        return self.part.everywhere(np.where(group >= 0, values[group], elsewhere), n, np.nan)


def leave_one_out_of(model: MatrixEstimator, given: FitInput, refits: int) -> LeaveOneOutResult:
    """What :meth:`MatrixEstimator.leave_one_out` returns."""
    check_is_fitted(model, "coef_")
    check_scalar(refits, "refits", (int, np.integer), min_val=0)
    refuse_streamed("leave_one_out", given.X)
    if "estimators_" in vars(model) or (np.ndim(model.coef_) > 2 and np.ndim(given.y) > 1):
        raise ValueError(
            f"leave_one_out is for one label, but the model has {len(model.coef_)}. With "
            "joint=None, call model.estimators_[k].leave_one_out(X, y[:, k]) for label k; results "
            f"are NaN where the label is missing. {FOLDS}"
        )
    # Of the shape and the names of fit: flat samples would be read as vectors.
    X = model._validate_samples(given.X, keeps_dtype=not model._takes_missing)
    given = given._replace(X=X)
    search = hasattr(model, "best_estimator_")
    model.dual_coef_  # noqa: B018  (of samples in blocks it is computed now, not by a copy)
    fitted: MatrixEstimator = model.best_estimator_ if search else with_numbers(copy.copy(model))
    new_covariates(fitted, given.covariates, len(X))  # raises unless they match those of fit
    missing = np.zeros(len(given.X), dtype=bool)
    if not is_classifier(fitted) and np.ndim(given.y) == 1:
        missing = np.isnan(np.asarray(given.y, dtype=float))
        (given,) = given_labels(given._replace(y=np.asarray(given.y, dtype=float)[:, None]))
    samples, parts, declared = pose(fitted, given)
    check_left_out(declared, "leave_one_out")
    if parts[0].joint is not None:
        raise ValueError(
            f"joint must be None for leave_one_out, which is for one problem per class; got "
            f"{fitted.joint!r}. {FOLDS}"
        )
    found = [solve_left_out(fitted, declared, part, k, refits) for k, part in enumerate(parts)]
    result = gathered(fitted, declared, samples, found)
    result.residuals[..., missing] = np.nan
    return result


def pose(fitted: MatrixEstimator, given: FitInput) -> tuple[Samples, list[Part], Model]:
    """Samples, problems and declared model; a model that cleans has its clean samples."""
    samples = fitted._read(given).in_memory
    assert samples is not None
    if (own := np.shape(fitted.dual_coef_)[-1]) != samples.n:
        raise ValueError(f"X must hold the {own} samples of fit; got {samples.n}.")
    if not hasattr(fitted, "X_clean_"):
        samples = fitted._structured(samples)
        parts = fitted._parts(samples)
        return samples, parts, fitted._declare(samples, parts)
    if len(fitted.adaptive_):
        raise ValueError(
            "leave_one_out of a model that cleans its samples needs adaptive=0: the bases of its "
            f"last step were made while the samples were cleaned. {FOLDS}"
        )
    samples = samples_in(replace(samples, X=fitted.X_clean_), bases_of(fitted))
    units, penalty = Units(samples, fitted.fit_intercept), SpectralElasticNet(fitted.tau)
    return samples, fitted._parts(samples), in_numbers(fitted, units, penalty)


def solve_left_out(
    fitted: MatrixEstimator, model: Model, part: Part, k: int, refits: int
) -> OneProblem:
    """Leave out each sample of problem k, starting from its fitted solution."""
    check_each_left_out(model, part.samples, "leave_one_out")
    options = fitted._options() if model.adaptive else {}
    adaptive = bool(model.adaptive)
    model, bases = last_step(model, part.samples, **options)
    samples = samples_in(part.samples, bases)
    W = fitted.coef_.reshape(-1, *fitted.matrix_shape_)[k]
    V, gamma = bases.invert(bases_of(fitted).invert(W)), gamma_of(fitted, samples, k)
    dual = np.atleast_2d(np.asarray(fitted.dual_coef_))[k]
    beta = samples.gather(dual if part.rows is None else dual[part.rows])
    problem, columns = model.on(samples), samples.unpenalised(model.fit_intercept)
    result = solve(model, samples, start=Start(V, gamma, beta), tol=TOL)
    moved = samples.design.forward(result.W.matrix - V)
    moved += columns.times(result.gamma - gamma)
    spread = float(samples.design.forward(V).std()) + float(np.abs(samples.y).mean())
    if np.abs(moved).max() > CHANGED * spread:
        raise ValueError(
            "X, y, sample_weight and covariates must be those of fit, and fit must have converged "
            "to a unique optimum: predictions of the optimum for the given samples differ from "
            f"those of the model by up to {np.abs(moved).max():.3g}."
        )
    loo = leave_one_out(problem, result.W, result.gamma, result.beta)
    back = columns.coefficients(np.eye(columns.size))
    seen = replace(result, W=bases.restore(result.W), kept=None)
    at, shown = (result.W, result.gamma, result.beta), shown_residuals(model, samples.y)
    found = refined(loo, problem, *at, most=refits, shown=shown)
    found = replace(found, doubt=np.nan if adaptive else doubt_of(found, result))
    return OneProblem(part, seen, found, back, bases)


def gathered(
    fitted: MatrixEstimator, model: Model, samples: Samples, found: list[OneProblem]
) -> LeaveOneOutResult:
    """Results of all problems, for all n samples that were given."""
    n, flat = samples.n, samples.X.reshape(samples.n, -1)
    f = list(decided([one.result for one in found], flat, samples.Z))
    for decisions, one in zip(f, found, strict=True):
        target = model.loss.target(one.part.samples.y)
        known = one.of_given(target - one.found.residuals, n, np.nan)
        np.copyto(decisions, known, where=~np.isnan(known))
    decisions = fitted._combiner()[0](np.array(f))
    labels, weights = fitted._decode(samples.y), samples.weights
    margins = hasattr(fitted, "multi_class")  # labels of large-margin classifiers are -1 and 1
    own = [one.of_given(one.part.samples.y, n, np.nan) if margins else samples.y for one in found]
    columns = {
        "residuals": [y - model.loss.mean(one) for y, one in zip(own, f, strict=True)],
        "leverage": [one.of_given(one.found.formula.leverage, n, 0.0) for one in found],
        "influence": [one.of_given(one.found.influence, n, 0.0) for one in found],
    }
    refitted = [
        np.nan_to_num(one.of_given(one.found.refitted.astype(float), n, 0.0)) > 0.0 for one in found
    ]
    alone, one, intervals = len(found) == 1, found[0], None
    if not is_classifier(fitted):
        intervals = Intervals(fitted, model.loss.mean, one)
    return LeaveOneOutResult(
        predictions=fitted._labels(decisions),
        decisions=decisions,
        score=float(fitted._score_all(labels, decisions[None], weights)[0]),
        refitted=np.any(refitted, axis=0),
        doubt=float(np.max([one.found.doubt for one in found])),
        _interval=intervals,
        **{name: part[0] if alone else np.array(part) for name, part in columns.items()},
    )
