"""Newton steps with the box problem solved exactly: RMR from a neighbour's solution.

The equations are those of the interior point method without its barriers
(:mod:`.interior_point`): with ``Z = A'beta - T``, ridge rho and a scaling ``sigma >= rho``

    SVT_tau(Z + (sigma - rho) W) = sigma W,    beta_i on the side of the tube that y - A W - b says.

The first is linearised, the second is kept as it is: each step solves a quadratic problem in the
box (:mod:`.box_qp`), which is cheap once its matrix ``K = Phi Phi'`` is there. From the solution of
a neighbour, or where the line through two of them leads, few samples change sides, the rank is
nearly right, and one or two such matrices are enough. Where the steps do not settle, a fit from
scratch (:mod:`.cold`) takes over.

sigma decides how far the linearisation holds. With ``Lambda = Z - W`` the argument of the
thresholding is ``Lambda + sigma W``, and neither part should drown the other's changes: so sigma is
the ratio in which the two changed between the last problems, and from the second linearisation on
since the last of them. Where all but a few singular values of W are tiny, as if the truth is nearly
recovered, that is many times tau over the large ones.

The bound that beta gives is off by the square of its error, the objective of W by the error itself
as soon as samples on the edge of the tube leave it. A step leaves none of them out, but W is of low
rank only up to the second order, and cut to its rank it does not fit them any more. So W is made to
fit by a step in the tangent space alone, cut again, and so on: each time what is cut off is smaller
by the angle between the two tangent spaces. The last digits of a certificate come from that.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._typing import Array
from ...design import Design
from ...linalg.factors import Factors, singular_values, truncated
from ...linalg.threads import single_threaded
from ...linalg.thresholding import Coordinates, SmoothedThresholding
from ...problem import RMRProblem
from ..certificate import SolverResult, Tracker
from .box_qp import BoxQuadratic, BoxSettings, sides
from .dual_ray import best_on_ray
from .neighbour import Neighbour, solve_from
from .reuse import ReusePolicy, ReuseSettings

# Up to this number of samples K is worth its N^2 numbers.
MOST_SAMPLES = 2000


@dataclass(frozen=True)
class ActiveSetSettings:
    """Numbers of the method.

    Attributes
    ----------
    ridge_single, ridge_double : float
        Ridge on K, relative to its diagonal, as small as its rounding allows. It only slows beta
        down.
    light, too_light : float
        Single precision is enough for those coordinates of K that are no heavier than the typical
        one below weight 1 divided by `light`: lighter ones, which some of the samples hang on,
        would drown in their rounding. And for none if the typical weight is below `too_light`.
    concentrated : float
        Nor is it where the eigenvalues of K, as many as it takes of their mean square to make up
        their sum, are fewer than this fraction of the samples: as if these are nearly of low rank.
    weight : float
        Weight of W beside Z, as a multiple of what balances their changes.
    faint : float
        Singular values of W below this, relative to the largest one, do not count among the
        typical ones, which tau is balanced with as long as there is but one solution.
    patience : int
        Linearisations after which to give up unless the bound changes half as much as ever before.
    worthwhile : float
        Fraction of the gap that another round of fitting W must leave at most to be worth a next.
    balanced : float
        Multipliers have the sum they should have if they do so to this accuracy, relative to their
        sizes.
    most_linearisations : int
        Linearisations, which are what takes the time, at most.
    box : BoxSettings
        Those of the quadratic problem in the box.
    reuse : ReuseSettings
        When a linearisation serves more than one step.
    """

    ridge_single: float = 1e-7
    ridge_double: float = 1e-14
    light: float = 1e-3
    too_light: float = 1e-6
    concentrated: float = 0.1
    weight: float = 0.5
    faint: float = 1e-4
    patience: int = 6
    worthwhile: float = 0.3
    balanced: float = 1e-12
    most_linearisations: int = 14
    box: BoxSettings = field(default_factory=BoxSettings)
    reuse: ReuseSettings = field(default_factory=ReuseSettings)


DEFAULT = ActiveSetSettings()


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
    def thresholded(self) -> Array:
        """What ``sigma W`` tends to."""
        return self.threshold.compose(self.threshold.g)

    @property
    def low_rank(self) -> Factors:
        """W without the singular values that the thresholding says are zero."""
        return truncated(self.W, self.threshold.r)


def gram(settings: ActiveSetSettings, *parts: NDArray[Any]) -> Array:
    """Sum of ``Phi Phi'`` over the parts of Phi, each in its own precision, with their ridges."""
    ridge = {np.float32: settings.ridge_single, np.float64: settings.ridge_double}
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

    def __init__(
        self, problem: RMRProblem, at: Point, settings: ActiveSetSettings = DEFAULT
    ) -> None:
        self.settings = settings
        self.design, self.loss, self.ridge = problem.design, problem.loss, problem.penalty.ridge
        self.sigma, self.threshold = at.sigma, at.threshold
        coordinates = at.threshold.coordinates(self.phi)
        K, Phi = self.gram(coordinates, problem.design)
        few = Phi if 2 * coordinates.size < len(K) else None  # from there on K takes less time
        self.quadratic = BoxQuadratic(K, problem.loss, problem.total, few, settings.box)

    def serves(self, problem: RMRProblem, at: Point) -> bool:
        """Whether it is of the same samples and of the rank of a point with its scaling."""
        same = self.design is problem.design and self.loss is problem.loss
        return same and self.threshold.r == at.threshold.r

    def gram(self, coordinates: Coordinates, design: Design) -> tuple[Array, NDArray[Any]]:
        """K, in single precision as far as that is enough, and Phi."""
        n, typical, settings = design.n, self.typical_weight(), self.settings
        if coordinates.size >= n and typical >= settings.too_light:
            single = coordinates.of_samples(design, np.float32)
            K = gram(settings, *split(single, coordinates.weights > typical / settings.light))
            if float(np.trace(K)) ** 2 >= settings.concentrated * n * float(np.vdot(K, K)):
                return K, single
        Phi = coordinates.of_samples(design)
        return gram(settings, Phi), Phi

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


