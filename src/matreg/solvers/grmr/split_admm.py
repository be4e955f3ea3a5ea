"""Solvers of the second half of G-RMR: a splitting with exact steps, and the paper's."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._typing import Array
from ...linalg.factors import Factors
from ...linalg.large_svt import WarmStartedSVT
from .row_prox import RowProblem, blocks, soft
from .split import Decomposition, SplitProblem, SplitTracker, spectral_norm

RELAXATION = 1.6
GROWTH = 1.5  # of the penalty in a cold start, until it is at its goal
CHECK_EVERY = 50  # iterations between certificates while the residuals are large
BALANCE_EVERY, IMBALANCE = 10, 4.0


@dataclass
class SplitState:
    """Iterate of a splitting: low-rank part in factors, multiplier, penalty and warm starts.

    The penalty grows to its goal, from where the residuals of the splitting guide it.
    """

    Y: Array
    beta: Array
    mu: float
    goal: float
    gamma: float
    svt: WarmStartedSVT = field(default_factory=WarmStartedSVT)
    factors: Factors | None = None

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return 0 if self.factors is None else self.factors.rank

    @property
    def low_rank(self) -> Array:
        """The low-rank part itself."""
        return np.zeros_like(self.Y) if self.factors is None else self.factors.matrix

    def rescale(self, gamma: float) -> None:
        """Bring the multiplier and its penalty to another weight of the nuclear norm."""
        ratio = gamma / self.gamma
        self.Y *= ratio
        self.mu, self.goal, self.gamma = ratio * self.mu, ratio * self.goal, gamma


def start_state(problem: SplitProblem) -> SplitState:
    """Zero, with a penalty under which hardly any singular value passes the first threshold.

    At the goal the threshold is about a typical entry.
    """
    D = problem.D
    norm = spectral_norm(D)
    # Mean over the copies that the weights stand for.
    size = float(problem.root @ np.abs(D).mean(axis=1)) / float(problem.root @ problem.root)
    if norm > 0.0:
        mu, goal = 1.25 * problem.gamma / norm, 0.75 * problem.gamma / size
    else:
        mu = goal = problem.gamma
    return SplitState(np.zeros_like(D), np.zeros(len(D)), mu, max(mu, goal), problem.gamma)


class ExactSplit:
    """Alternating directions on ``X = L``, both steps exact.

    The L-step thresholds the singular values, the X-step treats every row by
    :class:`~matreg.solvers.grmr.row_prox.RowProblem`. With ``w = 0`` this is the usual splitting
    of robust principal component analysis. The multiplier goes along with either step; after the
    X-step it lies in the box of the outliers' price, which is what the certificate is made of. It
    takes four arrays of the size of D: D, E, L and Y.
    """

    method = "exact split"

    def __init__(self, problem: SplitProblem, state: SplitState) -> None:
        self.problem, self.state = problem, state
        self.E, self.L = np.empty_like(problem.D), state.low_rank
        self.residuals = (np.inf, np.inf)
        self.changes = 0
        self._row_step()

    def step(self) -> None:
        """One iteration: singular values, then rows."""
        s = self.state
        self._singular_value_step()
        if s.mu < s.goal:
            s.mu = min(GROWTH * s.mu, s.goal)
        self._row_step()

    def _singular_value_step(self) -> None:
        """Minimise over L, and measure how far the two steps are apart."""
        s, D, E, L = self.state, self.problem.D, self.E, self.L
        ahead = RELAXATION - 1.0 if s.mu >= s.goal else 0.0
        for i in blocks(*D.shape):
            s.Y[i] = s.Y[i] / s.mu + L[i] + ahead * (D[i] - E[i] - L[i])
        s.factors = f = s.svt(s.Y, self.problem.gamma / s.mu, tol=self._svt_tolerance())
        feasibility = change = size = force = 0.0
        for i in blocks(*D.shape, least=64):
            new, X = (f.U[i] * f.d) @ f.Vt, D[i] - E[i]
            s.Y[i] = s.mu * (s.Y[i] - new)
            feasibility += _square(X - new)
            change += _square(new - L[i])
            size += _square(X)
            force += _square(s.Y[i])
            L[i] = new
        tiny = np.finfo(float).tiny
        self.residuals = (
            float(np.sqrt(feasibility / max(size, tiny))),
            float(s.mu * np.sqrt(change / max(force, tiny))),
        )

    def _row_step(self) -> None:
        """Minimise over X, with the loss' subgradients beta."""
        s, D, rows = self.state, self.problem.D, self._rows()
        for i in blocks(*D.shape):
            g = self.L[i] - s.Y[i] / s.mu - D[i]
            block = rows.take(i)
            s.beta[i] = block.solve(g, s.beta[i])
            u = block.move(g, s.beta[i])
            np.negative(u, out=self.E[i])
            s.Y[i] = s.mu * (u - g)

    def _rows(self) -> RowProblem:
        p, mu = self.problem, self.state.mu
        return RowProblem(
            w=p.w,
            w2=p.w**2,
            scale=1.0 / p.root,
            base=p.base,
            thr=p.threshold / mu,
            loss=p.coupling,
            mu=mu,
        )

    def _svt_tolerance(self) -> float:
        """Well below the residuals of the splitting itself."""
        return float(np.clip(1e-2 * max(self.residuals), 1e-10, 1e-5))

    def balance(self) -> None:
        """Change the penalty when one of the two residuals lags behind, less each time."""
        if self.state.mu < self.state.goal:
            return
        primal, dual = self.residuals
        factor = 2.0 ** (0.9**self.changes)
        if primal > IMBALANCE * dual:
            self.state.mu *= factor
        elif dual > IMBALANCE * primal:
            self.state.mu /= factor
        else:
            return
        self.changes += 1
        self.state.goal = self.state.mu

    def multiplier(self) -> tuple[Array, Array]:
        """Multiplier after the X-step."""
        return self.state.Y, self.state.beta


