"""G-RMR by alternation: split the samples for the regression, fit the regression to the samples.

Both halves are convex. Each starts from the result of the other and never raises its own
objective. With the exact coupling both have one objective, which therefore never rises.

An adaptive model is one alternation after another. Each starts at the split of the last one and has
the bases of its regression (:mod:`matreg.adaptive`). Its objective has the penalty in these bases,
and never rises within the alternation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import span, tell, turn
from ..._typing import Array, Mask
from ...adaptive import Step, adaptive_steps, next_bases
from ...bases import Bases
from ...linalg.factors import Factors, svd
from ...linalg.threads import single_threaded
from ...problem import relative_gap
from ..certificate import STEPS, History, SolverResult
from ..choose import solve_rmr
from .decompose import Decomposition, decompose
from .paper import PaperSplit
from .problem import GRMRProblem
from .replace import replace_outliers
from .start import Limits, prepare


@dataclass(frozen=True)
class GRMRResult:
    """Last regression and last split, which belong together."""

    problem: GRMRProblem  # what was solved, with the noise that was found
    fit: SolverResult  # the regression, certified on the clean signals, in the bases of the problem
    split: Decomposition  # the split, certified for the regression before the last one
    objective: float  # G-RMR objective of this regression and this split
    change: float  # decrease of the objective in the last alternation, relative to it
    n_iter: int  # alternations done
    converged: bool  # whether this decrease is at most the tolerance, and both certificates hold
    history: NDArray[Any]  # one row per half-step

    @property
    def W(self) -> Factors:
        """Coefficients in the bases of the problem."""
        return self.fit.W

    @property
    def coef(self) -> Factors:
        """Coefficients."""
        return self.problem.bases.restore(self.fit.W)

    @property
    def regression(self) -> SolverResult:
        """The regression in the bases, with the multipliers of the samples alone."""
        fit_intercept, n = self.problem.model.fit_intercept, self.problem.samples.n
        fit = self.fit.with_covariates(self.problem.unpenalised, fit_intercept)
        return replace(fit, beta=fit.beta[:n])

    def fit_in(self, bases: Bases) -> SolverResult:
        """The regression in other bases, as a start."""
        if bases is self.problem.bases:
            return self.fit
        V = svd(bases.invert(self.coef.matrix))
        return SolverResult(V, self.fit.gamma, self.fit.beta)


class _Halves(History):
    """Half-steps of the alternation."""

    COLUMNS = np.dtype(
        [
            *(("iteration", np.int64), ("half", "U7"), ("time", np.float64)),
            *(("objective", np.float64), ("gap", np.float64), ("rank", np.int64)),
            *(("clean_rank", np.int64), ("outlier_fraction", np.float64)),
        ]
    )
    HEADER = (
        f"{'iter':>5} {'half':>7} {'time':>8} {'objective':>14} {'gap':>8} {'rank':>4} "
        f"{'clean':>5} {'outliers':>8}"
    )
    LINE = "{:5d} {:>7} {:8.2f} {:14.7e} {:8.1e} {:4d} {:5d} {:8.2%}"

    def __init__(self, problem: GRMRProblem, verbose: int) -> None:
        super().__init__(verbose > 0)
        self.missing = problem.missing

    def note(
        self, step: int, half: str, value: float, fit: SolverResult | None, split: Decomposition
    ) -> None:
        """Note a half-step after which the objective is `value`."""
        gap = split.gap if half == "split" or fit is None else fit.gap
        rank = 0 if fit is None else fit.W.rank
        share = outlier_fraction(split.E, self.missing)
        self.add(step, half, value, gap, rank, split.state.rank, share)


@single_threaded(lambda problem: problem.D.size)
def alternate(
    problem: GRMRProblem,
    limits: Limits,
    *,
    start: GRMRResult | None = None,
    pca: Decomposition | None = None,
) -> GRMRResult:
    """Minimise the G-RMR objective.

    With the exact coupling no iterate before the result has a lower objective. After a `start`,
    whose arrays are overwritten, a regression on its split comes first; by default the start is the
    robust principal component analysis of the samples, which may be known (`pca`, used where
    outliers are replaced; its arrays are overwritten).
    """
    record = _Halves(problem, limits.verbose)
    begun = int(start is not None or (problem.outliers == "replace" and pca is None))
    problem, fit, split = _begin(problem, limits, start, pca)
    before, change, converged = np.inf, 1.0, False
    # The split of a start suits another problem: there the regression goes first.
    for iteration in range(int(start is None), limits.max_iter + 1):
        part, last = begun + iteration - 1, fit
        if iteration > 0:
            loose = 0.0 if iteration == limits.max_iter else min(1e-2, 0.1 * change)
            # The split takes most of the time of an alternation.
            with turn(part), span(0.0, 0.8):
                split = _split(problem, last, split, max(limits.split_tol, loose), limits)
        assert split is not None
        with turn(part), span(0.8, 1.0):
            halfway, fit = _regress(problem, last, split, limits)
        value = fit.primal + split.cost
        if iteration > 0:
            record.note(iteration, "split", halfway, last, split)
        record.note(iteration, "regress", value, fit, split)
        # After an optimal split the regression alone can lower the objective, so that its decrease
        # counts. Flags are not certified to be optimal: there the whole alternation counts.
        whole = problem.outliers == "replace" and iteration > 0
        level = before if whole else min(before, halfway)
        change = _relative(level - value, value) if np.isfinite(level) else 1.0
        settled = np.isfinite(before) or (limits.tol >= 1.0 and iteration > 0)
        if change <= limits.tol and split.gap <= limits.split_tol and settled:
            converged = fit.converged
            break
        with turn(part):
            stop = iteration > 0 and tell(f"alternation {iteration}", change, limits.tol)
        if stop:
            break
        before = value
    assert fit is not None and split is not None  # at least one alternation
    return GRMRResult(problem, fit, split, value, change, iteration, converged, record.table)


def alternate_in_steps(
    problem: GRMRProblem,
    taus: Sequence[float],
    limits: Limits,
    *,
    start: GRMRResult | None = None,
    pca: Decomposition | None = None,
) -> list[Step]:
    """Alternations one after another, each in the bases of the last regression.

    The tau of the problem does not matter: each step has one of `taus`. The first step has the
    arguments of :func:`alternate`; the others start from the split of the last. There are fewer
    results where a regression is zero, and only the split of the last one is kept.
    """
    last = start

    def solve(tau: float, bases: Bases) -> GRMRResult:
        nonlocal last
        posed = replace(problem.at(tau), bases=bases.inside(problem.bases))
        last = alternate(posed, limits, start=last, pca=pca)
        return last

    return adaptive_steps(taus, solve)


def after_steps(problem: GRMRProblem, steps: list[Step]) -> GRMRProblem:
    """The problem of the step after these."""
    return replace(problem, bases=next_bases(steps).inside(problem.bases))


def table_of_steps(steps: list[Step]) -> NDArray[Any]:
    """One row per step of an adaptive model; empty for others."""
    results = [step.result for step in steps] if len(steps) > 1 else []
    fits = [(one.problem.model.penalty.tau, one.fit, one.n_iter) for one in results]
    rows = [(tau, fit.primal, fit.dual, fit.gap, fit.W.rank, k) for tau, fit, k in fits]
    return np.array(rows, dtype=STEPS)


@single_threaded(lambda problem: problem.D.size)
def clean_alone(
    problem: GRMRProblem, limits: Limits, pca: Decomposition | None = None
) -> tuple[GRMRProblem, Decomposition]:
    """Clean the samples without their labels, with the arguments of :func:`alternate`.

    Returns the problem with the noise that was found, and its split.
    """
    plain, _, split = _begin(problem.unlabelled(), limits, None, pca)
    split = _split(plain, None, split, limits.split_tol, limits)
    return replace(problem, noise=plain.noise), split


def _begin(
    problem: GRMRProblem, limits: Limits, start: GRMRResult | None, pca: Decomposition | None
) -> tuple[GRMRProblem, SolverResult | None, Decomposition | None]:
    """The problem with its noise, and the regression and the split to start from, if any."""
    if start is not None:
        if problem.noise is None:
            problem = replace(problem, noise=start.problem.noise)
        return problem, start.fit_in(problem.bases), start.split
    if problem.outliers == "split":
        return problem, None, None
    with turn(0):
        first = prepare(problem, limits, pca)
    return first.problem, None, first.pca


def _split(
    problem: GRMRProblem,
    fit: SolverResult | None,
    start: Decomposition | None,
    tol: float,
    limits: Limits,
) -> Decomposition:
    """Second half: split the samples for the regression `fit`."""
    most = limits.split_max_iter
    ends: dict[str, Any] = {"tol": tol, "max_iter": most, "verbose": limits.verbose}
    if problem.outliers == "replace":
        assert start is not None
        return replace_outliers(problem.flagged(fit, start.E), start, **ends)
    stacked = problem.split(fit)
    if problem.coupling == "squared" and fit is not None:
        few = min(300, most)  # after these the exact splitting takes over
        start = decompose(stacked, PaperSplit, start=start, **(ends | {"max_iter": few}))
        if start.converged:
            return start
    return decompose(stacked, start=start, **ends)


def _regress(
    problem: GRMRProblem, fit: SolverResult | None, split: Decomposition, limits: Limits
) -> tuple[float, SolverResult]:
    """First half: fit the regression to the samples that a split has cleaned.

    Returns the objective before and the new regression. The objective before is that of the old
    regression `fit` on these samples, or of no coefficients. The better regression is kept.
    """
    regression = problem.regression(split.E)
    result = solve_rmr(
        regression,
        start=None if fit is None else fit.start,
        tol=limits.regression_tol,
        max_iter=limits.regression_max_iter,
        verbose=max(limits.verbose - 1, 0),
    )
    # The solver keeps products of these samples, which are of no use to the next regression.
    result = replace(result, kept=None)
    if fit is None:
        nothing, _ = regression.primal_at(0.0, regression.y)
        return nothing + split.cost, result
    residual = regression.y - regression.design.forward(fit.W.matrix)
    residual -= regression.unpenalised.times(fit.gamma)
    old = regression.loss.value(residual) + regression.penalty.value(fit.W.d)
    if result.primal > old:
        gap = relative_gap(old, result.dual)
        result = replace(result, W=fit.W, gamma=fit.gamma, primal=old, gap=gap)
    return old + split.cost, result


def shortfalls(result: GRMRResult, limits: Limits) -> list[str]:
    """What did not converge, how far it came, and which limits to change."""
    change, split, fit = result.change, result.split, result.fit
    parts = []
    if change > limits.tol:
        parts.append(
            f"the last of {result.n_iter} alternations still changed the objective by "
            f"{change:.1e} of it (tol={limits.tol:.1e}): raise max_iter or tol"
        )
    if split.gap > limits.split_tol:
        parts.append(
            f"the split of the samples has a relative duality gap of {split.gap:.1e} "
            f"(split_tol={limits.split_tol:.1e}): raise split_max_iter or split_tol"
        )
    if not fit.converged:
        parts.append(
            f"the regression has a relative duality gap of {fit.gap:.1e} "
            f"(regression_tol={limits.regression_tol:.1e}): raise regression_max_iter or "
            f"regression_tol"
        )
    return parts


def outlier_fraction(E: Array, missing: Mask | None) -> float:
    """Share of the known entries that have an outlier."""
    known = E if missing is None else E[~missing]
    return int(np.count_nonzero(known)) / max(known.size, 1)


def _relative(change: float, value: float) -> float:
    return abs(change) / max(abs(value), np.finfo(float).tiny)
