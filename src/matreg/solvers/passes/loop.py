"""RMR on samples that are read block by block: a handful of passes to a certificate.

A subsample gives a first W. Each pass over all samples then evaluates the objective at W and
reduces the samples to a problem of few rows (:mod:`.reduced_problems`), which is solved in memory
(:mod:`..augmented`) for the next W. While W is still far off it is graded, then it is a band
with groups, whose dual value bounds the optimum from below. The pass that verifies a W also makes
the reduced problem for the next one.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np

from ..._runtime.interruption import ADVICE, may_keep
from ..._runtime.progress import span, turn
from ..._runtime.warn import warn
from ..._typing import Array, Index, Mask
from ...covariate_ridge import ridge_at
from ...data.blocks import Blocks, joined
from ...data.samples import Block
from ...data.units import check_factors
from ...linalg.factors import Factors, zero_factors
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ..augmented.augmented import coordinates, solve_augmented
from ..augmented.subsamples import solve_many
from ..certificate import COLUMNS, Bounds, History, SolverResult
from ..warm_start import Start
from .pass_spec import EDGES, PassSpec, floor_for, width_for
from .reduced_problems import Band, Lift, graded_problem, on_rows
from .step_length import Step, Tangent
from .summary import PassSummary

# Share of the time of a round that solving is expected to take; the rest is reading.
SOLVING = 0.8
NONE: Index = np.zeros(0, dtype=np.intp)


class Passes(History):
    """Passes one after the other, with the rows they kept, their seconds and what they read."""

    SECONDS = (("solving", np.float64), ("reading", np.float64), ("gigabytes", np.float64))
    COLUMNS = np.dtype([*COLUMNS.descr, ("rows", np.int64), *SECONDS])
    HEADER = (
        f"{'pass':>5} {'time':>8} {'solving':>8} {'reading':>8} {'GB':>7} {'rows kept':>10} "
        f"{'primal':>13} {'dual':>13} {'gap':>8} {'rank':>4}  method"
    )
    LINE = (
        "{0:5d} {1:8.2f} {8:8.2f} {9:8.2f} {10:7.2f} {7:10d} "
        "{2:13.6e} {3:13.6e} {4:8.1e} {5:4d}  {6}"
    )


class Stream(Bounds):
    """One run, with the arguments of :func:`solve_stream`: the best point so far and its bounds."""

    def __init__(
        self,
        blocks: Blocks,
        model: Model,
        tol: float,
        memory: float,
        verbose: int,
        rare: Index = NONE,
    ) -> None:
        super().__init__(tol, verbose > 0, "")
        self.history = Passes(verbose > 0)
        self.blocks, self.model, self.rare = blocks, model, rare
        self.reduced_tol = max(0.2 * tol, 1e-12)
        self.shape, size = (blocks.p, blocks.q), blocks.p * blocks.q
        self.columns = blocks.unpenalised(model.fit_intercept)
        self.ridge = model.covariate_ridge, model.fit_intercept
        # In the solver a row takes three times its memory in float64.
        self.most_rows = max(int(memory / (3 * 8 * size)), 1000)
        self.rows = min(20 * size, self.most_rows, blocks.n)
        self.W, self.gamma = zero_factors(blocks.p, blocks.q), np.zeros(0)
        self.tangent = Tangent(np.inf, np.zeros(size), np.zeros(0))
        self.dual = 0.0  # that of beta = 0
        self.lift: Lift | None = None
        self.start: Start | None = None
        self.trust = 1.0  # the part of a graded step to take
        self.counts: Array = np.zeros(len(EDGES) + 1)
        self.n = float(blocks.n)  # samples of positive weight, about

    @property
    def done(self) -> int:
        """Number of passes so far."""
        return len(self.history.rows)

    @property
    def stage(self) -> str:
        """The present pass."""
        return f"pass {self.done}"

    # -- the subsample

    def first(self) -> tuple[Factors, Array]:
        """W and gamma of a subsample; sets scale and histogram of the distances, and the error."""
        while True:
            block, stand_for = self.look()
            share = float(np.mean(block.weights > 0.0))
            block, stand_for = with_weight(block, stand_for)
            self.n = float(stand_for.sum())
            self.mean_weight = float(np.average(block.weights, weights=stand_for))
            # W has fitted its samples, which look nearer to the kinks: so some are held out.
            out = np.arange(len(block.y)) % 10 == 0
            fitted = ~out if len(out) > 1 else out
            part, losses = block.take(fitted), self.losses(block, stand_for, fitted)
            X = part.X.astype(np.float64)
            problem = on_rows(self.model, self.blocks, X, part.Z, part.y, losses)
            result = solve_many(problem, start=self.start, tol=1e-4)
            self.start = result.start
            d = coordinates(result.W.rank, self.shape, len(result.gamma))
            enough = min(int(40 * d / share), self.most_rows, self.blocks.n)
            if self.rows >= enough:
                break
            self.rows = enough
        part, each = block.take(out), stand_for[out]
        self.held_out = part._replace(X=part.X.astype(np.float64))
        self.measure(self.n / each.sum() * each, result, block.y)
        self.error = 2.0 * np.sqrt(d / np.count_nonzero(fitted)) / self.slope()
        return result.W, result.gamma

    def measure(self, stand_for: Array, result: SolverResult, y: Array) -> None:
        """Set rounding, scale and histogram of the distances, by the samples held out."""
        part = self.held_out
        r = part.y - self.predicted(result.W.matrix.reshape(-1), result.gamma)
        distance = self.model.losses(part.y, part.weights).distances(r)
        off = np.abs(y - np.median(y))
        # Residuals this near to a kink are on it: no reduced problem has more digits.
        self.rounding = 1e-6 * (float(np.median(off)) or float(np.mean(off)) or 1.0)
        off = distance[distance > self.rounding]
        self.unit = float(np.median(off)) if len(off) else 1.0
        bins = np.searchsorted(EDGES * self.unit, distance)
        counts = np.bincount(bins, stand_for, minlength=len(EDGES) + 1)
        self.counts = counts.astype(np.float64)

    def predicted(self, W: Array, gamma: Array) -> Array:
        """Linear predictor of the samples that were held out."""
        basis = self.held_out.basis(self.model.fit_intercept)
        return np.asarray(self.held_out.X @ W + basis.times(gamma))

    def look(self) -> tuple[Block, Array]:
        """A subsample with enough of the rare kind, and the number of samples each stands for."""
        block, index = self.blocks.sample(self.rows)
        factors = self.model.losses(block.y, block.weights).size
        check_factors(factors, np.linalg.norm(block.X.astype(float), axis=1), block.y)
        n, rare = self.blocks.n, self.rare
        own, most = np.isin(index, rare), self.rows // 4
        if own.sum() >= min(most, len(rare)):
            return block, np.full(len(index), n / len(index))
        places = np.linspace(0, len(rare) - 1, min(most, len(rare))).astype(int)
        more, _ = self.blocks.take([(int(i), int(i) + 1) for i in rare[places]])
        common = block.take(~own)
        counts = [(n - len(rare)) / max(len(common.y), 1), len(rare) / len(more.y)]
        stand_for = np.repeat(counts, [len(common.y), len(more.y)])
        return joined([common, more])[0], stand_for

    def losses(self, block: Block, stand_for: Array, part: Mask) -> PiecewiseLoss:
        """Losses of a part of the subsample, with the weight of all samples."""
        each = stand_for[part]
        loss = self.model.losses(block.y[part], block.weights[part])
        return loss.times(self.n / each.sum() * each)

    def slope(self) -> float:
        """Share of the samples near a kink, but not on it, per distance from it."""
        total = np.cumsum([0.0, *self.counts[1:]])
        at = int(np.searchsorted(total, 0.1 * total[-1]))
        at = min(max(at, 1), len(EDGES) - 1)
        share = total[at] / total[-1] if total[-1] > 0.0 else 1.0
        return float(share / (EDGES[at] * self.unit))

    # -- rounds

    def spec(self, W: Factors, gamma: Array) -> PassSpec:
        """What to keep in the next pass: a band if it is wide enough, or graded."""
        # There may be more samples on the kinks than rows.
        near = max(width_for(self.counts, self.unit, self.rows, 0.0), self.rounding)
        far = floor = 0.0
        # A band must be wider than the error of W. Samples far beyond the error are left to the
        # linear term of a graded problem.
        if 1.5 * self.error > near:
            far = 5.0 * self.error
            floor = floor_for(self.counts, self.unit, far)
            near = width_for(self.counts, self.unit, self.rows, far, floor)
        return PassSpec(
            W=W.matrix.reshape(-1),
            gamma=gamma,
            fit_intercept=self.model.fit_intercept,
            loss_of=self.model.losses,
            near=near,
            far=far,
            floor=floor,
            most=self.most_rows,
            mean_weight=self.mean_weight,
            unit=self.unit,
            rounding=self.rounding,
            seed=self.done * 0x51ED27,
        )

    def solve(self, spec: PassSpec, summary: PassSummary) -> SolverResult:
        """The reduced problem of a pass, solved."""
        band = None if spec.graded else Band(self.model, self.blocks, spec, summary)
        problem = graded_problem(self.model, self.blocks, summary) if band is None else band.problem
        start = self.restarted(spec)
        result = solve_augmented(problem, start, tol=self.reduced_tol, scale=self.primal)
        self.start = result.start
        if band is not None:
            bound, lift = band.proven(result.beta)
            if bound > self.dual:
                self.dual, self.lift = bound, lift
        return result

    def restarted(self, spec: PassSpec) -> Start | None:
        """The last start, with a smoothing as wide as the error of W.

        It is as wide as the rounding of a residual at least: starts of problems without a bound
        become narrower and narrower.
        """
        if self.start is None or self.start.smoothing is None:
            return None
        own, W = self.start.smoothing, spec.W.reshape(self.shape)
        least = 1e-10 * self.rounding
        smoothing = own.as_wide_as(max(own.width, least, min(self.error, spec.near)))
        return replace(self.start, W=W, gamma=spec.gamma, smoothing=smoothing)

    def update_error(self, W: Factors, gamma: Array, spec: PassSpec) -> None:
        """Estimate the error of the new W from how far W moved."""
        moved = self.predicted(W.matrix.reshape(-1) - spec.W, gamma - spec.gamma)
        change = float(np.sqrt(np.mean(moved**2)))
        d = coordinates(W.rank, self.shape, len(gamma))
        near = max(min(self.n * self.slope() * change, self.rows / 2), 1.0)
        self.error = change * min(0.5, 1.5 * np.sqrt(d / near))

    def run(self) -> None:
        """Passes until the certificate holds."""
        with turn(0), span(0.0, SOLVING):
            W, gamma = self.first()
        step: Step | None = None
        failures, taken = 0, 1.0
        while True:
            spec = self.spec(W, gamma)
            summary, tangent, primal = self.visit(spec, W, gamma)
            if self.converged or self.done >= 25:
                return
            good = primal <= (1.0 + self.reduced_tol) * self.primal
            failures = 0 if good else failures + 1
            if failures == 4:
                return
            if step is not None:
                self.trust = step.best_part(taken, tangent, self.model.penalty)
            if failures:
                W, gamma, step = *self.back_off(W, gamma, tangent), None
            elif len(summary.rows) == 0:  # the histogram was wrong: again, with the new one
                step = None
            else:
                with turn(self.done), span(0.0, SOLVING):
                    result = self.solve(spec, summary)
                if not np.isfinite(result.gap):  # so few rows leave the objective without a bound
                    W, gamma, step = self.W, self.gamma, None
                    self.rows = min(2 * self.rows, self.most_rows, self.blocks.n)
                    continue
                self.update_error(result.W, result.gamma, spec)
                dW, dgamma = result.W.matrix - W.matrix, result.gamma - gamma
                step = Step(W, gamma, tangent, dW, dgamma)
                taken = self.trust if spec.graded else 1.0
                W, gamma = (result.W, result.gamma) if taken == 1.0 else step.part(taken)

    def visit(self, spec: PassSpec, W: Factors, gamma: Array) -> tuple[PassSummary, Tangent, float]:
        """One pass at W and gamma: its summary, the tangent there, and the objective."""
        started = time.perf_counter()
        with turn(self.done), span(SOLVING, 1.0):
            summary = self.blocks.map_reduce(spec).capped()
        self.blocks.refuse(summary.bad)
        self.counts = summary.counts.astype(np.float64)
        tangent = Tangent.of(summary, *ridge_at(self.columns, *self.ridge, gamma))
        primal = self.model.penalty.value_of(W) + tangent.loss
        if primal <= self.primal:
            self.primal, self.W, self.gamma, self.tangent = primal, W, gamma, tangent
        self.method = "graded" if spec.graded else "band"
        with turn(self.done):
            self.record(self.done + 1, len(summary.rows), started)
        return summary, tangent, primal

    def back_off(self, W: Factors, gamma: Array, tangent: Tangent) -> tuple[Factors, Array]:
        """A part of a step that led too far; the next problem has more rows."""
        self.rows = min(2 * self.rows, self.most_rows, self.blocks.n)
        dW, dgamma = W.matrix - self.W.matrix, gamma - self.gamma
        step = Step(self.W, self.gamma, self.tangent, dW, dgamma)
        return step.part(step.back(tangent, self.model.penalty))

    def record(self, iteration: int, rows: int = 0, started: float | None = None) -> None:
        """Add a row to the history: of a pass that `started` then, if there was one.

        A row has all seconds since the last one: those of the reduced problem or of the subsample,
        and those of the pass.
        """
        now = time.perf_counter()
        read = 0.0 if started is None else now - started
        solving = now - read - self.history.start - (self.history.rows[-1][1] if self.done else 0.0)
        gigabytes = 0.0 if started is None else self.blocks.nbytes / 1e9
        super().record(iteration, rows, solving, read, gigabytes)

    def result(self) -> SolverResult:
        """The best certified point; `dual_of` computes its beta block by block."""
        certificate = self.certificate(self.done)
        beta, dual_of = np.zeros(0), self.lift
        return SolverResult(self.W, self.gamma, beta, "passes", dual_of=dual_of, **certificate)


def solve_stream(
    blocks: Blocks,
    model: Model,
    *,
    tol: float = 1e-6,
    memory: float = 2.0**30,
    verbose: int = 0,
    rare: Index = NONE,
) -> SolverResult:
    """Solve RMR on samples that are read block by block.

    `memory` is in bytes, which the rows in memory and the solver on them may take. `rare` are
    indices of samples of a rare kind, such as a small class, which a subsample would miss. The
    result is the best certified point, converged or not: `n_iter` is the number of passes, `beta`
    is empty, and `dual_of` computes it block by block.
    """
    run = Stream(blocks, model, tol, memory, verbose, rare)
    try:
        run.run()
    except KeyboardInterrupt:
        if not (np.isfinite(run.primal) and may_keep()):
            raise
        warn(
            f"Interrupted after {run.done} passes: the best W so far is kept, with a relative "
            f"duality gap of {run.gap:.1e}. {ADVICE}"
        )
        return replace(run.result(), interrupted=True)
    return run.result()


def with_weight(block: Block, stand_for: Array) -> tuple[Block, Array]:
    """The samples of positive weight, and how many samples each stands for."""
    some = block.weights > 0.0
    if not some.any():
        raise ValueError(
            "sample_weight must be positive for more samples: all of those that were looked at "
            "first have weight zero. Leave the others out of X."
        )
    return block.take(some), stand_for[some]
