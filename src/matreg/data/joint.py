"""Several labels or classes as one problem, whose coefficient matrices share profiles.

The nuclear norm is that of the k coefficient matrices next to each other, of shape (p, q k), or on
top of each other. A sample with k labels becomes k samples of that shape, each of which is zero
except for the sample's matrix at the position of one label. For k classes, each class against the
rest is such a label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import block_diag

from .._typing import Array, Index
from ..linalg.factors import svd
from .samples import Samples

Result = TypeVar("Result", bound=Any)  # what a solver returns


@dataclass(frozen=True)
class JointProblem:
    """Problems of single labels or classes that are solved as one problem."""

    singles: list[Samples]  # samples of each single problem, with its labels
    joint: str | None  # "rows" or "columns": which profiles the matrices share
    fit_intercept: bool  # whether each problem has an intercept
    # Indices of the samples that have each label; None for classes, which all samples have.
    rows: list[Index | None]

    @cached_property
    def centres(self) -> list[Array]:
        """What is subtracted from the samples of each label: with intercepts, their mean."""
        if not self.fit_intercept:
            return [np.zeros(one.X.shape[1:]) for one in self.singles]
        return [np.average(one.X, axis=0, weights=one.weights) for one in self.singles]

    @property
    def labels(self) -> bool:
        """Whether the problems are those of labels, which have units, and not of classes."""
        return self.rows[0] is not None

    @property
    def nbytes(self) -> float:
        """Bytes of the samples of the joint problem."""
        p, q = self.singles[0].X.shape[1:]
        rows, columns = (end.stop for end in self.place(len(self.singles) - 1, p, q))
        return 8.0 * sum(one.n for one in self.singles) * rows * columns

    def samples(self) -> Samples:
        """The centred samples of the joint problem, with unpenalised columns of each problem."""
        p, q = self.singles[0].X.shape[1:]
        k, total = len(self.singles), sum(one.n for one in self.singles)
        rows, columns = (end.stop for end in self.place(k - 1, p, q))
        unpenalised = [columns_of(one, self.fit_intercept) for one in self.singles]
        X, Z, start = np.zeros((total, rows, columns)), block_diag(*unpenalised), 0
        for j, (one, middle) in enumerate(zip(self.singles, self.centres, strict=True)):
            X[(slice(start, start + one.n), *self.place(j, p, q))] = one.X - middle
            start += one.n
        y = np.concatenate([one.y for one in self.singles])
        weights = np.concatenate([one.weights for one in self.singles])
        return Samples.of(X, y, weights, Z if Z.size else None)

    def ridge(self, ridge: float) -> Array:
        """The ridge of each column: `ridge` for covariates, 0 for intercepts."""
        one = self.singles[0]
        own = np.full(0 if one.Z is None else one.Z.shape[1], float(ridge))
        return np.tile(np.append(np.zeros(int(self.fit_intercept)), own), len(self.singles))

    def unpenalised(self, coef: Array | None) -> tuple[Array, Array]:
        """Intercepts (k,) and coefficients of covariates (k, m) from those of all columns."""
        k, first = len(self.singles), int(self.fit_intercept)
        columns = (np.zeros(0) if coef is None else coef).reshape(k, -1)
        gamma = columns[:, first:]
        intercepts = np.zeros(k)
        if first:
            centres = np.array([centre(one) for one in self.singles]).reshape(k, -1)
            intercepts = columns[:, 0] - np.einsum("km,km->k", centres, gamma)
        return intercepts, gamma

    def place(self, j: int, p: int, q: int) -> tuple[slice, slice]:
        """Rows and columns of problem j in the joint matrix: on the diagonal if nothing is shared.

        The diagonal blocks have no larger nuclear norm than the whole, so that the others are 0.
        """
        down, right = (0 if self.joint == own else j for own in ("rows", "columns"))
        return slice(down * p, (down + 1) * p), slice(right * q, (right + 1) * q)

    def split(self, result: Result) -> list[Result]:
        """Results of the single problems: parts of W, of the columns and of the dual point."""
        p, q = self.singles[0].X.shape[1:]
        places = (self.place(j, p, q) for j in range(len(self.singles)))
        coefs = [result.W.matrix[rows, columns] for rows, columns in places]
        intercepts, gammas = self.unpenalised(result.covariate_coef)
        intercepts -= [float(np.vdot(*both)) for both in zip(coefs, self.centres, strict=True)]
        betas = np.split(result.beta, np.cumsum([one.n for one in self.singles])[:-1])
        found, each = [], zip(self.singles, coefs, intercepts, gammas, betas, strict=True)
        for one, W, b, c, beta in each:
            offset = np.full(one.n, b) if one.Z is None else b + one.Z @ c
            columns = one.unpenalised(self.fit_intercept).columns(one.n)
            own: dict[str, Any] = {
                "gamma": np.linalg.lstsq(columns, offset, rcond=None)[0],
                "intercept": float(b),
                "covariate_coef": None if one.Z is None else c,
            }
            found.append(replace(result, W=svd(W), beta=beta, **own))
        return found


def columns_of(samples: Samples, fit_intercept: bool) -> Array:
    """Ones and covariates of the samples of one label.

    With an intercept the covariates are centred. If columns are collinear, the coefficients of
    smallest norm are chosen, and this norm does not include the intercept.
    """
    Z = np.zeros((samples.n, 0)) if samples.Z is None else samples.Z
    if not fit_intercept:
        return Z
    return np.column_stack([np.ones(samples.n), Z - centre(samples)])


def centre(samples: Samples) -> Array:
    """Means of the covariates; an empty array without covariates."""
    return np.zeros(0) if samples.Z is None else np.asarray(samples.Z.mean(axis=0))
