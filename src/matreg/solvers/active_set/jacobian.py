"""The Jacobian of the thresholding at a point, and the quadratic problem of a Newton step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...design import Design
from ...linalg.factors import Factors, truncated
from ...linalg.thresholding import Coordinates, SmoothedThresholding
from ...problem import RMRProblem
from .box_qp import BoxQuadratic
from .kernels import DenseKernel, FactoredKernel, Kernel

# Ridge on K, relative to its diagonal, as small as its rounding allows. It only slows beta down.
RIDGE_SINGLE, RIDGE_DOUBLE = 1e-7, 1e-14
# Coordinates heavier than the typical weight (of those below 1) divided by `LIGHT` are computed
# in double precision; otherwise their rounding errors would swamp the light ones. All are
# computed in double precision if the typical weight is below `TOO_LIGHT`.
LIGHT, TOO_LIGHT = 1e-3, 1e-6
# Use double precision if the effective rank of K, trace(K)^2 / ||K||_F^2, is below this fraction
# of n, as for samples that are nearly of low rank.
CONCENTRATED = 0.1
# Numbers in K, or in Phi where that has fewer, up to which a linearisation is worth its memory:
# 64 MB.
MOST_NUMBERS = 2**23


@dataclass(frozen=True)
class Point:
    """Iterate, with the side of each sample and the thresholding of ``Z + (sigma - 1) W``."""

    W: Array
    gamma: Array
    beta: Array
    Z: Array
    side: Array
    sigma: float
    threshold: SmoothedThresholding

    @property
    def thresholded(self) -> Array:
        """What ``sigma W`` tends to."""
        return self.threshold.compose(self.threshold.g)

    @property
    def low_rank(self) -> Factors:
        """W without the singular values that the thresholding says are zero."""
        return truncated(self.W, self.threshold.r)


def gram(*parts: NDArray[Any]) -> Array:
    """Sum of ``Phi Phi'`` over the parts of Phi, each in its own precision, with their ridges."""
    ridge = {np.float32: RIDGE_SINGLE, np.float64: RIDGE_DOUBLE}
    products = [Phi @ Phi.T for Phi in parts]
    ridges = [ridge[P.dtype.type] * float(np.trace(P)) / len(P) for P in products]
    K = products[0].astype(np.float64, copy=False)
    for product in products[1:]:
        K += product
    np.einsum("ii->i", K)[:] += sum(ridges)
    return K


def split(Phi: NDArray[np.float32], heavy: NDArray[np.bool_]) -> list[NDArray[Any]]:
    """Coordinates in two parts, the heavy ones in double precision."""
    return [Phi[:, heavy].astype(np.float64), Phi[:, ~heavy]] if heavy.any() else [Phi]


class Linearisation:
    """The thresholding around a point, and the quadratic problem of a step.

    ``SVT(M + dM) - sigma (W + dW)`` with ``dM = dZ + (sigma - 1) dW`` vanishes to first order for
    ``dW = psi(J)[SVT(M) - sigma W] + phi(J)[dZ]``, where ``psi(O) = 1 / (O + sigma (1 - O))`` and
    ``phi(O) = O psi(O)``.
    """

    def __init__(self, problem: RMRProblem, at: Point) -> None:
        self.design, self.loss, self.ridge = problem.design, problem.loss, problem.penalty.ridge
        self.sigma, self.threshold = at.sigma, at.threshold
        K = self.kernel(at.threshold.coordinates(self.phi), problem.design)
        self.quadratic = BoxQuadratic(K, problem.loss, problem.unpenalised, problem.t)

    def kernel(self, coordinates: Coordinates, design: Design) -> Kernel:
        """``K = Phi Phi'``, in single precision as far as that is enough."""
        n, typical = design.n, self.typical_weight()
        if coordinates.size < n:
            Phi = coordinates.of_samples(design)
            ridge = RIDGE_DOUBLE * float(np.vdot(Phi, Phi)) / n
            return FactoredKernel(Phi, np.full(n, ridge))
        if typical >= TOO_LIGHT:
            single = coordinates.of_samples(design, np.float32)
            K = gram(*split(single, coordinates.weights > typical / LIGHT))
            if float(np.trace(K)) ** 2 >= CONCENTRATED * n * float(np.vdot(K, K)):
                return DenseKernel(K)
        return DenseKernel(gram(coordinates.of_samples(design)))

    def typical_weight(self) -> float:
        """Median of the weights of the coordinates that turn the singular vectors of W."""
        at = self.threshold
        turning = self.phi(np.stack([at.Os[: at.r, at.r :], at.Oa[: at.r, at.r :]]))
        return float(np.median(turning)) if turning.size else 1.0

    def psi(self, O: Array) -> Array:
        """Slopes by which W makes up for its own error."""
        return 1.0 / (self.ridge * O + self.sigma * (1.0 - O))

    def phi(self, O: Array) -> Array:
        """Slopes by which W follows Z."""
        return O * self.psi(O)

    def drift(self, at: Point) -> Array:
        """How W changes if beta does not."""
        return self.threshold.apply(at.thresholded - self.sigma * at.W, self.psi)

    def follow(self, dZ: Array) -> Array:
        """How W follows Z."""
        return self.threshold.apply(dZ, self.phi)


def affordable(problem: RMRProblem, at: Point) -> bool:
    """Whether the matrix of a linearisation is small enough."""
    n, r = problem.design.n, at.threshold.r
    d = r * (problem.design.p + problem.design.q - r)
    return n * min(n, d) <= MOST_NUMBERS
