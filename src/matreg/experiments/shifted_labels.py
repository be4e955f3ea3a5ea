"""Labels that are shifted all to the same side, as Thompson (2020) simulates them.

1000 samples of 10 x 10 with ``B = 10 U V'`` of rank 1 to 3, orthonormal U and V, and noise 1. A
share of the labels, the first ones, is shifted by 10. If half of the labels are shifted, no
monotone loss can tell which half is right: the shift looks like another intercept.

References
----------
P. Thompson, Outlier-robust sparse/low-rank least-squares regression and robust matrix completion
(2020).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from .._typing import Array
from .methods import Tuning, fit_methods, rae
from .tables import Cell, Stat, Table

METHODS = ("R-GLM", "RMR", "RMR, adaptive")
RANKS: tuple[int, ...] = (1, 2, 3)
SHARES: tuple[float, ...] = (0.0, 0.2, 0.4, 0.5)
SHIFT = 10.0


def samples(rank: int, share: float, seed: int, n: int = 1000, size: int = 10) -> Any:
    """Samples (n, size, size), labels (n,) with a share shifted, and coefficients (size, size)."""
    rng = np.random.default_rng(seed)
    U, V = (np.linalg.qr(rng.standard_normal((size, rank)))[0] for _ in range(2))
    B, X = 10.0 * U @ V.T, rng.standard_normal((n, size, size))
    y = np.tensordot(X, B, 2) + rng.standard_normal(n)
    y[: round(share * n)] += SHIFT
    return X, y, B


def one_round(rank: int, share: float, seed: int, tuning: Tuning) -> list[float]:
    """Relative errors of W, one per method."""
    X, y, B = samples(rank, share, seed)
    # The shifted labels come first: without a shuffle the first fold would have them all.
    shuffled = replace(tuning, cv=KFold(3, shuffle=True, random_state=seed))
    return [rae(fit.coef, B) for fit in fit_methods(X, y, shuffled, METHODS).values()]


def table(ranks: tuple[int, ...], shares: tuple[float, ...], errors: Array) -> Table:
    """Errors of shape (ranks, shares, rounds, methods) as a table."""
    rows: list[list[Cell]] = [
        [f"rank {rank}, {share:.0%} shifted", *Stat.of_each(errors[i, j])]
        for i, rank in enumerate(ranks)
        for j, share in enumerate(shares)
    ]
    title = "RAE on W where labels are shifted to one side (1000 samples of 10 x 10)"
    return Table(title, ["Labels", *METHODS], rows, digits=3)
