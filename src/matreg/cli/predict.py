"""``matreg predict``: labels of new samples."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .._runtime.files import writing
from .options import add_data_options
from .outputs import check_output, safe_cell, say, write_array

if TYPE_CHECKING:
    from .data import Data

BLOCK = 2**24  # numbers that are read from a file at a time
HELP = "predict the labels of new samples"
DESCRIPTION = (
    "Write the predicted label of each sample: a .csv file with the number of the "
    "sample and the label itself where the data has it, or an .npy file of the predictions "
    "alone. Names, shape and coordinates are those of the model: samples are transposed by "
    "name, and other coordinates are refused."
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
        "-o", "--out", default="predictions.csv", metavar="FILE", help=".csv or .npy"
    )


def run(args: argparse.Namespace) -> None:
    """Read, predict, write."""
    import numpy as np

    from .data import load_data
    from .fit import refuse_missing
    from .model_files import load_model

    check_output(args.out, (".csv", ".npy"), args.model, args.data, args.labels)
    model, origin = load_model(args.model)
    data = load_data(args, origin, labelled=False)
    refuse_missing(model, data)
    if args.out.lower().endswith(".npy"):
        predicted = np.concatenate(list(_blocks(model, data)))
        with writing(args.out) as stream:
            write_array(stream, predicted)
    else:
        _write_table(args.out, model, data)
    say(f"{data.X.shape[0]} predictions written to {args.out}")


def _blocks(model: Any, data: Data) -> Iterator[Any]:
    """Predictions, block by block."""
    import numpy as np

    step = max(1, BLOCK // int(np.prod(data.X.shape[1:])))
    for start in range(0, data.X.shape[0], step):
        X, some = np.asarray(data.X[start : start + step]), slice(start, start + step)
        if data.covariates is None:
            yield model.predict(X)
        else:
            beside = {name: values[some] for name, values in data.covariates.items()}
            yield model.predict(X, covariates=beside)


def _write_table(path: str, model: Any, data: Data) -> None:
    target, y = data.origin.target, data.y
    with writing(path, "w") as stream:
        writer = csv.writer(stream)
        header = ["sample", f"predicted_{target}", *([] if y is None else [target])]
        writer.writerow([safe_cell(name) for name in header])
        k = 0
        for block in _blocks(model, data):
            for label in block.tolist():
                known = [] if y is None else [safe_cell(y[k].item())]
                writer.writerow([k, safe_cell(label), *known])
                k += 1
