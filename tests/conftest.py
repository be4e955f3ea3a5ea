"""What all tests share."""

import pytest

from matreg import interruption


@pytest.fixture(autouse=True)
def no_ctrl_c_before(monkeypatch):
    """Ctrl-C of one test must not count as the first of two of the next."""
    monkeypatch.setattr(interruption, "_last", -float("inf"))
