"""Newton steps with the box settled exactly: RMR from a neighbour's solution.

The equations are those of the interior point method without its barriers (:mod:`.interior`): with
``Z = A'beta`` and a scaling ``sigma >= 1``

    SVT_tau(Z + (sigma - 1) W) = sigma W,    beta_i on the side of the tube that y - A W - b says.

The first is linearised, the second is kept as it is: each step solves a quadratic problem in the
box (:mod:`.box`), which is cheap once its matrix ``K = Phi Phi'`` is there. From the solution of a
neighbour, and more so from a parabola through three of them, few samples change sides, the rank is
nearly right, and a few such matrices are enough. Where the steps do not settle,
:mod:`.augmented` is the surer way.

sigma decides how far the linearisation holds. With ``Lambda = Z - W`` the argument of the
thresholding is ``Lambda + sigma W``, and neither part should drown the other's changes: so sigma is
the ratio in which the two changed between the last problems. Where all but a few singular values of
W are tiny, as if the truth is nearly recovered, that is many times tau over the large ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..losses import EpsilonInsensitive
from ..penalties import Factors, singular_values
from .box import BoxQuadratic, Settled, sides
from .memory import Memory, solve_from
from .problem import Problem
from .rays import best_on_ray
from .result import SolverResult, Tracker
from .spectral import Coordinates, SmoothedThresholding
from .threads import calmly

Array = NDArray[np.float64]

# A linearisation is used again if the last step with it was this short, relative to beta, and at
# least halved the gap, and the gap would be closed in so many steps at this rate: a new one takes
# the time of about as many. But not more often than the last number says.
NEAR, GOOD, SOON, OFTEN = 0.1, 0.5, 4, 8
# Ridge on K, relative to its diagonal, as small as its rounding allows. It only slows beta down.
RIDGE = {np.float32: 1e-7, np.float64: 1e-14}
# Single precision is enough for K if the typical one of its coordinates below weight 1 has this
# weight: lighter ones, which some of the samples hang on, would drown in its rounding.
LIGHT = 1e-3
# Nor is it where the eigenvalues of K, as many as it takes of their mean square to make up their
# sum, are fewer than this fraction of the samples: as if the samples are nearly of low rank.
CONCENTRATED = 0.1
# Weight of W beside Z, as a multiple of what balances their changes.
WEIGHT = 0.4
# Singular values of W below this, relative to the largest one, do not count among the typical ones,
# which tau is balanced with as long as there is but one solution.
FAINT = 1e-4
# Linearisations that do not halve the gap after which to give up.
PATIENCE = 6
# Steps, relative to beta, that are that long and so many times longer than the last lead away.
FAR, LONGER = 0.3, 10.0
# Multipliers sum to zero if they do so to this accuracy, relative to their sizes.
BALANCED = 1e-12
# Linearisations, which are what takes the time, at most.
MOST_LINEARISATIONS = 14
# Up to this number of samples K is worth its N^2 numbers.
MOST_SAMPLES = 2000


@dataclass(frozen=True)
class Point:
    """Iterate, with the side of each sample and the thresholding of ``Z + (sigma - 1) W``."""

    W: Array
    b: float
    beta: Array
    Z: Array
    side: Array
    sigma: float
    threshold: SmoothedThresholding

    @property
    def low_rank(self) -> Factors:
        """The low-rank matrix that W tends to."""
        return self.threshold.factors(self.threshold.value(0.0) / self.sigma)


def gram(
    coordinates: Coordinates, X: Array, precision: type[np.floating[Any]]
) -> tuple[Array, NDArray[Any]]:
    """``K = Phi Phi'`` with a ridge, and Phi."""
    Phi = coordinates.of(X, precision)
    K = (Phi @ Phi.T).astype(np.float64, copy=False)
    np.einsum("ii->i", K)[:] += RIDGE[precision] * np.trace(K) / len(K)
    return K, Phi