class PaperSplit:
    """The paper's Algorithm 2, with its slips corrected: for the squared coupling.

    A proximal gradient step on X, one soft-threshold for E (no more is needed), and Nesterov's
    extrapolation of X and the multiplier with the restart of Goldstein et al. (2014), which goes
    back to the iterates before. The paper's multiplier, that of ``-tr(Gamma'(D - X - E))``, is
    ``-Y``. The outliers follow from X and Y and are worked out where they are needed.
    """

    method = "paper's split"
    eta = 0.999

    def __init__(self, problem: SplitProblem, state: SplitState) -> None:
        self.problem, self.state = problem, state
        state.mu = state.goal
        self.X = state.low_rank
        self.X_before, self.Y_before = self.X.copy(), state.Y.copy()
        self.t, self.c, self.ahead = 1.0, np.inf, 0.0
        self.residuals = (np.inf, np.inf)
        pull = 2.0 * float(np.max(0.5 / problem.coupling.curvature / problem.root**2))
        self.pull = pull * float(problem.w @ problem.w)

    def step(self) -> None:
        """One iteration of Algorithm 2."""
        p, s = self.problem, self.state
        step = 1.0 / (s.mu + self.pull)
        M = np.empty_like(p.D)
        for i in blocks(*M.shape):
            X, Y, E = self._extrapolated(i)
            M[i] = X - step * self._gradient(i, X, Y, E)
        s.factors = f = s.svt(M, step * p.gamma)
        force = move = size = norm = 0.0
        for i in blocks(*M.shape, least=64):
            X, Y, E = self._extrapolated(i)
            self.X_before[i], self.Y_before[i] = self.X[i], s.Y[i]
            self.X[i] = (f.U[i] * f.d) @ f.Vt
            s.Y[i] = Y + s.mu * (p.D[i] - self.X[i] - E)
            force += _square(s.Y[i] - Y)
            move += _square(self.X[i] - X)
            size += _square(self.X[i])
            norm += _square(s.Y[i])
        self._accelerate(force / s.mu + s.mu * move)
        tiny = np.finfo(float).tiny
        self.residuals = (
            float(np.sqrt(force / max(size, tiny)) / s.mu),
            float(s.mu * np.sqrt(move / max(norm, tiny))),
        )

    def _extrapolated(self, i: slice) -> tuple[Array, Array, Array]:
        """Rows of X and Y ahead of the last iterate, and of the E that belongs to them."""
        p, s = self.problem, self.state
        X = self.X[i] + self.ahead * (self.X[i] - self.X_before[i])
        Y = s.Y[i] + self.ahead * (s.Y[i] - self.Y_before[i])
        return X, Y, soft(p.D[i] - X + Y / s.mu, p.threshold[i, None] / s.mu)

    def _gradient(self, i: slice, X: Array, Y: Array, E: Array) -> Array:
        """Gradient of the loss and of the augmented term in rows of X."""
        p = self.problem
        residual = p.target[i] - (X @ p.w) / p.root[i]
        pull = residual / p.coupling.curvature[i] / p.root[i]
        return self.state.mu * (X + E - p.D[i]) - Y - np.outer(pull, p.w)

    def _accelerate(self, c: float) -> None:
        if c < self.eta * self.c:
            t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.t**2))
            self.ahead, self.t, self.c = (self.t - 1.0) / t, t, c
        else:
            self.ahead, self.t, self.c = -1.0, 1.0, self.c / self.eta

    @property
    def E(self) -> Array:
        """Outliers."""
        p = self.problem
        return np.concatenate([self._extrapolated(i)[2] for i in blocks(*p.D.shape)])

    def balance(self) -> None:
        """The paper's penalty is fixed."""

    def multiplier(self) -> tuple[Array, Array]:
        """Multiplier clipped to its box, with the gradient of the loss."""
        p, s = self.problem, self.state
        Y = np.clip(s.Y, -p.threshold[:, None], p.threshold[:, None])
        for i in blocks(*Y.shape):
            E = self._extrapolated(i)[2]
            s.beta[i] = (p.base[i] + (E @ p.w) / p.root[i]) / p.coupling.curvature[i]
            Y[i] += np.outer(s.beta[i] / p.root[i], p.w)
        return Y, s.beta


