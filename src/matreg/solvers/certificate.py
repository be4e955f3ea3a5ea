"""Results of solvers with their certificates, and the history of the iterations."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.progress import tell
from .._typing import Array
from ..data.samples import Block
from ..linalg.factors import Factors, singular_values, zero_factors
from ..problem import Problem, RMRProblem, relative_gap
from ..unpenalised.basis import Basis, Columns
from .dual_points import multiple
from .warm_start import Start

COLUMNS = np.dtype(
    [
        ("iteration", np.int64),
        ("time", np.float64),
        ("primal", np.float64),
        ("dual", np.float64),
        ("gap", np.float64),
        ("rank", np.int64),
        ("method", "U24"),
    ]
)
STEPS = np.dtype(
    [
        ("tau", np.float64),
        ("primal", np.float64),
        ("dual", np.float64),
        ("gap", np.float64),
        ("rank", np.int64),
        ("n_iter", np.int64),
    ]
)


@dataclass(frozen=True, kw_only=True)
class Certified:
    """Bound of the distance of a point from the optimum; by default nothing is known.

    Attributes
    ----------
    primal, dual, gap : float
        Objective at the point, lower bound of the optimum, and their relative difference.
    n_iter : int
        Number of iterations, summed over all methods that were tried.
    converged : bool
        Whether the gap is at most the requested tolerance.
    history : structured ndarray
        One row per check of the certificate: iteration, time, primal, dual, gap, rank, and the
        name of the method.
    """

    primal: float = np.inf
    dual: float = 0.0
    gap: float = 1.0
    n_iter: int = 0
    converged: bool = False
    history: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=COLUMNS))


@dataclass(frozen=True)
class SolverResult(Certified):
    """Coefficients with their certificate.

    Attributes
    ----------
    W : Factors
        Coefficients in factored form; zero singular values are exact.
    gamma : ndarray of shape (k,)
        Coefficients of the problem's columns without a penalty
        (:meth:`matreg.unpenalised.basis.Columns.coefficients` converts them to coefficients of the
        user's columns).
    beta : ndarray of shape (n,)
        Feasible dual point.
    method : str
        The solver that found the point: a name in :data:`matreg.solvers.SOLVERS` or
        :data:`matreg.solvers.UNASKED`. The history has the names of the solver's stages.
    kept : Start or None
        State that a solver keeps for a neighbouring problem; :attr:`start` is the starting point of
        that problem.
    dual_of : callable or None
        If samples are read block by block, `beta` is empty, and this function maps a block to the
        part of beta that belongs to the block.
    interrupted : bool
        Whether Ctrl-C ended the fit.
    intercept, covariate_coef : float, ndarray of shape (m,); or None
        Intercept, and coefficients of the user's covariates; None without covariates.
    steps : structured ndarray
        One row per convex step of an adaptive model: tau, primal, dual, gap, rank, and n_iter. This
        result is that of the last step. Empty for other models.
    """

    W: Factors
    gamma: Array
    beta: Array
    method: str = ""
    kept: Start | None = None
    dual_of: Callable[[Block], Array] | None = None
    interrupted: bool = False
    intercept: float | None = None
    covariate_coef: Array | None = None
    steps: NDArray[Any] = field(default_factory=lambda: np.empty(0, dtype=STEPS))

    @property
    def b(self) -> float:
        """The intercept; 0 if there is none."""
        if self.intercept is not None:
            return self.intercept
        return float(self.gamma[0]) if len(self.gamma) else 0.0

    @property
    def start(self) -> Start:
        """Starting point for a neighbouring problem."""
        return self.kept or Start(self.W.matrix, self.gamma, self.beta)

    def with_covariates(self, basis: Basis, fit_intercept: bool) -> SolverResult:
        """The result with the intercept and coefficients of the user's covariates, if any."""
        if not isinstance(basis, Columns):
            return self
        own = basis.coefficients(self.gamma)
        b, own = (float(own[0]), own[1:]) if fit_intercept else (0.0, own)
        return replace(self, intercept=b, covariate_coef=own)

    def stating(self, primal: float, dual: float, gap: float, **more: Any) -> SolverResult:
        """The result with another certificate, also in the last row of the history."""
        history = self.history.copy()
        history["primal"][-1], history["dual"][-1], history["gap"][-1] = primal, dual, gap
        return replace(self, primal=primal, dual=dual, gap=gap, history=history, **more)

    def fitting_exactly(self) -> SolverResult:
        """The result for labels that are fitted up to rounding: beta and the gap are zero.

        Multipliers that are mere rounding errors prove nothing, and an objective of zero needs no
        proof.
        """
        none = np.zeros_like(self.beta)
        return self.stating(self.primal, 0.0, 0.0, beta=none, converged=True)

    def after(self, earlier: SolverResult) -> SolverResult:
        """The better of this result and that of an earlier stage, with the history of both."""
        later = self.history.copy()
        later["iteration"] += earlier.n_iter
        later["time"] += earlier.history["time"][-1]
        return replace(
            self if self.gap <= earlier.gap else earlier,
            n_iter=earlier.n_iter + self.n_iter,
            history=np.concatenate([earlier.history, later]),
        )


class History:
    """Rows about successive steps of a solver, with the seconds since its start.

    Parameters
    ----------
    verbose : bool, default=False
        Whether to print one line per row.
    """

    COLUMNS = COLUMNS
    HEADER = f"{'iter':>5} {'time':>8} {'primal':>13} {'dual':>13} {'gap':>8} {'rank':>4}  method"
    LINE = "{:5d} {:8.2f} {:13.6e} {:13.6e} {:8.1e} {:4d}  {}"

    def __init__(self, verbose: bool = False) -> None:
        self.verbose, self.start = verbose, time.perf_counter()
        self.rows: list[tuple[Any, ...]] = []

    def add(self, *row: Any) -> None:
        """Add a row; `row` holds all columns except the time."""
        names: tuple[str, ...] = self.COLUMNS.names or ()
        i = names.index("time")
        self.rows.append((*row[:i], time.perf_counter() - self.start, *row[i:]))
        if self.verbose:
            if len(self.rows) == 1:
                print(self.HEADER)
            print(self.LINE.format(*self.rows[-1]), flush=True)

    @property
    def table(self) -> NDArray[Any]:
        """One row per step, a structured array of :attr:`COLUMNS`."""
        return np.array(self.rows, dtype=self.COLUMNS)


class Bounds:
    """Best primal and dual values so far, with the history of the iterations.

    Parameters
    ----------
    tol : float
        Relative duality gap at which to stop.
    verbose : bool
        Whether to print one line per check.
    method : str
        Name of the present method, for the history; a solver of several stages changes it.
    most : float, default=inf
        Largest number of iterations.
    """

    W: Factors

    def __init__(self, tol: float, verbose: bool, method: str, most: float = np.inf) -> None:
        self.tol, self.method, self.most, self.history = tol, method, most, History(verbose)
        self.primal, self.dual, self.stopped = np.inf, -np.inf, False

    @property
    def rank(self) -> int:
        """Rank of the best point."""
        return self.W.rank

    @property
    def stage(self) -> str:
        """Name of the present work, as callbacks and the progress line receive it."""
        return self.method

    @property
    def gap(self) -> float:
        """Relative gap between the best primal and the best dual value."""
        return relative_gap(self.primal, self.dual)

    @property
    def converged(self) -> bool:
        """Whether to stop: converged, or a callback asked to stop."""
        return self.gap <= self.tol or self.stopped

    def record(self, iteration: int, *more: Any) -> None:
        """Add a row to the history, print it if asked, and tell the callbacks.

        `more` holds the values of additional columns, if the history has any.
        """
        gap = self.gap
        self.history.add(iteration, self.primal, self.dual, gap, self.rank, self.method, *more)
        self.stopped = tell(self.stage, gap, self.tol, iteration / max(self.most, 1))

    def certificate(self, n_iter: int) -> dict[str, Any]:
        """The fields of :class:`Certified` for the best point; the last row of the history."""
        gap, rows = self.gap, self.history.rows
        if not rows or rows[-1][4] != gap:
            self.record(n_iter)
        return {
            "primal": self.primal,
            "dual": self.dual,
            "gap": gap,
            "n_iter": n_iter,
            "converged": gap <= self.tol,
            "history": self.history.table,
        }


class Tracker(Bounds):
    """Best certified coefficients so far, with the history of the iterations.

    Parameters
    ----------
    problem : Problem
        The problem to solve.
    tol, verbose, method, most
        As in :class:`Bounds`.
    """

    def __init__(
        self,
        problem: Problem[Any, Any],
        tol: float,
        verbose: int = 0,
        method: str = "",
        most: float = np.inf,
    ) -> None:
        super().__init__(tol, verbose > 0, method, most)
        self.problem = problem
        self.W = zero_factors(problem.design.p, problem.design.q)
        self.primal, self.gamma = problem.primal_at(problem.penalty_value(self.W), problem.y)
        self.beta = np.zeros(problem.design.n)
        if problem.homogeneous:
            self.dual = problem.constant  # dual objective at beta = 0
        else:
            self.offer_dual(self.beta)

    def offer_primal(self, W: Factors, residual: Array | None = None) -> float:
        """Keep W if it is the best so far; return its objective."""
        if residual is None:
            residual = self.problem.y - self.problem.design.forward(W.matrix)
        value, gamma = self.problem.primal_at(self.problem.penalty_value(W), residual)
        if value < self.primal:
            self.primal, self.gamma, self.W = value, gamma, W
        return value

    def offer_dual(self, beta: Array, Z: Array | None = None) -> float:
        """Keep `beta`, or a feasible point near it, if it is the best so far; return its bound.

        `Z` is the image of `beta`, if known. If no feasible point is found, the bound is -inf, and
        the best point does not change.
        """
        value, beta = self.problem.proven(beta, Z)
        if value > self.dual:
            self.dual, self.beta = value, beta
        return value

    def offer_ray(self, beta: Array) -> None:
        """Offer the best multiple of `beta`, for losses without bounds and a spectral penalty."""
        Z = self.problem.design.adjoint(beta)
        t = multiple(self.problem, beta, singular_values(Z), np.inf)
        self.offer_dual(t * beta, t * Z)

    def confirm(self) -> None:
        """Recompute the best bound: the image that a solver updates may have drifted.

        This matters if the terms of the image cancel.
        """
        value, beta = self.problem.proven(self.beta)
        if np.isfinite(value) and value < self.dual - 1e-9 * abs(self.dual):
            self.dual, self.beta = value, beta

    def result(self, n_iter: int, kept: Start | None = None) -> SolverResult:
        """The best point with its certificate."""
        self.confirm()
        certificate = self.certificate(n_iter)
        method = self.history.rows[-1][-1]
        return SolverResult(self.W, self.gamma, self.beta, method, kept, **certificate)


def rounding_floor(problem: RMRProblem, d: Array) -> float:
    """Loss that rounding errors of the residuals may cause, for singular values d of W."""
    error = np.abs(problem.y) + problem.design.norms * float(np.linalg.norm(d))
    error *= 0.5 * float(np.finfo(float).eps)
    # Losses with infinite slopes are left out: an error has an effect of second order on them.
    slopes = np.where(np.isfinite(problem.loss.size), problem.loss.size, 0.0)
    return float(slopes @ error)
