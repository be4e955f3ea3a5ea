"""Whether every fitted model is what it says: random fits, checked with NumPy alone.

    python -m benchmarks.random_fits [--count 20000] [--first 0]

Every estimator, search, path, loss, family, storage and solver, with covariates, bases, adaptive
steps, sparse coefficients, several labels and classes; few and many samples of one to a dozen
entries, separable classes, ties, duplicates, weights of zero and huge ones, tau = 0 and
tau = tau_max. Objective, dual constraints, bound and gap are computed anew from the stored
coefficients, intercept and multipliers. Warnings of NumPy and SciPy count as errors.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import traceback
import warnings
from collections import Counter
from typing import Any

import numpy as np
from scipy.special import xlogy

from benchmarks.random_cases import fitted, random_case
from benchmarks.random_claims import Claim, claims, norms
from benchmarks.random_multinomial import multinomial_complaints
from benchmarks.random_splits import split_complaints

# A constraint may be off by this, relative to what it adds up; objective and gap likewise.
ROUNDING = 1e-10
# The same where the check itself iterates, and how often: more often where something seems wrong.
ROUGH = 1e-6
ROUNDS = (400, 4000, 30_000)


def complaints(claim: Claim) -> list[str]:
    """What is not true of what a model states of a problem."""
    found: list[str] = []
    for rounds in ROUNDS if np.any(claim.l1) else ROUNDS[:1]:
        found = complaints_after(claim, rounds)
        if not found:
            break
    return found


def complaints_after(claim: Claim, rounds: int) -> list[str]:
    """The same, where a split of the penalty's conjugate takes some rounds."""
    W, beta, tau = claim.W, claim.beta, claim.tau
    n, out = len(claim.y), []
    flat = claim.X.reshape(n, -1)
    told = claim.whole or claim.objective is None
    if not (np.isfinite(W).all() and (np.isfinite(beta).all() or not claim.whole)):
        return ["not finite"]
    f = flat @ W.ravel() + claim.columns @ claim.gamma
    loss, conjugate, lower, upper, labels = loss_of(claim, f, beta)
    found = primal_of(claim, loss)
    if found is None:
        return out
    primal, ridge = found
    rounding = rounding_of(claim, flat, f, labels)
    noise = float(rounding.sum())
    least, most = (primal + part for part in claim.cleaning)
    slack = ROUNDING * abs(most) + noise
    if (
        told
        and claim.objective is not None
        and not (least - slack <= claim.objective <= most + slack)
    ):
        out.append(f"objective {claim.objective:.6e}, is {least:.6e} to {most:.6e}")
    if np.isnan(beta).any():
        return out
    if np.any(beta < lower - ROUNDING * np.abs(lower)) or np.any(
        beta > upper + ROUNDING * np.abs(upper)
    ):
        out.append("bounds")
    # Those of stored samples are residuals, which have their rounding.
    off = rounding if claim.stored and claim.kind == "normal" else np.zeros(n)
    sums, sizes = beta @ claim.columns, np.abs(beta) @ np.abs(claim.columns)
    allowed = ROUNDING * sizes + off @ np.abs(claim.columns)
    allowed += 1e-14 * float(np.abs(beta).sum()) * np.abs(claim.means)
    if np.any((np.abs(sums) > allowed) & (claim.ridges == 0.0)):
        out.append(f"sums {sums} of {sizes}")
    some = claim.ridges > 0.0
    conjugate += 0.5 * float(np.sum(sums[some] ** 2 / claim.ridges[some]))
    if claim.whole:
        rough = ROUGH if np.any(claim.l1) else ROUNDING
        over, price = priced((beta @ flat).reshape(W.shape), tau, claim.l1 * tau, ridge, rounds)
        size = float(np.abs(beta) @ np.linalg.norm(flat, axis=1))
        if over > rough * size + float(off @ np.linalg.norm(flat, axis=1)):
            out.append(f"ball by {over:.1e} of {size:.1e}")
        # With a ridge the conjugate is half a square, whose root has the rounding of the image.
        root = np.sqrt(2.0 * ridge * price) + 1e-15 * size
        price -= 1e-15 * size * root / ridge if ridge > 0.0 else 0.0
        bound = float(labels @ beta) - conjugate - max(price, 0.0)
        terms = float(np.abs(labels) @ np.abs(beta)) + abs(conjugate) + price + abs(primal)
        if primal - bound > claim.gap * abs(primal) + rough * terms + noise:
            out.append(f"gap {claim.gap:.1e}, is {(primal - bound) / abs(primal):.1e}")
    return out


