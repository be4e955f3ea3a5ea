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

# K is computed in double precision if the typical weight of a coordinate (among weights below 1) is
# smaller than this: rounding errors of heavy coordinates would swamp the light ones.
TOO_LIGHT = 3e-5


@dataclass(frozen=True)
class Point:
    """Iterate, with the side of each sample and the thresholding of ``Z + (sigma - rho) W``."""

    W: Array
    gamma: Array
    beta: Array
    Z: Array
    side: Array
    sigma: float
    threshold: SmoothedThresholding

    @property
    def thresholded(self) -> Array:
        """The thresholded matrix (p, q), which equals ``sigma W`` at a solution."""
        return self.threshold.compose(self.threshold.g)

    @property
    def low_rank(self) -> Factors:
        """W, truncated to the rank of the thresholded matrix."""
        return truncated(self.W, self.threshold.r)


def gram(Phi: NDArray[Any]) -> Array:
    """``Phi Phi'`` plus a ridge of the size of its rounding error, which only shortens steps."""
    K = (Phi @ Phi.T).astype(np.float64, copy=False)
    ridge = 1e-14 if Phi.dtype == np.float64 else 1e-7
    np.einsum("ii->i", K)[:] += ridge * float(np.trace(K)) / len(K)
    return K


class Linearisation:
    """The thresholding around a point, and the quadratic problem of a step.

    ``SVT(M + dM) - sigma (W + dW)`` with ``dM = dZ + (sigma - rho) dW`` vanishes to first order for
    ``dW = psi(J)[SVT(M) - sigma W] + phi(J)[dZ]``, where ``psi(O) = 1 / (rho O + sigma (1 - O))``
    and ``phi(O) = O psi(O)``.
    """

    def __init__(self, problem: RMRProblem, at: Point, double: bool = False) -> None:
        self.design, self.loss, self.ridge = problem.design, problem.loss, problem.penalty.ridge
        self.sigma, self.threshold = at.sigma, at.threshold
        self.double = double  # whether single precision was not enough, now or before
        K = self.kernel(at.threshold.coordinates(self.phi), problem.design)
        self.quadratic = BoxQuadratic(K, problem.loss, problem.unpenalised, problem.linear_gamma)

    def kernel(self, coordinates: Coordinates, design: Design) -> Kernel:
        """``K = Phi Phi'``, computed in single precision if this is accurate enough."""
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
        """Median weight of the coordinates that rotate the singular vectors of W."""
        at = self.threshold
        turning = self.phi(np.stack([at.Os[: at.r, at.r :], at.Oa[: at.r, at.r :]]))
        return float(np.median(turning)) if turning.size else 1.0

    def psi(self, O: Array) -> Array:
        """Factors from an error of the thresholding to the correction of W, per eigenvalue O."""
        return 1.0 / (self.ridge * O + self.sigma * (1.0 - O))

    def phi(self, O: Array) -> Array:
        """Factors from a change of Z to the change of W, per eigenvalue O."""
        return O * self.psi(O)

    def drift(self, at: Point) -> Array:
        """Change of W (p, q) in the Newton step if beta does not change."""
        return self.threshold.apply(at.thresholded - self.sigma * at.W, self.psi)

    def follow(self, dZ: Array) -> Array:
        """Change of W (p, q) that a change dZ (p, q) causes."""
        return self.threshold.apply(dZ, self.phi)


def affordable(problem: RMRProblem, at: Point) -> bool:
    """Whether the matrix of a linearisation is small enough."""
    n, r = problem.design.n, at.threshold.r
    d = r * (problem.design.p + problem.design.q - r)
    return n * min(n, d) <= KERNEL_NUMBERS
