"""Replace the outliers of new samples as in the training samples, but without labels.

The low-rank part of a new row is ``l = V a``, with V the row space and d the singular values that
were learned. It adds to the nuclear norm at most ``h(a) = 1/2 sum_k a_k^2 / d_k`` (see
:mod:`.new_samples`). Minimise over a, the flags F, and x with x = d outside of F,

    gamma h(a) + mu/2 |x - V a|^2 + mu/2 sum_{j in F} limit_j^2.

First the convex cleaning of :mod:`.new_samples`, with the weights of robust principal component
analysis, gives the flags; then a is the minimiser for these flags. Neither step raises the
objective. More rounds of the two steps were tried and predict no better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._typing import Array, Mask
from ...linalg.threads import single_threaded
from .default_weights import default_ratio
from .new_samples import Cleaner, RowSpace, SampleCleaner
from .problem import GRMRProblem
from .tracker import Decomposition


@dataclass(frozen=True)
class FlagCleanerSettings:
    """Numbers of the method.

    Attributes
    ----------
    tol, max_iter : float, int
        Relative duality gap of every sample given its flags, and largest number of iterations.
    check_every : int
        Iterations between certificates.
    start : float
        Relative duality gap of the convex cleaning that gives the flags.
    """

    tol: float = 1e-3
    max_iter: int = 300
    check_every: int = 10
    start: float = 1e-4


DEFAULT = FlagCleanerSettings()


@dataclass(frozen=True)
class FlagSpace:
    """What a fit leaves behind to replace the outliers of new samples.

    Parameters
    ----------
    Vt : ndarray of shape (r, m)
        Right singular vectors of the low-rank part.
    d : ndarray of shape (r,)
        Its positive singular values.
    gamma, mu : float
        Weights of the nuclear norm and of the detail.
    limit : ndarray of shape (m,)
        Distance from L above which an entry is an outlier, by cell.
    ratio : float
        Weight of the nuclear norm in the convex cleaning, relative to that of the outliers.
    """

    Vt: Array
    d: Array
    gamma: float
    mu: float
    limit: Array
    ratio: float

    @classmethod
    def of(cls, problem: GRMRProblem, split: Decomposition) -> FlagSpace:
        """Space that a split has learned."""
        L = split.factors
        ratio = default_ratio("split", float(problem.s.sum()), L.Vt.shape[1])
        return cls(L.Vt, L.d, problem.gamma, problem.detail, problem.limits, ratio)

    @property
    def convex(self) -> RowSpace:
        """Row space as the convex cleaning takes it."""
        return RowSpace(self.Vt, self.d, self.ratio, 1.0)

    def cleaner(self, D: Array) -> FlagCleaner:
        """Cleaner of new samples D of shape (n, m)."""
        return FlagCleaner(D)

    def shrink(self, X: Array) -> Array:
        """Minimiser ``V a`` of ``gamma h(a) + mu/2 |x - V a|^2`` for every row."""
        factor = 1.0 / (1.0 + self.gamma / (self.mu * self.d))
        return ((X @ self.Vt.T) * factor) @ self.Vt

    def gaps(self, kept: Array, flags: Mask, L: Array) -> Array:
        """Relative duality gaps (n,) of low-rank rows, given the flags; `kept` is 0 on these."""
        Z = np.where(flags, 0.0, self.mu * (kept - L))
        detail = np.einsum("ij,ij->i", Z, Z) / self.mu
        Vt, d, gamma = self.Vt, self.d, self.gamma
        primal = 0.5 * (gamma * ((L @ Vt.T) ** 2 @ (1.0 / d)) + detail)
        linear = np.einsum("ij,ij->i", Z, kept)
        curved = (Z @ Vt.T) ** 2 @ d / gamma + detail
        with np.errstate(divide="ignore", invalid="ignore"):
            bound = np.where(curved > 0.0, 0.5 * linear**2 / curved, 0.0)
            return np.where(primal > 0.0, np.clip((primal - bound) / primal, 0.0, 1.0), 0.0)


class FlagCleaner(SampleCleaner):
    """Replace outliers and missing entries, and leave all other entries of the samples."""

    def __init__(self, D: Array, settings: FlagCleanerSettings = DEFAULT) -> None:
        super().__init__(D)
        self.settings, self.convex = settings, Cleaner(D)

    @single_threaded(lambda cleaner: cleaner.D.size)
    def clean(self, space: FlagSpace) -> Array:
        """Replace the outliers of all samples; return their relative gaps (n,), given the flags."""
        self.convex.clean(space.convex, tol=self.settings.start)
        L = self.convex.X
        flags = self._flags(self._limits(space, L), L)
        kept = np.where(flags, 0.0, self.D)
        L, gaps = low_rank_rows(space, kept, flags, L, self.settings)
        self.X = np.where(flags, L, self.D)
        return gaps

    def _limits(self, space: FlagSpace, L: Array) -> Array:
        """Limits (n, m), widened where more than half of a sample would be outliers."""
        far = np.abs(self.D - L) / space.limit
        if self.missing is not None:
            far[self.missing] = np.nan
            far[self.missing.all(axis=1)] = 0.0
        return np.maximum(np.nanmedian(far, axis=1), 1.0)[:, None] * space.limit

    def _flags(self, limit: Array, L: Array) -> Mask:
        flags = np.abs(self.D - L) > limit
        return flags if self.missing is None else flags | self.missing


def low_rank_rows(
    space: FlagSpace,
    kept: Array,
    flags: Mask,
    start: Array,
    settings: FlagCleanerSettings = DEFAULT,
) -> tuple[Array, Array]:
    """Low-rank parts (n, m) of rows whose flags are given, and their relative gaps (n,).

    Accelerated proximal gradient steps, each row on its own, with the restart of O'Donoghue and
    Candes (2015).
    """
    low, gaps = start.copy(), np.zeros(len(start))
    todo = np.arange(len(start))
    L, Y, t = start, start, np.ones(len(start))
    for iteration in range(1, settings.max_iter + 1):
        if todo.size == 0:
            break
        X = np.where(flags, Y, kept)
        new = space.shrink(X)
        t[np.einsum("ij,ij->i", Y - new, new - L) > 0.0] = 1.0
        ahead = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t**2))
        Y = new + ((t - 1.0) / ahead)[:, None] * (new - L)
        L, t = new, ahead
        if iteration % settings.check_every == 0 or iteration == settings.max_iter:
            gap = space.gaps(kept, flags, L)
            low[todo], gaps[todo] = L, gap
            left = gap > settings.tol
            todo, kept, flags = todo[left], kept[left], flags[left]
            L, Y, t = L[left], Y[left], t[left]
    return low, gaps
