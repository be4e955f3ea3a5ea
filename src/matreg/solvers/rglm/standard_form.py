"""Least squares without weights and unpenalised columns, prepared once for a path of R-GLM."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse.linalg

from ..._typing import Array
from ...design import ArrayDesign, Design
from ...losses.piecewise import squared
from ...problem import RMRProblem, relative_gap
from ...thresholds import COMPRESSED_ENTRIES, COMPRESSED_RATIO, NORM_ENTRIES
from ...unpenalised.basis import NOTHING, NoColumns, Ones
from ..certificate import SolverResult

# A sum of eight units of rounding is taken for zero.
ROUNDING = 8.0 * float(np.finfo(float).eps)


def centred(values: Array, s: Array) -> tuple[Array, Array]:
    """Columns minus their weighted means, times the roots of the weights; and the means.

    Columns that are constant up to rounding become zero: their rest is noise, from which a small
    tau would make large coefficients.
    """
    mean = s @ values / s.sum()
    out = values - mean
    constant = np.abs(out).max(axis=0) <= ROUNDING * np.abs(values).max(axis=0)
    mean[constant] = values[0, constant]
    out[:, constant] = 0.0
    out *= np.sqrt(s)[:, None]
    return out, mean


def projected(values: Array, Z: Array, s: Array) -> tuple[Array, Array]:
    """Columns minus their weighted fits by Z, times the roots of the weights; and the fits (k, m).

    Columns that are combinations of Z up to rounding become zero, as in :func:`centred`.
    """
    root = np.sqrt(s)[:, None]
    Q, R = np.linalg.qr(root * Z)
    fits = np.linalg.lstsq(R, Q.T @ (root * values), rcond=None)[0]
    out = values - Z @ fits
    size = np.abs(values).max(axis=0) + np.abs(Z).max(axis=0) @ np.abs(fits)
    # The columns Z have been made orthogonal and have rounding themselves.
    out[:, np.abs(out).max(axis=0) <= 8.0 * ROUNDING * size] = 0.0
    out *= root
    out -= Q @ (Q.T @ out)  # the rounding that is left of Z would show in the dual
    return out, np.asarray(fits)


def flat(design: Design) -> Array:
    """Samples as rows, of shape (n, p q)."""
    return design.stack().reshape(design.n, -1)


def largest_singular_value(rows: Array) -> float:
    """Largest singular value to a hundredth, by Lanczos steps."""
    # The start must not be a vector of ones, which is orthogonal to all centred columns.
    v0 = np.cos(np.arange(min(rows.shape)))
    d = scipy.sparse.linalg.svds(rows, k=1, tol=0.01, v0=v0, return_singular_vectors=False)
    return float(d[0])


class StandardForm:
    """The problem without weights and gamma: ``1/2 |z - A W|^2 + penalty(W)``.

    Objective, bound and gap are those of the problem with a squared loss that it was made of. The
    penalty of this source is not used: the form serves a whole path.
    """

    def __init__(self, source: RMRProblem) -> None:
        self.source = source
        s, design = 1.0 / source.loss.curvature, source.design
        rows, self.x_fits = self.without(flat(design), s)
        z, y_fits = self.without(source.y[:, None], s)
        self.z, self.y_fits = z[:, 0], y_fits[:, 0]
        self.design = ArrayDesign(rows.reshape(design.n, design.p, design.q))

    @classmethod
    def of(cls, problem: RMRProblem) -> StandardForm:
        """The form of a problem, kept with its samples: folds of a search have many paths."""
        form: StandardForm | None = getattr(problem.design, "standard_form", None)
        if form is None or not form.serves(problem):
            form = cls(problem)
            vars(problem.design)["standard_form"] = form
        return form

    def without(self, values: Array, s: Array) -> tuple[Array, Array]:
        """Columns (n, m) minus their fits by Z, weighted; and the coefficients (k, m)."""
        columns = self.source.unpenalised
        if isinstance(columns, NoColumns):
            return np.sqrt(s)[:, None] * values, np.zeros((0, values.shape[1]))
        if isinstance(columns, Ones):
            out, mean = centred(values, s)
            return out, mean[None]
        return projected(values, columns.columns(len(values)), s)

    def serves(self, problem: RMRProblem) -> bool:
        """Whether the problem is the same except for the penalty."""
        ours = self.source
        return (
            ours.design is problem.design
            and ours.y is problem.y
            and np.array_equal(ours.loss.curvature, problem.loss.curvature)
            and ours.unpenalised is problem.unpenalised
        )

    def posed(self, problem: RMRProblem) -> RMRProblem:
        """The problem in this form."""
        loss = squared(np.ones(self.design.n))
        return RMRProblem(self.design, self.z, loss, problem.penalty, NOTHING)

    @cached_property
    def rows(self) -> tuple[Design, Array]:
        """Samples and labels of the same least squares; many samples become a triangular matrix."""
        design, size = self.design, self.design.p * self.design.q
        if size > COMPRESSED_ENTRIES or design.n <= COMPRESSED_RATIO * size:
            return design, self.z
        R = np.asarray(np.linalg.qr(np.column_stack([flat(design), self.z]), mode="r"))
        X = np.ascontiguousarray(R[:size, :size]).reshape(size, design.p, design.q)
        return ArrayDesign(X), R[:size, size].copy()

    @cached_property
    def lipschitz(self) -> float:
        """Squared norm of the map, or a little more."""
        design, _ = self.rows
        if min(design.n, design.p * design.q) <= NORM_ENTRIES:
            return design.norm**2
        return (1.05 * largest_singular_value(flat(design))) ** 2

    def restore(self, result: SolverResult, problem: RMRProblem, tol: float) -> SolverResult:
        """The result for the problem itself, with its certificate."""
        gamma = self.y_fits - self.x_fits @ result.W.matrix.reshape(-1)
        fitted = problem.design.forward(result.W.matrix) + problem.unpenalised.times(gamma)
        primal = problem.loss.value(problem.y - fitted) + problem.penalty_value(result.W)
        dual, beta = problem.proven(result.beta / np.sqrt(problem.loss.curvature))
        if dual < 0.0:  # that of no multipliers
            dual, beta = 0.0, np.zeros_like(beta)
        gap = relative_gap(primal, dual)
        # Rounding may make the gap a little larger than that of this form.
        converged = gap <= (2.0 if result.converged else 1.0) * tol
        return result.stating(primal, dual, gap, gamma=gamma, beta=beta, converged=converged)
