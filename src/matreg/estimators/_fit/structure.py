"""Parameters that shape the penalty of W: adaptive steps, bases of rows and columns, sparsity."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ..._typing import Array
from ...bases import Bases
from ...penalties.sparse import SparseLowRank
from ...penalties.spectral import SpectralElasticNet


def bases_of(model: Any) -> Bases:
    """Bases of the rows and columns of the coefficients that a model was given, if any."""
    left = basis("row_basis", getattr(model, "row_basis", None))
    right = basis("column_basis", getattr(model, "column_basis", None))
    return Bases(left, None if right is None else right.T)


def basis(name: str, given: Any) -> Array | None:
    """A basis as a matrix of floats."""
    if given is None:
        return None
    matrix = np.asarray(given, dtype=np.float64)
    if matrix.ndim != 2 or matrix.size == 0 or not np.isfinite(matrix).all():
        raise ValueError(
            f"{name} must be a matrix of finite numbers, such as matreg.bases.smooth_basis gives; "
            f"got one of shape {matrix.shape}."
        )
    return matrix


def check_bases(model: Any, p: int, q: int) -> None:
    """Refuse bases that do not fit samples of shape (p, q), naming the parameter."""
    for name, size, axis in (("row_basis", p, "rows"), ("column_basis", q, "columns")):
        matrix = basis(name, getattr(model, name, None))
        if matrix is not None and len(matrix) != size:
            raise ValueError(
                f"{name} must have one row for each of the {size} {axis} of the samples; got a "
                f"matrix of shape {matrix.shape}."
            )


def earlier_taus(given: int | Sequence[float], tau: float) -> tuple[float, ...]:
    """Tau of the steps before the last, from a number of further steps or a tau for each."""
    if isinstance(given, Integral):
        return (float(tau),) * int(given)
    taus = np.asarray(given, dtype=np.float64)
    if taus.ndim != 1 or not (np.isfinite(taus).all() and (taus >= 0.0).all()):
        raise ValueError(
            "adaptive must be a number of further steps, or the values of tau, at least 0, of the "
            f"steps before the last; got {given!r}."
        )
    return tuple(float(one) for one in taus)


def penalty_of(model: Any, nuclear: SpectralElasticNet) -> Any:
    """The penalty of a model: its own, or the nuclear norm with what `l1` adds."""
    l1 = getattr(model, "l1", 0.0)
    if not np.any(l1):
        return nuclear if model.penalty is None else model.penalty
    if model.penalty is not None:
        raise ValueError("l1 must be 0 where a penalty is given, which takes its place.")
    if not bases_of(model).plain:
        raise ValueError(
            "l1 must be 0 with row_basis or column_basis: it penalises the entries of W, which "
            "those mix."
        )
    if getattr(model, "ridge", 0.0):
        raise ValueError("l1 must be 0 with a ridge, or ridge must be 0.")
    return SparseLowRank(0.0, l1, ridge=nuclear.ridge)


def l1_list(given: Any) -> list[Any]:
    """Values of l1 to try: a number, a matrix, or several of one of these."""
    several = np.asarray(given, dtype=np.float64)
    if several.ndim in (0, 2):
        return [given]
    return [float(one) for one in several] if several.ndim == 1 else list(several)
