"""Simulated matrix regressions with known truth, noisy labels and corrupted samples."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import Bunch, check_array, check_random_state, check_scalar

from .._typing import Array

_NOISE = {
    "gaussian": lambda rng, n: rng.standard_normal(n),
    "laplace": lambda rng, n: rng.laplace(size=n),
    # Two degrees of freedom: a finite mean and an infinite variance.
    "student": lambda rng, n: rng.standard_t(2, size=n),
}


def _low_rank(rng: RandomState, rows: int, columns: int, rank: int, name: str) -> Array:
    """Gaussian factors, scaled so that the entries of their product have variance 1."""
    check_scalar(rank, name, Integral, min_val=1, max_val=min(rows, columns))
    left, right = rng.standard_normal((rows, rank)), rng.standard_normal((rank, columns))
    return left @ right / np.sqrt(rank)


def _choose(rng: RandomState, shape: tuple[int, ...], fraction: float) -> NDArray[np.bool_]:
    """Mask in which exactly the given fraction (rounded) of the entries is set."""
    mask = np.zeros(shape, dtype=bool)
    mask.flat[rng.choice(mask.size, round(fraction * mask.size), replace=False)] = True
    return mask


def _make_coef(
    rng: RandomState, coef: ArrayLike | None, shape: tuple[int, int], rank: int
) -> Array:
    if coef is not None:
        return check_array(coef, dtype=np.float64, input_name="coef")
    if len(shape) != 2:
        raise ValueError(f"shape must be a pair (rows, columns); got {shape!r}.")
    for length in shape:
        check_scalar(length, "shape", Integral, min_val=1)
    return _low_rank(rng, *shape, rank, "rank")


def _make_samples(
    rng: RandomState, n_samples: int, shape: tuple[int, ...], x_rank: int | None
) -> Array:
    n_entries = int(np.prod(shape))
    if x_rank is None:
        flat = rng.standard_normal((n_samples, n_entries))
    else:
        flat = _low_rank(rng, n_samples, n_entries, x_rank, "x_rank")
    return flat.reshape(n_samples, *shape)


def _signed(rng: RandomState, sizes: Array) -> Array:
    return sizes * rng.choice([-1.0, 1.0], sizes.shape)


def make_matrix_regression(
    n_samples: int = 500,
    shape: tuple[int, int] = (64, 64),
    *,
    coef: ArrayLike | None = None,
    rank: int = 2,
    bias: float = 0.5,
    noise: str = "laplace",
    noise_scale: float = 0.01,
    label_outliers: float = 0.0,
    label_outlier_size: tuple[float, float] = (3.0, 8.0),
    x_rank: int | None = None,
    x_corruption: float = 0.0,
    x_corruption_size: float = 5.0,
    random_state: int | RandomState | None = None,
) -> Bunch:
    """Simulate a regression on matrices: ``y_i = <coef, X_i> + bias + noise``.

    Parameters
    ----------
    n_samples : int, default=500
        Number of samples.
    shape : tuple of int, default=(64, 64)
        Rows and columns of one sample. A given `coef` brings its own shape, and this is ignored.
    coef : array-like of shape (p, q), default=None
        True coefficients, for example from :func:`make_shape`; by default a random matrix of rank
        `rank` whose entries have variance 1.
    rank : int, default=2
        Rank of the random coefficients.
    bias : float, default=0.5
        True intercept.
    noise : {"gaussian", "laplace", "student"}, default="laplace"
        Distribution of the label noise; Student's t has two degrees of freedom.
    noise_scale : float, default=0.01
        Scale of the noise: standard deviation, Laplace scale or factor of the t variable.
    label_outliers : float, default=0.0
        Fraction of the samples whose label is moved away.
    label_outlier_size : tuple of float, default=(3.0, 8.0)
        Smallest and largest distance of such a move, in standard deviations of the clean labels;
        the sign is random.
    x_rank : int, default=None
        Rank of the clean samples stacked as an ``n_samples x p*q`` matrix; by default their entries
        are independent. Entries have mean 0 and variance 1 either way.
    x_corruption : float, default=0.0
        Fraction of the entries of all samples to which a spike is added. The labels belong to the
        clean samples.
    x_corruption_size : float, default=5.0
        Height of the spikes, whose sign is random.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible output.

    Returns
    -------
    :class:`~sklearn.utils.Bunch`
        `X` (n_samples, p, q) and `y` (n_samples,) as observed; the truth `coef`, `intercept`,
        `X_clean` and `y_clean` (no noise, no outliers); `label_outlier_mask` (n_samples,) and
        `x_outlier_mask` (n_samples, p, q).

    Examples
    --------
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(100, (8, 6), label_outliers=0.1, random_state=0)
    >>> data.X.shape, data.y.shape, int(data.label_outlier_mask.sum())
    ((100, 8, 6), (100,), 10)
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(bias, "bias", Real)
    check_scalar(noise_scale, "noise_scale", Real, min_val=0.0)
    check_scalar(label_outliers, "label_outliers", Real, min_val=0.0, max_val=1.0)
    check_scalar(x_corruption, "x_corruption", Real, min_val=0.0, max_val=1.0)
    check_scalar(x_corruption_size, "x_corruption_size", Real, min_val=0.0)
    if len(label_outlier_size) != 2 or not 0.0 <= label_outlier_size[0] <= label_outlier_size[1]:
        raise ValueError(
            "label_outlier_size must be a pair (low, high) with 0 <= low <= high; got "
            f"{label_outlier_size!r}."
        )
    if noise not in _NOISE:
        raise ValueError(f"noise must be one of {', '.join(_NOISE)}; got {noise!r}.")

    rng = check_random_state(random_state)
    coef = _make_coef(rng, coef, shape, rank)
    X_clean = _make_samples(rng, n_samples, coef.shape, x_rank)
    y_clean = np.tensordot(X_clean, coef, axes=2) + bias
    y = y_clean + noise_scale * _NOISE[noise](rng, n_samples)

    label_mask = _choose(rng, y.shape, label_outliers)
    moves = _signed(rng, rng.uniform(*label_outlier_size, size=n_samples))
    y += label_mask * moves * y_clean.std()

    x_mask = _choose(rng, X_clean.shape, x_corruption)
    X = X_clean.copy()
    X[x_mask] += _signed(rng, np.full(np.count_nonzero(x_mask), x_corruption_size))
    return Bunch(
        X=X,
        y=y,
        coef=coef,
        intercept=float(bias),
        X_clean=X_clean,
        y_clean=y_clean,
        label_outlier_mask=label_mask,
        x_outlier_mask=x_mask,
    )
