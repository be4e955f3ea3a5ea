"""Covariates as columns of numbers: tables by name, categories one-hot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from .._runtime.text import counted
from .._typing import Array
from .._validation.classes import is_missing


class Column(NamedTuple):
    """A covariate as it is given."""

    name: str  # its name; "z0", "z1", ... in an array
    values: NDArray[Any]  # (n,): numbers, or categories of any kind
    is_category: bool  # whether it is to be one-hot encoded


class CovariateEncoder(TransformerMixin, BaseEstimator):
    """Covariates as columns of numbers, as the estimators read them.

    Numbers and booleans stay as they are. A column of words or of a categorical type becomes one
    column of 0 and 1 for each category except the first, whose effect is in the intercept.
    Estimators encode their covariates themselves; use the encoder to choose how an unseen category
    is treated.

    Parameters
    ----------
    unknown : {"error", "zero", "mean"}, default="error"
        How a category that was not in `fit` is encoded. "error" refuses it. "zero" sets all of its
        columns to zero: it then has the effect of the first category. "mean" sets them to the
        shares of the categories in `fit`: it then has the mean effect of the samples of `fit`.

    Attributes
    ----------
    names_ : list of str or None
        Names of the covariates, in the order of the columns; None for an array.
    categories_ : list of (list or None)
        Categories of each covariate, sorted; None for a covariate of numbers.
    shares_ : list of (list of float or None)
        Shares of the categories except the first.
    n_columns_ : int
        Number of covariates.

    Examples
    --------
    >>> from matreg.preprocessing import CovariateEncoder
    >>> table = {"age": [31, 45, 28], "site": ["B", "A", "B"]}
    >>> encoder = CovariateEncoder(unknown="zero").fit(table)
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'site_B']
    >>> encoder.transform({"site": ["C"], "age": [50]})
    array([[50.,  0.]])
    """

    _parameter_constraints: dict[str, list[Any]] = {
        "unknown": [StrOptions({"error", "zero", "mean"})]
    }

    def __init__(self, unknown: str = "error") -> None:
        self.unknown = unknown

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, Z: Any, y: Any = None) -> Self:
        """Learn names and categories.

        Parameters
        ----------
        Z : array-like of shape (n, m) or (n,), table, or dict of columns
            Covariates.
        y : ignored
            For pipelines.

        Returns
        -------
        CovariateEncoder
            The fitted encoder itself.
        """
        names, columns = columns_of(Z)
        self.names_, self.n_columns_ = names, len(columns)
        self.categories_: list[list[Any] | None] = []
        self.shares_: list[list[float] | None] = []
        for one in columns:
            found = categories_in(one) if one.is_category else None
            self.categories_.append(found)
            shares = None if found is None else one_hot(one, found).mean(axis=0).tolist()
            self.shares_.append(shares)
        return self

    def transform(self, Z: Any) -> Array:
        """Encode covariates as columns of numbers.

        Parameters
        ----------
        Z : array-like of shape (n, m) or (n,), table, or dict of columns
            Covariates with the names of those in `fit`, in any order.

        Returns
        -------
        ndarray of shape (n, number of columns)
            In the order of :meth:`get_feature_names_out`.
        """
        check_is_fitted(self, "categories_")
        columns = self._in_order(*columns_of(Z))
        encoded = zip(columns, self.categories_, self.shares_, strict=True)
        parts = [self._encoded(one, known, shares) for one, known, shares in encoded]
        return np.column_stack([np.zeros((len(parts[0]), 0)), *parts])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns of numbers, such as "age" and "site_B".

        Parameters
        ----------
        input_features : ignored
            For scikit-learn's `set_output`.

        Returns
        -------
        ndarray of str
            In the order of the columns.
        """
        check_is_fitted(self, "categories_")
        names = self.names_ or [f"z{k}" for k in range(self.n_columns_)]
        out = []
        for name, known in zip(names, self.categories_, strict=True):
            out += [name] if known is None else [f"{name}_{one}" for one in known[1:]]
        return np.array(out, dtype=str)

    def _in_order(self, names: list[str] | None, columns: list[Column]) -> list[Column]:
        """The columns in the order of `fit`; raises a ValueError if they are not those of `fit`."""
        if (names is None) != (self.names_ is None):
            expected = (
                f"a table with the columns {', '.join(self.names_)}"
                if self.names_ is not None
                else f"an array with {counted(self.n_columns_, 'column')}"
            )
            got = "an array" if names is None else f"a table of {', '.join(names)}"
            raise ValueError(f"covariates must be {expected} as in fit; got {got}.")
        if names is None or self.names_ is None:
            if len(columns) != self.n_columns_:
                raise ValueError(
                    f"covariates must have {counted(self.n_columns_, 'column')} as in fit; got "
                    f"{len(columns)}."
                )
            return columns
        if set(names) != set(self.names_):
            raise ValueError(
                f"covariates must have the columns {', '.join(self.names_)} as in fit; got "
                f"{', '.join(names) or 'none'}."
            )
        found = {one.name: one for one in columns}
        return [found[name] for name in self.names_]

    def _encoded(self, column: Column, known: list[Any] | None, shares: list[float] | None) -> Any:
        """A column of numbers, or a column of 0 and 1 for each category except the first."""
        if known is None or shares is None:
            if column.is_category:
                raise ValueError(
                    f"covariates must hold numbers in {column.name!r} as in fit; got categories "
                    f"such as {str(column.values[0])!r}."
                )
            return column.values
        missing_category(column)
        unseen = np.array([one not in known for one in column.values], dtype=bool)
        if unseen.any() and self.unknown == "error":
            first = column.values[unseen][0]
            raise ValueError(
                f"covariates must hold in {column.name!r} categories that were in fit; got "
                f"{str(first)!r}, which was not, in {int(unseen.sum())} of {len(unseen)} samples. "
                "Its effect is unknown. To predict with no effect or with the mean effect, encode "
                "the covariates before fit and predict: "
                'matreg.preprocessing.CovariateEncoder(unknown="zero") or "mean".'
            )
        out = one_hot(column, known)
        if self.unknown == "mean":
            out[unseen] = shares
        return out