class ActiveSetNewton:
    """One run on a problem.

    Parameters
    ----------
    problem : Problem
        RMR, with a ridge.
    tracker : Tracker
        Where points are offered.
    neighbour : Neighbour
        Solution of a neighbouring problem.
    """

    def __init__(
        self,
        problem: RMRProblem,
        tracker: Tracker,
        neighbour: Neighbour,
        settings: ActiveSetSettings = DEFAULT,
    ) -> None:
        self.settings = settings
        self.problem, self.tracker, self.neighbour = problem, tracker, neighbour
        self.design, self.y, self.loss = problem.design, problem.y, problem.loss
        self.tau, self.ridge = problem.penalty.tau, problem.penalty.ridge

    def start(self) -> tuple[Point, float, Linearisation | None]:
        """The last solution or where the line leads, whichever has the better bound; that too.

        And the last linearisation, if it may be used again.
        """
        known = sides(self.neighbour.beta, self.loss)
        ahead = self.neighbour.ahead(self.tau)
        starts = []
        for neighbour in (self.neighbour,) if ahead is None else (self.neighbour, ahead):
            beta = np.where(neighbour.beta * known > 0.0, neighbour.beta, 0.0)
            beta = np.clip(beta, self.loss.lower, self.loss.upper)
            Z = self.problem.image(beta)
            bound, t = self.offer_dual(beta, Z)
            starts.append((bound, neighbour, beta, Z, t))
        bound, neighbour, beta, Z, t = max(starts, key=lambda start: start[0])
        side, beta, Z = sides(beta, self.loss), t * beta, t * Z
        linear = self.neighbour.linear
        if isinstance(linear, Linearisation):
            at = self.point(neighbour.W, neighbour.b, beta, Z, side, linear.sigma)
            if linear.serves(self.problem, at):
                return at, bound, linear
        at = self.point(neighbour.W, neighbour.b, beta, Z, side, self.first_scaling(neighbour.W))
        return at, bound, None

    def first_scaling(self, W: Array) -> float:
        """Balance of the last two solutions, or else of tau with W itself."""
        last, before = self.neighbour, self.neighbour.before
        sigma = None if before is None else self.balance(last.W, last.Lambda, before)
        if sigma is not None:
            return sigma
        d = singular_values(W)
        d = d[d > self.settings.faint * d[0]]
        if len(d) == 0:
            return self.ridge
        return max(self.ridge, self.settings.weight * self.tau / float(np.median(d)))

    def balance(self, W: Array, Lambda: Array, since: Neighbour) -> float | None:
        """Weight of W beside Z that balances how the two changed; None if W did not."""
        far = float(np.linalg.norm(W - since.W))
        if far == 0.0:
            return None
        moved = float(np.linalg.norm(Lambda - since.Lambda))
        return max(self.ridge, self.settings.weight * moved / far)

    def rescaled(self, at: Point) -> Point:
        """The same point with the balance of what has changed since the last solution."""
        sigma = self.balance(at.W, at.Z - self.ridge * at.W, self.neighbour)
        if sigma is None:
            return at
        return self.point(at.W, at.b, at.beta, at.Z, at.side, sigma)

    def point(self, W: Array, b: float, beta: Array, Z: Array, side: Array, sigma: float) -> Point:
        """A point with its thresholding."""
        penalty = self.problem.penalty
        M = Z + (sigma - self.ridge) * W
        threshold = SmoothedThresholding(M, lambda d, m: penalty.threshold(d, sigma, m), 0.0, 0.0)
        return Point(W, b, beta, Z, side, sigma, threshold)

    def offer_dual(self, beta: Array, Z: Array) -> tuple[float, float]:
        """Offer the multiple of beta that has the best bound; return this and the multiple."""
        d = singular_values(Z)
        bound, t = best_on_ray(self.problem, beta, d)
        if bound > self.tracker.dual:
            beta = t * beta
            excess = float(beta.sum()) - self.problem.t if self.problem.fit_intercept else 0.0
            if abs(excess) <= self.settings.balanced * float(np.abs(beta).sum()):
                self.tracker.offer_dual(beta, self.problem.penalty.conjugate(t * d))
            else:  # then the value on the ray was no bound
                self.tracker.offer_dual(self.problem.feasible(beta))
        return bound, t

    def iterate(self) -> Iterator[Neighbour]:
        """Steps until the tracker is satisfied or one of them does not pivot.

        Yields the point at every new linearisation and at the end.
        """
        at, bound, linear = self.start()
        self.tracker.offer_primal(at.low_rank)  # on a flat path it may be a solution already
        policy = self.settings.reuse
        reuse = ReusePolicy(settings=policy) if linear is None else ReusePolicy.inheriting(policy)
        made = 0
        least, since = np.inf, 0
        while not self.tracker.converged:
            if linear is None or not reuse.promises(self.tracker.tol):
                yield self.remember(at)
                if since == self.settings.patience:
                    return
                at = at if reuse.fresh else self.rescaled(at)
                linear, reuse, made = (
                    Linearisation(self.problem, at, self.settings),
                    reuse.renewed(),
                    made + 1,
                )
            new = self.step(at, linear, allow_afar=reuse.fresh)
            length = np.inf if new is None else distance(new.beta, at.beta)
            if not reuse.allows(length):
                linear, reuse = None, replace(reuse, length=length)  # and the step is not taken
                continue
            if new is None or reuse.leads_away(length):
                return
            last, (bound, _) = bound, self.offer_dual(new.beta, new.Z)
            change = abs(bound - last) / (self.tracker.dual or np.nan)
            if reuse.fresh:
                least, since = (change, 0) if change <= 0.5 * least else (least, since + 1)
            at, reuse = new, reuse.after(length)
            if change * reuse.rate**2 <= self.tracker.tol:
                self.certify(at, linear)
        # Where one linearisation was enough it may be for the next problem too.
        yield replace(self.remember(at), linear=linear if made <= 1 else None)

    def step(self, at: Point, linear: Linearisation, allow_afar: bool) -> Point | None:
        """Newton step with a linearisation; None if its quadratic problem is not solved.

        It may be solved from allow_afar, which takes long.
        """
        drift = linear.drift(at)
        target = self.y - self.design.forward(at.W + drift) + linear.quadratic.image_of(at.beta)
        solution = linear.quadratic.pivot(target, at.side, self.settings.box.max_wrong)
        if solution is None and allow_afar:
            solution = linear.quadratic.solve_from_afar(target, at.beta, at.b)
        if solution is None:
            return None
        dZ = self.design.adjoint(solution.beta - at.beta)
        W = at.W + drift + linear.follow(dZ)
        return self.point(W, solution.b, solution.beta, at.Z + dZ, solution.side, at.sigma)

    def certify(self, at: Point, linear: Linearisation) -> None:
        """Offer W cut to its rank, and made to fit again as long as that helps."""
        low_rank, last = at.low_rank, np.inf
        quadratic = linear.quadratic
        image = quadratic.image_of(at.beta)
        while True:
            W = low_rank.matrix
            residual = self.y - self.design.forward(W)
            off = self.tracker.offer_primal(low_rank, residual) - self.tracker.dual
            if self.tracker.converged or not off <= self.settings.worthwhile * last:
                return
            last = off
            solved = quadratic.solve(residual + image, at.side)
            if solved is None:
                return
            W = W + linear.follow(self.design.adjoint(solved[0] - at.beta))
            low_rank = truncated(W, at.threshold.r)

    def remember(self, at: Point) -> Neighbour:
        """The current point for the next problem."""
        Lambda = at.Z - self.ridge * at.W
        solution = Neighbour(self.tau, at.W, Lambda, at.beta, at.b)
        return solution.after(self.neighbour)


def distance(new: Array, old: Array) -> float:
    """Length of a step relative to where it leads."""
    return float(np.linalg.norm(new - old) / (np.linalg.norm(new) or 1.0))


@single_threaded(lambda problem: problem.design.size)
def solve_active_set(
    problem: RMRProblem,
    *,
    start: SolverResult,
    tol: float = 1e-6,
    max_iter: int = DEFAULT.most_linearisations,
    verbose: int = 0,
) -> SolverResult:
    """Solve an RMR problem from the solution of a neighbouring one, if that is easy.

    Parameters
    ----------
    problem : Problem
        A loss of four numbers a sample, a spectral penalty with a ridge.
    start : SolverResult
        Solution of a problem with the same samples, for another tau close by.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=14
        Largest number of linearisations.
    verbose : int, default=0
        Whether to print one line per linearisation.

    Returns
    -------
    SolverResult
        The best certified point, converged or not; its state is for the next problem.
    """
    if problem.design.n > MOST_SAMPLES:
        return Tracker(problem, tol, verbose, "active set").result(0)
    return solve_from(ActiveSetNewton, problem, start, tol, max_iter, verbose, "active set")
