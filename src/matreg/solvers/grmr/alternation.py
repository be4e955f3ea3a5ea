"""G-RMR by alternation: split the samples for the regression, fit the regression to the samples.

Both halves are convex. Each starts from the other's result and never makes its own objective
worse; with the exact coupling both objectives are the same one, which therefore descends.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...design import ArrayDesign
from ...linalg.threads import single_threaded
from ...losses import PiecewiseLoss, epsilon_insensitive, squared
from ...penalties import SpectralElasticNet
from ...problem import Problem, relative_gap
from ..certificate import SolverResult
from .new_samples import RowSpace
from .split import Decomposition, SplitProblem
from .split_admm import decompose

Regress = Callable[[Problem, SolverResult | None], SolverResult]

LOOSE = 1e-3  # gap of the first splits; later ones are as tight as the objective's decrease asks
PAPER_ITERATIONS = 300  # after which the exact splitting takes over from the paper's

COLUMNS = np.dtype(
    [
        ("iteration", np.int64),
        ("half", "U7"),
        ("time", np.float64),
        ("objective", np.float64),
        ("gap", np.float64),
        ("rank", np.int64),
        ("clean_rank", np.int64),
        ("outlier_fraction", np.float64),
    ]
)


@dataclass(frozen=True)
class GRMRProblem:
    """Minimise over W, b and ``D = X + E``, with positive sample weights s,

    ``||W||_F^2/2 + tau ||W||_* + C sum_i s_i max(|y_i - <W, X_i> - b| - epsilon, 0)
    + gamma ||sqrt(s) X||_* + lam sum_i s_i ||E_i||_1``.
    """

    D: Array
    y: Array
    s: Array
    tau: float
    C: float
    epsilon: float
    gamma: float
    lam: float
    coupling: str = "exact"
    fit_intercept: bool = True

    def regression(self, X: Array) -> Problem:
        """The first half: RMR on clean signals."""
        loss = epsilon_insensitive(self.C * self.s, self.epsilon)
        penalty = SpectralElasticNet(self.tau)
        return Problem(ArrayDesign(X), self.y, loss, penalty, self.fit_intercept)

    def coupling_loss(self) -> PiecewiseLoss:
        """Loss by which the regression pulls at the samples: its own, or the paper's squares."""
        c = self.C * self.s
        return epsilon_insensitive(c, self.epsilon) if self.coupling == "exact" else squared(2 * c)

    def split(self, rows: Array, fit: SolverResult | None) -> SplitProblem:
        """The second half: scaled `rows` split for a regression; without one, robust PCA."""
        m = rows.shape[1]
        return SplitProblem(
            D=rows,
            root=np.sqrt(self.s),
            target=self.y if fit is None else self.y - fit.b,
            w=np.zeros(m) if fit is None else fit.W.matrix.reshape(-1),
            coupling=self.coupling_loss(),
            gamma=self.gamma,
            lam=self.lam,
        )

    def row_space(self, split: Decomposition) -> RowSpace:
        """What a split tells about new samples."""
        factors = split.state.factors
        return RowSpace(factors.Vt, factors.d, self.gamma, self.lam)


@dataclass(frozen=True)
class GRMRResult:
    """Last regression and last split, which belong together.

    Attributes
    ----------
    fit : SolverResult
        The regression, certified on the clean signals.
    split : Decomposition
        The split, certified for the regression before the last one.
    objective : float
        G-RMR objective of the two.
    change : float
        Relative decrease in the last alternation.
    n_iter : int
        Alternations done.
    converged : bool
        Whether the decrease fell to the tolerance, with both certificates.
    history : structured ndarray
        One row a half-step.
    """

    fit: SolverResult
    split: Decomposition
    objective: float
    change: float
    n_iter: int
    converged: bool
    history: NDArray[Any]


class _Record:
    """History of the alternation."""

    def __init__(self, verbose: int) -> None:
        self.verbose, self.start = verbose, time.perf_counter()
        self.rows: list[tuple[Any, ...]] = []

    def add(
        self,
        iteration: int,
        half: str,
        value: float,
        gap: float,
        fit: SolverResult | None,
        split: Decomposition,
    ) -> None:
        rank = fit.W.rank if fit is not None else 0
        share = np.count_nonzero(split.E) / split.E.size
        seconds = time.perf_counter() - self.start
        row = (iteration, half, seconds, value, gap, rank, split.state.rank, share)
        self.rows.append(row)
        if not self.verbose:
            return
        if len(self.rows) == 1:
            print(
                f"{'iter':>5} {'half':>7} {'time':>8} {'objective':>14} {'gap':>8} {'rank':>4} "
                f"{'clean':>5} {'outliers':>8}"
            )
        print(
            f"{iteration:5d} {half:>7} {seconds:8.2f} {value:14.7e} {gap:8.1e} {rank:4d} "
            f"{split.state.rank:5d} {share:8.2%}",
            flush=True,
        )


class Limits(NamedTuple):
    """When to end a split, and whether to print its course."""

    tol: float
    max_iter: int
    verbose: int


