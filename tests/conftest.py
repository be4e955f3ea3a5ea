"""What all tests share."""

import sys
from pathlib import Path

import pytest

from matreg._runtime import interruption

# Asserts of these count under `python -O`, too, as those of the tests themselves do.
pytest.register_assert_rewrite("problems", "own", "vectors")
HERE = Path(__file__).parent
# Files and folders whose tests build the site, run experiments, start processes and clusters, or
# solve hundreds of problems by CVXPY; single slow tests bear the marker themselves.
SLOW = (
    "docs",
    "experiments",
    "faults/test_limits.py",
    "faults/test_signals.py",
    "peers/test_noise_free.py",
    "solvers/interior/test_attempts.py",
    "data/test_dask_blocks.py",
    "test_extension.py",
    "runtime/test_interruption.py",
    "test_random_fits.py",
)


def pytest_collection_modifyitems(items):
    """Mark what is in the list as slow."""
    slow = tuple(str(HERE / one) for one in SLOW)
    for item in items:
        if str(item.path).startswith(slow):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def no_ctrl_c_before(monkeypatch):
    """Ctrl-C of one test must not count as the first of two of the next."""
    monkeypatch.setattr(interruption, "_last", -float("inf"))


@pytest.fixture(autouse=True)
def no_figures_before():
    """pyplot warns of the 21st open figure, and figures of other tests must not count."""
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")
