"""Solvers of the second half of G-RMR: a splitting with exact steps, and the paper's."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..penalties import Factors
from .rows import RowProblem, blocks, soft
from .stacked import Decomposition, SplitTracker, StackedProblem, spectral_norm
from .svt import StackedSVT

Array = NDArray[np.float64]

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
    svt: StackedSVT = field(default_factory=StackedSVT)
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


def start_state(problem: StackedProblem) -> SplitState:
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

    The X-step treats every row by :class:`~matreg.solvers.rows.RowProblem`, the L-step thresholds
    the singular values. With ``w = 0`` this is the usual splitting of robust principal component
    analysis. The multiplier between the two steps lies in the box of the outliers' price: it is
    what the certificate is made of.
    """

    def __init__(self, problem: StackedProblem, state: SplitState) -> None:
        self.problem = problem
        self.state = state
        self.L, self.L_before = state.low_rank, np.empty_like(problem.D)
        self.E = np.empty_like(problem.D)
        self.mu, self.relaxation = state.mu, 1.0
        self.residuals = (np.inf, np.inf)
        self.changes = 0

    def step(self) -> None:
        """One iteration: rows, singular values, multiplier."""
        s = self.state
        self.mu, self.relaxation = s.mu, RELAXATION if s.mu >= s.goal else 1.0
        self._row_step()
        self.L, self.L_before = self.L_before, self.L
        f = s.svt(s.Y, self.problem.gamma / s.mu, tol=self._svt_tolerance())
        np.matmul(f.U * f.d, f.Vt, out=self.L)
        s.factors = f
        self._multiplier_step()
        if s.mu < s.goal:
            s.mu = min(GROWTH * s.mu, s.goal)

    def _rows(self) -> RowProblem:
        p = self.problem
        return RowProblem(
            w=p.w,
            w2=p.w**2,
            scale=1.0 / p.root,
            base=p.base,
            thr=p.threshold / self.mu,
            epsilon=p.coupling.epsilon,
            bound=p.coupling.bound,
            curvature=p.coupling.curvature,
            mu=self.mu,
        )

    def _row_step(self) -> None:
        """Minimise over X; leave in Y what the next step thresholds."""
        s, D, rows, ahead = self.state, self.problem.D, self._rows(), self.relaxation
        for i in blocks(*D.shape):
            g = self.L[i] - s.Y[i] / self.mu - D[i]
            block = rows.take(i)
            s.beta[i] = block.solve(g, s.beta[i])
            u = block.move(g, s.beta[i])
            np.negative(u, out=self.E[i])
            s.Y[i] = ahead * (D[i] + u) + (1.0 - ahead) * self.L[i] + s.Y[i] / self.mu

    def _multiplier_step(self) -> None:
        s, D = self.state, self.problem.D
        feasibility = change = size = force = 0.0
        for i in blocks(*D.shape):
            L, X = self.L[i], D[i] - self.E[i]
            s.Y[i] = self.mu * (s.Y[i] - L)
            feasibility += _square(X - L)
            change += _square(L - self.L_before[i])
            size += _square(X)
            force += _square(s.Y[i])
        tiny = np.finfo(float).tiny
        self.residuals = (
            float(np.sqrt(feasibility / max(size, tiny))),
            float(self.mu * np.sqrt(change / max(force, tiny))),
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
        """Multiplier after the X-step, worked out backwards from the end of the iteration."""
        s, D, ahead = self.state, self.problem.D, self.relaxation
        Y = np.empty_like(D)
        for i in blocks(*D.shape):
            X = D[i] - self.E[i]
            back = self.L[i] + (1.0 - ahead) * X - (2.0 - ahead) * self.L_before[i]
            Y[i] = s.Y[i] + self.mu * back
        return Y, s.beta


class PaperSplit:
    """The paper's Algorithm 2, with its slips corrected: for the squared coupling.

    A proximal gradient step on X, one soft-threshold for E (no more is needed), and Nesterov's
    extrapolation of X and the multiplier with the restart of Goldstein et al. (2014). The
    multiplier belongs to ``-tr(Gamma'(D - X - E))``.
    """

    eta = 0.999

    def __init__(self, problem: StackedProblem, state: SplitState) -> None:
        self.problem, self.state = problem, state
        state.mu = state.goal
        self.X, self.Gamma = state.low_rank, -state.Y
        self.X_hat, self.Gamma_hat = self.X, self.Gamma
        self.E = np.zeros_like(problem.D)
        self.t, self.c = 1.0, np.inf
        self.residuals = (np.inf, np.inf)
        pull = 2.0 * float(np.max(0.5 / problem.coupling.curvature / problem.root**2))
        self.pull = pull * float(problem.w @ problem.w)

    def step(self) -> None:
        """One iteration of Algorithm 2."""
        p, s = self.problem, self.state
        mu, step = s.mu, 1.0 / (s.mu + self.pull)
        X_old, Gamma_old = self.X, self.Gamma
        self.E = soft(p.D - self.X_hat - self.Gamma_hat / mu, p.threshold[:, None] / mu)
        f = s.svt(self.X_hat - step * self._gradient(), step * p.gamma)
        self.X = f.matrix
        self.Gamma = self.Gamma_hat - mu * (p.D - self.X - self.E)
        force, move = _square(self.Gamma - self.Gamma_hat), _square(self.X - self.X_hat)
        self._extrapolate(force / mu + mu * move, X_old, Gamma_old)
        self._measure(force, move)
        s.Y, s.factors = -self.Gamma, f

    def _gradient(self) -> Array:
        """Gradient at the extrapolated X of the loss and of the augmented term."""
        p, mu = self.problem, self.state.mu
        residual = p.target - (self.X_hat @ p.w) / p.root
        pull = residual / p.coupling.curvature / p.root
        return mu * (self.X_hat + self.E - p.D) + self.Gamma_hat - np.outer(pull, p.w)

    def _extrapolate(self, c: float, X_old: Array, Gamma_old: Array) -> None:
        if c < self.eta * self.c:
            t = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * self.t**2))
            ahead = (self.t - 1.0) / t
            self.X_hat = self.X + ahead * (self.X - X_old)
            self.Gamma_hat = self.Gamma + ahead * (self.Gamma - Gamma_old)
            self.t, self.c = t, c
        else:
            self.t, self.c = 1.0, self.c / self.eta
            self.X_hat, self.Gamma_hat = X_old, Gamma_old

    def _measure(self, force: float, move: float) -> None:
        tiny, mu = np.finfo(float).tiny, self.state.mu
        size = max(_square(self.X), tiny)
        self.residuals = (
            float(np.sqrt(force / size) / mu),
            float(mu * np.sqrt(move / max(_square(self.Gamma), tiny))),
        )

    def balance(self) -> None:
        """The paper's penalty is fixed."""

    def multiplier(self) -> tuple[Array, Array]:
        """Multiplier clipped to its box, with the gradient of the loss."""
        p = self.problem
        beta = p.residual(self.E) / p.coupling.curvature
        Z = np.clip(-self.Gamma, -p.threshold[:, None], p.threshold[:, None])
        self.state.beta = beta
        return Z + np.outer(beta / p.root, p.w), beta


