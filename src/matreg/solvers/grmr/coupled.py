"""What the two forms of the second half of G-RMR have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..._typing import Array, Mask
from ...design import slices
from ...linalg.factors import Factors
from ...losses.piecewise import PiecewiseLoss
from ...unpenalised.basis import ratio
from .row_prox import RowProblem

if TYPE_CHECKING:
    from .admm import ExactSplit
    from .decompose import Decomposition
    from .paper import PaperSplit


class Point(NamedTuple):
    """Singular values and low-rank part of a split; no low-rank part is all of the samples.

    `cost` and `primal` are its objective without and with the loss. `E` are its outliers; None if
    they follow from the low-rank part and are computed in the end.
    """

    E: Array | None
    d: Array
    factors: Factors | None
    cost: float
    primal: float


@dataclass(frozen=True)
class Coupled(ABC):
    """The samples, what couples them to the regression, and what the methods ask of the problem."""

    # (n, m): samples as rows, each times the root of its weight; 0 where entries are missing.
    D: Array
    root: Array  # (n,): roots of the sample weights, all positive
    target: Array  # (n,): ``y - b``
    # (m,): coefficients; zero where the labels are not used, as in robust PCA.
    w: Array
    coupling: PiecewiseLoss  # loss of ``target - Xw``
    gamma: float  # positive weight of the nuclear norm
    # (n, m): which entries of the samples are not known.
    missing: Mask | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def base(self) -> Array:
        """Residuals of the rows before they move, of shape (n,)."""

    @abstractmethod
    def prox_rows(self, i: slice, g: Array, mu: float) -> tuple[Array, Array]:
        """Minimise over the rows i of X with ``mu/2 |x - g|^2`` added.

        Returns ``d - x`` and the subgradients of the loss. The multiplier ``mu (x - g)`` must be
        feasible for :meth:`bound` up to its norm.
        """

    @abstractmethod
    def at(self, split: ExactSplit | PaperSplit | Decomposition, tol: float) -> Point:
        """A solver's iterate or a start, with its objective to far less than `tol` of it."""

    @abstractmethod
    def bound(self, Y: Array, beta: Array) -> float:
        """Lower bound of the optimum from a multiplier, which is scaled into the ball."""

    @abstractmethod
    def outside(self, i: slice, Z: Array) -> float:
        """How far the rows i of ``Z = Y - beta w'`` are from where the bound holds, at most."""

    def infeasibility(self, Y: Array, beta: Array) -> float:
        """Largest violation of a dual constraint but the ball, relative to the multipliers.

        Infinite where a number is not finite.
        """
        if not (np.isfinite(Y).all() and np.isfinite(beta).all()):
            return np.inf
        off = float(np.abs(self.coupling.feasible(beta, None) - beta).max(initial=0.0))
        worst, size = ratio(off, float(np.abs(beta).max(initial=0.0))), 0.0
        off = 0.0
        for i in slices(*Y.shape):
            pulled = (beta[i] / self.root[i])[:, None] * self.w
            size = max(size, float(np.abs(Y[i]).max()), float(np.abs(pulled).max()))
            off = max(off, self.outside(i, Y[i] - pulled))
        return max(worst, ratio(off, size))

    @abstractmethod
    def complete(self, point: Point, out: Array) -> None:
        """Write the outliers of a split to `out`, if they are not known yet."""

    def row_problem(self, i: slice, thr: Array, mu: float, free: Mask | None) -> RowProblem:
        """Problem of the rows i for one price each, and none where they are `free`."""
        loss = self.coupling.take(i)
        return RowProblem(self.w, 1.0 / self.root[i], self.base[i], thr, loss, mu, free)
