"""Error along the path of tau: the paper's Figure 2."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVR

from .. import RMR
from .. import path as fit_path
from ..datasets import make_matrix_regression, make_shape
from ..plotting import pyplot
from .figures import STYLE
from .methods import flatten, rae
from .records import Options, Result
from .tables import Table

C, EPSILON = 1e3, 1e-2


def run(options: Options, *, shape: str = "square", size: int = 64, n_train: int = 500) -> Result:
    """Compute the error on W, the rank and the number of support samples along tau."""
    n_taus = 40
    if options.quick:
        size, n_train, n_taus = min(size, 32), min(n_train, 200), 15
    truth = make_shape(shape, size)
    data = make_matrix_regression(n_train, coef=truth, random_state=options.seed)
    model = RMR(C=C, epsilon=EPSILON, tol=1e-6)
    path = fit_path(model, data.X, data.y, n_taus=n_taus, tau_min_ratio=1e-6, verbose=1)
    svr = SVR(kernel="linear", C=C, epsilon=EPSILON).fit(flatten(data.X), data.y)
    residuals = np.tensordot(path.coefs, data.X, axes=([1, 2], [1, 2]))
    residuals += path.intercepts[:, None] - data.y
    # On the edge of the tube, up to the accuracy of the solver, or outside.
    support = np.count_nonzero(np.abs(residuals) > 0.99 * EPSILON, axis=1)
    outside = np.count_nonzero(np.abs(residuals) > 1.01 * EPSILON, axis=1)
    errors = np.array([rae(coef, truth) for coef in path.coefs])
    svr_error = rae(svr.coef_.reshape(truth.shape), truth)
    counts = np.column_stack([path.ranks, support, outside]).tolist()
    rows = [
        [float(tau), float(error), *row]
        for tau, error, row in zip(path.taus, errors, counts, strict=True)
    ]
    columns = ["tau", "RAE on W", "Rank", "Support", "Outside"]
    best = int(np.argmin(errors))
    return Result(
        name="tau-path",
        form=f"One data set: {shape}, {size} x {size}, {n_train} samples.",
        tables=[Table("Figure 2: error on W along the path of tau", columns, rows)],
        figures={"error": lambda: _draw(path.taus, errors, path.ranks, support, svr_error)},
        seeds=[options.seed],
        parameters={"C": C, "epsilon": EPSILON, "size": size, "n_train": n_train, "shape": shape},
        values={"tau": path.taus, "rae": errors, "svr_rae": svr_error, "gaps": path.gaps},
        notes=[
            f"Best: RAE {errors[best]:.4f} at tau = {path.taus[best]:.4g}; "
            f"tau = 0, which is SVR: {svr_error:.4f}. Support counts samples on the edge of the "
            "tube or outside."
        ],
    )


def _draw(taus: Any, errors: Any, ranks: Any, support: Any, svr_error: float) -> Any:
    figure, axes = pyplot().subplots(
        3, 1, figsize=(5.5, 5.5), sharex=True, height_ratios=[2, 1, 1], layout="constrained"
    )
    style = STYLE["RMR"]
    axes[0].loglog(taus, errors, label="RMR", **style)
    axes[0].axhline(svr_error, ls="--", color=STYLE["SVR"]["color"], label="SVR (tau = 0)")
    axes[0].set_ylabel("RAE on W")
    axes[0].legend()
    for panel, counts, label in ((axes[1], ranks, "Rank of W"), (axes[2], support, "Support")):
        panel.semilogx(taus, counts, **style)
        panel.set_ylabel(label)
        panel.set_ylim(bottom=0)
    axes[2].set_xlabel("tau")
    for panel in axes:
        panel.grid(alpha=0.25)
    return figure
