"""Many refits of one model to changed data, with the chosen parameters, in parallel."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from numbers import Number
from typing import Any

import numpy as np
from joblib import delayed
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from .._runtime.parallel import in_parallel
from .._runtime.progress import track
from .._runtime.warn import kept_back, warn, without
from .._typing import Array
from .._validation.axes import aligned
from .._validation.stored import refuse_streamed
from ..estimators._fit.base import MatrixEstimator
from ..estimators._linear_part import linear_part
from ..estimators._search import folds
from ._covariates import fit_with, take

Indices = np.ndarray[Any, np.dtype[np.intp]]


def at_chosen_parameters(model: Any) -> Any:
    """An unfitted copy of a fitted model without a search, with the parameters that were chosen."""
    if isinstance(model, Pipeline):
        steps = [(name, clone(step)) for name, step in model.steps[:-1]]
        return Pipeline([*steps, (model.steps[-1][0], at_chosen_parameters(model[-1]))])
    if isinstance(model, TransformedTargetRegressor):
        return clone(model).set_params(regressor=at_chosen_parameters(model.regressor_))
    if hasattr(model, "best_estimator_"):
        return at_chosen_parameters(model.best_estimator_)
    plain = clone(model)
    used = (name for name in plain.get_params() if name not in plain._idle)
    found = {name: getattr(model, f"{name}_", None) for name in used}
    numbers = {name: one for name, one in found.items() if isinstance(one, Number | tuple)}
    return plain.set_params(**numbers, verbose=0)


def warm(model: Any, X: Any, y: Any, Z: Array | None = None) -> Any:
    """Fit a copy of a model, with the chosen parameters, as a warm start for further fits.

    A pipeline fits its last step in place, so that this step has a warm start, too.
    """
    fresh = at_chosen_parameters(model)
    last = fresh[-1] if isinstance(fresh, Pipeline) else fresh
    if isinstance(last, MatrixEstimator) and "warm_start" in last.get_params():
        last.set_params(warm_start=True)
    with without(category=ConvergenceWarning):
        return fit_with(fresh, X, y, Z)


def refits(
    task: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    label: str,
    n_jobs: int | None,
    verbose: int,
) -> Iterator[Any]:
    """Results of ``task(*one)`` in order, with a progress bar and one warning for all."""
    calls = (delayed(quietly)(task, one) for one in arguments)
    results = in_parallel(calls, n_jobs)
    unsolved = 0
    for value, failed in track(results, label, len(arguments), verbose):
        unsolved += failed
        yield value
    if unsolved:
        warn(
            f"{unsolved} of {len(arguments)} refits stopped before they reached tol; their "
            "coefficients are used as they are. Raise max_iter or tol of the model.",
            ConvergenceWarning,
        )


def quietly(task: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[Any, bool]:
    """Result of a task, and whether a fit in it has not converged."""
    with kept_back() as advice, threadpool_limits(limits=1):
        value = task(*arguments)
    return value, any(issubclass(kind, ConvergenceWarning) for _, kind in advice)


def refit_coef(model: Any, X: Any, y: Any, Z: Array | None = None) -> Array:
    """Coefficients (p, q) of a fit to changed data, in the units of the model."""
    return linear_part(fit_with(copy.deepcopy(model), X, y, Z)).coef


def refit_rows(model: Any, X: Any, y: Array, Z: Array | None, rows: Indices) -> Array:
    """Coefficients (p, q) of a fit to resampled samples, in the units of the samples."""
    data = (take(X, rows), y[rows], take(Z, rows))
    return linear_part(fit_with(copy.deepcopy(model), *data)).coef_in_units


def folds_of(cv: Any, model: Any, X: Any, y: Any, groups: Any) -> list[tuple[Indices, Indices]]:
    """Training and test samples of each fold; a number of folds keeps groups together."""
    return list(folds.make_splitter(cv, y, groups, is_classifier(model)).split(X, y, groups))


def as_samples(model: Any, X: Any) -> Any:
    """Samples that can be indexed: a table, or else an array with rows and columns as in `fit`."""
    refuse_streamed("This function", X)
    if hasattr(X, "iloc"):
        return X
    part = linear_part(model)
    known = len(part.steps) == len(part.scalers)  # other steps may change rows and columns
    return np.asarray(aligned(X, part.model._matrix_labels()) if known else X)


def check_groups(groups: Any, n: int) -> Indices:
    """Index of the group of each sample, (n,), counted from 0."""
    folds.check_groups(groups, n)
    numbers = np.unique(np.asarray(groups), return_inverse=True)[1]
    if numbers.max() == 0:
        raise ValueError("groups must hold two groups or more; got one.")
    return numbers
