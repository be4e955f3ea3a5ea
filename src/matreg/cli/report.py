"""``matreg report``: a page about a model and its data."""

from __future__ import annotations

import argparse
from typing import Any

from ..reporting import make_report
from .data import add_data_options, check_folder, load_data
from .model_files import load_model


def add_command(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "report",
        help="write a page about a model and its data",
        description="Write one self-contained HTML page: score, predictions, maps, components, "
        "the choice of parameters, labels and samples that look wrong, the certificate.",
    )
    parser.add_argument("model", metavar="MODEL", help="file that matreg fit has written")
    add_data_options(parser)
    parser.add_argument("--cv", type=int, default=5, metavar="K", help="folds; 0 fits nothing")
    parser.add_argument("--title", help="heading of the page")
    parser.add_argument("-o", "--out", default="report.html", metavar="FILE")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read and write."""
    check_folder(args.out)
    model, names, _ = load_model(args.model)
    data = load_data(args)
    labels: Any = data.y  # there are some: load_data insists
    report = make_report(
        model,
        data.X,
        labels,
        groups=data.groups,
        cv=args.cv or None,
        names=names,
        target=data.target,
        title=args.title,
    )
    print(f"Written to {report.save(args.out)}")
