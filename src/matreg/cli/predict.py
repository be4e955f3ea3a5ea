"""``matreg predict``: labels of new samples."""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING, Any

from .._runtime.files import writing
from .options import add_data_options
from .outputs import check_output, safe_cell, say, write_array

if TYPE_CHECKING:
    from .data import Data

HELP = "predict the labels of new samples"
DESCRIPTION = (
    "Write the predicted label of each sample: a .csv file with the number of the "
    "sample and the label itself where the data has it, or an .npy file of the predictions "
    "alone. Names, shape and coordinates are those of the model: samples that have its rows as "
    "columns are transposed if the axes have names, and samples with other coordinates are refused."
)
EXAMPLES = """examples:
  matreg predict model.skops new.npz -o predictions.csv
  matreg predict model.skops new.csv                    shape, columns and label are the model's
  matreg predict model.skops new.npy -o predictions.npy
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("model", metavar="MODEL", help="file that matreg fit has written")
    add_data_options(parser)
    parser.add_argument(
        "-o",
        "--out",
        default="predictions.csv",
        metavar="FILE",
        help="file that is written, .csv or .npy (default: predictions.csv)",
    )


def run(args: argparse.Namespace) -> None:
    """Read, predict, write."""
    from .data import load_data
    from .fit import refuse_missing
    from .model_files import load_model

    check_output(args.out, (".csv", ".npy"), args.model, args.data, args.labels)
    model, origin = load_model(args.model)
    data = load_data(args, origin, labelled=False)
    refuse_missing(model, data)
    beside = {} if data.covariates is None else {"covariates": data.covariates}
    predicted = model.predict(data.X, **beside)
    if args.out.lower().endswith(".npy"):
        with writing(args.out) as stream:
            write_array(stream, predicted)
    else:
        _write_table(args.out, predicted, data)
    say(f"{len(predicted)} predictions written to {args.out}")


def _write_table(path: str, predicted: Any, data: Data) -> None:
    target, y = data.origin.target, data.y
    with writing(path, "w") as stream:
        writer = csv.writer(stream)
        header = ["sample", f"predicted_{target}", *([] if y is None else [target])]
        writer.writerow([safe_cell(name) for name in header])
        for k, label in enumerate(predicted.tolist()):
            known = [] if y is None else [safe_cell(y[k].item())]
            writer.writerow([k, safe_cell(label), *known])
