"""Models fitted without each sample, and the samples and labels they share."""

import numpy as np
from sklearn.base import clone

from matreg.bases import smooth_basis
from matreg.datasets import make_matrix_regression

N = 30
data = make_matrix_regression(N, (5, 4), rank=1, noise_scale=1.0, random_state=0)
new = make_matrix_regression(300, (5, 4), coef=data.coef, noise_scale=1.0, random_state=1)

age = np.random.default_rng(0).standard_normal((N, 2)) + data.X[:, 0, :2]
aged = data.y + age @ [1.0, -2.0]
BASES = {"row_basis": smooth_basis(5, 3.0), "column_basis": smooth_basis(4, 2.0)}


def models_without(model, X, y, Z=None, every=1):
    """The model fitted without each sample, or some of them."""
    for i in range(0, len(y), every):
        rest = np.arange(len(y)) != i
        beside = {} if Z is None else {"covariates": Z[rest]}
        yield clone(model).set_params(tol=1e-8).fit(X[rest], y[rest], **beside)


def true_decisions(model, X, y, Z=None, every=1):
    """Decisions on each sample, or some of them, by the model fitted without it."""
    models = models_without(model, X, y, Z, every)
    Xs, Zs = X[::every], None if Z is None else Z[::every]
    return np.array(
        [
            one._decide(Xs[i : i + 1], None if Z is None else Zs[i : i + 1])[0]
            for i, one in enumerate(models)
        ]
    )
