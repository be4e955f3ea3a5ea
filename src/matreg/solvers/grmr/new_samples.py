"""Clean new samples, each separately and without its label, with the row space that a fit learned.

A new row x increases the nuclear norm of the stacked clean signals, with singular values d and
right singular vectors V, by at most

    h(x) = 1/2 sum_k (V'x)_k^2 / d_k + ||x - V V'x||_2,

where the first term follows from ``||X||_* <= tr(X'X Q^-1)/2 + tr(Q)/2`` for every positive
definite Q, with equality at ``(X'X)^{1/2}``, and the second from the triangle inequality.

:class:`SplitSpace` splits a new sample d like the training samples: minimise
``lam ||d - x||_1 + gamma h(x)``. If ``lam <= gamma / sqrt(pq)``, x stays in the row space; if `lam`
is huge, x is d.

:class:`ReplaceSpace` replaces outliers as in the training samples: minimise over a, the flags F,
and x with x = d outside of F,

    gamma h(V a) + mu/2 |x - V a|^2 + mu/2 sum_{j in F} limit_j^2.

First the convex problem of :class:`SplitSpace`, with the weights of robust principal component
analysis, gives the flags; then a is the minimiser for these flags. Neither step increases the
objective. More rounds do not improve predictions (see the developers' page of measurements of
G-RMR).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..._runtime.progress import Line, reached
from ..._runtime.warn import warn
from ..._typing import Array, Mask
from ...data.units import SMALLEST
from ...linalg.threads import single_threaded
from ...linalg.thresholding import soft
from .decompose import Decomposition
from .default_weights import default_ratio
from .problem import GRMRProblem
from .row_prox import priced


class NewSamples:
    """New samples, which can be cleaned with several spaces one after another.

    `X` (n, m) holds the clean signals of samples D (n, m); NaN in D is a missing entry, whose
    outlier costs nothing. `low_rank` (n, m), `Y` (n, m) and `rho` (n,) are the last iterates of the
    alternating directions, from which cleaning with the next space starts.
    """

    def __init__(self, D: Array) -> None:
        missing = np.isnan(D)
        self.missing = missing if missing.any() else None
        self.D = D if self.missing is None else np.where(missing, 0.0, D)
        self.X = self.low_rank = np.zeros_like(D)
        self.Y, self.rho = np.zeros_like(D), np.zeros(len(D))

    @property
    def filled(self) -> Array:
        """The samples (n, m), with only their missing entries replaced by the clean signals."""
        return self.D if self.missing is None else np.where(self.missing, self.X, self.D)

    @single_threaded(lambda new: new.D.size)
    def clean(self, space: LearnedSpace) -> Array:
        """Clean signals (n, m) for a space; a warning says how many did not reach the tolerance."""
        with Line("samples"):
            gaps = space.clean(self)
        count = int(np.sum(gaps > space.tol))
        if count:
            warn(
                f"Cleaning {count} of {len(gaps)} samples ended after {space.max_iter} iterations "
                f"with a relative duality gap of up to {gaps.max():.1e}, above {space.tol:.1e}; "
                f"their clean signals are approximate.",
                ConvergenceWarning,
            )
        return self.X


@dataclass(frozen=True)
class SplitSpace:
    """Data of a fit from which outliers of new samples can be split off.

    Examples
    --------
    >>> import numpy as np
    >>> space = SplitSpace(np.full((1, 4), 0.5), np.array([100.0]), gamma=1.0, lam=0.5)
    >>> clean(np.array([[1.0, 1.0, 9.0, 1.0]]), space).round(3)
    array([[1., 1., 1., 1.]])
    """

    Vt: Array  # (r, m): right singular vectors of the stacked clean signals
    d: Array  # (r,): their positive singular values
    # Weights of the nuclear norm and of the outliers.
    gamma: float
    lam: float
    # Tolerated relative duality gap of each sample, and largest number of iterations.
    tol: ClassVar[float] = 1e-5
    max_iter: ClassVar[int] = 10_000

    def objective(self, D: Array, X: Array, missing: Mask | None = None) -> Array:
        """Objective of each row, of shape (n,)."""
        A = X @ self.Vt.T
        off = np.linalg.norm(X - A @ self.Vt, axis=1)
        h = 0.5 * (A**2 @ (1.0 / self.d)) + off
        outliers = np.sum(np.abs(D - X) * priced(self.lam, missing), axis=1)
        return outliers + self.gamma * h

    def bound(self, D: Array, Z: Array) -> Array:
        """Lower bound (n,) from the best multiples of multipliers Z in the box ``|Z| <= lam``."""
        A = Z @ self.Vt.T
        off = np.linalg.norm(Z - A @ self.Vt, axis=1)
        linear, curved = np.einsum("ij,ij->i", Z, D), (A**2 @ self.d) / self.gamma
        with np.errstate(divide="ignore", invalid="ignore"):
            free = np.where(curved > 0.0, linear / curved, np.inf)
            theta = np.minimum(np.minimum(1.0, self.gamma / off), free)
        theta = np.maximum(theta, 0.0)
        return theta * linear - 0.5 * theta**2 * curved

    def prox(self, V: Array, rho: Array) -> Array:
        """Minimisers (n, m) of ``gamma h(x) + rho |x - v|^2 / 2`` for each row v of V."""
        A = V @ self.Vt.T
        shrink = 1.0 / (1.0 + self.gamma / (rho[:, None] * self.d))
        X = (A * shrink) @ self.Vt
        # Norms suffice to check whether any row leaves the row space, which is rare.
        beyond = np.einsum("ij,ij->i", V, V) - np.einsum("ij,ij->i", A, A)
        if np.any(rho**2 * beyond > self.gamma**2):
            off = V - A @ self.Vt
            size = np.linalg.norm(off, axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                keep = np.where(size > 0.0, np.maximum(1.0 - self.gamma / (rho * size), 0.0), 0.0)
            X += keep[:, None] * off
        return X

    def clean(
        self, new: NewSamples, tol: float | None = None, max_iter: int | None = None
    ) -> Array:
        """Clean all samples by alternating directions on ``x = z``; return their gaps (n,).

        A row is finished as soon as it is certified. For a missing entry, the bounds of its
        multiplier are zero.
        """
        tol, max_iter = tol or self.tol, max_iter or self.max_iter
        gaps = np.zeros(len(new.D))
        todo = np.flatnonzero(new.D.any(axis=1))
        # Number of iterations between certificates and changes of the penalties, and before the
        # first ones: if another space was used before, the certificate may hold at once.
        every, first = 20, 1
        if not new.rho.any():
            first = every
            known = new.D.shape[1] if new.missing is None else (~new.missing[todo]).sum(axis=1)
            # Without this lower limit, the penalty of samples that are nearly zero would overflow.
            mean = np.maximum(np.abs(new.D[todo]).sum(axis=1) / known, SMALLEST)
            new.rho[todo] = self.lam * np.sqrt(new.D.shape[1]) / (4.0 * mean)
            new.low_rank[todo] = self.prox(new.D[todo], new.rho[todo])
        D, X, Y, rho = new.D[todo], new.low_rank[todo], new.Y[todo], new.rho[todo]
        missing = None if new.missing is None else new.missing[todo]
        for iteration in range(1, max_iter + 1):
            if todo.size == 0:
                break
            r = rho[:, None]
            G = X - Y / r - D
            U = soft(G, priced(self.lam / r, missing))
            Z = r * (G - U)  # minus the multiplier after the first step, which is in its box
            V = 1.6 * (D + U) - 0.6 * X + Y / r  # over-relaxed
            before, X = X, self.prox(V, rho)
            Y = r * (V - X)
            if (iteration - first) % every == 0 or iteration == max_iter:
                primal = self.objective(D, X, missing)
                gap = np.clip((primal - self.bound(D, -Z)) / primal, 0.0, 1.0)
                new.low_rank[todo], new.Y[todo], new.rho[todo], gaps[todo] = X, Y, rho, gap
                rho = rho * _balance(X - D - U, X, r * (X - before), Y, iteration / every)
                left = gap > tol
                todo, D, X, Y, rho = todo[left], D[left], X[left], Y[left], rho[left]
                missing = None if missing is None else missing[left]
                reached("cleaning", 1.0 - len(todo) / len(gaps))
        new.X = new.low_rank
        return gaps


def _balance(primal: Array, X: Array, dual: Array, Y: Array, checks: float) -> Array:
    """Factors (n,) by which the penalties of the rows change; closer to 1 with every check."""
    primal_size, size, dual_size, force = (np.linalg.norm(A, axis=1) for A in (primal, X, dual, Y))
    behind, ahead = primal_size * force, dual_size * size
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = np.sqrt(behind / ahead)
    factor = np.where((factor > 2.0) | (factor < 0.5), np.clip(factor, 0.1, 10.0), 1.0)
    return factor ** (0.9**checks)


@dataclass(frozen=True)
class ReplaceSpace:
    """Data of a fit from which outliers of new samples can be replaced; other entries are kept."""

    Vt: Array  # (r, m): right singular vectors of the low-rank part
    d: Array  # (r,): positive singular values of the low-rank part
    # Weights of the nuclear norm and of the detail.
    gamma: float
    mu: float
    limit: Array  # (m,): distance from L above which an entry is an outlier, per cell
    # Weight of the nuclear norm in the convex problem, relative to that of the outliers.
    ratio: float
    tol: ClassVar[float] = 1e-4
    max_iter: ClassVar[int] = SplitSpace.max_iter

    def clean(self, new: NewSamples) -> Array:
        """Replace the outliers of all samples; return gaps (n,), which are 0 for given flags."""
        SplitSpace(self.Vt, self.d, self.ratio, 1.0).clean(new, tol=self.tol)
        flags = np.abs(new.D - new.low_rank) > self._limits(new)
        if new.missing is not None:
            flags |= new.missing
        new.X = np.where(flags, self.low_rank_rows(new.D, flags), new.D)
        return np.zeros(len(new.D))

    def _limits(self, new: NewSamples) -> Array:
        """Limits (n, m), enlarged if more than half of a sample's entries would be outliers."""
        far = np.abs(new.D - new.low_rank) / self.limit
        if new.missing is not None:
            far[new.missing] = np.nan
            far[new.missing.all(axis=1)] = 0.0
        return np.maximum(np.nanmedian(far, axis=1), 1.0)[:, None] * self.limit

    def low_rank_rows(self, D: Array, flags: Mask) -> Array:
        """Low-rank parts V a (n, m) of rows with given flags, by one ridge regression per row."""
        A = np.where(flags, 0.0, D) @ self.Vt.T
        # Uses V'V = 1. Without any ridge, rounding errors would determine flagged directions.
        whole = np.diag(1.0 + np.maximum(self.gamma / (self.mu * self.d), 1e-12))
        for i in np.flatnonzero(A.any(axis=1)):
            gone = self.Vt[:, flags[i]]
            A[i] = np.linalg.solve(whole - gone @ gone.T, A[i])
        return A @ self.Vt


LearnedSpace = SplitSpace | ReplaceSpace
"""Data of a fit from which new samples can be cleaned."""


def learned_space(problem: GRMRProblem, split: Decomposition) -> LearnedSpace:
    """The space of a fit with which new samples can be cleaned."""
    L = split.factors
    if problem.outliers == "split":
        return SplitSpace(L.Vt, L.d, problem.gamma, problem.lam)
    ratio = default_ratio("split", float(problem.samples.weights.sum()), L.Vt.shape[1])
    return ReplaceSpace(L.Vt, L.d, problem.gamma, problem.detail, problem.limits, ratio)


def space_from(arrays: dict[str, Any]) -> LearnedSpace:
    """Learned space from a dict of its fields, as `vars` returns them."""
    return ReplaceSpace(**arrays) if "limit" in arrays else SplitSpace(**arrays)


def clean(D: Array, space: LearnedSpace) -> Array:
    """Clean signals (n, m) of new samples D (n, m), which are NaN where entries are missing."""
    X = np.empty_like(D)
    rows = max(1, 2**20 // max(D.shape[1], 1))  # number of rows at a time, to save memory
    for i in range(0, len(D), rows):
        X[i : i + rows] = NewSamples(D[i : i + rows]).clean(space)
    return X