@single_threaded(lambda problem: problem.D.size)
def alternate(
    problem: GRMRProblem,
    regress: Regress,
    *,
    tol: float = 1e-4,
    max_iter: int = 20,
    split_tol: float = 1e-4,
    split_max_iter: int = 1000,
    start: GRMRResult | None = None,
    verbose: int = 0,
) -> GRMRResult:
    """Minimise the G-RMR objective.

    Parameters
    ----------
    problem : GRMRProblem
        What to solve.
    regress : callable
        Solver of the first half: a problem and a result to start from, or None, give a result.
    tol : float, default=1e-4
        Stop when an alternation lowers the objective by no more than this share.
    max_iter : int, default=20
        Largest number of alternations.
    split_tol : float, default=1e-4
        Relative duality gap of the last split.
    split_max_iter : int, default=1000
        Largest number of iterations of one split.
    start : GRMRResult, default=None
        Where to start: its split, for a regression on it. It is used up. By default the split of
        robust principal component analysis.
    verbose : int, default=0
        1 prints the half-steps and, every few seconds, how far a split is; 2 their iterations too.

    Returns
    -------
    GRMRResult
        The last iterate, of the lowest objective found with the exact coupling.
    """
    root = np.sqrt(problem.s)[:, None]
    rows = problem.D.reshape(len(root), -1)
    if np.any(root != 1.0):
        rows = rows * root
    record = _Record(verbose)
    fit: SolverResult | None = None
    split: Decomposition | None = None
    before, change, converged = np.inf, 1.0, False
    if start is not None:  # its split is the better for a regression that is up to date
        split = start.split
        halfway = _objective(problem, start.fit, split, rows)
        fit = _regress(problem, rows, root, start.fit, split, regress)
        before = fit.primal + _signal_cost(problem, split)
        change = _relative(halfway - before, before)
        record.add(0, "regress", before, fit.gap, fit, split)
    for iteration in range(1, max_iter + 1):
        loose = min(LOOSE, 0.1 * change) if iteration < max_iter else 0.0
        limits = Limits(max(split_tol, loose), split_max_iter, verbose)
        split = _split(problem, rows, fit, split, limits)
        halfway = _objective(problem, fit, split, rows)
        record.add(iteration, "split", halfway, split.gap, fit, split)
        fit = _regress(problem, rows, root, fit, split, regress)
        value = fit.primal + _signal_cost(problem, split)
        record.add(iteration, "regress", value, fit.gap, fit, split)
        change = _relative(min(before, halfway) - value, value)
        if change <= tol and split.gap <= split_tol and (np.isfinite(before) or tol >= 1.0):
            converged = fit.converged
            break
        before = value
    assert fit is not None and split is not None  # at least one alternation
    history = np.array(record.rows, dtype=COLUMNS)
    return GRMRResult(fit, split, value, change, iteration, converged, history)


def _split(
    problem: GRMRProblem,
    rows: Array,
    fit: SolverResult | None,
    start: Decomposition | None,
    limits: Limits,
) -> Decomposition:
    """Second half step."""
    stacked = problem.split(rows, fit)
    if problem.coupling == "squared" and fit is not None:
        paper = limits._replace(max_iter=min(PAPER_ITERATIONS, limits.max_iter))
        start = decompose(stacked, method="paper", start=start, warn=False, **paper._asdict())
        if start.converged:
            return start
    return decompose(stacked, start=start, warn=False, **limits._asdict())


def _regress(
    problem: GRMRProblem,
    rows: Array,
    root: Array,
    fit: SolverResult | None,
    split: Decomposition,
    regress: Regress,
) -> SolverResult:
    """First half step; what was there stays if it is better."""
    X = rows - split.E
    X /= root
    regression = problem.regression(X.reshape(problem.D.shape))
    result = regress(regression, fit)
    if fit is None:
        return result
    residual = problem.y - regression.design.forward(fit.W.matrix)
    old = regression.loss.value(residual - fit.b) + regression.penalty.value(fit.W.d)
    if result.primal <= old:
        return result
    gap = relative_gap(old, result.dual)
    return replace(result, W=fit.W, b=fit.b, primal=old, gap=gap)


def _relative(change: float, value: float) -> float:
    return abs(change) / max(abs(value), np.finfo(float).tiny)


def _signal_cost(problem: GRMRProblem, split: Decomposition) -> float:
    """``gamma ||X||_* + lam ||E||_1``."""
    price = problem.lam * float(np.sqrt(problem.s) @ np.abs(split.E).sum(axis=1))
    return problem.gamma * float(split.d.sum()) + price


def _objective(
    problem: GRMRProblem, fit: SolverResult | None, split: Decomposition, rows: Array
) -> float:
    """G-RMR objective after a split."""
    loss = epsilon_insensitive(problem.C * problem.s, problem.epsilon)
    cost = _signal_cost(problem, split)
    if fit is None:
        b = loss.best_intercept(problem.y) if problem.fit_intercept else 0.0
        return cost + loss.value(problem.y - b)
    residual = problem.split(rows, fit).residual(split.E)
    return cost + loss.value(residual) + SpectralElasticNet(problem.tau).value(fit.W.d)
