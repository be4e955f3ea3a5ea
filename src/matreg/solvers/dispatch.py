"""The entry point of all solvers: takes a model and samples, returns a certified result.

Samples that are read block by block have solvers of their kind (:mod:`.passes`). In memory, there
are solvers for a piecewise loss and a spectral penalty with a ridge (RMR), for a smooth loss and a
spectral elastic net (R-GLM), and for a loss with a prox and the penalty of sparse low-rank
matrices. The first-order solver takes every other convex problem.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypedDict, Unpack

import numpy as np

from .._typing import Array
from ..adaptive import Step, adaptive_steps, next_bases
from ..bases import PLAIN, Bases, ScanInBases, samples_in
from ..covariate_ridge import priced
from ..data.samples import Samples, SampleSet
from ..losses.piecewise import PiecewiseLoss
from ..model import Model
from ..penalties.sparse import SparseLowRank
from ..penalties.spectral import SpectralElasticNet, SpectralPenalty
from ..problem import Problem
from .certificate import STEPS, SolverResult
from .choose import remembered, solve_rmr
from .first_order import check_needs, solve_universal
from .largest_tau import tau_max as rmr_tau_max
from .neighbours import follow
from .paper.admm import solve_admm
from .passes.solve import path_on_blocks, quadratic, reduced
from .rglm.solve import rglm_tau_max, solve_rglm
from .sparse import solve_sparse, sparse_tau_max
from .warm_start import Start

# Solvers that users can request, and further ones that "auto" may choose.
SOLVERS = ("auto", "interior", "active-set", "augmented", "first-order", "admm")
UNASKED = ("working-set", "least-squares", "reweighted", "sparse", "passes", "moments")


class Options(TypedDict, total=False):
    """Options of a solver; options that are left out have the defaults of the solver.

    Attributes
    ----------
    start : Start or None
        Starting point.
    tol : float
        Relative duality gap at which to stop.
    max_iter, verbose : int
        Largest number of iterations, and whether to print a line per iteration.
    solver : str
        One of :data:`SOLVERS`; the default "auto" follows :mod:`matreg.solvers.choose`.
    rho, eta : float
        Parameters of the paper's ADMM.
    """

    start: Start | None
    tol: float
    max_iter: int
    verbose: int
    solver: str
    rho: float
    eta: float


def solve(model: Model, samples: SampleSet, **options: Unpack[Options]) -> SolverResult:
    """Solve a model on samples.

    Parameters
    ----------
    model : Model
        The objective without samples.
    samples : SampleSet
        The samples, in memory or read block by block.
    **options
        See :class:`Options`.

    Returns
    -------
    SolverResult
        The best certified point, converged or not.
    """
    if not model.adaptive:
        return solve_plain(model, samples, **options)
    taus = (*model.adaptive, float(model.penalty.tau))
    return last_of(samples, taus, steps_of(model, taus, samples, {**options}))


def last_step(model: Model, samples: SampleSet, **options: Any) -> tuple[Model, Bases]:
    """The convex model of the last step of an adaptive model, and the bases of this step.

    The earlier steps are solved to find them. A model that is not adaptive is returned unchanged.
    """
    if not model.adaptive:
        return model, PLAIN
    before = steps_of(model, model.adaptive, samples, options)
    earlier = model.adaptive[len(before) - 1]
    ended = before[-1].result.W.rank == 0 and earlier <= model.penalty.tau
    tau = earlier if ended else None
    bases = next_bases(before, reweights_entries(model))
    return replace(reweighted(model, bases), adaptive=()).at(tau=tau), bases


def solve_plain(model: Model, samples: SampleSet, **options: Any) -> SolverResult:
    """Solve a single convex problem."""
    if (own := samples.in_memory) is None:
        (result,) = path_on_blocks(model, samples, np.array([model.penalty.tau]), **options)
        return result
    problem = model.on(own)
    if options.get("start") is not None:
        options["start"] = in_full(options["start"], problem, model)
    return of_samples(solve_problem(problem, **options), problem, model, own.n)


def in_full(start: Start, problem: Problem, model: Model) -> Start:
    """A start with multipliers of all samples of a problem, including those of a ridge on gamma."""
    if problem.design.n == len(start.beta):
        return start
    rows, ridge = priced(problem.unpenalised, model.covariate_ridge, model.fit_intercept)
    return replace(start, beta=np.append(start.beta, -ridge * (rows @ start.gamma)))


def of_samples(result: SolverResult, problem: Problem, model: Model, n: int) -> SolverResult:
    """The result with multipliers of the n samples only, and with covariates' coefficients."""
    result = result.with_covariates(problem.unpenalised, model.fit_intercept)
    return result if len(result.beta) == n else replace(result, beta=result.beta[:n])


