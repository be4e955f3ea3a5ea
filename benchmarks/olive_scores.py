"""Scores by which RMRCV chooses, where half of the labels are equal: spectra of olive oils.

    python -m benchmarks.olive_scores

The label is the share of soybean oil, zero for half of the samples. Each of the four oils is left
out once; the others, one oil per fold, choose the parameters. The folder that the environment
variable MATREG_DATA names has the data.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import LeaveOneGroupOut

from benchmarks.timing import print_table
from matreg import RMRCV
from matreg.datasets import load_olive
from matreg.preprocessing import mask_scatter

SEEDS = "none: nothing is drawn"

SCORES = {
    "median absolute error": "neg_median_absolute_error",
    "mean absolute error": "neg_mean_absolute_error",
    "bounded absolute error": "neg_bounded_absolute_error",
}


def predictions(X: np.ndarray, y: np.ndarray, oils: np.ndarray, score: str):
    """Predictions of each oil by a model of the others, and the ranks of these models."""
    predicted, ranks = np.zeros(len(y)), []
    for train, test in LeaveOneGroupOut().split(X, y, oils):
        folds = list(LeaveOneGroupOut().split(X[train], y[train], oils[train]))
        model = RMRCV(cv=folds, scoring=score).fit(X[train], y[train])
        predicted[test] = model.predict(X[test])
        ranks.append(model.rank_)
    return predicted, ranks


def main() -> None:
    warnings.simplefilter("ignore")
    olive = load_olive()
    masked = mask_scatter(olive.X, olive.emission, olive.excitation, width=15.0, raman=())
    X, y = np.nan_to_num(masked) / np.nanstd(masked), olive.y
    rows = []
    for name, score in SCORES.items():
        predicted, ranks = predictions(X, y, olive.groups, score)
        errors = (r2_score(y, predicted), mean_absolute_error(y, predicted))
        rows.append([name, *(f"{one:.2f}" for one in errors), ", ".join(map(str, ranks))])
    header = ["chosen by", "R2", "mean absolute error, %", "ranks of the four models"]
    print_table("Olive oils, each left out once", header, rows)


if __name__ == "__main__":
    main()
