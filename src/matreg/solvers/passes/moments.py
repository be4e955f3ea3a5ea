"""R-GLM with the squared loss from one pass over the samples, and one more to prove it.

The objective depends on the samples through their second moments alone: the Gram matrix of the rows
``sqrt(s_i) (vec(X_i), 1, Z_i, y_i)`` with the covariates Z, if any. Its eigenvectors are a few
pseudo-samples with the same objective, up to a constant, for any penalty and, by subtraction, any
fold. The samples of a ridge on the coefficients of covariates add to the moments. Squaring loses
digits of ill-conditioned samples, so that the second pass evaluates objective, gradient and bound
on the samples themselves. Where the gap is too large, the exact gradient corrects the moments.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..._runtime.progress import span
from ..._typing import Array, Index
from ...data.blocks import Blocks
from ...data.samples import Block, Samples
from ...data.units import check_units, check_weighed
from ...linalg.factors import singular_values, zero_factors
from ...losses.families import Squared
from ...model import Model
from ...penalties.spectral import SpectralElasticNet
from ...problem import ROUNDING, Problem, ridge_of_rounding
from ...thresholds import MOMENT_ENTRIES
from ...unpenalised.basis import price_of_sums
from ..certificate import Bounds, SolverResult
from ..rglm.solve import solve_rglm
from .moment_scans import CertificateScan, DualRows, MomentScan, Sums

# Share of the time that the moments are expected to take.
MEASURING = 0.8
NUCLEAR = SpectralElasticNet(0.0, ridge=0.0)


class Reduced:
    """The problem of the moments G (m + k + 2, m + k + 2) of samples (p, q), ones, covariates and
    label.

    `squares` is the sum of the squares of the samples, and `curvature` that around their mean if
    there is an intercept.
    """

    def __init__(self, G: Array, shape: tuple[int, int], fit_intercept: bool) -> None:
        m = shape[0] * shape[1]
        self.shape, self.fit_intercept = shape, fit_intercept
        several = len(G) > m + 2
        columns = slice(m + 1, -1) if several else slice(m, m + int(fit_intercept))
        # Moments of the columns without a penalty, and their fits of all else.
        self.own, self.rest = G[columns, columns], G[columns]
        self.fits = np.linalg.lstsq(self.own, self.rest, rcond=None)[0]
        C = G - self.rest.T @ self.fits
        self.size = float(np.sqrt(G[-1, -1]))
        self.S, self.c = C[:m, :m], C[:m, -1]
        self.squares = float(np.trace(G[:m, :m]))
        # The difference of equal samples is rounding.
        around = G[m, :m] @ G[m, :m] / G[m, m] if fit_intercept else 0.0
        self.curvature = max(self.squares - float(around), 0.0)

    @cached_property
    def factor(self) -> tuple[Array, Array]:
        """Roots (k,) and eigenvectors (m, k) of the eigenvalues of S that are not rounding."""
        values, V = np.linalg.eigh(self.S)
        kept = values > ROUNDING * max(values[-1], 0.0) if len(values) else values > 0
        return np.sqrt(values[kept]), V[:, kept]

    def problem(self, penalty: SpectralElasticNet, c: Array | None = None) -> Problem:
        """Pseudo-samples; `c` replaces the moments of samples and labels if given."""
        root, V = self.factor
        z = (V.T @ (self.c if c is None else c)) / root
        rows = (root[:, None] * V.T).reshape(-1, *self.shape)
        pseudo = Samples.of(rows, z, np.ones(len(z)))
        return Model(Squared(), penalty, fit_intercept=False).on(pseudo)

    def gamma(self, W: Array) -> Array:
        """Best coefficients of the columns without a penalty for W (m,)."""
        return np.asarray(self.fits[:, -1] - self.fits[:, : len(W)] @ W)

    def bound(
        self, penalty: SpectralElasticNet, rr: float, yr: float, Z: Array
    ) -> tuple[float, float]:
        """Multiple t of the residuals that is the best dual point, and its bound."""
        d = singular_values(Z.reshape(self.shape))
        if rr <= 0.0:
            return 0.0, 0.0
        t = penalty.best_multiple(yr, rr, d, np.inf)
        size = t * float(np.sqrt(rr * self.squares))  # by Cauchy and Schwarz
        price = ridge_of_rounding(penalty.ridge, size) if penalty.ridge > 0.0 else 0.0
        bound = t * yr - 0.5 * t * t * rr - penalty.conjugate(t * d) - price
        return (t, bound) if bound > 0.0 else (0.0, 0.0)

    def least_squares(self, Z: Array) -> Array:
        """Step (m,) from W with sums Z of ``s r X`` to the least squares fit."""
        root, V = self.factor
        return np.asarray(V @ ((V.T @ Z) / root**2))

    @property
    def tau_max(self) -> float:
        """Smallest tau with W = 0."""
        return float(np.linalg.norm(self.c.reshape(self.shape), 2))


def moments(blocks: Blocks, folds: Index | None = None, count: int = 1) -> Array:
    """Moments of all samples, by fold: one pass.

    Gram matrices (count, p*q + k + 2, p*q + k + 2) of samples, ones, covariates and labels; `folds`
    (n,) has the fold of each sample, one for all by default.
    """
    m = blocks.p * blocks.q
    if m > MOMENT_ENTRIES:
        raise ValueError(
            f"X has samples of {m} entries; R-GLM on data beyond memory holds the Gram matrix of "
            f"the entries, which is meant for up to {MOMENT_ENTRIES} of them. Reduce the samples, "
            "for example by block means, or take a part of them that fits into memory."
        )
    summary = blocks.map_reduce(MomentScan(folds, count), 8 * count * (m + 2) ** 2)
    blocks.refuse(summary.bad)
    check_units(*summary.sizes[:, None])
    check_weighed(summary.sizes[2:])
    return summary.G


def with_ridge(G: Array, ridge: Block | None) -> Array:
    """Moments with those of the samples of a ridge, which have covariates alone."""
    if ridge is None or ridge.Z is None:
        return G
    m, G = ridge.X.shape[1], G.copy()
    G[m + 1 : -1, m + 1 : -1] += (ridge.weights * ridge.Z.T) @ ridge.Z
    return G


def solve_moments(
    reduced: Reduced,
    taus: Array,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    c: Array | None = None,
    *,
    penalty: SpectralElasticNet = NUCLEAR,
) -> list[SolverResult]:
    """Solutions of the reduced problem, largest tau first, each from the last."""
    problem = reduced.problem(penalty, c)
    if problem.design.n == 0:  # all samples are equal
        W, empty = zero_factors(*reduced.shape), np.zeros(0)
        return [SolverResult(W, empty, empty, primal=0.0, gap=0.0, converged=True) for _ in taus]
    results: list[SolverResult] = []
    for tau in taus:
        posed = replace(problem, penalty=problem.penalty.at(float(tau)))
        start = results[-1].start if results else None
        results.append(solve_rglm(posed, start=start, tol=0.1 * tol, max_iter=max_iter))
    return results


def solve_streamed_rglm(
    blocks: Blocks,
    taus: Array,
    *,
    penalty: SpectralElasticNet = NUCLEAR,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    G: Array | None = None,
    ridge: Block | None = None,
) -> list[SolverResult]:
    """R-GLM with the squared loss on samples that are read block by block.

    The values of tau are in decreasing order; that of the penalty does not matter. `fit_intercept`
    counts where the blocks have no covariates. The moments G of all samples save a pass if they are
    known, and `ridge` are samples of a ridge on the coefficients of the covariates. Each result is
    certified on all samples, up to the relative duality gap `tol`; its `beta` is empty, and
    `dual_of` computes it by blocks.
    """
    if G is None:
        with span(0.0, MEASURING):
            (G,) = moments(blocks)
    reduced = Reduced(with_ridge(G, ridge), (blocks.p, blocks.q), fit_intercept)
    penalties = [penalty.at(float(tau)) for tau in taus]
    with span(MEASURING, 0.9):
        results = solve_moments(reduced, taus, tol, max_iter, penalty=penalty)
    with span(0.9, 1.0):
        proven = certified(blocks, reduced, penalties, results, tol, ridge)
    for _ in range(3):
        wrong = [k for k, (result, _) in enumerate(proven) if not result.converged]
        if not wrong:
            break
        corrected = list(results)
        for k in wrong:  # with moments that have the gradient of the samples at W
            W, Z = proven[k][0].W.matrix.reshape(-1), proven[k][1]
            one, c = taus[k : k + 1], reduced.S @ W + Z
            (corrected[k],) = solve_moments(reduced, one, tol, max_iter, c, penalty=penalty)
        new = certified(blocks, reduced, penalties, corrected, tol, ridge)
        proven = [a if a[0].gap <= b[0].gap else b for a, b in zip(new, proven, strict=True)]
    return [result for result, _ in proven]


def certified(
    blocks: Blocks,
    reduced: Reduced,
    penalties: list[SpectralElasticNet],
    results: list[SolverResult],
    tol: float,
    ridge: Block | None,
) -> list[tuple[SolverResult, Array]]:
    """Solutions with objective, bound and gap on all samples, and their exact gradients."""
    Ws = np.stack([result.W.matrix.reshape(-1) for result in results])
    gammas = np.stack([reduced.gamma(W) for W in Ws])
    scan = CertificateScan(Ws, gammas, reduced.fit_intercept)
    sums = blocks.map_reduce(scan)
    if ridge is not None:
        sums = sums.merge(scan(ridge))
    # As in the rank of a matrix, many numbers have more rounding.
    rounding = max(ROUNDING, (blocks.n + Ws.shape[1]) * float(np.finfo(float).eps))
    return [
        proof(reduced, penalty, result, scan, sums, k, rounding, tol, ridge)
        for k, (penalty, result) in enumerate(zip(penalties, results, strict=True))
    ]


def proof(
    reduced: Reduced,
    penalty: SpectralElasticNet,
    result: SolverResult,
    scan: CertificateScan,
    sums: Sums,
    k: int,
    rounding: float,
    tol: float,
    ridge: Block | None,
) -> tuple[SolverResult, Array]:
    """The k-th solution with its certificate on all samples, and the gradient (m,) there.

    The sums ``Z'beta`` and, at a tau of 0 or below rounding, ``A'beta`` of all samples are zero up
    to the rounding of residuals, relative to :attr:`Sums.sizes`: residuals that are small beside
    the labels have no smaller sums in float64. Where that rounding is larger than all residuals
    together, as with weights of very different sizes, sums prove nothing at such a tau.
    """
    m = scan.W.shape[1]
    shift = np.linalg.lstsq(reduced.own, sums.r[k], rcond=None)[0]
    rr = max(float(sums.rr[k]) - float(shift @ sums.r[k]), 0.0)
    yr = float(sums.yr[k]) - float(shift @ reduced.rest[:, -1])
    Z = sums.Z[k] - shift @ reduced.rest[:, :m]
    bounds = Bounds(tol, False, "moments")
    bounds.W, bounds.primal = result.W, 0.5 * rr + penalty.value_of(result.W)
    step = left = np.zeros(m)
    exact = vain = False
    size = float(np.sqrt(rr * reduced.squares))
    if penalty.ridge == 0.0 and penalty.tau <= np.finfo(float).eps * size:
        # Feasible residuals are those of least squares, which the moments know from here.
        step = reduced.least_squares(Z)
        left, least = Z - reduced.S @ step, max(rr - float(Z @ step), 0.0)
        exact = least <= (1e-12 * reduced.size) ** 2  # then residuals are rounding of the labels
        vain = float(rounding * sums.sizes[k][-1]) > float(sums.own[k])
        t, bounds.dual = 1.0, 0.5 * least
    else:
        t, bounds.dual = reduced.bound(penalty, rr, yr, Z)
    off = np.append(np.abs(sums.r[k] - reduced.own @ shift), np.linalg.norm(left))
    if ridge is not None and ridge.Z is not None:
        slopes = ridge.weights * (ridge.Z @ (scan.gamma[k] + shift))
        wrong = off[:-1] + 0.5 * np.finfo(float).eps * sums.sizes[k][:-1]
        bounds.dual -= price_of_sums(ridge.Z, ridge.weights, t * slopes, t * wrong)
    if exact or vain or bounds.dual < 0.0 or np.any(off > rounding * sums.sizes[k]):
        # It is not feasible or proves nothing, but zero is feasible.
        t, bounds.dual = 0.0, 0.0
    dgamma = shift - reduced.fits[:, :m] @ step
    proven = replace(
        result,
        gamma=scan.gamma[k] + shift,
        beta=np.zeros(0),
        method="moments",
        dual_of=DualRows(scan.W[k], scan.gamma[k], step, dgamma, scan.fit_intercept, t),
        kept=None,
        **bounds.certificate(result.n_iter),
    )
    return proven.fitting_exactly() if exact and penalty.tau == 0.0 else proven, Z
