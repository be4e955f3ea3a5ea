"""Which model to fit, and which of its parameters to choose by cross-validation."""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from typing import Any

import matreg

from .outputs import say

# Options chosen by the folds if they are not given; G-RMR and GSMM always have more to choose.
CHOSEN = {"rmr": ("tau", "C"), "grmr": (), "rglm": ("tau",), "smm": ("tau", "C"), "gsmm": ()}
# Options of a search, with the names of the parameters.
SEARCH = {"scoring": "scoring", "jobs": "n_jobs", "n_taus": "n_taus"}
OTHERS = ("epsilon", "loss", "family", "quantile", "adaptive")


def make_model(args: argparse.Namespace, chosen: str) -> Any:
    """The unfitted model for the options of ``matreg fit``, in a pipeline if there is a scaler.

    `chosen` is a key of `CHOSEN`.
    """
    if args.scoring is not None:
        from ..scoring import check_score_name  # late: it imports numpy

        check_score_name(args.scoring)
    parameters = {name: getattr(args, name) for name in ("C", *OTHERS)}
    parameters |= {"verbose": args.verbose or None, "loss": _loss(args)}
    if is_search(args, chosen):
        kind = getattr(matreg, f"{chosen.upper()}CV")
        parameters |= {"taus": args.tau, "cv": 5 if args.cv is None else args.cv}
        parameters |= {name: getattr(args, option) for option, name in SEARCH.items()}
    else:
        kind = getattr(matreg, chosen.upper())
        if args.jobs is not None and chosen in ("rmr", "grmr"):  # they have one label here
            raise ValueError(
                f"--jobs has no meaning for --model {chosen} if no parameter is chosen by "
                "cross-validation."
            )
        parameters |= {"tau": args.tau, "n_jobs": args.jobs}
        parameters = {name: _single(name, value) for name, value in parameters.items()}
    given = {name: value for name, value in parameters.items() if value is not None}
    _refuse_unknown(given, kind, chosen)
    if args.scale is None:
        return kind(**given)
    from sklearn.pipeline import make_pipeline

    from ..preprocessing import MatrixScaler

    return make_pipeline(MatrixScaler(args.scale), kind(**given))


def is_search(args: argparse.Namespace, chosen: str) -> bool:
    """Whether there is a parameter to choose by cross-validation.

    There is none with ``--cv 0``, if tau is a word (which is a different number in each fold), or
    if all parameters are given.
    """
    asked = [option for option in ("scoring", "n_taus") if getattr(args, option) is not None]
    asked += ["cv"] if args.cv else []
    if args.cv is not None and args.cv != 0 and args.cv < 2:
        raise ValueError(f"--cv must be 0, for no search, or at least 2; got {args.cv}.")
    words = any(isinstance(one, str) for one in args.tau or [])
    if args.cv == 0 or words:
        why = "--cv 0" if args.cv == 0 else f"--tau {args.tau[0]}, which is not cross-validated"
        if asked:
            option = asked[0].replace("_", "-")
            raise ValueError(f"--{option} has no meaning with {why}.")
        if words and args.cv is None:
            say(
                "matreg: cross-validation chooses nothing if tau is a word such as scale: "
                "parameters that are not given have their defaults.",
                sys.stderr,
            )
        return False
    if args.n_taus is not None and args.tau is not None:
        raise ValueError("--n-taus has no meaning with --tau, which gives the values to try.")
    fixed = CHOSEN[chosen] and all(
        getattr(args, name) is not None and len(getattr(args, name)) == 1 for name in CHOSEN[chosen]
    )
    return bool(asked) or not fixed


def numbers_or_words(text: str) -> list[float | str]:
    """Numbers and words such as ``0.1*scale``, separated by commas."""
    if re.fullmatch(r"\d+,\d+", text):
        meant = text.replace(",", ".")
        say(f"matreg: {text} means two values. Write {meant} for a decimal number.", sys.stderr)
    return [_number_or_word(part.strip()) for part in text.split(",")]


def _number_or_word(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        pass
    factor, star, word = text.rpartition("*")
    try:
        if word.strip() == "scale" and (float(factor) if star else 1.0) > 0.0:
            return text
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(
        f"must be a number, 'scale' or a multiple of it such as '0.1*scale', or several of them "
        f"separated by commas; got {text!r}"
    )


def _single(name: str, value: Any) -> Any:
    """The one value of a parameter that is not chosen."""
    if not isinstance(value, list):
        return value
    if len(value) > 1:
        raise ValueError(
            f"--{name} must be one value if cross-validation chooses nothing; got "
            f"{len(value)}, separated by commas. A decimal number has a point, as in 0.5."
        )
    return value[0]


def _loss(args: argparse.Namespace) -> str | None:
    """The loss, which `--quantile` may imply; options of other losses are refused."""
    from ..losses.families import REGRESSION_LOSSES  # late: it imports numpy

    loss: str | None = args.loss if args.quantile is None else "quantile"
    if args.loss not in (None, loss):
        raise ValueError(f"--quantile has no meaning with --loss {args.loss}.")
    if args.epsilon is not None and loss and not hasattr(REGRESSION_LOSSES.get(loss), "epsilon"):
        raise ValueError(f"--epsilon has no meaning with the loss {loss}.")
    return loss


def _refuse_unknown(given: dict[str, Any], kind: type, chosen: str) -> None:
    """Refuse an option that the model does not have."""
    unknown = sorted(set(given) - set(inspect.signature(kind).parameters))
    if unknown:
        options = {name: option.replace("_", "-") for option, name in SEARCH.items()}
        option = options.get(unknown[0], unknown[0])
        alone = "" if kind.__name__.endswith("CV") else " if cross-validation chooses nothing"
        raise ValueError(f"--{option} has no meaning for --model {chosen}{alone}.")