def steps_of(
    model: Model,
    taus: Sequence[float],
    samples: SampleSet,
    options: dict[str, Any],
    first: SolverResult | None = None,
) -> list[Step]:
    """Solve the steps of an adaptive model for `taus`; `first` is the first result, if known.

    A start in the options is for the first step only, as other steps are solved in other bases.
    """
    options = dict(options)

    def solve_step(tau: float, bases: Bases) -> SolverResult:
        posed = reweighted(model, bases).at(tau=tau)
        result = solve_plain(posed, samples_in(samples, bases), **options)
        options.pop("start", None)
        return result

    return adaptive_steps(taus, solve_step, first=first, entries=reweights_entries(model))


def reweights_entries(model: Model) -> bool:
    """Whether adaptive steps change the weights of the entries instead of the bases."""
    return isinstance(model.penalty, SparseLowRank)


def reweighted(model: Model, bases: Bases) -> Model:
    """The model with the weights that its absolute entries have in a step."""
    if bases.entries is None:
        return model
    return replace(model, penalty=replace(model.penalty, l1=model.penalty.l1 * bases.entries))


def last_of(samples: SampleSet, taus: Sequence[float], steps: list[Step]) -> SolverResult:
    """The result of the last step, with W in the original bases and a table of all steps."""
    results = [step.result for step in steps]
    rows = [
        (tau, one.primal, one.dual, one.gap, one.W.rank, one.n_iter)
        for tau, one in zip(taus, results, strict=False)  # steps end early if W = 0
    ]
    last, dual_of = steps[-1], results[-1].dual_of
    if dual_of is not None:
        dual_of = ScanInBases(dual_of, last.bases, (samples.p, samples.q))
    table = np.array(rows, dtype=STEPS)
    return replace(results[-1], W=last.W, kept=None, dual_of=dual_of, steps=table)


def solve_problem(problem: Problem, *, solver: str = "auto", **options: Any) -> SolverResult:
    """Solve a problem in memory; "auto" chooses the fastest solver that accepts it."""
    rho, eta = options.pop("rho", 1.0), options.pop("eta", 0.999)
    if isinstance(problem.penalty, SparseLowRank) and not problem.penalty.weights.any():
        problem = replace(problem, penalty=problem.penalty.spectral)
    if is_rmr(problem):
        if solver == "admm":
            return solve_admm(problem, rho=rho, eta=eta, **options)
        if solver != "first-order":
            return solve_rmr(problem, method=solver, **options)
    elif solver not in ("auto", "first-order"):
        raise ValueError(
            f"solver={solver!r} needs a loss that is linear or quadratic in pieces (PiecewiseLoss) "
            'and a spectral penalty with a ridge: take "auto" or "first-order" for this problem.'
        )
    elif solver == "auto" and is_rglm(problem):
        return solve_rglm(problem, **options)
    elif solver == "auto" and is_sparse(problem):
        return replace(solve_sparse(problem, **options), method="sparse")
    return solve_universal(problem, **options)


