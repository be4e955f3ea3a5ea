"""The best certified split of the samples so far, and what is printed on the way to it."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...linalg.factors import Factors, svd
from ...problem import relative_gap
from ...progress import tell
from ..certificate import History


@dataclass(frozen=True)
class LogSettings:
    """When to print.

    Attributes
    ----------
    patience : float
        Longest time without a line of progress, in seconds.
    """

    patience: float = 2.0


DEFAULT = LogSettings()


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
    primal, dual, gap : float
        Objective, lower bound of the optimum, and their relative difference.
    n_iter : int
        Iterations done.
    converged : bool
        Whether the gap is at most the tolerance that was asked for.
    history : structured ndarray
        One row per check of the certificate.
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
    state: Any

    @property
    def factors(self) -> Factors:
        """The low-rank part, of shape (n, m), in factors."""
        factors: Factors = self.state.factors
        return factors

    def copy(self) -> Decomposition:
        """A copy that a solver may overwrite."""
        state = self.state
        state = replace(state, Y=state.Y.copy(), beta=state.beta.copy(), spare=None)
        return replace(self, E=self.E.copy(), state=state)


@dataclass(frozen=True)
class Point:
    """A split with its objective.

    Attributes
    ----------
    E : ndarray of shape (n, m) or None
        Outliers; None if they follow from the rest and are computed in the end.
    d : ndarray of shape (r,)
        Singular values, as in :class:`Decomposition`.
    factors : Factors or None
        Low-rank part; None is all of the samples.
    beta : ndarray of shape (n,)
        Subgradients of the loss.
    cost, primal : float
        Objective without and with the loss.
    """

    E: Array | None
    d: Array
    factors: Factors | None
    beta: Array
    cost: float
    primal: float


class SplitObjective(Protocol):
    """What the method and the certificate ask of the second half of G-RMR."""

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

    def first(self, start: Decomposition | None, tol: float) -> Point:
        """Where to start; a split without outliers if there is no `start`."""
        ...

    def point(self, solver: Splitting, tol: float) -> Point:
        """A solver's split, its objective to far less than `tol` of it."""
        ...

    def bound(self, Y: Array, beta: Array) -> float:
        """Lower bound of the optimum from a multiplier, which is scaled into the ball."""
        ...

    def complete(self, point: Point, out: Array) -> None:
        """Write the outliers of a split to `out`, if it does not have them."""
        ...


class Splitting(Protocol):
    """What the certificate asks of a solver."""

    state: Any
    method: str

    @property
    def E(self) -> Array:
        """Outliers."""
        ...

    def clean_values(self, tol: float) -> Array:
        """Singular values of ``D - E``, their sum to far less than `tol` of it."""
        ...

    def multiplier(self) -> tuple[Array, Array]:
        """Multiplier Y and subgradients beta of the loss with ``Y - beta w'`` in its box."""
        ...


class SplitLog(History):
    """Certificates of a split, printed if asked for.

    Parameters
    ----------
    verbose : int
        1 prints one line every few seconds, 2 one line per certificate too.
    """

    def __init__(self, verbose: int) -> None:
        super().__init__()
        self.verbose, self.spoke = verbose, self.start

    def add(
        self, iteration: int, primal: float, dual: float, gap: float, rank: int, method: str
    ) -> str:
        """Note a certificate, and print it if all of them are asked for."""
        line = super().add(iteration, primal, dual, gap, rank, method)
        if self.verbose > 1:
            self._say(line)
        return line

    def watch(self, iteration: int, residual: float) -> None:
        """Print between the checks how far a long search is."""
        now = time.perf_counter()
        if self.verbose and now - self.spoke > DEFAULT.patience:
            self._say(f"{iteration:5d} {now - self.start:8.2f}  residual {residual:.1e}")

    def _say(self, line: str) -> None:
        print(f"    split {line}", flush=True)
        self.spoke = time.perf_counter()


class SplitTracker:
    """Best certified split so far, never worse than the start.

    Parameters
    ----------
    problem : SplitObjective
        What is solved.
    start : Decomposition or None
        Split to start from. A better one overwrites its outliers. None starts without outliers.
    tol : float
        Relative duality gap at which the search ends.
    verbose : int
        1 prints one line every few seconds, 2 one line per certificate too.
    """

    def __init__(
        self, problem: SplitObjective, start: Decomposition | None, tol: float, verbose: int
    ) -> None:
        self.problem, self.tol, self.log = problem, tol, SplitLog(verbose)
        self.dual = 0.0
        first = problem.first(start, tol)
        self.E: Any = first.E if start is None else start.E
        self.best = replace(first, E=None)

    @property
    def gap(self) -> float:
        """Relative gap between the best primal and the best dual value."""
        return relative_gap(self.best.primal, self.dual)

    def check(self, iteration: int, solver: Splitting) -> bool:
        """Offer a solver's split and multiplier; tell whether the certificate is good enough."""
        self._offer(self.problem.point(solver, self.tol))
        self.dual = max(self.dual, self.problem.bound(*solver.multiplier()))
        rank = solver.state.rank
        self.log.add(iteration, self.best.primal, self.dual, self.gap, rank, solver.method)
        stop = tell(solver.method, self.gap, self.tol)
        return self.gap <= self.tol or stop

    def _offer(self, point: Point) -> None:
        if point.primal < self.best.primal:
            self.best = replace(point, E=None)  # copied: a solver overwrites its outliers
            if point.E is not None:
                np.copyto(self.E, point.E)

    def result(self, n_iter: int, state: Any) -> Decomposition:
        """Freeze the best split. The next one starts from its low-rank part."""
        best = self.best
        self.problem.complete(best, self.E)
        state.factors = _low_rank(self.problem.D) if best.factors is None else best.factors
        return Decomposition(
            E=self.E,
            d=best.d,
            cost=best.cost,
            primal=best.primal,
            dual=self.dual,
            gap=self.gap,
            n_iter=n_iter,
            converged=self.gap <= self.tol,
            history=self.log.table,
            state=state,
        )


def _low_rank(D: Array) -> Factors:
    """Factors of D without the singular values that are rounding errors."""
    f = svd(D)
    r = int(np.count_nonzero(f.d > max(D.shape) * np.finfo(float).eps * f.d.max(initial=0.0)))
    return Factors(f.U[:, :r], f.d[:r], f.Vt[:r])
