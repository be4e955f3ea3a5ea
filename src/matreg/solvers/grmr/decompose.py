"""Split the samples, given the regression, until a certificate holds."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from ..._runtime.progress import tell
from ..._typing import Array
from ...linalg.factors import Factors, singular_values, svd
from ...problem import relative_gap
from ..certificate import History
from .admm import ExactSplit, SplitState, start_state
from .paper import PaperSplit

# Iterations between certificates while the residuals are large, and between changes of the penalty.
CHECK_EVERY, BALANCE_EVERY = 50, 10
# Longest time without a line of progress, in seconds.
PATIENCE = 2.0


@dataclass(frozen=True)
class Decomposition:
    """A certified split of the samples.

    Attributes
    ----------
    E : ndarray of shape (n, m)
        Outliers, exactly sparse. Each row is times the root of its weight. The clean signals are
        ``D - E``, also where entries are missing.
    d : ndarray of shape (r,)
        Singular values of the clean signals; where outliers are replaced, of the low-rank part.
    cost : float
        What the split adds to the objective of the regression on the clean signals.
    primal, dual, gap, n_iter, converged, history
        The certificate and how it was reached, as in
        :class:`~matreg.solvers.certificate.SolverResult`.
    state : SplitState
        What the solver needs to start again from here, the low-rank part among it.
    """

    E: Array
    d: Array
    cost: float
    primal: float
    dual: float
    gap: float
    n_iter: int
    converged: bool
    history: NDArray[Any]
    state: SplitState

    @property
    def factors(self) -> Factors:
        """The low-rank part, of shape (n, m), in factors."""
        assert self.state.factors is not None
        return self.state.factors

    def clean_values(self, tol: float) -> Array:
        """Singular values that belong to the outliers, as solvers have them."""
        return self.d

    def copy(self) -> Decomposition:
        """A copy that a solver may overwrite."""
        state = self.state
        state = replace(state, Y=state.Y.copy(), beta=state.beta.copy(), spare=None)
        return replace(self, E=self.E.copy(), state=state)


class Splitting(Protocol):
    """A split as an objective sees it: a solver's iterate, or a result to start from."""

    @property
    def state(self) -> SplitState:
        """Low-rank part, multiplier and subgradients."""
        ...

    @property
    def E(self) -> Array:
        """Outliers."""
        ...

    def clean_values(self, tol: float) -> Array:
        """Singular values of ``D - E``, their sum to far less than `tol` of it."""
        ...


class Point(NamedTuple):
    """Singular values, low-rank part (None is all of the samples) and subgradients of a split.

    `cost` and `primal` are its objective without and with the loss. `E` are its outliers; None if
    they follow from the low-rank part and are computed in the end.
    """

    E: Array | None
    d: Array
    factors: Factors | None
    beta: Array
    cost: float
    primal: float


class SplitObjective(Protocol):
    """What the methods and the certificate ask of the second half of G-RMR."""

    @property
    def D(self) -> Array:
        """Samples as rows, each times the root of its weight; 0 where they are missing."""
        ...

    @property
    def gamma(self) -> float:
        """Weight of the nuclear norm."""
        ...

    def prox_rows(self, i: slice, g: Array, beta: Array, mu: float) -> tuple[Array, Array]:
        """Minimise over the rows i of X with ``mu/2 |x - g|^2`` added.

        Returns ``d - x`` and the subgradients of the loss, whose search starts at `beta`. The
        multiplier ``mu (x - g)`` must be feasible for :meth:`bound` up to its norm.
        """
        ...

    def at(self, split: Splitting, tol: float) -> Point:
        """A split with its objective, to far less than `tol` of it."""
        ...

    def bound(self, Y: Array, beta: Array) -> float:
        """Lower bound of the optimum from a multiplier, which is scaled into the ball."""
        ...

    def complete(self, point: Point, out: Array) -> None:
        """Write the outliers of a split to `out`, if it does not have them."""
        ...


class SplitHistory(History):
    """Certificates of a split; prints one line every few seconds, or all of them."""

    def __init__(self, verbose: int) -> None:
        super().__init__(verbose > 1)
        self.watched, self.spoke = verbose > 0, self.start

    def watch(self, iteration: int, residual: float) -> None:
        """Print between the checks how far a long search is."""
        now = time.perf_counter()
        if self.watched and now - self.spoke > PATIENCE:
            self.say(f"{iteration:5d} {now - self.start:8.2f}  residual {residual:.1e}")

    def say(self, line: str) -> None:
        """Print a line."""
        print(f"    split {line}", flush=True)
        self.spoke = time.perf_counter()


