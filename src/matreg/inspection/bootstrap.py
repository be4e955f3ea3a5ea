"""How far a map would change with other samples: the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from scipy.optimize import linear_sum_assignment
from sklearn.base import is_classifier
from sklearn.utils import check_random_state, check_scalar

from .._typing import Array
from .._validation.arrays import check_length
from ..estimators._linear_part import linear_part
from ._covariates import as_numbers
from ._refits import Indices, as_samples, at_chosen_parameters, check_groups, refit_rows, refits
from .maps import Components, components_of


@dataclass(frozen=True, repr=False)
class BootstrapMaps:
    """Coefficients of refits to resampled data, with their mean and spread.

    Attributes
    ----------
    coef : ndarray of shape (p, q)
        Coefficients of the model itself.
    mean, std : ndarray of shape (p, q)
        Mean and standard deviation of the refits.
    sign_agreement : ndarray of shape (p, q)
        Share of the refits in which the entry has the sign of `coef`; 1 if `coef` and all refits
        are zero.
    components : Components
        Rank-one terms of the model.
    row_std, column_std : ndarray of shape (r, p) and (r, q)
        Standard deviation of the profiles over the refits, whose terms are matched to those of the
        model.
    singular_value_std : ndarray of shape (r,)
        Standard deviation of the singular values over the refits.
    component_similarity : ndarray of shape (r,)
        Mean cosine between a term and the matched terms of the refits: near 1 the term is the same
        in every resample; near 0 do not interpret it.
    coefs : ndarray of shape (n_resamples, p, q)
        All refits.
    """

    coef: Array
    mean: Array
    std: Array
    sign_agreement: Array
    components: Components
    row_std: Array
    column_std: Array
    singular_value_std: Array
    component_similarity: Array
    coefs: Array

    def __repr__(self) -> str:
        similar = ", ".join(f"{one:.2f}" for one in self.component_similarity[:3])
        more = ", ..." if len(self.component_similarity) > 3 else ""
        return (
            f"BootstrapMaps(n_resamples={len(self.coefs)}, shape={self.coef.shape}, "
            f"rank={len(self.components.rows)}, component_similarity=[{similar}{more}])"
        )


def bootstrap_maps(
    model: Any,
    X: ArrayLike,
    y: ArrayLike,
    *,
    covariates: Any = None,
    groups: ArrayLike | None = None,
    n_resamples: int = 200,
    n_jobs: int | None = None,
    random_state: int | RandomState | None = None,
    verbose: int = 0,
) -> BootstrapMaps:
    """Refit a model to resampled data and measure how its coefficients vary.

    The refits keep the chosen parameters: a model that chooses by cross-validation does not choose
    again. Steps of a pipeline are fitted again.

    Parameters
    ----------
    model : fitted model
        A linear model of matreg, or a pipeline or search around one.
    X, y, covariates
        The data of `fit`.
    groups : array-like of shape (n,), default=None
        Groups of samples that depend on each other, such as people, days or batches. Whole groups
        are drawn.
    n_resamples : int, default=200
        Number of refits.
    n_jobs : int, default=None
        Number of refits that run in parallel.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws; the result does not depend on `n_jobs`.
    verbose : int, default=0
        Whether to report progress without a terminal, too.

    Returns
    -------
    BootstrapMaps
        Mean, standard deviation, sign agreement and components. All refits are kept, which takes
        memory for ``n_resamples * p * q`` numbers.

    Notes
    -----
    The spread is that of a *regularised* estimate: it does not include the bias of the shrinkage,
    so that two standard deviations are not a confidence interval for the truth. For tests see
    :func:`permutation_map`.

    A resample in which a class is missing is drawn again.

    Refits do not start from the model, since a warm start makes them slower on real samples.

    Examples
    --------
    >>> from matreg import RMR
    >>> from matreg.datasets import make_matrix_regression
    >>> from matreg.inspection import bootstrap_maps
    >>> data = make_matrix_regression(80, (5, 4), noise_scale=0.5, random_state=0)
    >>> model = RMR(tau=2.0).fit(data.X, data.y)
    >>> maps = bootstrap_maps(model, data.X, data.y, n_resamples=5, random_state=0)
    >>> maps.mean.shape, maps.std.shape, maps.coefs.shape
    ((5, 4), (5, 4), (5, 5, 4))
    """
    check_scalar(n_resamples, "n_resamples", (int, np.integer), min_val=2)
    coef = linear_part(model).coef_in_units
    X, y = as_samples(model, X), np.asarray(y)
    check_length(y, int(np.shape(X)[0]))
    classes = len(np.unique(y)) if is_classifier(model) else 0
    draws = _draws(y, groups, n_resamples, check_random_state(random_state), classes)
    plain = at_chosen_parameters(model)
    Z = as_numbers(model, covariates, len(y))
    arguments = [(plain, X, y, Z, rows) for rows in draws]
    coefs = np.array(list(refits(refit_rows, arguments, "bootstrap", n_jobs, verbose)))
    return _summary(coef, coefs)


def _draws(
    y: Array, groups: Any, n_resamples: int, rng: RandomState, classes: int
) -> list[Indices]:
    """Rows of each resample; a resample that lacks a class is drawn again."""
    units = np.arange(len(y)) if groups is None else check_groups(groups, len(y))
    order = np.argsort(units, kind="stable")
    starts = np.searchsorted(units[order], np.arange(units.max() + 2))
    found: list[Indices] = []
    while len(found) < n_resamples:
        drawn = np.sort(rng.randint(len(starts) - 1, size=len(starts) - 1))
        rows = np.concatenate([order[starts[g] : starts[g + 1]] for g in drawn])
        if len(np.unique(y[rows])) >= classes:
            found.append(rows)
    return found


def _summary(coef: Array, coefs: Array) -> BootstrapMaps:
    """Statistics of the refits (n_resamples, p, q) of a model with coefficients (p, q)."""
    reference = components_of(coef)
    matched = [match(reference, components_of(one)) for one in coefs]
    rows, columns, sizes, cosines = (np.array(values) for values in zip(*matched, strict=True))
    return BootstrapMaps(
        coef=coef,
        mean=coefs.mean(axis=0),
        std=coefs.std(axis=0, ddof=1),
        sign_agreement=np.mean(np.sign(coefs) == np.sign(coef), axis=0),
        components=reference,
        row_std=rows.std(axis=0, ddof=1),
        column_std=columns.std(axis=0, ddof=1),
        singular_value_std=sizes.std(axis=0, ddof=1),
        component_similarity=cosines.mean(axis=0),
        coefs=coefs,
    )


def match(reference: Components, other: Components) -> tuple[Array, Array, Array, Array]:
    """Terms of another matrix, in the order and with the signs of the terms of the reference.

    The sum of the absolute cosines between matched terms is the largest possible. Row profiles have
    the signs of the reference; where column profiles then have opposite signs, the cosine is
    negative. A term without a match is zero. Returns row profiles (r, p), column profiles (r, q),
    singular values (r,) and cosines (r,).
    """
    left, right = reference.rows @ other.rows.T, reference.columns @ other.columns.T
    ours, theirs = linear_sum_assignment(-np.abs(left * right))
    rows, columns = np.zeros_like(reference.rows), np.zeros_like(reference.columns)
    sizes, cosines = np.zeros(len(rows)), np.zeros(len(rows))
    signs = np.where(left[ours, theirs] < 0.0, -1.0, 1.0)
    rows[ours] = signs[:, None] * other.rows[theirs]
    columns[ours] = signs[:, None] * other.columns[theirs]
    sizes[ours] = other.singular_values[theirs]
    cosines[ours] = (left * right)[ours, theirs]
    return rows, columns, sizes, cosines
