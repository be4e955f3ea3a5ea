"""``matreg inspect``: describe the content of a model file."""

from __future__ import annotations

import argparse
from typing import Any

from .._runtime.files import writing
from .outputs import check_output, say, write_array

HELP = "say what a model file holds"
DESCRIPTION = "Print the model, its parameters, its components and its certificate."
EXAMPLES = """examples:
  matreg inspect model.skops
  matreg inspect model.skops -o W.npy
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL", help="file that matreg fit has written")
    parser.add_argument("-o", "--out", metavar="FILE", help="write W as .npy or .csv too")


def run(args: argparse.Namespace) -> None:
    """Read and describe."""
    from .._validation.axes import ends
    from .model_files import load_model, model_in

    if args.out is not None:
        check_output(args.out, (".npy", ".csv"), args.model)
    model, origin = load_model(args.model)
    _check_matrix(args.out, model_in(model))
    say(describe(model, origin.target))
    for axis in ("row", "column"):
        labels = getattr(origin.names, f"{axis}_coords")
        if labels is not None:
            say(f"{axis}s".ljust(12) + f"{getattr(origin.names, f'{axis}_label')}: {ends(labels)}")
    if args.out is not None:
        _write_coef(args.out, model)
        say(f"W written to {args.out}")


def _check_matrix(path: str | None, model: Any) -> None:
    """Refuse several matrices for a table."""
    if path is not None and path.lower().endswith(".csv") and model.coef_.ndim > 2:
        raise ValueError(
            f"-o must end with .npy for {len(model.coef_)} matrices, one per problem of two "
            f"classes; got {path}."
        )


def _write_coef(path: str, model: Any) -> None:
    import numpy as np

    from ..estimators._linear_part import linear_part

    W = linear_part(model, 0).every_coef_in_units
    with writing(path) as stream:
        if path.lower().endswith(".npy"):
            write_array(stream, W)
        else:
            np.savetxt(stream, W, delimiter=",")


def describe(model: Any, target: str) -> str:
    """Model, parameters, score, rank and certificate, one line each."""
    import numpy as np

    from .._runtime.text import counted
    from ..reporting._methods import numbers
    from ..scoring import score_of_search
    from .model_files import model_in

    whole, model = model, model_in(model)
    p, q = model.coef_.shape[-2:]
    parameters = (f"{name} = {value:.4g}" for name, value in numbers(model).items())
    lines = [
        f"{type(model).__name__} for {target}, samples {p} x {q}",
        f"parameters  {', '.join(parameters)}",
    ]
    if steps := len(getattr(model, "adaptive_", ())):
        lines.append(f"adaptive    {counted(steps, 'further step')}")
    elif hasattr(model, "best_score_") and np.any(model.adaptive):
        lines.append("adaptive    no further step, because none gained enough in the folds")
    if hasattr(model, "best_score_"):
        name, is_error = score_of_search(model)
        score = -model.best_score_ if is_error else model.best_score_
        error = model.cv_results_["se_test_score"][model.best_index_]
        folds = sum(name.startswith("split") for name in model.cv_results_)
        lines.append(
            f"folds       {name} = {score:.4f} ± {error:.4f} in {folds} "
            "folds (the best of all candidates)"
        )
    lines.append(_ranks(whole))
    if whole is not model:
        lines.append(f"scale       {whole[0].by}; W is in the units of the data")
    if hasattr(model, "covariate_names_"):
        lines.append("covariates  " + ", ".join(_covariates(model)))
    lines.append(f"gap         {np.max(model.dual_gap_):.1e} (relative, proven)")
    return "\n".join(lines)


def _covariates(model: Any) -> list[str]:
    """Names of the covariates, with their coefficients if there is one problem."""
    if model.covariate_coef_.ndim > 1:
        return list(model.covariate_names_)
    both = zip(model.covariate_names_, model.covariate_coef_, strict=True)
    return [f"{name} {one:.4g}" for name, one in both]


def _ranks(model: Any) -> str:
    import numpy as np

    from ..inspection import components
    from .model_files import model_in

    if (inner := model_in(model)).coef_.ndim > 2:
        if np.ndim(inner.rank_) == 0:
            return f"rank        {inner.rank_}, of all {len(inner.coef_)} matrices together"
        return f"ranks       {', '.join(map(str, inner.rank_))}, one per problem"
    found = components(model)
    share = ", ".join(f"{100 * one:.0f} %" for one in found.share[:5])
    return f"rank        {len(found.rows)}" + (f" (shares of W: {share})" if share else "")
