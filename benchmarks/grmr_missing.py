"""G-RMR on days with gaps: NaN kept, days with gaps left out of the training, or means in gaps.

Air quality, days of 24 hours x 8 sensors in units of their spread, 24 of 381 with gaps (carbon
monoxide: 32 of 353, eight of them wholly missing). Blocks of consecutive days are left out, five,
seven and ten of them in turn: 22 splits. All three have the same training days, except those with
gaps, and predict the same test days: all of them, or the complete ones. tau and C are the
defaults, or chosen by RMRCV on the complete training days, the same for all three.

The error is the root of the mean squared error in standard deviations of the training labels.
Beside its mean is that of the difference to "left out", with its standard error over the splits;
as the three numbers of blocks share test days, it is slightly too small.

Run: ``python -m benchmarks grmr_missing [--small]`` (ten minutes, or half a minute)
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

from benchmarks.timing import print_table
from matreg import GRMR, RMRCV
from matreg.datasets import load_air_quality

SEEDS = "none: nothing is drawn"

BLOCKS = (5, 7, 10)
WAYS = ("left out", "kept", "means")


def splits(n, numbers):
    for number in numbers:
        part = np.arange(n) * number // n
        yield from (part == k for k in range(number))


def chosen(X, y):
    """Parameters from RMRCV."""
    search = RMRCV(n_taus=10, C=[0.1, 1.0, 10.0], epsilon=0.1, tol=1e-3).fit(X, y)
    return {"tau": search.tau_, "C": search.C_, "epsilon": 0.1}


def one_split(X, y, test, tune):
    """Residuals (ways, days) on the test days, and which of these are complete."""
    train, gaps = ~test, np.isnan(X).any(axis=(1, 2))
    X = (X - np.nanmean(X[train], axis=(0, 1))) / np.nanstd(X[train], axis=(0, 1))
    y = (y - y[train].mean()) / y[train].std()
    whole = train & ~gaps
    means = np.where(np.isnan(X), np.nanmean(X[train], axis=0), X)
    options = chosen(X[whole], y[whole]) if tune else {}
    fits = ((X, whole), (X, train), (means, train))
    predicted = [GRMR(**options).fit(A[rows], y[rows]).predict(A[test]) for A, rows in fits]
    return np.array(predicted) - y[test], ~gaps[test]


def row(title, errors):
    """Means of errors (splits, ways), and differences to the first way."""
    difference = errors[:, 1:] - errors[:, :1]
    spread = difference.std(axis=0, ddof=1) / np.sqrt(len(errors))
    away = zip(difference.mean(axis=0), spread, strict=True)
    means = (f"{mean:.4f}" for mean in errors.mean(axis=0))
    return [title, *means, *(f"{mean:+.4f} ± {one:.4f}" for mean, one in away)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="five splits, defaults only")
    small = parser.parse_args().small
    warnings.simplefilter("ignore")
    rows = []
    for label in ("benzene", "co"):
        data = load_air_quality(label=label, missing="keep")
        for tune in (False,) if small else (False, True):
            found = [
                one_split(data.X, data.y, test, tune)
                for test in splits(len(data.y), BLOCKS[:1] if small else BLOCKS)
            ]
            how = "tau, C chosen" if tune else "defaults"
            for days in ("all days", "complete days"):
                kept = [r if days == "all days" else r[:, whole] for r, whole in found]
                errors = np.sqrt([np.mean(r**2, axis=1) for r in kept])
                rows.append(row(f"{label}, {how}, {days}", errors))
    header = ["", *WAYS, *(f"{way} - left out" for way in WAYS[1:])]
    print_table(f"{len(found)} splits, error in standard deviations of the labels", header, rows)


if __name__ == "__main__":
    main()
