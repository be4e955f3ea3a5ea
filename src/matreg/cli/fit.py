"""``matreg fit``: fit a model to a file and write it."""

from __future__ import annotations

import argparse
import inspect
from difflib import get_close_matches
from typing import Any

import numpy as np

import matreg

from .data import Data, add_data_options, check_folder, load_data
from .inspect import describe
from .model_files import _skops, save_model

MODELS = {"rmr": "RMR", "grmr": "GRMR", "rglm": "RGLM", "smm": "SMM"}


def add_command(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "fit",
        help="fit a model to a file",
        description="Fit a model, its parameters chosen by cross-validation unless they are "
        "given, and write it as a skops file.",
    )
    add_data_options(parser)
    parser.add_argument(
        "--model",
        choices=[name for name, one in MODELS.items() if hasattr(matreg, one)],
        help="rmr: labels may be wrong (default); grmr: samples too; rglm: squared loss; smm: "
        "classes (default where labels are words)",
    )
    parser.add_argument("--cv", type=int, default=5, metavar="K", help="number of folds")
    parser.add_argument("--scoring", metavar="NAME", help="score to choose by, of scikit-learn")
    for name, kind in (("tau", float), ("C", float), ("epsilon", float)):
        parser.add_argument(f"--{name}", type=kind, metavar="NUMBER", help=f"fix {name}")
    parser.add_argument("--jobs", type=int, metavar="N", help="folds at a time")
    parser.add_argument("-o", "--out", default="model.skops", metavar="FILE", help="model file")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read, fit, write."""
    _skops()  # now, not after the fit
    check_folder(args.out)
    data = load_data(args)
    model = make_model(args, data)
    if "cv" in model.get_params():
        model.fit(data.X, data.y, groups=data.groups)
    else:
        model.fit(data.X, data.y)
    if data.groups is not None and "cv" in model.get_params():
        model.set_params(cv=args.cv)  # a splitter is no class of ours, and would not be loaded
    save_model(model, args.out, data.names, data.target)
    print(describe(model, data.target))
    print(f"Written to {args.out}")


def make_model(args: argparse.Namespace, data: Data) -> Any:
    """The model that the options ask for, not fitted yet."""
    from sklearn.model_selection import GroupKFold

    words = data.y is not None and data.y.dtype.kind not in "fiub"
    chosen = args.model or ("smm" if words else "rmr")
    name = MODELS[chosen]
    if words and name != "SMM":
        raise ValueError(f"{data.target} must be numbers for --model {chosen}; got words.")
    plain = args.tau is not None
    given = {key: getattr(args, key) for key in ("tau", "C", "epsilon")}
    if not plain:
        if args.cv < 2:
            raise ValueError(f"--cv must be at least 2; got {args.cv}.")
        _check_scoring(args.scoring)
        given |= {"scoring": args.scoring, "n_jobs": args.jobs, "cv": args.cv, "tau": None}
        if data.groups is not None:
            given["cv"] = GroupKFold(min(args.cv, len(np.unique(data.groups))))
    kind = getattr(matreg, name if plain else f"{name}CV")
    known = inspect.signature(kind).parameters
    given = {key: value for key, value in given.items() if value is not None}
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(f"--{unknown[0]} has no meaning for --model {chosen}.")
    return kind(**given)


def _check_scoring(name: str | None) -> None:
    from sklearn.metrics import get_scorer_names

    if name is not None and name not in get_scorer_names():
        near = get_close_matches(name, get_scorer_names(), 3, 0.0)
        raise ValueError(
            f"--scoring must be a score of scikit-learn, such as {', '.join(near)}; got {name}."
        )
