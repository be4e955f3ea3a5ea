"""``matreg inspect``: what a model file holds."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from ..inspection import components
from .data import check_folder
from .model_files import load_model


def add_command(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "inspect",
        help="say what a model file holds",
        description="Print the model, its parameters, its components and its certificate.",
    )
    parser.add_argument("model", metavar="MODEL", help="file that matreg fit has written")
    parser.add_argument("-o", "--out", metavar="FILE", help="write W as .npy or .csv too")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read and describe."""
    model, names, target = load_model(args.model)
    _check_out(args.out, model)
    print(describe(model, target))
    for axis in ("row", "column"):
        labels = getattr(names, f"{axis}_coords")
        if labels is not None:
            name = getattr(names, f"{axis}_label")
            print(f"{axis}s".ljust(12) + f"{name}: {labels[0]} to {labels[-1]}")
    if args.out is None:
        return
    if args.out.endswith(".npy"):
        np.save(args.out, model.coef_)
    else:
        np.savetxt(args.out, model.coef_, delimiter=",")
    print(f"W written to {args.out}")


def _check_out(path: str | None, model: Any) -> None:
    """Refuse a file for W that cannot hold it."""
    if path is None:
        return
    check_folder(path)
    if not path.endswith((".npy", ".csv")):
        raise ValueError(f"--out must end with .npy or .csv; got {path}.")
    if path.endswith(".csv") and model.coef_.ndim > 2:
        raise ValueError(
            f"--out must end with .npy for {len(model.coef_)} matrices, one a pair of classes; "
            f"got {path}."
        )


def describe(model: Any, target: str) -> str:
    """Model, parameters, score, rank and certificate, a line each."""
    p, q = model.coef_.shape[-2:]
    parameters = {
        name: getattr(model, f"{name}_", model.get_params().get(name))
        for name in ("tau", "C", "epsilon", "gamma", "lam")
    }
    lines = [
        f"{type(model).__name__} for {target}, samples {p} x {q}",
        "parameters  "
        + ", ".join(f"{k} = {v:.4g}" for k, v in parameters.items() if isinstance(v, float | int)),
    ]
    if hasattr(model, "best_score_"):
        name = model.scoring if isinstance(model.scoring, str) else "score"
        error = model.cv_results_["se_test_score"][model.best_index_]
        lines.append(f"folds       {name} = {model.best_score_:.4f} ± {error:.4f}")
    if model.coef_.ndim == 2:
        found = components(model)
        share = ", ".join(f"{100 * one:.0f} %" for one in found.share[:5])
        lines.append(f"rank        {len(found.rows)}" + (f" ({share})" if share else ""))
    else:
        ranks = ", ".join(f"{rank}" for rank in model.rank_)
        lines.append(f"ranks       {ranks}, of one problem after another")
    lines.append(f"gap         {np.max(model.dual_gap_):.1e} (relative, proven)")
    return "\n".join(lines)
