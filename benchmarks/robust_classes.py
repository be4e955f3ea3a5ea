"""Classes of corrupted samples: SMM, SMM after robust PCA, and GSMM side by side.

python -m benchmarks.robust_classes [--data digits faces] [--samples 300] [--rounds 1]

A tenth of the training samples is corrupted, and none, a tenth or all of the test samples: by a
block of the largest value, a third of the sides long; by spikes in a tenth of the entries; or by a
gap, a block that is not observed. SMM has the medians of the training samples in gaps. "known
block" is GSMM told where the blocks are, as gaps: what a block hides cannot be won back. All models
have their default parameters. Faces are split by person and need ``MATREG_DATA`` or a download,
and so does MNIST.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits

from matreg import GRMR, GSMM, SMM
from matreg.datasets import load_cmu_faces, load_mnist


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


DATA = {
    "digits": digits,
    "mnist": mnist,
    "sunglasses": faces("eyes"),
    "direction": faces("y"),
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
    """Accuracies by corruption, model and test samples, and CPU seconds of the fits."""
    rng = np.random.default_rng(seed)
    X, y, X_test, y_test = load(samples, rng)
    largest = X.max()
    scores = {}
    for corrupt in (block, spikes, gap):
        train = corrupt(X, 0.1, rng, largest)
        tests = {share: corrupt(X_test, share, rng, largest) for share in (0.1, 1.0)}
        for name, make in MODELS.items():
            start = time.process_time()
            model = make().fit(train, y)
            seconds = time.process_time() - start
            row = [model.score(one, y_test) for one in (X_test, *tests.values())]
            scores[corrupt.__name__, name] = [*row, seconds]
        if corrupt is block:
            known = np.where(tests[1.0] != X_test, np.nan, X_test)
            scores["block", "known block"] = [np.nan, np.nan, model.score(known, y_test), np.nan]
    return scores


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", nargs="+", default=["digits", "sunglasses"], choices=DATA)
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=1)
    args = parser.parse_args()
    warnings.simplefilter("ignore")  # the fits of robust PCA call most entries outliers
    for name in args.data:
        rounds = [one_round(DATA[name], args.samples, seed) for seed in range(args.rounds)]
        print(f"\n{name}\n{'':>30}", *(f"{one:>9}" for one in ("clean", "a tenth", "all", "CPU s")))
        for key in rounds[0]:
            mean = np.mean([one[key] for one in rounds], axis=0)
            print(f"{' '.join(key):>30}", *(f"{one:9.3f}" for one in mean), flush=True)


if __name__ == "__main__":
    main()
