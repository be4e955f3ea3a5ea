"""What G-RMR with ``outliers="split"`` states of its split, computed anew in plain NumPy.

Without a regression, as in the first alternation and for more than two classes, the split is

    gamma ||diag(sqrt(s)) X||_* + lam sum_i s_i ||E_i||_1,    D = X + E,

and a constant, the loss at W = 0. Its dual is to maximise ``<Z, diag(sqrt(s)) D>`` over Z in the
ball ``||Z||_2 <= gamma`` and the box ``|Z_ij| <= lam sqrt(s_i)``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.random_cases import Case

# What is stated may be wrong by this, relative to the objective, after so many rounds.
ROUGH = 1e-7
ROUNDS = (300, 3000, 30_000)


def split_complaints(case: Case, model: Any) -> list[str]:
    """What is not true of the gap of a split, where the regression that it was for is W = 0."""
    alone = isinstance(model.history_, list)  # of more than two classes
    if model.noise_ is not None or model.n_iter_ > 1 or case.twist == "again":
        return []
    s = np.ones(len(case.y)) if case.s is None else np.asarray(case.s)
    root, some = np.sqrt(s)[s > 0.0, None], s > 0.0
    X, E = (root * one.reshape(len(s), -1)[some] for one in (model.X_clean_, model.outliers_))
    cost = model.gamma_ * float(np.linalg.norm(X, "nuc"))
    cost += float(np.sum(model.lam_ * root * np.abs(E)))
    first = None if alone else model.history_["objective"][model.history_["half"] == "split"][0]
    objective = cost if first is None else float(first)
    if objective < cost * (1.0 - ROUGH):
        return [f"split: objective {objective:.6e} is below its cost {cost:.6e}"]
    proven = -np.inf
    for rounds in ROUNDS:
        proven = max(proven, split_bound(X + E, model.gamma_, model.lam_ * root, rounds))
        if cost - proven <= (model.split_gap_ + ROUGH) * objective:
            return []
    return [f"split: gap {model.split_gap_:.1e}, is {(cost - proven) / objective:.1e}"]


def split_bound(D: Any, gamma: float, box: Any, rounds: int) -> float:
    """The best lower bound of the cost that alternating directions find in some rounds."""
    Z, E, best = np.zeros_like(D), np.zeros_like(D), 0.0
    mu = gamma / (float(np.linalg.norm(D, 2)) or 1.0)
    for k in range(rounds):
        U, d, Vt = np.linalg.svd(D - E + Z / mu, full_matrices=False)
        X = (U * np.maximum(d - gamma / mu, 0.0)) @ Vt
        left = D - X + Z / mu
        Z = np.clip(mu * left, -box, box)
        E, last = left - Z / mu, E
        size = float(np.linalg.norm(Z, 2))
        best = max(best, min(1.0, gamma / size if size else 1.0) * float(np.vdot(Z, D)))
        if k < rounds // 2 and k % 20 == 19:  # both residuals should fall together
            primal, dual = np.linalg.norm(D - X - E), mu * np.linalg.norm(E - last)
            mu *= 2.0 if mu * primal > 4.0 * dual else 0.5 if dual > 4.0 * mu * primal else 1.0
    return best
