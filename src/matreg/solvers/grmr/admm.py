"""Alternating directions with exact steps for the second half of G-RMR."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..._typing import Array
from ...design import slices
from ...linalg.factors import Factors, gram_norm, singular_values
from ...linalg.large_svt import WarmStartedSVT
from .row_prox import relative, square

if TYPE_CHECKING:
    from .coupled import Coupled


@dataclass
class SplitState:
    """Iterate of a splitting, which its steps overwrite."""

    Y: Array  # (n, m): multiplier of ``X = L``
    beta: Array  # (n,): subgradients of the loss
    # Penalty, and the value to which it grows. Afterwards the residuals guide it.
    mu: float
    goal: float
    gamma: float  # weight of the nuclear norm to which the multiplier and the penalty belong
    # Thresholding of singular values, with its start for the next call.
    svt: WarmStartedSVT = field(default_factory=WarmStartedSVT)
    factors: Factors | None = None  # low-rank part L; None is zero
    spare: Array | None = None  # (n, m): memory for the outliers, if the caller has some to spare

    @property
    def rank(self) -> int:
        """Rank of the low-rank part."""
        return 0 if self.factors is None else self.factors.rank

    @property
    def low_rank(self) -> Array:
        """The low-rank part as an array of shape (n, m)."""
        return np.zeros_like(self.Y) if self.factors is None else self.factors.matrix

    def rescale(self, gamma: float) -> None:
        """Scale the multiplier and the penalty to another weight of the nuclear norm."""
        ratio = gamma / self.gamma
        self.Y *= ratio
        self.mu, self.goal, self.gamma = ratio * self.mu, ratio * self.goal, gamma


def start_state(problem: Coupled) -> SplitState:
    """State with L = 0 and Y = 0.

    The first penalty is so small that hardly any singular value passes its threshold. At the goal
    the threshold is about the size of a typical entry.
    """
    D, root, known = problem.D, problem.root, problem.D.shape[1]
    if problem.missing is not None:
        known = np.maximum(known - problem.missing.sum(axis=1), 1)
    # A weighted mean: a sample of weight s counts as s copies.
    size = float(root @ (np.abs(D).sum(axis=1) / known)) / float(root @ root)
    norm = gram_norm(D)
    if norm > 0.0:
        mu, goal = 1.25 * problem.gamma / norm, 0.75 * problem.gamma / size
    else:
        mu = goal = problem.gamma
    return SplitState(np.zeros_like(D), np.zeros(len(D)), mu, max(mu, goal), problem.gamma)


class ExactSplit:
    """Alternating directions on ``X = L``, both steps exact.

    The L-step thresholds the singular values; the X-step is that of the problem, row by row. With
    ``w = 0`` this is the usual splitting of robust principal component analysis. Both steps update
    the multiplier. After the X-step the multiplier lies in the box of the dual problem, as the
    certificate needs. Four arrays of the size of D are held: D, E, L and Y. The steps overwrite the
    state.
    """

    name = "exact split"

    def __init__(self, problem: Coupled, state: SplitState) -> None:
        self.problem, self.state = problem, state
        self.E = np.empty_like(problem.D) if state.spare is None else state.spare
        self.L = state.low_rank
        self.residuals = (np.inf, np.inf)
        self.changes = 0
        self._row_step()

    def step(self) -> None:
        """One iteration: singular values, then rows."""
        s = self.state
        self._singular_value_step()
        if s.mu < s.goal:
            s.mu = min(1.5 * s.mu, s.goal)
        self._row_step()

    def _singular_value_step(self) -> None:
        """Minimise over L, and measure how far X and L are apart."""
        s, D, E, L = self.state, self.problem.D, self.E, self.L
        ahead = 0.6 if s.mu >= s.goal else 0.0  # over-relaxation, once the penalty has grown
        for i in slices(*D.shape):
            s.Y[i] = s.Y[i] / s.mu + L[i] + ahead * (D[i] - E[i] - L[i])
        s.factors = None  # to save memory
        s.factors = f = s.svt(s.Y, self.problem.gamma / s.mu)
        feasibility = change = size = force = 0.0
        for i in slices(*D.shape, least=64):
            new, X = (f.U[i] * f.d) @ f.Vt, D[i] - E[i]
            s.Y[i] = s.mu * (s.Y[i] - new)
            feasibility += square(X - new)
            change += square(new - L[i])
            size += square(X)
            force += square(s.Y[i])
            L[i] = new
        self.residuals = (relative(feasibility, size), s.mu * relative(change, force))

    def _row_step(self) -> None:
        """Minimise over X, and find the subgradients beta of the loss."""
        s, D = self.state, self.problem.D
        for i in slices(*D.shape):
            g = self.L[i] - s.Y[i] / s.mu
            self.E[i], s.beta[i] = self.problem.prox_rows(i, g, s.mu)
            s.Y[i] = s.mu * (D[i] - self.E[i] - g)

    def balance(self) -> None:
        """Change the penalty when one of the two residuals lags behind, by less each time."""
        if self.state.mu < self.state.goal:
            return
        primal, dual = self.residuals
        factor = 2.0 ** (0.9**self.changes)
        if primal > 4.0 * dual:
            self.state.mu *= factor
        elif dual > 4.0 * primal:
            self.state.mu /= factor
        else:
            return
        self.changes += 1
        self.state.goal = self.state.mu

    def clean_values(self, tol: float) -> Array:
        """Singular values of ``D - E``. L is deleted meanwhile, to save memory."""
        del self.L
        d = singular_values(self.problem.D - self.E, tol)
        self.L = self.state.low_rank
        return d

    def multiplier(self) -> tuple[Array, Array]:
        """Multiplier (n, m) after the X-step, and subgradients (n,) of the loss."""
        return self.state.Y, self.state.beta
