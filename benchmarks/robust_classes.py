"""Classes of corrupted samples: SMM, SMM after robust PCA, and GSMM side by side.

    python -m benchmarks.robust_classes [--data digits mnist] [--rounds 2]

A tenth of the training samples is corrupted, and none, a tenth or all of the test samples: by a
block of the largest value, a third of the sides long; by spikes in a tenth of the entries; or by a
gap, a block that is not observed. SMM has the medians of the training samples in gaps. "known
block" is GSMM told where the blocks are, as gaps: what a block hides cannot be won back. All models
have their default parameters. Faces are split by person and need ``MATREG_DATA`` or a download,
and so does MNIST.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.timing import print_table
from matreg import GRMR, GSMM, SMM
from matreg.datasets import load_cmu_faces, load_mnist

SEEDS = "{rounds} from 0 on"


def digits(samples, rng):
    data = load_digits()
    return split(data.images, data.target, rng.permutation(len(data.target)), samples)


def mnist(samples, rng):
    data = load_mnist()
    index = rng.choice(len(data.y_train), 2 * samples, replace=False)
    return split(data.X_train, data.y_train, index, samples)


def split(X, y, index, samples):
    train, test = index[:samples], index[samples : 2 * samples]
    return X[train].astype(float), y[train], X[test].astype(float), y[test]


def faces(label):
    def load(samples, rng):
        data = load_cmu_faces()
        people = rng.permutation(np.unique(data.person))[:10]
        train = np.isin(data.person, people)
        y = data[label]
        return data.X[train], y[train], data.X[~train], y[~train]

    return load


# How samples are drawn, and how many.
DATA = {
    "digits": (digits, 300),
    "mnist": (mnist, 120),
    "direction": (faces("y"), None),
    "sunglasses": (faces("eyes"), None),
}
NAMES = {
    "digits": "digits, ten classes, 300 images",
    "mnist": "MNIST, ten classes, 120 images",
    "direction": "faces, direction, new people",
    "sunglasses": "faces with sunglasses or without, new people",
}


def chosen(X, share, rng):
    return rng.choice(len(X), round(share * len(X)), replace=False)


def block(X, share, rng, largest):
    X, (p, q) = X.copy(), (round(k / 3) for k in X.shape[1:])
    for i in chosen(X, share, rng):
        row, column = rng.integers(X.shape[1] - p + 1), rng.integers(X.shape[2] - q + 1)
        X[i, row : row + p, column : column + q] = largest
    return X


def gap(X, share, rng, largest):
    return block(X, share, rng, np.nan)


def spikes(X, share, rng, largest):
    X = X.copy()
    for i in chosen(X, share, rng):
        hit = rng.random(X.shape[1:]) < 0.1
        X[i][hit] = largest * rng.uniform(1.0, 2.0, hit.sum()) * rng.choice([-1, 1], hit.sum())
    return X


class FilledSMM(SMM):
    """SMM with the medians of the training samples in gaps."""

    def fit(self, X, y):
        """Remember the medians."""
        self.middle = np.nanmedian(X, axis=0)
        return super().fit(np.where(np.isnan(X), self.middle, X), y)

    def score(self, X, y):
        """Accuracy."""
        return super().score(np.where(np.isnan(X), self.middle, X), y)


class SMMAfterPCA:
    """SMM on what robust principal component analysis leaves, labels not used."""

    def fit(self, X, y):
        """Split the samples, then fit the machine."""
        self.pca = GRMR(1.0, C=1.0, epsilon=0.0, outliers="split").fit(X, np.zeros(len(X)))
        self.machine = SMM().fit(self.pca.X_clean_, y)
        return self

    def score(self, X, y):
        """Accuracy on samples that are cleaned in the same row space."""
        return self.machine.score(self.pca.transform(X), y)


MODELS = {"SMM": FilledSMM, "SMM after robust PCA": SMMAfterPCA, "GSMM": GSMM}


def one_round(load, samples, seed):
    """Accuracies by corruption and model on clean samples, and with a tenth and all corrupted."""
    rng = np.random.default_rng(seed)
    X, y, X_test, y_test = load(samples, rng)
    largest = X.max()
    scores = {}
    for corrupt in (spikes, gap, block):
        train = corrupt(X, 0.1, rng, largest)
        tests = [X_test, *(corrupt(X_test, share, rng, largest) for share in (0.1, 1.0))]
        for name, make in MODELS.items():
            model = make().fit(train, y)
            scores[corrupt.__name__, name] = [model.score(one, y_test) for one in tests]
        if corrupt is block:
            known = np.where(tests[-1] != X_test, np.nan, X_test)
            scores["block", "known block"] = [np.nan, np.nan, model.score(known, y_test)]
    return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--data", nargs="+", default=list(DATA), choices=list(DATA))
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the fits of robust PCA call most entries outliers
    rows = []
    for name in args.data:
        rounds = [one_round(*DATA[name], seed) for seed in range(args.rounds)]
        for kind in ("spikes", "gap", "block"):
            cells = []
            for model in MODELS:
                mean = np.mean([one[kind, model] for one in rounds], axis=0)
                cells.append(", ".join(f"{share:.3f}".removeprefix("0") for share in mean))
            known = ""
            if kind == "block":
                share = np.mean([one["block", "known block"][-1] for one in rounds])
                known = f"{share:.3f}".removeprefix("0")
            rows.append([NAMES[name], kind, *cells, known])
            print(*rows[-1], sep="; ", flush=True)
    header = ["data", "corruption", *MODELS, "GSMM, all, block known"]
    title = f"Share of right labels: clean, a tenth and all corrupted; mean of {args.rounds} rounds"
    print_table(title, header, rows)


if __name__ == "__main__":
    main()
