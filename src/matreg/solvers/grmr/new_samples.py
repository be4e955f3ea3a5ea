"""Clean new samples with the row space that was learned, without their labels.

A new row x changes the nuclear norm of the stacked clean signals, with singular values d and right
singular vectors V, by at most

    h(x) = 1/2 sum_k (V'x)_k^2 / d_k + ||x - V V'x||_2,

the first term because ``||X||_* <= tr(X'X Q^-1)/2 + tr(Q)/2`` for every positive definite Q, with
equality at ``(X'X)^{1/2}``, the second by the triangle inequality. A new sample d is therefore
split as the training samples were: minimise ``lam ||d - x||_1 + gamma h(x)``. Where
``lam <= gamma / sqrt(pq)`` x stays in the row space; where `lam` is huge x is d.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from ..._typing import Array, Mask
from ...linalg.threads import single_threaded
from .problem import GRMRProblem
from .row_prox import priced, soft
from .tracker import Decomposition


@dataclass(frozen=True)
class CleanerSettings:
    """Numbers of the method.

    Attributes
    ----------
    relaxation : float
        Over-relaxation of the steps.
    check_every : int
        Iterations between certificates, and between changes of the penalties.
    tol, max_iter : float, int
        Relative duality gap of every sample, and largest number of iterations.
    """

    relaxation: float = 1.6
    check_every: int = 20
    tol: float = 1e-5
    max_iter: int = 10_000


DEFAULT = CleanerSettings()


class LearnedSpace(Protocol):
    """What a fit leaves behind to clean new samples."""

    def cleaner(self, D: Array) -> SampleCleaner:
        """Cleaner of new samples D of shape (n, m)."""
        ...


@dataclass(frozen=True)
class RowSpace:
    """What a fit leaves behind to clean new samples.

    Parameters
    ----------
    Vt : ndarray of shape (r, m)
        Right singular vectors of the stacked clean signals.
    d : ndarray of shape (r,)
        Their positive singular values.
    gamma, lam : float
        Weights of the nuclear norm and of the outliers.
    """

    Vt: Array
    d: Array
    gamma: float
    lam: float

    @classmethod
    def of(cls, problem: GRMRProblem, split: Decomposition) -> RowSpace:
        """Space that a split has learned."""
        return cls(split.factors.Vt, split.factors.d, problem.gamma, problem.lam)

    def cleaner(self, D: Array) -> Cleaner:
        """Cleaner of new samples D of shape (n, m)."""
        return Cleaner(D)

    def objective(self, D: Array, X: Array, missing: Mask | None = None) -> Array:
        """Objective of every row, of shape (n,)."""
        A = X @ self.Vt.T
        off = np.linalg.norm(X - A @ self.Vt, axis=1)
        h = 0.5 * (A**2 @ (1.0 / self.d)) + off
        outliers = np.sum(np.abs(D - X) * priced(self.lam, missing), axis=1)
        return outliers + self.gamma * h

    def bound(self, D: Array, Z: Array) -> Array:
        """Lower bound from multipliers Z in the box ``|Z| <= lam``, scaled to the best."""
        A = Z @ self.Vt.T
        off = np.linalg.norm(Z - A @ self.Vt, axis=1)
        linear, curved = np.einsum("ij,ij->i", Z, D), (A**2 @ self.d) / self.gamma
        with np.errstate(divide="ignore", invalid="ignore"):
            free = np.where(curved > 0.0, linear / curved, np.inf)
            theta = np.minimum(np.minimum(1.0, self.gamma / off), free)
        theta = np.maximum(theta, 0.0)
        return theta * linear - 0.5 * theta**2 * curved

    def prox(self, V: Array, rho: Array) -> Array:
        """Minimiser of ``gamma h(x) + rho |x - v|^2 / 2`` for every row."""
        A = V @ self.Vt.T
        shrink = 1.0 / (1.0 + self.gamma / (rho[:, None] * self.d))
        X = (A * shrink) @ self.Vt
        # Norms alone tell whether anything leaves the row space, which is seldom so.
        beyond = np.einsum("ij,ij->i", V, V) - np.einsum("ij,ij->i", A, A)
        if np.any(rho**2 * beyond > self.gamma**2):
            off = V - A @ self.Vt
            size = np.linalg.norm(off, axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                keep = np.where(size > 0.0, np.maximum(1.0 - self.gamma / (rho * size), 0.0), 0.0)
            X += keep[:, None] * off
        return X


class SampleCleaner:
    """Samples that are cleaned for one row space after another, each sample on its own.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        Samples, NaN where entries are missing.

    Attributes
    ----------
    X : ndarray of shape (n, m)
        Clean signals.
    """

    settings: Any

    def __init__(self, D: Array) -> None:
        missing = np.isnan(D)
        self.missing = missing if missing.any() else None
        self.D = D if self.missing is None else np.where(missing, 0.0, D)
        self.X = np.zeros_like(D)

    @property
    def filled(self) -> Array:
        """The samples (n, m), with only their missing entries taken from the clean signals."""
        return self.D if self.missing is None else np.where(self.missing, self.X, self.D)

    def clean(self, space: Any) -> Array:
        """Clean all samples; return their relative duality gaps (n,)."""
        raise NotImplementedError


class Cleaner(SampleCleaner):
    """Clean samples by alternating directions on ``x = z``, to a certified gap.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        Samples. Each call starts where the call before, for another row space, has ended. NaN
        where an entry is missing: its outlier has no price, the box of its multiplier is zero.
    settings : CleanerSettings, optional
        Numbers of the method.

    Attributes
    ----------
    X : ndarray of shape (n, m)
        Clean signals. They leave the row space only where `lam` is large.

    Examples
    --------
    >>> import numpy as np
    >>> space = RowSpace(np.full((1, 4), 0.5), np.array([100.0]), gamma=1.0, lam=0.5)
    >>> cleaner = Cleaner(np.array([[1.0, 1.0, 9.0, 1.0]]))
    >>> gaps = cleaner.clean(space)
    >>> cleaner.X.round(3)
    array([[1., 1., 1., 1.]])
    """

    def __init__(self, D: Array, settings: CleanerSettings = DEFAULT) -> None:
        super().__init__(D)
        self.settings, self.Y, self.rho = settings, np.zeros_like(D), np.zeros(len(D))

    @single_threaded(lambda cleaner: cleaner.D.size)
    def clean(
        self, space: RowSpace, tol: float | None = None, max_iter: int | None = None
    ) -> Array:
        """Clean all samples; return their relative duality gaps (n,).

        A row is done as soon as it is certified. `tol` and `max_iter` come from the settings unless
        they are given.
        """
        ours = self.settings
        tol = ours.tol if tol is None else tol
        max_iter = ours.max_iter if max_iter is None else max_iter
        gaps = np.zeros(len(self.D))
        todo = np.flatnonzero(self.D.any(axis=1))
        first = 1  # after another row space the certificate may hold at once
        if not self.rho.any():
            first = ours.check_every
            known = self.D.shape[1] if self.missing is None else (~self.missing[todo]).sum(axis=1)
            mean = np.abs(self.D[todo]).sum(axis=1) / known
            self.rho[todo] = space.lam * np.sqrt(self.D.shape[1]) / (4.0 * mean)
            self.X[todo] = space.prox(self.D[todo], self.rho[todo])
        D, X, Y, rho = self.D[todo], self.X[todo], self.Y[todo], self.rho[todo]
        missing = None if self.missing is None else self.missing[todo]
        for iteration in range(1, max_iter + 1):
            if todo.size == 0:
                break
            r = rho[:, None]
            G = X - Y / r - D
            U = soft(G, priced(space.lam / r, missing))
            Z = r * (G - U)  # minus the multiplier after the first step, which is in its box
            V = ours.relaxation * (D + U) + (1.0 - ours.relaxation) * X + Y / r
            before, X = X, space.prox(V, rho)
            Y = r * (V - X)
            if (iteration - first) % ours.check_every == 0 or iteration == max_iter:
                primal = space.objective(D, X, missing)
                gap = np.clip((primal - space.bound(D, -Z)) / primal, 0.0, 1.0)
                self.X[todo], self.Y[todo], self.rho[todo], gaps[todo] = X, Y, rho, gap
                checks = iteration / ours.check_every
                rho = rho * _balance(X - D - U, X, r * (X - before), Y, checks)
                left = gap > tol
                todo, D, X, Y, rho = todo[left], D[left], X[left], Y[left], rho[left]
                missing = None if missing is None else missing[left]
        return gaps


def _balance(primal: Array, X: Array, dual: Array, Y: Array, checks: float) -> Array:
    """Factors (n,) by which the penalties of the rows change, nearer to 1 with every check."""
    primal_size, size, dual_size, force = (np.linalg.norm(A, axis=1) for A in (primal, X, dual, Y))
    behind, ahead = primal_size * force, dual_size * size
    with np.errstate(divide="ignore", invalid="ignore"):
        wish = np.sqrt(behind / ahead)
    wish = np.where((wish > 2.0) | (wish < 0.5), np.clip(wish, 0.1, 10.0), 1.0)
    return wish ** (0.9**checks)