def is_rmr(problem: Problem) -> bool:
    """Whether the solvers of RMR accept a problem."""
    spectral = isinstance(problem.penalty, SpectralPenalty) and problem.penalty.ridge > 0.0
    return isinstance(problem.loss, PiecewiseLoss) and spectral and not is_rglm(problem)


def is_rglm(problem: Problem) -> bool:
    """Whether the solvers of R-GLM accept a problem."""
    loss, penalty = problem.loss, problem.penalty
    smooth = (
        loss.quadratic if isinstance(loss, PiecewiseLoss) else hasattr(loss, "second_derivative")
    )
    return smooth and isinstance(penalty, SpectralElasticNet) and problem.homogeneous


def is_sparse(problem: Problem) -> bool:
    """Whether the solver for sparse low-rank matrices accepts a problem."""
    exact = hasattr(problem.loss, "prox") and hasattr(problem.loss, "gradient")
    return exact and isinstance(problem.penalty, SparseLowRank) and problem.homogeneous


def path(
    model: Model,
    samples: SampleSet,
    along: str,
    values: Array,
    *,
    steps: int = 0,
    **options: Unpack[Options],
) -> Iterator[SolverResult]:
    """Solve a model for a sequence of values of tau or C, each starting from the last solution.

    Parameters
    ----------
    model : Model
        The objective without samples.
    samples : SampleSet
        The samples, in memory or read block by block.
    along : {"tau", "C"}
        The parameter that changes.
    values : ndarray of shape (k,)
        Values of the parameter, ordered so that neighbours are close.
    steps : int, default=0
        Number of further adaptive steps per point, with the tau of the point.
    **options
        As in :func:`solve`; `start` is for the first point.

    Yields
    ------
    SolverResult
        One per value, without its `kept`.
    """
    if along not in ("tau", "C"):
        raise ValueError(f'along must be "tau" or "C"; got {along!r}.')
    if steps > 0:
        yield from adapted_points(model, samples, along, values, steps, **options)
        return
    if not model.adaptive:
        yield from plain_path(model, samples, along, values, **options)
        return
    before = steps_of(model, model.adaptive, samples, {**options})
    bases = next_bases(before, reweights_entries(model))
    posed = reweighted(model, bases)
    points = plain_path(posed, samples_in(samples, bases), along, values, **options)
    for value, point in zip(values, points, strict=True):
        taus = (*model.adaptive[: len(before)], tau_at(model, along, value))
        yield last_of(samples, taus, [*before, Step(point, bases)])


def adapted_points(
    model: Model, samples: SampleSet, along: str, values: Array, steps: int, **options: Any
) -> Iterator[SolverResult]:
    """Points of a plain path, each with further adaptive steps that use the tau of the point."""
    points = plain_path(model, samples, along, values, **options)
    for value, point in zip(values, points, strict=True):
        there = model.at(C=float(value)) if along == "C" else model
        taus = (tau_at(model, along, value),) * (1 + steps)
        yield last_of(samples, taus, steps_of(there, taus, samples, options, point))


def tau_at(model: Model, along: str, value: float) -> float:
    """Tau of a point of a path."""
    return float(value if along == "tau" else model.penalty.tau)


def plain_path(
    model: Model,
    samples: SampleSet,
    along: str,
    values: Array,
    *,
    start: Start | None = None,
    **options: Any,
) -> Iterator[SolverResult]:
    """The path of a model that is not adaptive."""
    if (own := samples.in_memory) is None:
        if along == "tau" and quadratic(model):  # two passes for all values
            yield from path_on_blocks(model, samples, values, **options)
        else:
            for value in values:
                yield solve_plain(model.at(**{along: float(value)}), samples, **options)
        return
    problem = model.on(own)
    problems = (moved(model, own, problem, along, float(value)) for value in values)
    first = None if start is None else in_full(start, problem, model)
    for result in follow(problems, lambda one, last: next_result(one, last, first, **options)):
        yield of_samples(result, problem, model, own.n)