class Linearisation:
    """The thresholding around a point, and the quadratic problem of a step.

    ``SVT(M + dM) - sigma (W + dW)`` with ``dM = dZ + (sigma - 1) dW`` vanishes to first order for
    ``dW = psi(J)[SVT(M) - sigma W] + phi(J)[dZ]``, where ``psi(O) = 1 / (O + sigma (1 - O))`` and
    ``phi(O) = O psi(O)``.
    """

    def __init__(self, problem: Problem, at: Point) -> None:
        assert isinstance(problem.loss, EpsilonInsensitive)
        self.sigma, self.threshold = at.sigma, at.threshold
        coordinates = at.threshold.coordinates(self.phi)
        n = problem.design.n
        single = coordinates.size >= n and self.typical_weight() >= LIGHT
        K, Phi = gram(coordinates, problem.design.X, np.float32 if single else np.float64)
        if single and float(np.trace(K)) ** 2 < CONCENTRATED * n * float(np.vdot(K, K)):
            K, Phi = gram(coordinates, problem.design.X, np.float64)
        loss = problem.loss
        few = Phi if coordinates.size < n else None
        self.quadratic = BoxQuadratic(K, loss.c, loss.epsilon, problem.fit_intercept, few)

    def typical_weight(self) -> float:
        """Median of the weights of the coordinates that turn the singular vectors of W."""
        at = self.threshold
        turning = self.phi(np.stack([at.Os[: at.r, at.r :], at.Oa[: at.r, at.r :]]))
        return float(np.median(turning)) if turning.size else 1.0

    def psi(self, O: Array) -> Array:
        """Slopes by which W makes up for its own error."""
        return 1.0 / (O + self.sigma * (1.0 - O))

    def phi(self, O: Array) -> Array:
        """Slopes by which W follows Z."""
        return O * self.psi(O)

    def drift(self, at: Point, low_rank: Array) -> Array:
        """How W changes if beta does not."""
        return self.threshold.apply(self.sigma * (low_rank - at.W), self.psi)

    def follow(self, dZ: Array) -> Array:
        """How W follows Z."""
        return self.threshold.apply(dZ, self.phi)