class SplitTracker:
    """Best certified split so far, never worse than the start, whose outliers it overwrites."""

    def __init__(
        self, problem: SplitObjective, start: Decomposition, tol: float, verbose: int
    ) -> None:
        self.problem, self.tol, self.history = problem, tol, SplitHistory(verbose)
        self.dual, self.E, self.best = 0.0, start.E, problem.at(start, tol)

    @property
    def gap(self) -> float:
        """Relative gap between the best primal and the best dual value."""
        return relative_gap(self.best.primal, self.dual)

    def check(self, iteration: int, solver: ExactSplit | PaperSplit) -> bool:
        """Offer a solver's split and multiplier; tell whether the certificate is good enough."""
        point = self.problem.at(solver, self.tol)
        if point.primal < self.best.primal:
            if point.E is not None:
                np.copyto(self.E, point.E)
            self.best = point._replace(E=None)  # a solver overwrites its outliers
        self.dual = max(self.dual, self.problem.bound(*solver.multiplier()))
        gap, rank = self.gap, solver.state.rank
        self.history.add(iteration, self.best.primal, self.dual, gap, rank, solver.method)
        return tell(solver.method, gap, self.tol) or gap <= self.tol

    def result(self, n_iter: int, state: SplitState) -> Decomposition:
        """Freeze the best split. The next one starts from its low-rank part."""
        _, d, factors, _, cost, primal = self.best
        self.problem.complete(self.best, self.E)
        state.factors = _low_rank(self.problem.D) if factors is None else factors
        gap, table = self.gap, self.history.table
        converged = gap <= self.tol
        return Decomposition(
            self.E, d, cost, primal, self.dual, gap, n_iter, converged, table, state
        )


def _low_rank(D: Array) -> Factors:
    """Factors of D without the singular values that are rounding errors."""
    f = svd(D)
    r = int(np.count_nonzero(f.d > max(D.shape) * np.finfo(float).eps * f.d.max(initial=0.0)))
    return Factors(f.U[:, :r], f.d[:r], f.Vt[:r])


def _nothing(problem: Any, tol: float) -> Decomposition:
    """A split without outliers, and a state from which the method starts."""
    E, d, state = np.zeros_like(problem.D), singular_values(problem.D, tol), start_state(problem)
    return Decomposition(E, d, 0.0, np.inf, 0.0, 1.0, 0, False, SplitHistory(0).table, state)


def decompose(
    problem: SplitObjective,
    method: type[ExactSplit] | type[PaperSplit] = ExactSplit,
    *,
    start: Decomposition | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: int = 0,
) -> Decomposition:
    """Split the samples into clean signals and outliers, with a certificate.

    Parameters
    ----------
    problem : SplitObjective
        What to solve: SplitProblem, or ReplaceProblem, which needs a start.
    method : type, default=ExactSplit
        :class:`ExactSplit` for either coupling, :class:`PaperSplit` for the squared one.
    start : Decomposition, default=None
        Result of a similar problem to start from. What is returned is never worse than it. Its
        arrays are overwritten by the new result.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of iterations.
    verbose : int, default=0
        1 prints one line every few seconds, 2 one line per certificate too.

    Returns
    -------
    Decomposition
        The best split found, and how far from the optimum it is at most.

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
    # Residuals at which a certificate is likely to hold. After a good start it may hold at once.
    level, fresh = (tol, True) if start is None else (np.inf, False)
    start = start or _nothing(problem, tol)
    tracker, state = SplitTracker(problem, start, tol, verbose), start.state
    state.rescale(problem.gamma)
    solver = method(cast(Any, problem), state)
    if not fresh and tracker.check(0, solver):
        return tracker.result(0, state)
    for iteration in range(1, max_iter + 1):
        solver.step()
        worst = max(solver.residuals)
        tracker.history.watch(iteration, worst)
        if worst <= level or iteration % CHECK_EVERY == 0 or iteration == max_iter:
            if tracker.check(iteration, solver):
                break
            level = min(level, worst * max(0.1, min(0.9, tol / tracker.gap)))
        if iteration % BALANCE_EVERY == 0:
            solver.balance()
    return tracker.result(iteration, state)
