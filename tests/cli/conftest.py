"""A small data set in every form that the commands read."""

from __future__ import annotations

import numpy as np
import pytest

from matreg.datasets import make_matrix_regression


@pytest.fixture(scope="session")
def arrays():
    data = make_matrix_regression(40, (5, 4), rank=1, noise_scale=0.2, random_state=0)
    return {
        "X": data.X,
        "y": data.y,
        "groups": np.arange(40) // 4,
        "emission": np.linspace(300.0, 400.0, 5),
        "excitation": np.linspace(250.0, 280.0, 4),
    }


@pytest.fixture
def npz(arrays, tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, **arrays)
    return str(path)