class Follower:
    """One run on a problem.

    Parameters
    ----------
    problem : Problem
        RMR, with an epsilon-insensitive loss.
    tracker : Tracker
        Where points are offered.
    memory : Memory
        Solution of a neighbouring problem.
    """

    def __init__(self, problem: Problem, tracker: Tracker, memory: Memory) -> None:
        assert isinstance(problem.loss, EpsilonInsensitive)
        self.problem, self.tracker, self.memory = problem, tracker, memory
        self.design, self.y = problem.design, problem.y
        self.c = problem.loss.c
        self.tau = problem.penalty.tau

    def start(self) -> Point:
        """The last solution or its extrapolation, whichever has the better bound on its ray."""
        side = sides(self.memory.beta, self.c)
        ahead = self.memory.extrapolated(self.tau, degree=2)
        points = []
        for memory in (self.memory,) if ahead is None else (self.memory, ahead):
            beta = np.clip(np.where(memory.beta * side > 0.0, memory.beta, 0.0), -self.c, self.c)
            Z = self.design.adjoint(beta)
            value, t = best_on_ray(self.problem, beta, singular_values(Z))
            points.append((value, memory, t * beta, t * Z))
        _, memory, beta, Z = max(points, key=lambda point: point[0])
        return self.point(memory.W, memory.b, beta, Z, side, self.scaling(memory.W))

    def scaling(self, W: Array) -> float:
        """Weight of W beside Z that balances their changes, or else tau with W itself."""
        if self.memory.before:
            last, before = self.memory, self.memory.before[0]
            far = float(np.linalg.norm(last.W - before.W))
            if far > 0.0:
                return max(1.0, WEIGHT * float(np.linalg.norm(last.Lambda - before.Lambda)) / far)
        d = singular_values(W)
        d = d[d > FAINT * d[0]]
        return max(1.0, WEIGHT * self.tau / float(np.median(d))) if len(d) else 1.0

    def point(self, W: Array, b: float, beta: Array, Z: Array, side: Array, sigma: float) -> Point:
        """A point with its thresholding."""
        M = Z + (sigma - 1.0) * W
        return Point(W, b, beta, Z, side, sigma, SmoothedThresholding(M, self.tau, m=0.0, cut=0.0))

    def offer(self, at: Point, residual: Array) -> float:
        """Offer the low-rank matrix and a multiple of beta; return their own relative gap."""
        d = singular_values(at.Z)
        value, t = best_on_ray(self.problem, at.beta, d)
        if value > self.tracker.dual:
            beta = t * at.beta
            excess = float(beta.sum()) if self.problem.fit_intercept else 0.0
            if abs(excess) <= BALANCED * float(np.abs(beta).sum()):
                value = self.tracker.offer_dual(beta, t * d)
            else:  # then the value on the ray was no bound
                value = self.tracker.offer_dual(self.problem.feasible(beta))
        primal = self.tracker.offer_primal(at.low_rank, residual)
        return (primal - max(value, 0.0)) / primal if primal > 0.0 else 0.0

    def iterate(self) -> Iterator[Memory]:
        """Steps until the tracker is satisfied or one of them does not settle.

        Yields the point at the start and at every new linearisation.
        """
        at = self.start()
        linear: Linearisation | None = None
        last, moved, used = np.inf, np.inf, 0
        best, since = np.inf, 0
        while True:
            low_rank = at.low_rank.matrix
            gap = self.offer(at, self.y - self.design.forward(low_rank))
            if self.tracker.converged:
                break
            rate = gap / last
            soon = rate <= GOOD and gap * rate**SOON <= self.tracker.tol
            if linear is None or moved > NEAR or not soon or used == OFTEN:
                yield self.remember(at)
                halved = self.tracker.gap <= 0.5 * best
                best, since = (self.tracker.gap, 0) if halved else (best, since + 1)
                if since == PATIENCE:
                    return
                linear, used = Linearisation(self.problem, at), 0
            new = self.step(at, linear, low_rank)
            if new is None:
                return
            before = moved
            moved = float(np.linalg.norm(new.beta - at.beta) / (np.linalg.norm(new.beta) or 1.0))
            if moved > max(FAR, LONGER * before):
                return
            at, last, used = new, gap, used + 1
        yield self.remember(at)

    def step(self, at: Point, linear: Linearisation, low_rank: Array) -> Point | None:
        """Newton step with a linearisation; None if its quadratic problem is not solved."""
        drift = linear.drift(at, low_rank)
        target = self.y - self.design.forward(at.W + drift) + linear.quadratic.K @ at.beta
        settled = self.settle(at, linear.quadratic, target)
        if settled is None:
            return None
        dZ = self.design.adjoint(settled.beta - at.beta)
        W = at.W + drift + linear.follow(dZ)
        return self.point(W, settled.b, settled.beta, at.Z + dZ, settled.side, at.sigma)

    def settle(self, at: Point, quadratic: BoxQuadratic, target: Array) -> Settled | None:
        """Solution of the quadratic problem, from the sides at hand or else from afar."""
        settled = quadratic.settle(target, at.side)
        if settled is not None:
            return settled
        return quadratic.approach(target, at.beta, at.b)

    def remember(self, at: Point) -> Memory:
        """The current point for the next problem."""
        solution = Memory(self.tau, at.W, at.Z - at.W, at.beta, at.b, self.memory.ratios)
        return solution.after(self.memory)


@calmly(lambda problem: problem.design.flat.size)
def solve_follow(
    problem: Problem,
    *,
    start: SolverResult,
    tol: float = 1e-6,
    max_iter: int = MOST_LINEARISATIONS,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem from the solution of a neighbouring one, if that is easy.

    Parameters
    ----------
    problem : Problem
        Epsilon-insensitive loss and spectral elastic net.
    start : SolverResult
        Solution of a problem with the same samples, for another tau close by.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=14
        Largest number of linearisations.
    verbose : int, default=0
        Whether to print a line a linearisation.

    Returns
    -------
    SolverResult
        The best certified point, converged or not; its state is for the next problem.
    """
    if problem.design.n > MOST_SAMPLES:
        return Tracker(problem, tol, verbose).result(0)
    return solve_from(Follower, problem, start, tol, max_iter, verbose)
