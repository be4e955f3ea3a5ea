"""Prediction intervals from leave-one-out residuals and predictions: jackknife+.

R. F. Barber, E. J. Candes, A. Ramdas, R. J. Tibshirani, Predictive inference with the jackknife+,
Annals of Statistics 2021.
"""

from __future__ import annotations

from numbers import Real

import numpy as np

from ..._typing import Array


def jackknife_plus(
    residuals: Array, predictions: Array, confidence: float = 0.9
) -> tuple[Array, Array]:
    """Prediction intervals that cover a new label with about the probability `confidence`.

    With ``alpha = 1 - confidence`` the lower end is the ``floor(alpha (n + 1))``-th smallest of
    ``f_i(x) - |r_i|`` and the upper one the ``ceil((1 - alpha) (n + 1))``-th smallest of
    ``f_i(x) + |r_i|``, where f_i is the fit without sample i and r_i the residual of sample i in
    this fit. For exchangeable samples the coverage is at least ``1 - 2 alpha``, whatever the model,
    and typically ``1 - alpha``.

    Parameters
    ----------
    residuals : ndarray of shape (n,)
        Leave-one-out residuals, in the units of the labels.
    predictions : ndarray of shape (n, m)
        Predictions of m new samples by the n fits that each leave out one sample.
    confidence : float, default=0.9
        Target coverage, above 0 and at most ``n / (n + 1)``.

    Returns
    -------
    lower, upper : ndarray of shape (m,)
        Ends of the intervals.

    Examples
    --------
    >>> import numpy as np
    >>> lower, upper = jackknife_plus(np.array([1.0, -2.0, 0.5, 0.1]), np.zeros((4, 1)), 0.8)
    >>> float(lower[0]), float(upper[0])
    (-2.0, 2.0)
    """
    n = len(residuals)
    if not isinstance(confidence, Real) or not 0.0 < confidence <= n / (n + 1.0):
        raise ValueError(
            f"confidence must be above 0 and at most n / (n + 1) = {n / (n + 1.0):.3g} for n = {n} "
            f"samples; got {confidence!r}."
        )
    # Rounding must not change the rank: 9.000000000000002 counts as 9.
    rank = min(int(np.ceil(confidence * (n + 1) - 1e-9)), n)
    size = np.abs(residuals)[:, None]
    upper = np.partition(predictions + size, rank - 1, axis=0)[rank - 1]
    lower = np.partition(predictions - size, n - rank, axis=0)[n - rank]
    return lower, upper
