"""Split the samples, given the regression, until a certificate holds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ..._typing import Array
from ...linalg.factors import Factors, singular_values, without_rounding
from ..certificate import Bounds, Certified
from .admm import ExactSplit, SplitState, start_state
from .coupled import Coupled
from .paper import PaperSplit

# Seconds between the lines that a long split prints.
PATIENCE = 2.0
# Multipliers that violate a constraint by more than this, relative to their sizes, are not used.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Decomposition(Certified):
    """A split of the samples with its certificate."""

    # (n, m): outliers, exactly sparse, each row multiplied by the root of its weight. The clean
    # signals are ``D - E``, also where entries are missing.
    E: Array
    # (r,): singular values of the clean signals; if outliers are replaced, of the low-rank part.
    d: Array
    cost: float  # term that the split adds to the objective of the regression on the clean signals
    state: SplitState  # state from which the solver can start again, with the low-rank part

    @property
    def factors(self) -> Factors:
        """The low-rank part, of shape (n, m), as factors."""
        assert self.state.factors is not None
        return self.state.factors

    def clean_values(self, tol: float) -> Array:
        """The stored singular values, like the method of solvers that computes them."""
        return self.d

    def copy(self) -> Decomposition:
        """A copy that a solver may overwrite."""
        state = self.state
        state = replace(state, Y=state.Y.copy(), beta=state.beta.copy(), spare=None)
        return replace(self, E=self.E.copy(), state=state)


class SplitTracker(Bounds):
    """Best certified split so far, never worse than the start, whose outliers are overwritten."""

    def __init__(
        self,
        problem: Coupled,
        start: Decomposition,
        tol: float,
        verbose: int,
        method: str,
        most: int,
    ) -> None:
        super().__init__(tol, verbose > 1, method, most)
        self.problem, self.E, self.best = problem, start.E, problem.at(start, tol)
        self.primal, self.dual = self.best.primal, 0.0

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return 0 if self.best.factors is None else self.best.factors.rank

    def check(self, iteration: int, solver: ExactSplit | PaperSplit) -> bool:
        """Offer a solver's split and multiplier; return whether to stop."""
        point = self.problem.at(solver, self.tol)
        if point.primal < self.primal:
            if point.E is not None:
                np.copyto(self.E, point.E)
            # A solver overwrites its outliers.
            self.best, self.primal = point._replace(E=None), point.primal
        multiplier = solver.multiplier()
        if self.problem.infeasibility(*multiplier) <= ROUNDING:
            self.dual = max(self.dual, self.problem.bound(*multiplier))
        self.record(iteration)
        return self.converged

    def result(self, n_iter: int, state: SplitState) -> Decomposition:
        """The best split with its certificate; its low-rank part is the start of the next split."""
        best = self.best
        self.problem.complete(best, self.E)
        state.factors = best.factors or without_rounding(self.problem.D)
        return Decomposition(self.E, best.d, best.cost, state, **self.certificate(n_iter))


def decompose(
    problem: Coupled,
    method: type[ExactSplit] | type[PaperSplit] = ExactSplit,
    *,
    start: Decomposition | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: int = 0,
) -> Decomposition:
    """Split the samples into clean signals and outliers, with a certificate.

    The result is the best split that was found. It is never worse than a `start`, whose arrays are
    overwritten; a :class:`ReplaceProblem` needs a start. :class:`ExactSplit` is for both couplings,
    :class:`PaperSplit` for the squared one. `tol` is a relative duality gap. ``verbose=1`` prints
    one line every few seconds, 2 also one line per certificate.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.losses.piecewise import epsilon_insensitive
    >>> from matreg.solvers.grmr.split import SplitProblem
    >>> rng = np.random.default_rng(0)
    >>> D = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> D[3, 4] += 5.0
    >>> one = np.ones(30)
    >>> loss = epsilon_insensitive(one, 0.1)
    >>> problem = SplitProblem(D, one, 0 * one, np.zeros(20), loss, 1.0, 30**-0.5)
    >>> result = decompose(problem)
    >>> np.argwhere(result.E).tolist(), result.converged
    ([[3, 4]], True)
    """
    # Residual below which a certificate is checked. After a good start it may hold at once.
    level = tol if start is None else np.inf
    if start is None:  # without outliers
        E, d = np.zeros_like(problem.D), singular_values(problem.D, tol)
        start = Decomposition(E, d, 0.0, start_state(problem))
    tracker = SplitTracker(problem, start, tol, verbose, method.name, max_iter)
    state, spoke = start.state, time.perf_counter()
    state.rescale(problem.gamma)
    solver = method(cast(Any, problem), state)
    for iteration in range(max_iter + 1):
        if iteration > 0:
            solver.step()
        worst = max(solver.residuals)
        due = (iteration > 0 and iteration % 50 == 0) or iteration == max_iter
        if worst <= level or due:
            if tracker.check(iteration, solver):
                break
            level = min(level, worst * max(0.1, min(0.9, tol / tracker.gap)))
        if iteration % 10 == 0:
            solver.balance()
        if verbose and time.perf_counter() - spoke > PATIENCE:
            print(f"{iteration:5d}   split: residual {worst:.1e}", flush=True)
            spoke = time.perf_counter()
    return tracker.result(iteration, state)