def next_result(
    problem: Problem, last: SolverResult | None, first: Start | None = None, **options: Any
) -> SolverResult:
    """Solve a problem from the result of the last one; `kept` is the start of the next problem.

    If there is no last result, the solver starts from `first`.
    """
    start = first if last is None else last.start
    result = solve_problem(problem, start=start, **options)
    return remembered(problem, result, start) if is_rmr(problem) else result


def moved(model: Model, samples: Samples, problem: Problem, along: str, value: float) -> Problem:
    """The problem at another value, on the same design, whose cached products are reused."""
    if along == "tau":
        return replace(problem, penalty=problem.penalty.at(value))
    return replace(problem, loss=model.at(C=value).losses_of(problem, samples))


def tau_max(model: Model, samples: SampleSet, tol: float = 1e-3) -> float:
    """Smallest weight of the penalty at which W is zero.

    Parameters
    ----------
    model : Model
        The objective without samples; its tau is ignored. For an adaptive model, all steps before
        the last one are solved, and the result is for the bases of the last step.
    samples : SampleSet
        The samples, in memory, or read block by block for the squared loss.
    tol : float, default=1e-3
        Relative accuracy if several samples share a kink of the loss.
    """
    model, bases = last_step(model, samples, tol=1e-2 * tol)
    samples = samples_in(samples, bases)
    if (own := samples.in_memory) is None:
        return reduced(model, samples).tau_max
    return problem_tau_max(model.on(own), tol)


def mean_curvature(model: Model, samples: SampleSet) -> float:
    """Mean of the nonzero eigenvalues of the second derivative of the loss at W = 0.

    If all nonzero eigenvalues are about equal, a ridge of this size halves the coefficients.

    Parameters
    ----------
    model : Model
        A model with a smooth loss.
    samples : SampleSet
        The samples, in memory, or read block by block for the squared loss.
    """
    fewest = min(samples.n, samples.p * samples.q)
    if (own := samples.in_memory) is None:
        return reduced(model, samples).curvature / fewest
    problem = replace(model, covariate_ridge=0.0).on(own)
    residual = problem.residual(problem.y)
    loss: Any = problem.loss
    piecewise = isinstance(loss, PiecewiseLoss)
    if not piecewise and not hasattr(loss, "second_derivative"):
        raise TypeError(
            f"ridge must be 0 with the loss {type(loss).__name__}, which has no "
            "second_derivative(r)."
        )
    h = 1.0 / loss.curvature if piecewise else loss.second_derivative(residual)
    total = float(h @ problem.design.norms**2)
    if model.fit_intercept and h.sum() > 0.0:
        mean = problem.design.adjoint(h) / float(h.sum())
        total -= float(h.sum()) * float(np.vdot(mean, mean))
    return max(total, 0.0) / fewest


def problem_tau_max(problem: Problem, tol: float = 1e-3) -> float:
    """Smallest weight of the penalty at which W is zero, for a problem in memory."""
    if isinstance(problem.penalty, SparseLowRank) and hasattr(problem.loss, "gradient"):
        return sparse_tau_max(problem)
    if not isinstance(problem.penalty, SpectralElasticNet):
        raise ValueError(
            f"the smallest tau with W = 0 is not known for {type(problem.penalty).__name__}: with "
            "a penalty of your own give tau, or the taus of a path or search, as numbers."
        )
    if is_rmr(problem):
        return rmr_tau_max(problem, tol=tol)
    if not (piecewise := isinstance(problem.loss, PiecewiseLoss)):
        check_needs(problem)
    if is_rglm(problem) or (hasattr(problem.loss, "gradient") and not piecewise):
        return rglm_tau_max(problem)
    raise ValueError(
        f"the smallest tau with W = 0 is not known for {type(problem.loss).__name__} with this "
        "penalty; smooth losses need a gradient(r). Give tau, or the taus of a path, as numbers."
    )
