"""SMM on MNIST, digit 0 against the rest, beside published optima.

python -m benchmarks.mnist_smm [--every 10] [--rows 1 5] [--path]

The optima are those of the authors of ALM-SNCG-SMM (arXiv 2412.08023) for the 60,000 training
images with pixels divided by 255, solved to 1e-8; their seconds are on eight cores. LinearSVC is
scikit-learn's linear support vector machine with the hinge loss and the same C, without low rank.
With ``--every k`` only each k-th training image is used, and the optima do not apply.
With ``--path`` a path of 51 points along C is timed beside single fits of some of them.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.svm import LinearSVC

import matreg
from benchmarks.timing import print_table, wall_time
from matreg import SMM
from matreg.datasets import load_mnist

SEEDS = "none: nothing is drawn"

# tau, C, objective, rank, test accuracy, seconds.
PUBLISHED = [
    (10.0, 0.1, 184.046945, 5, 0.9924, 4.3),
    (10.0, 1.0, 1227.21142, 14, 0.9926, 4.4),
    (10.0, 10.0, 9852.05827, 21, 0.9926, 11.5),
    (10.0, 100.0, 90921.2119, 25, 0.9916, 49.0),
    (1.0, 0.1, 132.22822, 14, 0.9928, 3.3),
    (1.0, 1.0, 1034.94231, 22, 0.9928, 6.4),
    (1.0, 10.0, 9357.20636, 25, 0.9922, 15.6),
    (1.0, 100.0, 89653.7595, 26, 0.9915, 100.0),
]
HEADER = [
    "tau", "C", "objective off by", "gap", "rank", "published", "accuracy", "published", "seconds",
    "published", "LinearSVC s", "its accuracy",
]  # fmt: skip


def data(every: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Training and test images with their labels, 1 for the digit 0."""
    digits = load_mnist()
    scaled = [images / 255.0 for images in (digits.X_train[::every], digits.X_test)]
    labels = [(y == 0).astype(int) for y in (digits.y_train[::every], digits.y_test)]
    return scaled[0], labels[0], scaled[1], labels[1]


def linear_svm(C: float, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray):
    machine = LinearSVC(loss="hinge", C=C, max_iter=10_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may stop early
        seconds, _ = wall_time(lambda: machine.fit(X.reshape(len(X), -1), y))
    return seconds, machine.score(X_test.reshape(len(X_test), -1), y_test)


def one_row(number: int, every: int, tol: float) -> list[object]:
    tau, C, objective, rank, accuracy, seconds = PUBLISHED[number - 1]
    X, y, X_test, y_test = data(every)
    ours, model = wall_time(lambda: SMM(tau, C=C, tol=tol).fit(X, y))
    full = every == 1
    svm_seconds, svm_accuracy = linear_svm(C, X, y, X_test, y_test)
    return [
        tau, C, f"{model.objective_ / objective - 1.0:.0e}" if full else "",
        f"{model.dual_gap_:.0e}", model.rank_, str(rank) if full else "",
        f"{model.score(X_test, y_test):.4f}",
        f"{accuracy:.4f}" if full else "", f"{ours:.1f}", f"{seconds:.1f}" if full else "",
        f"{svm_seconds:.1f}", f"{svm_accuracy:.4f}",
    ]  # fmt: skip


def along_C(every: int) -> None:
    X, y, _, _ = data(every)
    Cs = np.geomspace(0.1, 100.0, 51)
    whole, path = wall_time(lambda: matreg.path(SMM(tau=10.0), X, y, Cs=Cs))
    singles = [wall_time(lambda C=C: SMM(10.0, C=C).fit(X, y))[0] for C in Cs[::10]]
    row = [len(X), whole, np.mean(singles), whole / np.mean(singles), path.gaps.max()]
    header = ["images", "path s", "single fit s (mean of 6)", "ratio", "largest gap"]
    print_table("51 points along C from 0.1 to 100, tau = 10", header, [row])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--every", type=int, default=1, help="take each k-th training image")
    parser.add_argument("--rows", type=int, nargs="*", default=range(1, 9), help="which rows")
    parser.add_argument("--tol", type=float, default=1e-7)
    parser.add_argument("--path", action="store_true", help="the path along C instead")
    options = parser.parse_args()
    if options.path:
        along_C(options.every)
    else:
        rows = [one_row(number, options.every, options.tol) for number in options.rows]
        print_table("MNIST, 0 against the rest", HEADER, rows)