def columns_of(Z: Any) -> tuple[list[str] | None, list[Column]]:
    """Names, if there are any, and columns of covariates; numbers are of dtype float64."""
    if isinstance(Z, Mapping):
        names = [str(name) for name in Z]
        given = [(np.asarray(one), is_categorical(one)) for one in Z.values()]
    elif hasattr(Z, "columns") and hasattr(Z, "__getitem__"):
        names = [str(name) for name in Z.columns]
        given = [(np.asarray(Z[name]), is_categorical(Z[name])) for name in Z.columns]
    elif hasattr(Z, "name") and hasattr(Z, "to_frame") and Z.name is not None:
        names, given = [str(Z.name)], [(np.asarray(Z), is_categorical(Z))]
    else:
        return None, array_columns(Z)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"covariates must have different names; got {twice[0]!r} twice.")
    if any(values.ndim != 1 for values, _ in given) or len({len(one) for one, _ in given}) > 1:
        raise ValueError("covariates must have one value per sample in each column.")
    columns = [as_column(name, *one) for name, one in zip(names, given, strict=True)]
    if not columns:
        raise ValueError("covariates must have a column; got a table without any.")
    return names, columns


def array_columns(Z: Any) -> list[Column]:
    """Columns of an array of numbers of shape (n, m) or (n,)."""
    array = np.asarray(Z)
    if array.ndim not in (1, 2):
        raise ValueError(
            f"covariates must be an array of shape (n, m), or (n,) for one; got {array.shape}."
        )
    array = array.reshape(len(array), -1)
    if array.shape[1] == 0:
        raise ValueError("covariates must have a column; got an array of shape (n, 0).")
    if array.dtype.kind not in "fiubO":
        refuse_array(array.dtype, array[0, 0] if len(array) else "")
    if array.dtype.kind == "O":
        for one in array.ravel():
            if isinstance(one, str | bytes):
                refuse_array(array.dtype, one)
    return [as_column(f"z{k}", one, False) for k, one in enumerate(array.T)]


def refuse_array(dtype: Any, example: Any) -> None:
    """Raise an error that says how to pass words."""
    raise ValueError(
        f"covariates must be numbers where they are an array; got {str(example)!r} ({dtype}). "
        "Pass a table with names (a pandas.DataFrame or a dict of columns): its columns of words "
        "become one column per category except the first."
    )


def is_categorical(column: Any) -> bool:
    """Whether a column of a table says that it holds categories."""
    return str(getattr(column, "dtype", "")).lower().startswith(("category", "categorical", "enum"))


def as_column(name: str, values: NDArray[Any], is_category: bool) -> Column:
    """A column of finite numbers, or of categories."""
    if is_category:
        return Column(name, values, True)
    if values.dtype.kind not in "fiubOUS" and values.dtype.kind != "T":
        raise ValueError(
            f"covariates must be numbers, booleans or categories; {name!r} is of type "
            f"{values.dtype}."
        )
    if values.dtype.kind not in "fiub":
        known = [one for one in values if not is_missing(one)]
        if any(isinstance(one, str | bytes) for one in known):
            return Column(name, values.astype(object), True)
        values = np.array([np.nan if is_missing(one) else one for one in values], dtype=object)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"covariates must be numbers, booleans or categories; {name!r} holds "
            f"{type(values[0]).__name__}."
        ) from None
    refuse_missing(name, ~np.isfinite(numbers))
    return Column(name, numbers, False)


def refuse_missing(name: str, missing: NDArray[Any]) -> None:
    """Refuse missing values, given as a mask (n,)."""
    if missing.any():
        raise ValueError(
            f"covariates must have no missing or infinite values; {name!r} has "
            f"{int(missing.sum())}, the first in sample {int(np.argmax(missing))}. Leave these "
            "samples out, or fill the values in."
        )


def missing_category(column: Column) -> None:
    """Refuse a column of categories with a missing one."""
    refuse_missing(column.name, np.array([is_missing(one) for one in column.values], dtype=bool))


def categories_in(column: Column) -> list[Any]:
    """The categories that occur in a column, sorted."""
    missing_category(column)
    known = set(column.values.tolist())
    try:
        return sorted(known)
    except TypeError:  # words and numbers
        return sorted(known, key=str)


def one_hot(column: Column, known: list[Any]) -> Array:
    """A column of 0 and 1 for each of the k known categories except the first, (n, k - 1)."""
    return np.array(
        [[float(one == other) for other in known[1:]] for one in column.values]
    ).reshape(len(column.values), len(known) - 1)
