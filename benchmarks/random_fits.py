"""Whether every fitted model is what it says: random fits, checked with NumPy alone.

    python -m benchmarks.random_fits [--count 20000] [--first 0]

Every estimator, loss, family, storage and solver, with few and many samples of one to a dozen
entries, separable classes, ties, duplicates, weights of zero and huge ones, tau = 0 and
tau = tau_max. Objective, dual constraints, bound and gap are computed anew from the stored
coefficients, intercept and multipliers. Warnings of NumPy and SciPy count as errors.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from scipy.special import xlogy

from matreg import GRMR, RGLM, RMR, SMM

# A constraint may be off by this, relative to what it adds up; objective and gap likewise.
ROUNDING = 1e-10

KINDS = [
    ("RMR", "epsilon_insensitive"),
    ("RMR", "absolute"),
    ("RMR", "huber"),
    ("RMR", "quantile"),
    ("SMM", "hinge"),
    ("SMM", "squared_hinge"),
    ("RGLM", "normal"),
    ("RGLM", "binomial"),
    ("RGLM", "poisson"),
    ("GRMR", "epsilon_insensitive"),
]
SAMPLES = ["normal", "tied", "duplicated", "constant", "one-hot", "heavy-tailed", "collinear"]
WEIGHTS = ["none", "uniform", "zeros", "huge"]


@dataclass
class Case:
    """A random fit: estimator, loss or family, data, weights, storage and parameters."""

    name: str
    kind: str
    X: Any
    y: Any
    s: Any
    storage: str
    parameters: dict[str, Any]


def random_case(seed: int, many: float = 0.02) -> Case:
    """A fit of any kind; the share `many` of them has thousands of samples."""
    g = np.random.default_rng(seed)
    name, kind = KINDS[seed % len(KINDS)]
    n = int(g.choice([1, 2, 3, 5, 8, 13, 30]))
    if g.random() < many and name != "GRMR":
        n = int(g.integers(2000, 4000))
    p, q = (1, 1) if g.random() < 0.2 else (int(g.integers(1, 4)), int(g.integers(1, 4)))
    X = random_samples(g, str(g.choice(SAMPLES)), n, p, q)
    y = random_labels(g, name, kind, X)
    s = random_weights(g, n, y, name, kind)
    parameters: dict[str, Any] = {"fit_intercept": bool(g.random() < 0.8)}
    # The third is tau_max, or more.
    largest = "50*scale" if name == "RGLM" else "200*scale"
    parameters["tau"] = [0.0, "scale", largest, 10.0 ** g.uniform(-4, 1)][int(g.integers(4))]
    if name == "RGLM":
        parameters["family"] = kind
    else:
        parameters["loss"] = kind
        parameters["C"] = ["scale", ".03*scale", 10.0 ** g.uniform(-3, 3)][int(g.integers(3))]
    if name == "RMR" and kind == "epsilon_insensitive" and n <= 30:
        parameters["solver"] = str(g.choice(["auto", "auto", "auto", "admm"]))
    if kind == "quantile":
        parameters["quantile"] = float(g.uniform(0.1, 0.9))
    streams = kind in ("epsilon_insensitive", "absolute", "quantile", "hinge", "normal")
    storage = "array"
    if streams and name != "GRMR" and parameters.get("solver") != "admm" and g.random() < 0.15:
        storage = str(g.choice(["file", "dask"]))
    return Case(name, kind, X, y, s, storage, parameters)


def random_samples(g: np.random.Generator, kind: str, n: int, p: int, q: int) -> Any:
    """Samples (n, p, q)."""
    X = g.standard_normal((n, p, q))
    match kind:
        case "tied":
            X = np.round(X)
        case "duplicated":
            X = X[g.integers(0, max(n // 2, 1), n)]
        case "constant":
            X[:] = X[:1]
        case "one-hot":
            X = np.eye(p * q)[g.integers(0, p * q, n)].reshape(n, p, q)
        case "heavy-tailed":
            X = X / np.maximum(g.random((n, 1, 1)), 1e-3) ** 2
        case "collinear":
            X = X[:, :1, :1] * np.ones((p, q)) + 1e-9 * X
    return X * 10.0 ** g.integers(-2, 3)


def random_labels(g: np.random.Generator, name: str, kind: str, X: Any) -> Any:
    """Labels (n,) of the kind that the estimator takes."""
    n = len(X)
    f = X.reshape(n, -1) @ g.standard_normal(X[0].size)
    f = f / (np.abs(f).max() or 1.0)
    how = g.integers(3)  # separable, noisy, of no relation
    f = f + (0.0, 0.3, 10.0)[how] * g.standard_normal(n)
    if name == "SMM" or kind == "binomial":
        y = (f > np.median(f)).astype(int)
        if len(np.unique(y)) == 1:
            y[0] = 1 - y[0]
        return y
    if kind == "poisson":
        y = g.poisson(np.exp(np.clip(f, -3, 3))).astype(float)
        y[0] += not y.any()
        return y
    how = g.integers(5)
    if how == 0:
        return np.round(f)
    return np.full(n, 2.5) if how == 1 else f * 10.0 ** g.integers(-3, 4)


def random_weights(g: np.random.Generator, n: int, y: Any, name: str, kind: str) -> Any:
    """Weights (n,) or None; some of every class are positive."""
    match str(g.choice(WEIGHTS)):
        case "none":
            return None
        case "uniform":
            return g.uniform(0.1, 3.0, n)
        case "huge":
            return 10.0 ** g.uniform(-6, 6, n)
    s = (g.random(n) < 0.5).astype(float)
    for label in np.unique(y) if name == "SMM" or kind == "binomial" else [y.max()]:
        s[np.argmax(y == label)] = 1.0
    return s


def fitted(case: Case, folder: str) -> Any:
    """The fitted model of a case."""
    cls = {"RMR": RMR, "SMM": SMM, "RGLM": RGLM, "GRMR": GRMR}[case.name]
    X, memory = case.X, 1024.0
    if case.storage != "array":
        memory = 1e-9
        path = Path(folder) / "X.npy"
        np.save(path, X)
        X = np.load(path, mmap_mode="r")
    if case.storage == "dask":
        import dask.array as da

        X = da.from_array(np.asarray(X), chunks=(max(len(X) // 3, 1), -1, -1))
    with sklearn.config_context(working_memory=memory):
        model = cls(**case.parameters).fit(X, case.y, sample_weight=case.s)
        model.dual_coef_  # noqa: B018  (computed when asked for)
    return model


def complaints(case: Case, model: Any) -> list[str]:
    """What is not true of a fitted model."""
    X = model.X_clean_ if case.name == "GRMR" else case.X
    n = len(case.y)
    s = np.ones(n) if case.s is None else case.s
    W, b = model.coef_, float(np.ravel(model.intercept_)[0])
    beta = np.ravel(np.asarray(model.dual_coef_))
    flat, out = X.reshape(n, -1), []
    if not (np.isfinite(W).all() and np.isfinite(beta).all() and np.isfinite(model.objective_)):
        return ["not finite"]
    f = flat @ W.ravel() + b
    loss, conjugate, lower, upper, labels = loss_of(case, model, s, f, beta)
    singular, tau = np.linalg.svd(W, compute_uv=False), model.tau_
    ridge = 0.0 if case.name == "RGLM" else 1.0
    primal = loss + 0.5 * ridge * float(singular @ singular) + tau * float(singular.sum())
    image = np.linalg.svd((beta @ flat).reshape(W.shape), compute_uv=False)
    over = float(np.maximum(image - tau, 0.0).max(initial=0.0))
    size = float(np.abs(beta) @ np.linalg.norm(flat, axis=1))
    price = 0.5 * float((np.maximum(image - tau, 0.0) ** 2).sum()) if ridge else 0.0
    bound = float(labels @ beta) - conjugate - price
    terms = float(np.abs(labels) @ np.abs(beta)) + abs(conjugate) + price + abs(primal)
    # What the rounding of the residuals may cost.
    slope = s if case.name == "RGLM" else model.C_ * s
    noise = 1e-14 * float(slope @ (1.0 + np.abs(labels) + np.abs(f) + np.asarray(case.y) ** 2))
    if np.any(beta < lower - ROUNDING * np.abs(lower)) or np.any(
        beta > upper + ROUNDING * np.abs(upper)
    ):
        out.append("bounds")
    if model.fit_intercept and abs(beta.sum()) > ROUNDING * np.abs(beta).sum():
        out.append(f"sum {beta.sum():.1e} of {np.abs(beta).sum():.1e}")
    if not ridge and over > ROUNDING * size:
        out.append(f"ball by {over:.1e} of {size:.1e}")
    stated = model.objective_
    if case.name != "GRMR" and abs(primal - stated) > ROUNDING * primal + noise:
        out.append(f"objective {stated:.6e}, is {primal:.6e}")
    if primal - bound > model.dual_gap_ * abs(primal) + ROUNDING * terms + noise:
        out.append(f"gap {model.dual_gap_:.1e}, is {(primal - bound) / abs(primal):.1e}")
    return out


def loss_of(
    case: Case, model: Any, s: Any, f: Any, beta: Any
) -> tuple[float, float, Any, Any, Any]:
    """Loss, conjugate, bounds of beta and the labels that beta is multiplied with."""
    y, inf = np.asarray(case.y, dtype=float), np.full(len(f), np.inf)
    some = s > 0.0
    over_s = np.divide(1.0, s, out=np.zeros_like(s), where=some)
    square = float(over_s @ beta**2)
    if case.name == "RGLM":
        if case.kind == "normal":
            bounds = np.where(some, inf, 0.0)
            return 0.5 * float(s @ (y - f) ** 2), 0.5 * square, -bounds, bounds, y
        mu, zero = y - beta * over_s, np.zeros_like(y)
        if case.kind == "binomial":
            value = float(s @ np.logaddexp(0.0, np.where(y > 0, -f, f)))
            m = np.clip(mu, 0.0, 1.0)
            entropy = float(s @ (xlogy(m, m) + xlogy(1.0 - m, 1.0 - m)))
            return value, entropy, s * (y - 1.0), s * y, zero
        with np.errstate(over="ignore"):
            value = float(s @ (np.exp(f) - y * f + xlogy(y, y) - y))
        m = np.maximum(mu, 0.0)
        conjugate = float(s @ (xlogy(m, m) - m - xlogy(y, y) + y))
        return value, conjugate, np.where(some, -inf, 0.0), s * y, zero
    c, zero = model.C_ * s, np.zeros_like(y)
    if case.name == "SMM":
        sign = np.where(case.y == model.classes_[1], 1.0, -1.0)
        slack = np.maximum(1.0 - sign * f, 0.0)
        if case.kind == "hinge":
            return float(c @ slack), 0.0, np.minimum(sign * c, 0), np.maximum(sign * c, 0), sign
        return (
            float(c @ slack**2),
            0.25 * square / model.C_,
            np.where((sign < 0) & some, -inf, 0.0),
            np.where((sign > 0) & some, inf, 0.0),
            sign,
        )
    r = y - f
    if case.kind == "huber":
        d = model.delta_
        h = np.where(np.abs(r) <= d, 0.5 * r**2 / d if d else 0.0, np.abs(r) - 0.5 * d)
        return float(c @ h), 0.5 * d * square / model.C_, -c, c, y
    if case.kind == "quantile":
        k = model.quantile
        return float(c @ np.maximum(k * r, (k - 1.0) * r)), 0.0, -(1.0 - k) * c, k * c, y
    e = 0.0 if case.kind == "absolute" else model.epsilon_
    return float(c @ np.maximum(np.abs(r) - e, 0.0)), e * float(np.abs(beta).sum()), -c, c, y


def verdict(seed: int, many: float = 0.02) -> list[str]:
    """What is wrong with a random fit; nothing, as a rule. Refusals that say why are right."""
    case = random_case(seed, many)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        try:
            model = fitted(case, folder)
        except (ValueError, NotImplementedError) as error:
            return [] if str(error) else ["an error that says nothing"]
        except Exception as error:
            return [f"{type(error).__name__}: {str(error)[:100]}"]
        with np.errstate(all="ignore"):
            return complaints(case, model)


def main() -> None:
    """Run any number of random fits, and count what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    begun, wrong = time.process_time(), Counter[str]()
    for seed in range(arguments.first, arguments.first + arguments.count):
        for complaint in verdict(seed):
            case = random_case(seed)
            wrong[complaint.split()[0]] += 1
            print(seed, case.name, case.kind, case.storage, case.X.shape, complaint, flush=True)
    seconds = time.process_time() - begun
    print(f"{arguments.count} fits, {seconds:.0f} CPU s, wrong: {dict(wrong) or 'none'}")


if __name__ == "__main__":
    main()
