"""Labels without noise of images with channels: the coefficients come back."""

import numpy as np
import pytest

from matreg import RMRCV

HEIGHT, WIDTH, CHANNELS = 8, 8, 3


def rmse_of_coefficients(model, n=400, seed=0):
    """Error of the coefficients of a square in images (8, 8, 3), unfolded to 8 x 24."""
    X = np.random.default_rng(seed).standard_normal((n, HEIGHT, WIDTH, CHANNELS))
    truth = np.zeros((HEIGHT, WIDTH, CHANNELS))
    truth[2:6, 2:6] = 1.0
    y = np.tensordot(X, truth, axes=3)
    model.fit(X.reshape(n, HEIGHT, WIDTH * CHANNELS), y)
    return np.sqrt(np.mean((model.coef_.reshape(truth.shape) - truth) ** 2))


@pytest.mark.slow
@pytest.mark.parametrize("model", [RMRCV(), RMRCV(loss="absolute", cv=3, n_taus=10)])
def test_coefficients_come_back(model):
    assert rmse_of_coefficients(model) <= 0.05