def _square(A: Array) -> float:
    return float(np.vdot(A, A))


METHODS: dict[str, type[ExactSplit] | type[PaperSplit]] = {"exact": ExactSplit, "paper": PaperSplit}


def decompose(
    problem: SplitProblem,
    *,
    method: str = "exact",
    start: Decomposition | None = None,
    tol: float = 1e-4,
    max_iter: int = 1000,
    verbose: int = 0,
    warn: bool = True,
) -> Decomposition:
    """Split the samples into clean signals and outliers, with a certificate.

    Parameters
    ----------
    problem : SplitProblem
        What to solve.
    method : {"exact", "paper"}, default="exact"
        :class:`ExactSplit` for either coupling, or :class:`PaperSplit` for the squared one.
    start : Decomposition, default=None
        Result of a similar problem to start from. What is returned is never worse than it. It is
        used up: its arrays become those of the new result.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of iterations.
    verbose : int, default=0
        1 prints a line every few seconds, 2 the certificates too.
    warn : bool, default=True
        Whether to warn when the gap stays above `tol`.

    Returns
    -------
    Decomposition
        The best split found, and how far from the optimum it is at most.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.losses import epsilon_insensitive
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
    tracker = SplitTracker(problem, start, tol, verbose)
    state = start.state if start is not None else start_state(problem)
    state.rescale(problem.gamma)
    solver = METHODS[method](problem, state)
    # Residuals at which a certificate is likely to hold; a good start may have one at once.
    level = tol if start is None else np.inf
    if start is not None and tracker.check(0, solver):
        return tracker.result(0, state)
    for iteration in range(1, max_iter + 1):
        solver.step()
        worst = max(solver.residuals)
        tracker.watch(iteration, worst)
        if worst <= level or iteration % CHECK_EVERY == 0 or iteration == max_iter:
            if tracker.check(iteration, solver):
                break
            level = min(level, worst * max(0.1, min(0.9, tol / tracker.gap)))
        if iteration % BALANCE_EVERY == 0:
            solver.balance()
    result = tracker.result(iteration, state)
    if warn and not result.converged:
        warnings.warn(
            f"The split of the samples reached a relative duality gap of {result.gap:.1e} after "
            f"{iteration} iterations, above tol={tol:.1e}. Raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return result
