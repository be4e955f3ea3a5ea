"""What R-GLM of the family multinomial states of its problem, computed anew in plain NumPy.

    sum_i s_i (log sum_k exp f_ik - f_i,y_i) + tau ||[W_1 .. W_m]||_*,    f_ik = <W_k, X_i> + b_k,

or with the sum of the nuclear norms of the m classes. The dual objective is that of the entropies,
``sum_i s_i H(e_y_i - beta_i / s_i)``, of which each is a point of the simplex.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import entr, logsumexp

from benchmarks.random_cases import Case

# A constraint may be off by this, relative to what it adds up; objective and gap likewise.
ROUNDING = 1e-10


def multinomial_complaints(case: Case, model: Any) -> list[str]:
    """What is not true of what a model states."""
    out, n = [], len(case.y)
    s = np.ones(n) if case.s is None else np.asarray(case.s)
    own = (case.y[:, None] == model.classes_) * 1.0
    W, beta = model.coef_, model.dual_coef_.T
    f = np.einsum("npq,kpq->nk", case.X, W) + model.intercept_
    images = np.einsum("npq,nk->kpq", case.X, beta)
    lengths = np.linalg.norm(case.X.reshape(n, -1), axis=1)
    side = {"rows": 1, "columns": 0}.get(case.parameters["joint"] or "")
    parts = list(W) if side is None else [np.concatenate(list(W), axis=side)]
    duals = list(images) if side is None else [np.concatenate(list(images), axis=side)]
    penalty = model.tau_ * sum(np.linalg.norm(part, "nuc") for part in parts)
    primal = float(s @ (logsumexp(f, axis=1) - (own * f).sum(axis=1))) + penalty
    noise = 1e-14 * float(s @ (1.0 + np.abs(f).max(axis=1) + lengths * np.linalg.norm(W)))
    if abs(primal - model.objective_) > ROUNDING * abs(primal) + noise:
        out.append(f"objective {model.objective_:.6e}, is {primal:.6e}")
    shares = own - beta / np.where(s > 0.0, s, 1.0)[:, None]
    if np.any(shares < -ROUNDING) or np.abs(beta.sum(axis=1)).max() > ROUNDING * s.max():
        out.append("bounds")
    size = np.abs(beta).sum()
    if model.fit_intercept and np.abs(beta.sum(axis=0)).max() > ROUNDING * size:
        out.append(f"sums {beta.sum(axis=0)} of {size}")
    over = max(float(np.linalg.norm(part, 2)) for part in duals) - model.tau_
    if over > ROUNDING * float(np.abs(beta).sum(axis=1) @ lengths):
        out.append(f"ball by {over:.1e}")
    bound = float(s @ entr(np.maximum(shares, 0.0)).sum(axis=1))
    # The slope of the entropy has no bound where a share is 0.
    rough = ROUNDING * (bound + primal) + 1e-14 * float(s.sum()) * 40.0
    if primal - bound > model.dual_gap_ * abs(primal) + rough + noise:
        out.append(f"gap {model.dual_gap_:.1e}, is {(primal - bound) / abs(primal):.1e}")
    return out