def primal_of(claim: Claim, loss: float) -> tuple[float, float] | None:
    """Objective and ridge; None if the ridge is in proportion to tau and W = 0 does not tell it."""
    W, tau = claim.W, claim.tau
    beside = 0.5 * float(claim.ridges @ claim.gamma**2)
    singular = np.linalg.svd(W, compute_uv=False)
    nuclear = tau * (float(singular.sum()) + float(np.sum(claim.l1 * np.abs(W))))
    square = 0.5 * float(singular @ singular)
    ridge = 0.0 if claim.name == "RGLM" else 1.0
    if claim.share and tau > 0.0:
        if not square:
            return None
        ridge = max((claim.objective - loss - nuclear - beside) / square, 0.0)
    return loss + ridge * square + nuclear + beside, ridge


def rounding_of(claim: Claim, flat: Any, f: Any, labels: Any) -> Any:
    """What the rounding of each residual may cost."""
    slope = claim.s if claim.name == "RGLM" else claim.of.C_ * claim.s
    if claim.kind == "normal":
        slope = slope * (1.0 + np.abs(claim.y - f))
    size = 1.0 + np.abs(labels) + np.abs(f) + np.asarray(claim.y, dtype=float) ** 2
    size += (norms(flat) + claim.outliers) * np.linalg.norm(claim.W)
    size += float(np.sum(np.abs(claim.means * claim.gamma)))
    return 1e-14 * slope * size


def priced(Z: Any, tau: float, l1: Any, ridge: float, rounds: int) -> tuple[float, float]:
    """How far Z is outside of where the penalty's conjugate is finite, and the conjugate there."""
    inner = ahead = np.zeros_like(Z)
    k = 0
    for _ in range(rounds if np.any(l1) else 1):  # to the box and the ball by turns, with momentum
        U, d, Vt = np.linalg.svd(Z - ahead, full_matrices=False)
        over = np.maximum(d - tau, 0.0)
        if over.max(initial=0.0) <= (1e-14 if ridge > 0.0 else 1e-9) * tau:
            inner = ahead
            break
        new = np.clip(ahead + (U * over) @ Vt, -l1, l1)
        k = k + 1 if np.vdot(ahead - new, new - inner) <= 0.0 else 0  # it went too far
        inner, ahead = new, np.clip(new + k / (k + 3.0) * (new - inner), -l1, l1)
    d = np.linalg.svd(Z - inner, compute_uv=False)
    over = np.maximum(d - tau, 0.0)
    if ridge > 0.0:
        return 0.0, 0.5 * float(over @ over) / ridge
    return float(over.max(initial=0.0)), 0.0