def _square(A: Array) -> float:
    return float(np.vdot(A, A))


METHODS: dict[str, type[ExactSplit] | type[PaperSplit]] = {"exact": ExactSplit, "paper": PaperSplit}


def decompose(
    problem: StackedProblem,
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
    problem : StackedProblem
        What to solve.
    method : {"exact", "paper"}, default="exact"
        :class:`ExactSplit` for either coupling, or :class:`PaperSplit` for the squared one.
    start : Decomposition, default=None
        Result of a similar problem to start from. What is returned is never worse than it.
    tol : float, default=1e-4
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Largest number of iterations.
    verbose : int, default=0
        Whether to print the certificates.
    warn : bool, default=True
        Whether to warn when the gap stays above `tol`.

    Returns
    -------
    Decomposition
        The best split found, and how far from the optimum it is at most.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.solvers.rows import exact
    >>> from matreg.solvers.stacked import StackedProblem
    >>> rng = np.random.default_rng(0)
    >>> D = np.outer(rng.standard_normal(30), rng.standard_normal(20))
    >>> D[3, 4] += 5.0
    >>> one = np.ones(30)
    >>> problem = StackedProblem(D, one, 0 * one, np.zeros(20), exact(one, 0.1), 1.0, 30**-0.5)
    >>> result = decompose(problem)
    >>> np.argwhere(result.E).tolist(), result.converged
    ([[3, 4]], True)
    """
    tracker = SplitTracker(problem, start, tol, verbose)
    state = start.state if start is not None else start_state(problem)
    state.rescale(problem.gamma)
    solver = METHODS[method](problem, state)
    level = tol  # residuals at which a certificate is likely to hold
    for iteration in range(1, max_iter + 1):
        solver.step()
        worst = max(solver.residuals)
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
