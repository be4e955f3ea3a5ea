"""``matreg fit``: fit a model to a file and write it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from .choice import CHOSEN, make_model, numbers_or_words
from .options import add_data_options
from .outputs import check_output, say

if TYPE_CHECKING:
    from .data import Data

HELP = "fit a model to a file"
DESCRIPTION = (
    "Fit a model and write it as a skops file. Parameters that are not given are "
    "chosen by cross-validation; all samples of a group are in the same fold."
)
EXAMPLES = """examples:
  matreg fit eem.npz --target cells                     tau and C by 5 folds
  matreg fit eem.npz --tau 5                            this tau, C by 5 folds
  matreg fit eem.npz --tau 0.5*scale --C scale          no folds
  matreg fit eem.npz --cv 0                             no folds, all defaults
  matreg fit flat.csv --shape 30,25 --target cells --drop name --groups day
  matreg fit flat.csv --shape 30,25 --target cells --covariates age,site
  matreg fit epochs.h5 --samples data/X --target data/y --model smm
  matreg fit sensors.npz --scale columns                sensors with different units
  matreg fit gaps.csv --shape 24,8 --model grmr         empty cells are gaps
  matreg fit X.zarr --labels y.csv --loss huber --scoring neg_bounded_absolute_error
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_data_options(parser, fitted=False)
    _add_model_options(parser)
    _add_search_options(parser)
    parser.add_argument("-v", "--verbose", action="count", default=0, help="report progress")
    parser.add_argument(
        "-o",
        "--out",
        default="model.skops",
        metavar="FILE",
        help="model file that is written, .skops (default: model.skops)",
    )


def _add_model_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--model",
        choices=list(CHOSEN),
        help="rmr: labels may be wrong (default); grmr: samples may be wrong or have gaps, too; "
        "rglm: squared loss, or a --family; smm: classes (default where labels are words); "
        "gsmm: classes of samples that may be wrong or have gaps",
    )
    for name, meaning in (
        ("tau", "weight of the penalty, which lowers the rank"),
        ("C", "weight of the errors on the samples"),
        ("epsilon", "size up to which errors cost nothing"),
    ):
        parser.add_argument(
            f"--{name}",
            type=numbers_or_words,
            metavar="VALUE",
            help=f"{meaning}: a number; scale, which follows the units of the data; a multiple "
            "such as 0.1*scale; or several to choose from, such as 0.5,1,2",
        )
    parser.add_argument(
        "--loss",
        help="rmr, grmr: epsilon_insensitive, absolute, huber, quantile; smm: hinge, squared_hinge",
    )
    parser.add_argument(
        "--scale",
        choices=["columns", "rows", "entries", "all"],
        help="center and scale the samples first, with one unit for each column, row or entry, or "
        "for all; predict, inspect and report stay in the units of the file",
    )
    parser.add_argument(
        "--quantile",
        type=float,
        metavar="Q",
        help="predict this quantile of the labels, such as 0.9",
    )
    parser.add_argument("--family", help="rglm: normal, binomial, multinomial, poisson")
    parser.add_argument(
        "--adaptive",
        type=int,
        metavar="K",
        help="up to K further steps that shrink large singular values less; with "
        "cross-validation, a step is taken only if it gains more than a standard error",
    )


def _add_search_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cv",
        type=int,
        metavar="K",
        help="number of folds of the cross-validation (default: 5); with 0 there is none, and "
        "parameters that are not given have their defaults",
    )
    parser.add_argument(
        "--scoring", metavar="NAME", help="score to choose by, named as in scikit-learn or matreg"
    )
    parser.add_argument("--n-taus", type=int, metavar="N", help="number of values of tau to try")
    parser.add_argument(
        "--jobs",
        type=int,
        metavar="N",
        help="number of folds to fit at the same time; -1: one per core",
    )


def run(args: argparse.Namespace) -> None:
    """Read, fit, write."""
    from .data import load_data
    from .inspect import describe
    from .labels import check_labels
    from .model_files import model_in, save_model, skops_io

    check_output(args.out, (".skops",), args.data, args.labels)
    skops_io()  # fails before the fit if skops is missing
    data = load_data(args)
    labels: Any = data.y  # load_data refuses data without labels
    y = check_labels(labels, data.origin.target, _of_classes(args))
    model = make_model(args, args.model or ("rmr" if y.dtype.kind in "fiub" else "smm"))
    refuse_missing(model, data)
    beside: dict[str, Any] = {} if data.covariates is None else {"covariates": data.covariates}
    if "cv" in model_in(model).get_params():
        beside["groups"] = data.groups
        if data.groups is not None and args.groups is None:
            say(f"matreg: {data.origin.groups!r} is used: folds keep groups together.", sys.stderr)
    elif args.groups is not None:
        say(
            "matreg: --groups has no effect, because cross-validation chooses nothing.",
            sys.stderr,
        )
    prefix = "" if model_in(model) is model else f"{model.steps[-1][0]}__"
    model.fit(data.X, y, **{f"{prefix}{name}": one for name, one in beside.items()})
    save_model(model, args.out, data.origin)
    say(describe(model, data.origin.target))
    say(f"Written to {args.out}")


def _of_classes(args: argparse.Namespace) -> bool | None:
    """Whether the options say that labels are classes; None if they do not say."""
    if args.model is None:
        return None
    return args.model in ("smm", "gsmm") or args.family in ("binomial", "multinomial")


def refuse_missing(model: Any, data: Data) -> None:
    """Refuse empty cells if the model does not allow missing entries."""
    from sklearn.utils import get_tags

    from .model_files import model_in

    model = model_in(model)  # a scaler before the model allows missing entries
    if data.missing is not None and not get_tags(model).input_tags.allow_nan:
        raise ValueError(
            f"{data.missing}: {type(model).__name__} needs all entries. --model grmr treats empty "
            "cells as entries that were not observed."
        )
