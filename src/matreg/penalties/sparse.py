"""The penalty of coefficients that are sparse and of low rank at the same time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np

from .._typing import Array
from ..linalg.factors import Factors, spectral_norm, svd
from ..linalg.thresholding import soft
from .spectral import SpectralElasticNet


@dataclass(frozen=True)
class SparseLowRank:
    """``ridge/2 ||W||_F^2 + tau (||W||_* + sum_jk l1_jk |W_jk|)``.

    Its conjugate at Z is the smallest ``||Z - Lambda - M||_F^2 / (2 ridge)`` over Lambda of
    spectral norm at most tau and M with ``|M| <= tau l1``: any such pair gives an upper bound.

    Parameters
    ----------
    tau : float
        Weight of the penalty, except for the ridge.
    l1 : float or ndarray of shape (p, q)
        Weights of the absolute entries relative to the nuclear norm, at least 0; entries of weight
        0 have no l1 penalty.
    ridge : float, default=0.0
        Weight of half the squared Frobenius norm.
    hint : tuple of two ndarrays of shape (p, q), default=None
        A pair (Z, M) that a solver has found: for a multiple of Z, the conjugate uses the same
        multiple of M. Without a hint, alternating projections find an M.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.linalg.factors import svd
    >>> penalty = SparseLowRank(2.0, l1=0.5)
    >>> penalty.value_of(svd(np.diag([3.0, -1.0])))
    12.0
    """

    tau: float
    l1: float | Array
    ridge: float = 0.0
    hint: tuple[Array, Array] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        l1 = np.asarray(self.l1, dtype=np.float64)
        if l1.ndim not in (0, 2) or not (np.isfinite(l1).all() and l1.min(initial=0.0) >= 0.0):
            raise ValueError(
                "l1 must be a number or a matrix of numbers, finite and at least 0; got "
                f"{self.l1!r}."
            )

    @property
    def weights(self) -> Array:
        """Weights of the absolute entries, of shape () or (p, q)."""
        return np.asarray(self.tau * np.asarray(self.l1, dtype=np.float64))

    def at(self, tau: float) -> Self:
        """The same penalty with another tau."""
        return replace(self, tau=tau)

    @property
    def spectral(self) -> SpectralElasticNet:
        """The penalty without the absolute entries."""
        return SpectralElasticNet(self.tau, self.ridge)

    def check_shape(self, p: int, q: int) -> None:
        """Raise an error if `l1` is a matrix of another shape than the samples."""
        if np.shape(self.l1) not in ((), (p, q)):
            raise ValueError(
                f"l1 must be a number or a matrix of the samples' shape ({p}, {q}); got one of "
                f"shape {np.shape(self.l1)}."
            )

    def value_of(self, W: Factors) -> float:
        """Penalty of a matrix."""
        spectral = self.tau * float(W.d.sum()) + 0.5 * self.ridge * float(W.d @ W.d)
        return spectral + float(np.sum(self.weights * np.abs(W.matrix)))

    def soft_entries(self, Z: Array, step: float) -> Array:
        """Minimiser of ``step sum(weights |W|) + ||W - Z||_F^2 / 2``."""
        return soft(Z, step * self.weights)

    def soft_values(self, Z: Array, step: float) -> Factors:
        """Minimiser of ``step tau ||W||_* + ||W - Z||_F^2 / 2``."""
        f = svd(Z)
        return Factors(f.U, np.maximum(f.d - step * self.tau, 0.0), f.Vt)

    def in_box(self, Z: Array, step: float = 1.0) -> Array:
        """The nearest M with ``|M| <= step weights``."""
        return np.clip(Z, -step * self.weights, step * self.weights)

    def split(self, Z: Array, M: Array, rounds: int = 3) -> Array:
        """An M in the box that brings ``Z - M`` nearer to the spectral ball.

        It is found by alternating projections that start from the given M.
        """
        for _ in range(rounds):
            over = self.soft_values(Z - M, 1.0).matrix
            if not over.any():
                break
            M = self.in_box(Z - (Z - M - over))
        return self.in_box(M)

    def bounds(self, Z: Array, M: Array) -> tuple[float, float]:
        """Shrink factor, and upper bound of the conjugate, for Z = A'beta and an M in the box.

        The factor is the largest t of at most 1 with ``t (Z - M)`` in the spectral ball. Without a
        ridge the bound is 0 if t is 1 and otherwise infinite.
        """
        norm = spectral_norm(Z - M)
        factor = 1.0 if norm <= self.tau else self.tau / norm
        if self.ridge == 0.0:
            return factor, 0.0 if factor == 1.0 else np.inf
        over = self.soft_values(Z - M, 1.0).d
        return factor, float(over @ over) / (2.0 * self.ridge)

    def box_point(self, Z: Array) -> Array:
        """An M in the box for the bounds at Z, from the hint or by alternating projections."""
        if self.hint is None:
            return self.split(Z, np.zeros_like(Z), rounds=1000)
        known, M = self.hint
        size = float(np.vdot(known, known))
        return self.in_box((float(np.vdot(Z, known)) / size if size > 0.0 else 0.0) * M)

    def conjugate_of(self, Z: Array) -> float:
        """Upper bound of the conjugate at a Z where it is finite; 0 without a ridge."""
        return 0.0 if self.ridge == 0.0 else self.bounds(Z, self.box_point(Z))[1]

    def shrink_factor_of(self, Z: Array) -> float:
        """Factor of at most 1 that brings Z into the domain of the conjugate."""
        return 1.0 if self.ridge > 0.0 else self.bounds(Z, self.box_point(Z))[0]

    def prox(self, Z: Array, step: float = 1.0) -> Factors:
        """Minimiser of ``step * penalty(W) + ||W - Z||_F^2 / 2``, by Dykstra's algorithm."""
        shrunk = 1.0 / (1.0 + step * self.ridge)
        W, P, Q = Z * shrunk, np.zeros_like(Z), np.zeros_like(Z)
        f = svd(W)
        for _ in range(1000):
            E = self.soft_entries(W + P, step * shrunk)
            P += W - E
            f = self.soft_values(E + Q, step * shrunk)
            new = f.matrix
            Q += E - new
            if np.linalg.norm(new - W) <= 1e-15 * np.linalg.norm(Z):
                break
            W = new
        return f
