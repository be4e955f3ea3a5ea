"""A ridge on the coefficients of covariates: one more sample for each of them.

``ridge / 2 |gamma|^2`` is the squared loss, of weight `ridge`, of samples whose matrix and label
are zero and whose unpenalised columns predict one coefficient each. With these samples the problem
has no ridge on gamma: solvers and both bounds of the certificate stay as they are. In the dual, the
constraint ``Z'beta = t`` becomes the penalty ``|Z'beta - t|^2 / (2 ridge)``, and the multipliers of
these samples balance the violation. If samples are read block by block, these are one more block.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._typing import Array, Mask
from .data.samples import Block
from .design import ArrayDesign
from .losses.piecewise import PiecewiseLoss, squared
from .problem import Problem
from .unpenalised.basis import Columns

# Root of the largest ridge, relative to the mean square of its covariate.
LARGEST = 1e50


def priced(basis: Any, ridge: Any, fit_intercept: bool) -> tuple[Array, Array]:
    """Which covariates have a ridge: rows (m, k) that make their coefficients, and weights (m,).

    Only columns of covariates can have a ridge, with one weight for all of them or one for each.
    With `fit_intercept` the first of the coefficients is the intercept, which has none.
    """
    if not isinstance(basis, Columns) or basis.back is None:
        return np.zeros((0, basis.size)), np.zeros(0)
    rows = basis.back[int(fit_intercept) :]
    weights = np.broadcast_to(np.asarray(ridge, dtype=np.float64), len(rows))
    largest = float(np.max(np.sqrt(weights) * np.linalg.norm(rows, axis=1), initial=0.0))
    if largest > LARGEST:
        raise ValueError(
            f"covariate_ridge={np.max(ridge):.3g} outweighs the squares of a covariate by "
            f"{2.0 * np.log10(largest):.0f} orders of magnitude; float64 has room for "
            f"{2.0 * np.log10(LARGEST):.0f}. Lower it, or leave out the covariate, whose "
            "coefficient it makes zero."
        )
    return rows[weights > 0.0], weights[weights > 0.0]


def with_ridge(problem: Problem, ridge: Any, fit_intercept: bool) -> Problem:
    """The problem with a ridge on the coefficients of its covariates.

    There is one more sample for each covariate that has a ridge, after all others, which are in
    memory. The ridge is the weight of ``|gamma|^2 / 2``, with gamma the coefficients of the
    covariates as given, or a weight for each of them. With `fit_intercept` the first of the
    coefficients is the intercept.
    """
    basis: Any = problem.unpenalised
    rows, weights = priced(basis, ridge, fit_intercept)
    if len(rows) == 0:
        return problem
    samples: Any = problem.design  # in an array, which may be of bytes
    X = np.concatenate([samples.X, np.zeros((len(rows), *samples.X.shape[1:]), samples.X.dtype)])
    return replace(
        problem,
        design=ArrayDesign(X),
        y=np.concatenate([problem.y, np.zeros(len(rows))]),
        loss=with_squares(problem.loss, weights),
        unpenalised=Columns(np.concatenate([basis.Z, rows]), basis.back, weights),
    )


def ridge_block(basis: Any, ridge: Any, fit_intercept: bool, entries: int) -> Block | None:
    """The samples of a ridge, with this number of entries, as a block; None without a ridge."""
    rows, weights = priced(basis, ridge, fit_intercept)
    k = len(rows)
    return Block(0, np.zeros((k, entries)), np.zeros(k), weights, rows) if k else None


def ridge_at(basis: Any, ridge: Any, fit_intercept: bool, gamma: Array) -> tuple[float, Array]:
    """The ridge at coefficients gamma (k,) of all columns, and its derivative (k,)."""
    rows, weights = priced(basis, ridge, fit_intercept)
    slopes = weights * (rows @ gamma)
    return 0.5 * float(slopes @ (rows @ gamma)), slopes @ rows


def with_squares(loss: Any, weights: Array) -> Any:
    """The loss of samples, and the squared loss with these weights of some more."""
    more = squared(weights)
    return loss.beside(more) if isinstance(loss, PiecewiseLoss) else BesideSquares(loss, more)


@dataclass(frozen=True)
class BesideSquares:
    """Another loss of the first samples, and the squared loss of the others.

    It has a gradient, second derivatives and a prox if the loss of the first samples has them.
    """

    own: Any
    squares: PiecewiseLoss

    def __getattr__(self, name: str) -> Any:
        if name not in ("gradient", "second_derivative", "prox") or not hasattr(self.own, name):
            raise AttributeError(name)
        return getattr(self, f"_{name}")

    def _parts(self, r: Any) -> tuple[Any, Any]:
        last = len(self.squares.curvature)
        return r[:-last], r[-last:]

    def take(self, index: Mask) -> BesideSquares:
        """The losses of some samples."""
        first, last = self._parts(index)
        return BesideSquares(self.own.take(first), self.squares.take(last))

    def value(self, r: Array) -> float:
        """Sum of the losses of the residuals."""
        first, last = self._parts(r)
        return float(self.own.value(first) + self.squares.value(last))

    def _gradient(self, r: Array) -> Array:
        """Derivative with respect to the residuals."""
        first, last = self._parts(r)
        return np.concatenate([self.own.gradient(first), last / self.squares.curvature])

    def _second_derivative(self, r: Array) -> Array:
        """Second derivative with respect to the residuals, by sample."""
        first, _ = self._parts(r)
        return np.concatenate([self.own.second_derivative(first), 1.0 / self.squares.curvature])

    def _prox(self, v: Array, step: float) -> Array:
        """Minimiser of ``step L(r) + |r - v|^2 / 2``."""
        first, last = self._parts(v)
        return np.concatenate([self.own.prox(first, step), self.squares.prox(last, step)])

    def conjugate(self, beta: Array) -> float:
        """Conjugate where it is finite."""
        first, last = self._parts(beta)
        return float(self.own.conjugate(first) + self.squares.conjugate(last))

    def feasible(self, beta: Array, total: float | None) -> Array:
        """Nearby point of finite conjugate; its sum belongs to the columns of the problem."""
        first, last = self._parts(beta)
        return np.concatenate([self.own.feasible(first, None), last])

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Smallest and largest slope, by sample."""
        both = zip(self.own.bounds, self.squares.bounds, strict=True)
        low, high = (np.concatenate(one) for one in both)
        return low, high
