"""``matreg predict``: labels of new samples."""

from __future__ import annotations

import argparse
import csv
from typing import Any

import numpy as np

from .data import add_data_options, check_folder, load_data
from .model_files import load_model

BLOCK = 2**24  # numbers that are read from a file at a time


def add_command(commands: Any) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        "predict",
        help="predict the labels of new samples",
        description="Write a CSV file with the number of each sample and its predicted label, and "
        "the label itself where the data has it.",
    )
    parser.add_argument("model", metavar="MODEL", help="file that matreg fit has written")
    add_data_options(parser)
    parser.add_argument("-o", "--out", default="predictions.csv", metavar="FILE")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> None:
    """Read, predict, write."""
    check_folder(args.out)
    model, _, target = load_model(args.model)
    data = load_data(args, labelled=False)
    step = max(1, BLOCK // int(np.prod(data.X.shape[1:])))
    with open(args.out, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        known = data.y is not None
        writer.writerow(["sample", f"predicted_{target}", *([target] if known else [])])
        for start in range(0, data.X.shape[0], step):
            predicted = model.predict(np.asarray(data.X[start : start + step]))
            for k, label in enumerate(predicted.tolist(), start=start):
                writer.writerow([k, label, *([data.y[k]] if data.y is not None else [])])
    print(f"{data.X.shape[0]} predictions written to {args.out}")
