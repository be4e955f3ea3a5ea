"""What fitted models state of the problems that they have solved, in plain arrays.

:mod:`benchmarks.random_fits` checks it with NumPy alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np

from benchmarks.random_cases import Case, fitted

GRAM = float(np.sqrt(np.finfo(float).eps))


@dataclass
class Claim:
    """A convex problem with what a model states of it, in plain arrays.

    The predictor is ``<W, X_i> + columns_i'gamma``, and `ridges` are those on gamma: without one,
    ``columns'beta`` is zero.
    """

    name: str
    kind: str
    X: Any
    y: Any
    s: Any
    columns: Any
    gamma: Any
    W: Any
    beta: Any
    tau: float
    gap: float
    objective: float | None
    of: Any  # has C_, epsilon_ and the like
    classes: Any = None
    l1: Any = 0.0
    share: float = 0.0  # of a ridge of R-GLM, whose weight the objective tells
    ridges: Any = field(default_factory=lambda: np.zeros(0))
    whole: bool = True  # whether the penalty is known
    stored: bool = False  # whether the samples were read block by block
    outliers: Any = 0.0  # norms of what was taken from each sample, which leaves its rounding
    means: Any = 0.0  # of the columns, which were taken from them and leave their rounding
    cleaning: tuple[float, float] = (0.0, 0.0)  # what it adds to the objective, at least and most


def claims(case: Case, model: Any, folder: str) -> Iterator[Claim]:
    """The problems that a fitted model, search or path has solved."""
    if case.extra == "path":
        yield from path_claims(case, model)
    elif case.extra == "joint":
        yield joint_claim(case, model)
    elif case.extra == "labels":
        for j, one in enumerate(model.estimators_):
            known = ~np.isnan(case.y[:, j])
            s = np.where(known, np.ones(len(known)) if case.s is None else case.s, 0.0)
            yield claim_of(replace(case, y=np.where(known, case.y[:, j], 0.0), s=s), one)
    elif case.extra == "classes" and len(np.unique(case.y)) > 2:
        yield from class_claims(case, model)
    elif case.extra == "adaptive":
        yield adaptive_claim(case, model, folder)
    else:
        yield claim_of(case, model)


def claim_of(case: Case, model: Any) -> Claim:
    """What a model of one problem states."""
    n, own = len(case.y), case.parameters
    dirty = case.name not in ("GRMR", "GSMM")
    X = np.asarray(case.X, dtype=float) if dirty else model.X_clean_
    W, b = np.asarray(model.coef_), float(np.ravel(model.intercept_)[0])
    if "row_basis" in own:
        L, R = own["row_basis"], own.get("column_basis", np.eye(X.shape[2]))
        X, W = L.T @ X @ R.T, np.linalg.inv(L) @ W @ np.linalg.inv(R)
    ones = np.ones((n, int(own["fit_intercept"])))
    gamma, columns = np.full(ones.shape[1], b), ones
    if case.Z is not None:
        columns = np.column_stack([ones, case.Z])
        gamma = np.append(gamma, model.covariate_coef_)
    # Around the means, which an intercept takes up: a small part of a large number counts, too.
    means = np.zeros(len(gamma))
    if ones.size:
        means[1:] = columns[:, 1:].mean(axis=0)
        columns, gamma = columns - means, np.append(gamma[:1] + means @ gamma, gamma[1:])
    ridges = np.zeros(len(gamma))
    ridges[ones.shape[1] :] = own.get("covariate_ridge", 0.0)
    return Claim(
        name=case.name,
        kind=case.kind,
        X=X,
        y=case.y,
        s=np.ones(n) if case.s is None else case.s,
        columns=columns,
        gamma=gamma,
        W=W,
        beta=np.ravel(np.asarray(model.dual_coef_)),
        tau=model.tau_,
        gap=model.dual_gap_,
        objective=model.objective_,
        of=model,
        classes=getattr(model, "classes_", None),
        stored=case.storage != "array",
        l1=getattr(model, "l1_", 0.0),
        share=getattr(model, "ridge_", 0.0) or 0.0,
        ridges=ridges,
        outliers=norms(np.nan_to_num(case.X - model.X_clean_)) if not dirty else 0.0,
        means=means,
        cleaning=cleaning_of(case, model) if hasattr(model, "outliers_") else (0.0, 0.0),
    )


def cleaning_of(case: Case, model: Any) -> tuple[float, float]:
    """The least and the most that cleaning may add to the objective of the regression.

    Of outliers that are replaced the low-rank part is not stored: the best one costs the least, and
    the gap of the split says how much more its own may cost.
    """
    n = len(case.y)
    s = np.ones(n) if case.s is None else case.s
    E, X = np.nan_to_num(model.outliers_).reshape(n, -1), model.X_clean_.reshape(n, -1)
    d = np.linalg.svd(np.sqrt(s)[:, None] * X, compute_uv=False)
    # Singular values are those of a Gram matrix, where that is far more exact than the tolerance.
    rounding = model.gamma_ * float(d.max(initial=0.0)) * min(X.shape) * GRAM
    if model.noise_ is None:
        cost = model.gamma_ * float(d.sum()) + model.lam_ * float(s @ np.abs(E).sum(axis=1))
        return cost - rounding, cost + rounding
    noise = model.noise_.ravel()
    mu = model.lam_ / float(np.median(noise))
    left = np.minimum(d, model.gamma_ / mu)  # of the samples beside the best low-rank part
    cost = model.gamma_ * float(np.sum(d - left)) + 0.5 * mu * float(left @ left)
    cost += 0.5 * mu * float(s @ ((E != 0.0) @ (model.limit * noise) ** 2))
    alone = isinstance(model.history_, list)  # more than two classes, without their labels
    whole = cost / max(1.0 - model.split_gap_, 1e-9) if alone else model.history_["objective"].max()
    return cost - rounding, cost + model.split_gap_ * float(whole) + rounding


def norms(X: Any) -> Any:
    """Frobenius norm of each sample."""
    return np.linalg.norm(X.reshape(len(X), -1), axis=1)


def adaptive_claim(case: Case, model: Any, folder: str) -> Claim:
    """The last of two steps, in the bases that the first one gives."""
    claim = claim_of(case, model)
    own = {key: one for key, one in case.parameters.items() if key != "adaptive"}
    first = fitted(replace(case, extra="", parameters=own | {"tau": model.tau_}), folder).coef_
    U, d, Vt = np.linalg.svd(first)
    r = int(np.count_nonzero(d > 1e-12 * d[0]))
    if r == 0:
        return claim
    more = np.sqrt(1.0 + d[:r] / (0.1 * d[0])) - 1.0
    L = np.eye(len(U)) + (U[:, :r] * more) @ U[:, :r].T
    R = np.eye(len(Vt)) + (Vt[:r].T * more) @ Vt[:r]
    return replace(claim, X=L.T @ claim.X @ R.T, W=np.linalg.solve(L, claim.W) @ np.linalg.inv(R))


def class_claims(case: Case, model: Any) -> Iterator[Claim]:
    """The problems of two classes that tell several apart."""
    classes = model.classes_
    s = np.ones(len(case.y)) if case.s is None else case.s
    pairs: list[Any] = list(combinations(classes, 2))
    if case.parameters["multi_class"] == "one_vs_rest":
        pairs = [(None, one) for one in classes]
    for k, (first, second) in enumerate(pairs):
        names = ["coef_", "intercept_", "dual_coef_", "dual_gap_"]
        sums = case.name == "GSMM"  # its objective is that of all problems and of the cleaning
        values = {name: getattr(model, name)[k] for name in names}
        given = {name: getattr(model, name) for name in ("tau_", "C_")}
        if sums:
            # Of several methods one after another the best one counts, the last of equal ones.
            best = [one[one["gap"] == one["gap"].min()][-1] for one in model.history_]
            parts = [float(row["primal"]) for row in best]
            last = k == len(pairs) - 1
            objective = model.objective_ - sum(parts[:-1]) if last else parts[k]
            given["X_clean_"] = model.X_clean_
        else:
            objective = model.objective_[k]
        one = SimpleNamespace(**values, **given, objective_=objective, classes_=[0, 1])
        part = s if first is None else np.where(np.isin(case.y, [first, second]), s, 0.0)
        claim = claim_of(replace(case, y=(case.y == second).astype(int), s=part), one)
        yield replace(claim, cleaning=cleaning_of(case, model)) if sums and last else claim


def path_claims(case: Case, path: Any) -> Iterator[Claim]:
    """The points of a path."""
    for k, point in enumerate(path.points):
        beta = np.asarray(point.beta)
        if len(beta) != len(case.y):  # of samples that are merged, or read block by block
            beta = np.full(len(case.y), np.nan)
        one = SimpleNamespace(
            coef_=path.coefs[k],
            intercept_=path.intercepts[k],
            dual_coef_=beta,
            tau_=path.taus[k],
            objective_=path.objectives[k],
            dual_gap_=path.gaps[k],
            classes_=getattr(path.model, "classes_", None),
            **{f"{key}_": getattr(path.model, key, None) for key in ("C", "epsilon", "delta")},
            quantile=getattr(path.model, "quantile", None),
        )
        claim = claim_of(case, one)
        yield replace(claim, whole=claim.whole and not np.isnan(beta).any())


def joint_claim(case: Case, model: Any) -> Claim:
    """The problem of all labels, in units of their spread."""
    side = case.parameters["joint"] == "rows"
    s, parts = np.ones(len(case.y)) if case.s is None else case.s, []
    count, scale = case.y.shape[1], model.label_scale_
    for j in range(count):
        known = ~np.isnan(case.y[:, j])
        place = np.zeros((1, count) if side else (count, 1))
        place.flat[j] = 1.0
        X = np.stack([np.kron(place, one) for one in case.X[known]])
        parts.append((X, case.y[known, j] / scale[j], s[known], j))
    ones = np.concatenate([np.eye(count)[[j] * len(y)] for _, y, _, j in parts])
    ones = ones if case.parameters["fit_intercept"] else ones[:, :0]
    W = np.concatenate(list(model.coef_ / scale[:, None, None]), axis=1 if side else 0)
    beta = np.concatenate([model.dual_coef_[j, ~np.isnan(case.y[:, j])] for j in range(count)])
    return Claim(
        name=case.name,
        kind=case.kind,
        X=np.concatenate([part[0] for part in parts]),
        y=np.concatenate([part[1] for part in parts]),
        s=np.concatenate([part[2] for part in parts]),
        columns=ones,
        gamma=(model.intercept_ / scale)[: ones.shape[1]],
        W=W,
        beta=beta,
        tau=model.tau_,
        gap=model.dual_gap_,
        objective=model.objective_,
        of=model,
        ridges=np.zeros(ones.shape[1]),
    )