def loss_of(claim: Claim, f: Any, beta: Any) -> tuple[float, float, Any, Any, Any]:
    """Loss, conjugate, bounds of beta and the labels that beta is multiplied with."""
    y, inf = np.asarray(claim.y, dtype=float), np.full(len(f), np.inf)
    s, model, kind = claim.s, claim.of, claim.kind
    some = s > 0.0
    f = np.where(some, f, 0.0)  # without weight, predictions may be beyond all numbers
    over_s = np.divide(1.0, s, out=np.zeros_like(s), where=some)
    square = float(over_s @ beta**2)
    if claim.name == "RGLM":
        if kind == "normal":
            bounds = np.where(some, inf, 0.0)
            return 0.5 * float(s @ (y - f) ** 2), 0.5 * square, -bounds, bounds, y
        mu, zero = y - beta * over_s, np.zeros_like(y)
        if kind == "binomial":
            value = float(s @ np.logaddexp(0.0, np.where(y > 0, -f, f)))
            m = np.clip(mu, 0.0, 1.0)
            entropy = float(s @ (xlogy(m, m) + xlogy(1.0 - m, 1.0 - m)))
            return value, entropy, s * (y - 1.0), s * y, zero
        with np.errstate(over="ignore"):
            value = float(s @ (np.exp(f) - y * f + xlogy(y, y) - y))
        m = np.maximum(mu, 0.0)
        conjugate = float(s @ (xlogy(m, m) - m - xlogy(y, y) + y))
        return value, conjugate, np.where(some, -inf, 0.0), s * y, zero
    c = model.C_ * s
    if claim.name in ("SMM", "GSMM"):
        sign = np.where(claim.y == claim.classes[1], 1.0, -1.0)
        slack = np.maximum(1.0 - sign * f, 0.0)
        if kind == "hinge":
            return float(c @ slack), 0.0, np.minimum(sign * c, 0), np.maximum(sign * c, 0), sign
        return (
            float(c @ slack**2),
            0.25 * square / model.C_,
            np.where((sign < 0) & some, -inf, 0.0),
            np.where((sign > 0) & some, inf, 0.0),
            sign,
        )
    r = y - f
    if kind == "huber":
        d = model.delta_
        h = np.where(np.abs(r) <= d, 0.5 * r**2 / d if d else 0.0, np.abs(r) - 0.5 * d)
        return float(c @ h), 0.5 * d * square / model.C_, -c, c, y
    if kind == "quantile":
        k = model.quantile
        return float(c @ np.maximum(k * r, (k - 1.0) * r)), 0.0, -(1.0 - k) * c, k * c, y
    e = 0.0 if kind == "absolute" else model.epsilon_
    return float(c @ np.maximum(np.abs(r) - e, 0.0)), e * float(np.abs(beta).sum()), -c, c, y


def verdict(seed: int, many: float = 0.02, refused: Counter[str] | None = None) -> list[str]:
    """What is wrong with a random fit; nothing, as a rule. Refusals that say why are right."""
    case = random_case(seed, many)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model = fitted(case, folder)
        except (ValueError, NotImplementedError) as error:
            if refused is not None:
                refused[f"{case.name} {case.extra}: {str(error)[:70]}"] += 1
            frames = traceback.extract_tb(error.__traceback__)
            return [] if "matreg" in frames[-1].filename else [f"not our words: {error}"]
        except Exception as error:
            return [f"{type(error).__name__}: {str(error)[:100]}"]
        with np.errstate(all="ignore"):
            if case.extra == "multinomial" and len(model.classes_) > 2:
                return multinomial_complaints(case, model)
            found = claims(case, model, folder)
            out = [complaint for claim in found for complaint in complaints(claim)]
            return out + (split_complaints(case, model) if hasattr(model, "split_gap_") else [])


def main() -> None:
    """Run any number of random fits, and count what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    begun, wrong, refused = time.process_time(), Counter[str](), Counter[str]()
    for seed in range(arguments.first, arguments.first + arguments.count):
        for complaint in verdict(seed, refused=refused):
            case = random_case(seed)
            wrong[complaint.split()[0]] += 1
            what = (case.name, case.kind, case.extra, case.storage, case.X.shape)
            print(seed, *what, complaint, flush=True)
    seconds = time.process_time() - begun
    print(f"{arguments.count} fits, {seconds:.0f} CPU s, wrong: {dict(wrong) or 'none'}")
    print(f"{refused.total()} were refused with a reason:")
    for reason, count in refused.most_common(12):
        print(f"{count:6d}  {reason}")


if __name__ == "__main__":
    main()
