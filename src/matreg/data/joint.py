"""Problems of several labels or classes whose matrices share row or column profiles, as one.

The nuclear norm is that of the matrices side by side, of shape (p, q k), or on top of each other. A
sample with k labels is k samples of that shape, each with its matrix in the place of one label. For
k classes, each class against the rest is such a label.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
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

    singles: list[Samples]  # samples of the problems, with labels of their own
    joint: str | None  # "rows" or "columns": what the matrices share
    fit_intercept: bool  # whether each problem has an intercept
    # Which of all samples have each label; None of classes, which all of them have.
    rows: list[Index | None]

    @property
    def labels(self) -> bool:
        """Whether these are labels, which have units, and not classes."""
        return self.rows[0] is not None

    @property
    def nbytes(self) -> float:
        """Size of the samples of all problems as those of one."""
        p, q = self.singles[0].X.shape[1:]
        rows, columns = (end.stop for end in self.place(len(self.singles) - 1, p, q))
        return 8.0 * sum(one.n for one in self.singles) * rows * columns

    def samples(self) -> Samples:
        """The samples of all problems as those of one, with columns of each."""
        p, q = self.singles[0].X.shape[1:]
        k, total = len(self.singles), sum(one.n for one in self.singles)
        rows, columns = (end.stop for end in self.place(k - 1, p, q))
        unpenalised = [columns_of(one, self.fit_intercept) for one in self.singles]
        X, Z, start = np.zeros((total, rows, columns)), block_diag(*unpenalised), 0
        for j, one in enumerate(self.singles):
            X[(slice(start, start + one.n), *self.place(j, p, q))] = one.X
            start += one.n
        y = np.concatenate([one.y for one in self.singles])
        weights = np.concatenate([one.weights for one in self.singles])
        return Samples.of(X, y, weights, Z if Z.size else None)

    def ridge(self, ridge: float) -> Array:
        """The ridge of each column: that of the covariates, and none of the intercepts."""
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
        """Where the matrix of problem j is in that of all; on the diagonal if nothing is shared.

        The blocks on the diagonal have no larger nuclear norm than the whole: the others are 0.
        """
        down, right = (0 if self.joint == own else j for own in ("rows", "columns"))
        return slice(down * p, (down + 1) * p), slice(right * q, (right + 1) * q)

    def split(self, result: Result) -> list[Result]:
        """Results of the single problems: parts of W, of the columns and of the dual point."""
        p, q = self.singles[0].X.shape[1:]
        places = (self.place(j, p, q) for j in range(len(self.singles)))
        coefs = (result.W.matrix[rows, columns] for rows, columns in places)
        gammas = zip(*self.unpenalised(result.covariate_coef), strict=True)
        betas = np.split(result.beta, np.cumsum([one.n for one in self.singles])[:-1])
        found = []
        for one, W, (b, c), beta in zip(self.singles, coefs, gammas, betas, strict=True):
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

    Beside ones the covariates are centred: of collinear columns those of smallest norm are taken,
    in which the intercept does not count.
    """
    Z = np.zeros((samples.n, 0)) if samples.Z is None else samples.Z
    if not fit_intercept:
        return Z
    return np.column_stack([np.ones(samples.n), Z - centre(samples)])


def centre(samples: Samples) -> Array:
    """Means of the covariates."""
    return np.zeros(0) if samples.Z is None else np.asarray(samples.Z.mean(axis=0))
