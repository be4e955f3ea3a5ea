"""Newton steps with the box problem solved exactly: RMR from the solution of a close problem.

The equations are those of the interior point method without its barriers
(:mod:`..interior.interior_point`): with ``Z = A'beta - linear``, ridge rho and a scaling
``sigma >= rho``

    SVT_tau(Z + (sigma - rho) W) = sigma W,
    beta_i on the side of the tube that y - A W and gamma say.

The first is linearised, the second is kept as it is: each step solves a quadratic problem in the
box (:mod:`.box_qp`), which is cheap once its matrix ``K = Phi Phi'`` is computed. From the solution
of a neighbouring problem few samples change sides, the rank is nearly right, and one or two
matrices suffice. If the steps do not converge, a fit from scratch (:mod:`..interior.attempts`)
takes over.

sigma decides how far the linearisation holds. With ``Lambda = Z - W`` the argument of the
thresholding is ``Lambda + sigma W``, and the changes of both should be of the same size. So
sigma is the ratio of their changes between the last two solutions, and from the second
linearisation on the ratio of their changes since the last solution. If the truth is nearly
recovered, all but a few singular values of W are tiny, and sigma is many times ``tau / d_1``.

The error of the dual bound is quadratic in the error of beta. A matrix is reused as long as a few
more steps will make the bound accurate enough, since a new matrix costs about four steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...design import Design
from ...linalg.factors import Factors, singular_values, truncated
from ...linalg.threads import single_threaded
from ...linalg.thresholding import Coordinates, SmoothedThresholding
from ...problem import RMRProblem
from ...thresholds import KERNEL_NUMBERS, SMALL_SYSTEM
from ..certificate import SolverResult, Tracker
from ..dual_points import best_on_ray
from ..warm_start import Start, completed, position_of, snapped
from .box_qp import BoxQuadratic, sides
from .kernels import DenseKernel, FactoredKernel, Kernel

# K is computed in double precision if the typical weight of a coordinate (of those below 1) is
# smaller than this: the rounding errors of heavy ones would swamp the light ones.
TOO_LIGHT = 3e-5
# Weight of W beside Z, as a multiple of what balances their changes.
WEIGHT = 0.5
# A matrix is used again if the ratio of steps is at most this, and they would be short enough soon,
# up to a largest number of steps with it.
RATIO, MOST_STEPS = 0.5, 8


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


@dataclass(frozen=True)
class Pace:
    """Lengths of the steps with one matrix.

    Examples
    --------
    >>> pace = Pace().after(0.01).after(0.001)
    >>> pace.rate, pace.promises(1e-6), pace.allows(0.0009)
    (0.1, True, False)
    """

    length: float = np.inf  # of the last step, relative to beta
    rate: float = np.inf  # expected ratio of the length of the next step to it
    used: int = 0  # number of steps with this matrix

    def promises(self, tol: float) -> bool:
        """Whether a bound, off by the square of a step, would be accurate four steps later."""
        return self.rate <= RATIO and (self.length * self.rate**5) ** 2 <= tol

    def accurate(self, tol: float) -> bool:
        """Whether the bound is expected to be, so that it is worth its time."""
        return (self.length * self.rate) ** 2 <= tol

    def allows(self, length: float) -> bool:
        """Whether the matrix still holds for a step of this length."""
        return self.used == 0 or length <= RATIO * self.length

    def after(self, length: float) -> Pace:
        """Pace after a step; the second is expected to be three times the square of the first."""
        rate = min(1.0, 3.0 * length)
        if self.used > 0:
            rate = length / self.length if self.length > 0.0 else 0.0
        return Pace(length, rate, self.used + 1)


class ActiveSetNewton:
    """One run on RMR with a ridge, from the solution of a neighbouring problem.

    Points are offered to the tracker.
    """

    def __init__(self, problem: RMRProblem, tracker: Tracker, warm_start: Start) -> None:
        self.problem, self.tracker, self.warm_start = problem, tracker, warm_start
        self.design, self.y, self.loss = problem.design, problem.y, problem.loss
        self.tau, self.ridge = problem.penalty.tau, problem.penalty.ridge
        self.position = position_of(problem)

    def start(self) -> Point:
        """The last solution, with the multiple of its beta that has the best bound."""
        last = self.warm_start.scaled(self.position)
        beta = snapped(np.clip(last.beta, self.loss.lower, self.loss.upper), self.loss)
        Z = self.problem.dual_image(beta)
        _, t = best_on_ray(self.problem, beta, singular_values(Z))
        # Sides by the multipliers on an edge, else by the residuals.
        r = self.y - self.design.forward(last.W) - self.problem.unpenalised.times(last.gamma)
        side = sides(beta, self.loss)
        side = np.where(np.abs(side) == 1.0, side, sides(self.loss.gradient(r), self.loss))
        sigma = self.first_scaling(last.W)
        return self.point(last.W, last.gamma, t * beta, t * Z, side, sigma)

    def first_scaling(self, W: Array) -> float:
        """Balance of the last two solutions, or else of tau with W itself."""
        last, before = self.warm_start, self.warm_start.before
        sigma = None if before is None else self.balance(last.W, last.Lambda, before)
        if sigma is not None:
            return sigma
        d = singular_values(W)
        d = d[d > 1e-4 * d[0]]  # the others say nothing about the typical size
        if len(d) == 0:
            return self.ridge
        return max(self.ridge, WEIGHT * self.tau / float(np.median(d)))

    def balance(self, W: Array, Lambda: Array, since: Start) -> float | None:
        """Weight of W beside Z that balances how the two changed; None if W did not."""
        far = float(np.linalg.norm(W - since.W))
        if far == 0.0:
            return None
        moved = float(np.linalg.norm(Lambda - since.Lambda))
        return max(self.ridge, WEIGHT * moved / far)

    def rescaled(self, at: Point) -> Point:
        """The same point with the balance of what has changed since the last solution."""
        sigma = self.balance(at.W, at.Z - self.ridge * at.W, self.warm_start)
        if sigma is None:
            return at
        return self.point(at.W, at.gamma, at.beta, at.Z, at.side, sigma)

    def point(
        self, W: Array, gamma: Array, beta: Array, Z: Array, side: Array, sigma: float
    ) -> Point:
        """A point with its thresholding."""
        penalty = self.problem.penalty
        M = Z + (sigma - self.ridge) * W
        threshold = SmoothedThresholding(M, lambda d, m: penalty.threshold(d, sigma, m), 0.0, 0.0)
        return Point(W, gamma, beta, Z, side, sigma, threshold)

    def offer(self, at: Point) -> None:
        """Offer a point."""
        self.tracker.offer_dual(at.beta, at.Z)
        self.tracker.offer_primal(at.low_rank)

    def iterate(self) -> Iterator[Point]:
        """Steps until the tracker is satisfied or one of them does not pivot.

        Yields the point at every new linearisation and at the end.
        """
        at = self.start()
        self.offer(at)  # on a flat path it may be a solution already
        linear, pace, double = None, Pace(), False
        lengths: list[float] = []  # of the first step with each matrix
        while not self.tracker.converged:
            spent = pace.used >= MOST_STEPS or not pace.promises(self.tracker.tol)
            if linear is None or spent:
                yield at
                if len(lengths) > 3 and lengths[-1] > 0.8 * lengths[-3]:  # no progress
                    break
                at = at if linear is None and pace.used == 0 else self.rescaled(at)
                if not affordable(self.problem, at):
                    break
                linear = Linearisation(self.problem, at, double)
                double = linear.double
                pace = Pace(pace.length)
            fresh = pace.used == 0
            new = self.step(at, linear, allow_afar=fresh)
            length = np.inf if new is None else distance(new.beta, at.beta)
            if not pace.allows(length):
                linear, pace = None, replace(pace, length=length)  # and the step is not taken
                continue
            if new is None:
                break
            lengths += [length] if fresh else []
            at, pace = new, pace.after(length)
            if pace.accurate(self.tracker.tol):
                self.offer(at)
        if not self.tracker.converged:
            self.offer(at)
        yield at

    def step(self, at: Point, linear: Linearisation, allow_afar: bool) -> Point | None:
        """Newton step with a linearisation; None if its quadratic problem is not solved.

        With `allow_afar` it is solved even where pivoting does not end, which takes long.
        """
        drift = linear.drift(at)
        target = self.y - self.design.forward(at.W + drift)
        target += linear.quadratic.without_curvature.times(at.beta)
        solution = linear.quadratic.pivot(target, at.side)
        if solution is None and allow_afar:
            residual = self.y - self.design.forward(at.W)
            residual -= self.problem.unpenalised.times(at.gamma)
            solution = linear.quadratic.solve_from_afar(target, residual, at.gamma)
        if solution is None:
            return None
        dZ = self.design.adjoint(solution.beta - at.beta)
        W = at.W + drift + linear.follow(dZ)
        return self.point(W, solution.gamma, solution.beta, at.Z + dZ, solution.side, at.sigma)

    def remember(self, at: Point) -> Start:
        """A point for the next problem."""
        Lambda = at.Z - self.ridge * at.W
        solution = Start(at.W, at.gamma, at.beta, self.position, Lambda)
        return solution.after(self.warm_start)


def distance(new: Array, old: Array) -> float:
    """Length of a step relative to where it leads."""
    return float(np.linalg.norm(new - old) / (np.linalg.norm(new) or 1.0))


@single_threaded(lambda problem: problem.design.size)
def solve_active_set(
    problem: RMRProblem,
    *,
    start: Start,
    tol: float = 1e-6,
    max_iter: int = 1000,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem from the solution of a neighbouring one, if that is easy.

    The start solves a problem with the same samples, for another tau or C close by. The other
    arguments are those of :func:`matreg.solvers.choose.solve_rmr`; `max_iter` counts
    linearisations, which are given up after some anyway. The result has what the next problem can
    use.
    """
    most = min(max_iter, 14)  # matrices, which are what takes the time
    tracker = Tracker(problem, tol, verbose, "active set")
    run, n_iter = ActiveSetNewton(problem, tracker, completed(problem, start)), 0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for point in run.iterate():
            n_iter, last = len(tracker.history.rows), point
            tracker.record(n_iter)
            if n_iter >= most:
                break
    return tracker.result(n_iter, run.remember(last) if tracker.converged else None)
