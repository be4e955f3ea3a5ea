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
from ...thresholds import KERNEL_NUMBERS, SMALL_SYSTEM
from .box_qp import BoxQuadratic
from .kernels import DenseKernel, FactoredKernel, Kernel

# K is computed in double precision if the typical weight of a coordinate (of those below 1) is
# smaller than this: the rounding errors of heavy ones would swamp the light ones.
TOO_LIGHT = 3e-5


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


def gram(Phi: NDArray[Any]) -> Array:
    """``Phi Phi'`` and a ridge as small as its rounding allows, which only slows beta down."""
    K = (Phi @ Phi.T).astype(np.float64, copy=False)
    ridge = 1e-14 if Phi.dtype == np.float64 else 1e-7
    np.einsum("ii->i", K)[:] += ridge * float(np.trace(K)) / len(K)
    return K


class Linearisation:
    """The thresholding around a point, and the quadratic problem of a step.

    ``SVT(M + dM) - sigma (W + dW)`` with ``dM = dZ + (sigma - 1) dW`` vanishes to first order for
    ``dW = psi(J)[SVT(M) - sigma W] + phi(J)[dZ]``, where ``psi(O) = 1 / (O + sigma (1 - O))`` and
    ``phi(O) = O psi(O)``.
    """

    def __init__(self, problem: RMRProblem, at: Point, double: bool = False) -> None:
        self.design, self.loss, self.ridge = problem.design, problem.loss, problem.penalty.ridge
        self.sigma, self.threshold = at.sigma, at.threshold
        self.double = double  # whether single precision was not enough, here or before
        K = self.kernel(at.threshold.coordinates(self.phi), problem.design)
        self.quadratic = BoxQuadratic(K, problem.loss, problem.unpenalised, problem.linear_gamma)

    def kernel(self, coordinates: Coordinates, design: Design) -> Kernel:
        """``K = Phi Phi'``, in single precision where that is enough."""
        n = design.n
        if coordinates.size < n:
            Phi = coordinates.of_samples(design)
            ridge = 1e-14 * float(np.vdot(Phi, Phi)) / n
            return FactoredKernel(Phi, np.full(n, ridge))
        small = n + coordinates.size <= SMALL_SYSTEM
        if not (small or self.double) and self.typical_weight() >= TOO_LIGHT:
            K = gram(coordinates.of_samples(design, np.float32))
            # Samples that are nearly of low rank have a small effective rank, trace^2 / ||K||_F^2.
            if float(np.trace(K)) ** 2 >= 0.1 * n * float(np.vdot(K, K)):
                return DenseKernel(K)
            self.double = True
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
    return n * min(n, d) <= KERNEL_NUMBERS
