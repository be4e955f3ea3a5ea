"""Covariates of a fit and of new samples: variables whose coefficients have no penalty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._runtime.warn import warn
from ..._typing import Array, Covariates, Values
from ..._validation.arrays import is_number
from ..._validation.stored import is_stored
from ...data.dask_blocks import is_dask
from ...data.units import check_size, largest
from ...preprocessing.covariates import CovariateEncoder, is_categorical
from ...unpenalised.basis import Directions, directions

if TYPE_CHECKING:
    from .._fit.base import MatrixEstimator

# Fitted attributes that describe the data of `fit`.
INPUT: tuple[str, ...] = ("matrix_shape_", "n_features_in_", "feature_names_in_", "labels_")
INPUT += ("classes_", "label_scale_", "covariate_names_", "covariate_encoding_")
# Warnings name the columns whose part in a collinear combination exceeds this share of the largest.
NAMED = 1e-6
# Up to as many numbers that are stored as words may be codes, such as those of sites.
CODES = 10


def read_covariates(model: MatrixEstimator, given: Covariates, n: int) -> Array:
    """Covariates of a fit as numbers (n, m); their names and categories become attributes."""
    encoder = CovariateEncoder().fit(given := in_memory(given))
    Z = checked(encoder.transform(given), n)
    penalised = model.covariate_ridge > 0.0
    if Z.shape[1] >= n and not penalised:
        raise ValueError(
            "covariates must have fewer columns than there are samples: they have no penalty, and "
            f"would fit all labels by themselves; got {Z.shape[1]} columns for {n} samples. "
            "Categories count, too: each except the first is a column. Give the covariates a "
            "penalty, such as covariate_ridge=1.0, or leave some out."
        )
    state = {name: one for name, one in vars(encoder).items() if name != "unknown"}
    model.covariate_encoding_ = state  # plain, to be stored
    model.covariate_names_ = names = encoder.get_feature_names_out()
    for name, column in zip(names, Z.T, strict=True):
        check_size(f"the covariate {name!s}", largest(column))
    warn_of_digits(given, encoder)
    found = directions(Z, model.fit_intercept)
    warn_of_constant(found, encoder, model.fit_intercept)
    if not penalised:  # with a ridge the solution is unique
        warn_of_collinear(found, model.covariate_names_, model.fit_intercept)
    return Z


def new_covariates(model: MatrixEstimator, given: Covariates, n: int) -> Array | None:
    """Covariates of n new samples as numbers (n, m); required if and only if `fit` had them."""
    encoding, name = getattr(model, "covariate_encoding_", None), type(model).__name__
    if given is None and encoding is None:
        return None
    if encoding is None:
        raise ValueError(f"covariates must not be given: {name} was fitted without any.")
    encoder = CovariateEncoder()
    encoder.__dict__.update(encoding)
    if given is None:
        names = ", ".join(encoder.get_feature_names_out())
        raise ValueError(
            f"covariates must be given: {name} was fitted with {names}, and predicts from them too."
        )
    return checked(encoder.transform(in_memory(given)), n)


def in_memory(given: Any) -> Any:
    """Covariates in memory: stored and Dask arrays are loaded."""
    if is_dask(given):
        return given.compute()
    return np.asarray(given[...]) if is_stored(given) else given


def checked(Z: Array, n: int) -> Array:
    """Covariates of n samples; raises a ValueError for another number of rows."""
    if len(Z) != n:
        raise ValueError(
            f"covariates must have one row for each of the {n} samples of X; got {len(Z)}."
        )
    return Z


def warn_of_digits(given: Any, encoder: CovariateEncoder) -> None:
    """Name columns of many different numbers that are stored as words."""
    if encoder.names_ is None:
        return
    if isinstance(given, Mapping):
        columns = list(given.values())
    else:
        columns = [given[name] for name in given.columns] if hasattr(given, "columns") else [given]
    for name, column, known in zip(encoder.names_, columns, encoder.categories_, strict=True):
        if known is None or len(known) <= CODES or is_categorical(column):
            continue
        if not all(is_number(one) for one in known):
            continue
        warn(
            f"covariates: {name!r} holds numbers stored as words, such as {str(known[0])!r}, and "
            f"becomes {len(known)} categories. Pass numbers, by np.asarray(column, dtype=float), "
            "or say by a categorical type that they are names."
        )


def warn_of_constant(found: Directions, encoder: CovariateEncoder, fit_intercept: bool) -> None:
    """Warn of constant columns, by name."""
    names = encoder.get_feature_names_out()
    single = [
        name
        for name, known in zip(encoder.names_ or (), encoder.categories_, strict=False)
        if known is not None and len(known) == 1
    ]
    constant = [*names[found.scale == 0.0], *(single if fit_intercept else ())]
    if constant:
        what = "constant" if fit_intercept else "zero"
        one = len(constant) == 1
        rest = "coefficient is 0. Leave it out." if one else "coefficients are 0. Leave them out."
        warn(
            f"covariates: {listed(constant)} {what} in all samples, which adds nothing to the "
            f"intercept: the {rest}"
        )


def warn_of_collinear(found: Directions, names: Values, fit_intercept: bool) -> None:
    """Warn of collinear columns, by name."""
    there = found.scale > 0.0
    rank, kept = found.rank, int(there.sum())
    if rank < kept:
        part = np.linalg.norm(found.Vt[rank:], axis=0)
        part *= np.linalg.norm(found.Z * found.scale, axis=0)  # size of each term of the sum
        among = names[there & (part > NAMED * part.max())]
        warn(
            f"covariates: {listed(among)} collinear{' with the intercept' if fit_intercept else ''}"
            f": {kept - rank} of them follow{'s' if kept - rank == 1 else ''} from the "
            "others. Many coefficients give the same predictions, and those of smallest norm are "
            "taken: do not interpret them one by one, or leave out columns that repeat others."
        )


def listed(names: Sequence[str] | Values) -> str:
    """Names as the subject of a sentence, with "is" or "are"."""
    shown = ", ".join(repr(str(one)) for one in names[:6]) + (", ..." if len(names) > 6 else "")
    return f"{shown} {'is' if len(names) == 1 else 'are'}"
