"""Consecutive samples, the unit in which passes over all samples read the data."""

from __future__ import annotations

from typing import Any, NamedTuple

from numpy.typing import NDArray

from .._typing import Array
from ..design import ArrayDesign
from ..unpenalised.basis import Basis, Columns, intercept


class Block(NamedTuple):
    """Consecutive samples."""

    start: int  # index of the first one
    X: NDArray[Any]  # (k, p*q): samples in their own dtype
    # (k,): labels and sample weights.
    y: Array
    weights: Array
    # (k, m): all columns without a penalty, including the ones; None without covariates.
    Z: Array | None = None

    @property
    def design(self) -> ArrayDesign:
        """The samples as a linear operator on coefficients (p*q, 1)."""
        return ArrayDesign(self.X[:, :, None])

    def basis(self, fit_intercept: bool) -> Basis:
        """The columns without a penalty: `Z` if there are covariates, else ones or no column."""
        return intercept(fit_intercept) if self.Z is None else Columns(self.Z)

    def part(self, start: int, stop: int) -> Block:
        """Consecutive samples of the block."""
        return self.take(slice(start, stop))._replace(start=self.start + start)

    def take(self, some: NDArray[Any] | slice) -> Block:
        """Some samples of the block."""
        Z = None if self.Z is None else self.Z[some]
        return Block(self.start, self.X[some], self.y[some], self.weights[some], Z)
