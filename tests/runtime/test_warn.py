"""Advice that is kept back, without the filters that all threads share."""

import warnings

import pytest
from sklearn.exceptions import ConvergenceWarning

from matreg import AdviceWarning
from matreg._runtime.warn import kept_back, warn, without


def test_what_is_kept_back_is_not_shown():
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with kept_back() as found:
            warn("one")
            with kept_back() as inner:
                warn("two", ConvergenceWarning)
        warn("three")
    assert found == [("one", AdviceWarning)]
    assert inner == [("two", ConvergenceWarning)]
    assert [str(one.message) for one in shown] == ["three"]


@pytest.mark.parametrize(
    ("dropped", "left"),
    [
        ({"start": "The choice"}, ["W = 0", "The gap"]),
        ({"category": ConvergenceWarning}, ["The choice is", "W = 0"]),
        ({}, []),
    ],
)
def test_what_is_not_dropped_is_said_at_the_end_at_the_line_of_the_user(dropped, left):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with without(**dropped):
            warn("The choice is")
            warn("W = 0")
            warn("The gap", ConvergenceWarning)
    assert [str(one.message) for one in shown] == left
    assert {one.filename for one in shown} <= {__file__}


def test_an_error_ends_it():
    with pytest.raises(KeyError), kept_back():
        raise KeyError
    with pytest.warns(AdviceWarning, match="seen"):
        warn("seen")
