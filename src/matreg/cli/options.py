"""Options that name the parts of the data."""

from __future__ import annotations

import argparse


class Help(argparse.HelpFormatter):
    """Help with examples that keep their lines."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if "\n" in text else super()._fill_text(text, width, indent)


def add_data_options(parser: argparse.ArgumentParser, *, fitted: bool = True) -> None:
    """Add the file of the samples, and the options that name its parts.

    If there is a fitted model, the names of its data are the defaults.
    """
    usual = "default: that of MODEL, or " if fitted else "default: "
    same = " (default: those of MODEL)" if fitted else ""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="samples: .npz with X, y, groups, and coordinates of rows and columns; .npy (not read "
        "into memory), with labels from --labels; .csv with one flat sample per line and a header, "
        "cells separated by commas, semicolons or tabs; .h5; a zarr folder; netCDF, one .nc file "
        "or a folder of them",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help=f"array or column with the labels ({usual}y)",
    )
    parser.add_argument(
        "--samples",
        metavar="NAME",
        help=f"array with the samples ({usual}X)",
    )
    parser.add_argument(
        "--groups",
        metavar="NAME",
        help="array or column with the group of each sample, such as its day; cross-validation "
        f"keeps the samples of a group together ({usual}groups, if there is such an array)",
    )
    parser.add_argument(
        "--covariates",
        type=names,
        metavar="NAME,NAME",
        help="arrays or columns whose coefficients have no penalty, such as age,sex; words become "
        f"one column per category{same}",
    )
    parser.add_argument(
        "--labels", metavar="FILE", help="another file with the labels: .npy, .csv or .txt"
    )
    parser.add_argument(
        "--shape",
        type=matrix_shape,
        metavar="P,Q",
        help=f"numbers of rows and columns of flat samples{same}",
    )
    parser.add_argument(
        "--drop",
        action="append",
        default=[],
        metavar="NAME",
        help="column of a .csv to leave out; may be repeated",
    )


def names(text: str) -> list[str]:
    """Names that are separated by commas."""
    found = [one.strip() for one in text.split(",")]
    if not all(found) or len(set(found)) < len(found):
        raise argparse.ArgumentTypeError(f"must be different names such as age,sex; got {text}")
    return found


def matrix_shape(text: str) -> tuple[int, int]:
    """Two positive integers, such as ``30,25`` or ``30x25``."""
    try:
        p, q = (int(part) for part in text.replace("x", ",").split(","))
        if min(p, q) < 1:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be two positive integers such as 30,25; got {text}"
        ) from None
    return p, q
