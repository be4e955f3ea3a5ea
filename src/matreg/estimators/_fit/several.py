"""Several labels per sample: one fit each, with stacked coefficients, or one joint problem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from joblib import delayed
from numpy.typing import ArrayLike
from sklearn.base import clone

from ..._runtime.parallel import in_parallel
from ..._runtime.progress import track
from ..._runtime.warn import Advice, kept_back, warn
from ..._typing import Array, Index, Values, Weights
from ..._validation.arrays import check_length, reject_complex, unmasked
from ..._validation.stored import refuse_streamed
from ...data.samples import Samples
from ...losses.families import Squared
from .._input.covariates import INPUT
from .._input.fit_input import FitInput
from .._input.streamed import LazyDual
from .fitted import side_by_side
from .units import Units

if TYPE_CHECKING:
    from .base import MatrixEstimator


def fit_each(model: MatrixEstimator, given: FitInput) -> None:
    """Fit a model to each column of the labels (n, k), and store the results in the model.

    The first axis of the attributes is that of labels; `estimators_` is the list of fits. A label
    that is NaN is missing: its sample has weight zero in the fit of that label.
    """
    tasks = given_labels(given)
    jobs = model.n_jobs
    # The fits use the jobs; folds in parallel within them would compete for the cores.
    alone = {} if jobs is None else {"n_jobs": 1}
    calls = (delayed(_fit)(clone(model).set_params(**alone), one) for one in tasks)
    fits = in_parallel(calls, jobs)
    # Models that print their steps have no progress line.
    found = list(fits if model.verbose else track(fits, "labels", len(tasks)))
    for j, (_, messages) in enumerate(found):
        for text, category in messages:
            warn(f"Label {j}: {text}", category)
    stack(model, [one for one, _ in found])


def given_labels(given: FitInput) -> list[FitInput]:
    """The arguments of the fit of each label; its weights are zero where it is missing."""
    found = []
    for y in label_columns(given.y).T:
        weights, missing = given.sample_weight, np.isnan(y)
        if missing.any():
            weights = np.ones(len(y)) if weights is None else np.array(weights, dtype=np.float64)
            if weights.shape == y.shape:  # else the fit refuses
                y = np.where(missing, np.median(y[~missing]), y)
                weights = np.where(missing, 0.0, weights)
        found.append(given._replace(y=y, sample_weight=weights))
    return found


def label_columns(y: ArrayLike) -> Array:
    """Labels (n, k) as numbers, NaN where one is missing."""
    reject_complex(y, "y")
    try:
        Y = np.asarray(unmasked(y), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must be numbers: {error}. For classes take SMM or RGLM.") from None
    if Y.shape[1] == 0:
        raise ValueError(f"y must have a column of labels; got shape {Y.shape}.")
    if np.isinf(Y).any():
        raise ValueError("y must not hold infinity; NaN is a label that is missing.")
    empty = np.flatnonzero(np.isnan(Y).all(axis=0))
    if len(empty):
        raise ValueError(f"y must have a label in each column; column {empty[0]} is all NaN.")
    return Y


def _fit(model: MatrixEstimator, given: FitInput) -> tuple[MatrixEstimator, Advice]:
    """A fitted model and its warnings."""
    groups = {} if given.groups is None else {"groups": given.groups}
    with kept_back() as advice:
        model.fit(given.X, given.y, given.sample_weight, covariates=given.covariates, **groups)
    return model, advice


def stack(model: MatrixEstimator, fits: list[MatrixEstimator]) -> None:
    """Set the attributes of several fits with a first axis of labels, or as lists of k values."""
    given = model.get_params(deep=False)
    for name in vars(fits[0]):
        if name in given or name.startswith("_"):
            continue
        values = [getattr(one, name) for one in fits]
        if name in INPUT:  # the same for all labels
            setattr(model, name, values[0])
        else:
            setattr(model, name, side_by_side(values))
    if "_lazy_dual" in vars(fits[0]):
        model._lazy_dual = LazyDual([two for one in fits for two in one._lazy_dual.problems])
    model.estimators_ = fits


def mean_score(
    score: Callable[..., float], y: ArrayLike, predicted: Values, sample_weight: Weights
) -> float:
    """Mean of the scores of the labels, each on the samples that have it."""
    Y, found = label_columns(y), []
    for j in range(Y.shape[1]):
        known = ~np.isnan(Y[:, j])
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        found.append(score(Y[known, j], np.asarray(predicted)[known, j], sample_weight=weights))
    return float(np.mean(found))


def transposed(f: Array) -> Array:
    """Decisions (..., n, k) from those of the labels or classes, (k, ..., n)."""
    return np.moveaxis(f, 0, -1)


def problems_last(f: Array) -> Array:
    """Decisions (..., n, m) from those of m problems, (m, ..., n); of one problem (..., n)."""
    return f[0] if len(f) == 1 else transposed(f)


def each_label(samples: Samples) -> list[tuple[Index, Array]]:
    """For each of several labels, the indices of the samples that have it, and its values."""
    assert samples.table is not None
    own = samples.table[samples.y.astype(int)]
    every = ((np.flatnonzero(~np.isnan(one)), one) for one in own.T)
    return [(rows, one[rows]) for rows, one in every]


def read_together(model: MatrixEstimator, given: FitInput) -> Samples:
    """Samples with several labels (n, k) for one problem, NaN where one is missing.

    Labels that have units are divided by their spread, `label_scale_` of the model.
    """
    refuse_streamed(f"{type(model).__name__}(joint={model.joint!r})", given.X)
    Y = label_columns(given.y)
    check_length(Y, len(given.X))
    first = model._given(given._replace(y=np.nan_to_num(Y)[:, 0])).in_memory
    assert first is not None
    samples = replace(first, y=np.arange(first.n, dtype=np.float64), table=Y)
    scale = np.ones(Y.shape[1])
    units = not hasattr(model, "family") or isinstance(model._loss(), Squared)
    for j, (rows, values) in enumerate(each_label(samples)):
        if not np.any(samples.weights[rows]):
            raise ValueError(
                f"Each label needs a sample of positive weight; label {j} has {len(rows)} samples, "
                "all of weight 0."
            )
        if units:
            scale[j] = Units(samples.part(rows, values), model.fit_intercept).spread
    model.label_scale_ = scale
    return replace(samples, table=Y / scale)
