"""``matreg report``: a page about a model and its data."""

from __future__ import annotations

import argparse
from typing import Any

from .._runtime.files import writing
from .._runtime.progress import Line
from .options import add_data_options
from .outputs import check_output, say

HELP = "write a page about a model and its data"
DESCRIPTION = (
    "Write one self-contained HTML page: score, predictions, maps, components, "
    "the choice of parameters, labels and samples that look wrong, the certificate."
)
FOLDS = (
    "number of folds for the score and the predictions: the model is fitted again without each "
    "fold and predicts the samples of this fold. With 0 the model predicts the samples that it was "
    "fitted to, and the score is too good. The default is leave-one-out, by a formula that needs "
    "no further fit; if there are groups, or the formula is not reliable, it is 5 folds"
)
OUT = "page that is written, .html (default: report.html)"
EXAMPLES = """examples:
  matreg report model.skops data.npz -o report.html
  matreg report model.skops data.npz --cv 0             predictions of the training samples
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL", help="file that matreg fit has written")
    add_data_options(parser)
    parser.add_argument("--cv", type=int, metavar="K", help=FOLDS)
    parser.add_argument("--title", help="heading of the page")
    parser.add_argument("-o", "--out", default="report.html", metavar="FILE", help=OUT)


def run(args: argparse.Namespace) -> None:
    """Read and write."""
    with Line("report"):  # the imports may take long, too
        from sklearn.base import is_classifier

        from ..reporting import make_report
        from .data import load_data
        from .fit import refuse_missing
        from .labels import check_labels
        from .model_files import load_model

        if args.cv is not None and args.cv != 0 and args.cv < 2:
            raise ValueError(f"--cv must be 0, for no folds, or at least 2; got {args.cv}.")
        check_output(args.out, (".html", ".htm"), args.model, args.data, args.labels)
        model, origin = load_model(args.model)
        data = load_data(args, origin)
        refuse_missing(model, data)
        labels: Any = data.y  # load_data refuses data without labels
        y = check_labels(labels, data.origin.target, is_classifier(model))
        report = make_report(
            model,
            data.X,
            y,
            covariates=data.covariates,
            groups=data.groups,
            cv="auto" if args.cv is None else args.cv or None,
            names=origin.names,
            target=data.origin.target,
            title=args.title,
        )
    with writing(args.out, "w") as stream:
        stream.write(report.html)
    say(f"Written to {args.out}")
