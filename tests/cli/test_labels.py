"""Labels that look like something else are questioned."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from matreg.cli import main
from matreg.cli.labels import check_labels


@pytest.mark.parametrize(
    "y",
    [[0.0, 1.0, 2.0] * 8, [1, 2, 3, 4] * 4],
    ids=["three", "four"],
)
def test_few_integers_look_like_classes(y):
    with pytest.warns(UserWarning, match="distinct integers .* look like classes.*--model smm"):
        check_labels(np.array(y), "y", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_labels(np.array(y), "y", False)  # --model rmr is an answer
        check_labels(np.array(y), "y", True)


def test_booleans_are_classes():
    y = np.array([True, False] * 10)
    assert check_labels(y, "y", None).tolist() == ["True", "False"] * 10
    assert check_labels(y, "y", False).dtype.kind == "b"


@pytest.mark.parametrize(
    "y", [np.arange(40), [0.5, 1.0] * 10, [3.0] * 20, [1, 2, 3, 4]], ids=["n", "half", "1", "few"]
)
def test_numbers_are_not_questioned(y):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_labels(np.array(y), "y", None).dtype.kind in "fi"


@pytest.mark.parametrize("y", [["1.5", "2", "-3e2"], ["1,5", "2", "-300"]])
def test_numbers_in_strings_are_taken_as_numbers_and_said(y):
    for classes in (None, False):
        with pytest.warns(UserWarning, match="numbers that are stored as words.*--model smm"):
            found = check_labels(np.array(y), "y", classes)
        np.testing.assert_array_equal(found, [1.5, 2.0, -300.0])
    assert check_labels(np.array(y), "y", True).tolist() == y


@pytest.mark.parametrize(
    "y",
    [
        np.array(["2024-01-31", "2024-02-01"], dtype="datetime64[D]"),
        np.array([3, 4], dtype="timedelta64[h]"),
        np.array(["2024-01-31", "2024-02-01"]),
        np.array(["2024-01-31T12:00:01", "2024-02-01 12:00"]),
        np.array(["31.1.2024", "1.2.24"]),
        np.array(["1/31/2024", "2/1/2024"]),
    ],
    ids=lambda y: str(y[0]),
)
def test_dates_are_refused_unless_they_are_said_to_be_classes(y):
    for classes in (None, False):
        with pytest.raises(ValueError, match=r"y holds dates or times such as .*--model smm"):
            check_labels(y, "y", classes)
    assert check_labels(y, "y", True).dtype.kind == "U"


def test_words_for_a_model_of_numbers():
    with pytest.raises(ValueError, match="must be numbers for this model; got words such as 'a'"):
        check_labels(np.array(["a", "b"] * 5), "y", False)


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["1.5", "2.5", "1.005,2", "3"], "sample 2, counted from 0, has '1.005,2', which is not a"),
        (["1.5", "2.5", "broken", "3"], "y holds numbers, but sample 2, .* has 'broken'"),
        (
            ["1,5", "2,5", "1.005", "3"],
            "has '1.005', and others .* may be decimal or separate thousands",
        ),
    ],
)
def test_a_word_among_numbers_makes_no_classes(cells, message):
    for classes in (None, False):
        with pytest.raises(ValueError, match=message):
            check_labels(np.array(cells), "y", classes)
    assert check_labels(np.array(cells), "y", True).tolist() == cells
    assert check_labels(np.array([*cells, *"abcd"]), "y", None).dtype.kind == "U"


def test_nearly_as_many_words_as_samples():
    with pytest.warns(UserWarning, match="y holds 10 different words for 10 samples"):
        check_labels(np.array([f"flask {k}" for k in range(10)]), "y", None)


@pytest.mark.parametrize("y", [[1.0, np.nan, 2.0], ["a", "", "b"]])
def test_missing_labels(y):
    with pytest.raises(ValueError, match="1 of 3 have none, the first is sample 1, counted from 0"):
        check_labels(np.array(y), "y", None)


def test_the_hint_is_one_line_of_the_command(arrays, tmp_path, capsys):
    pytest.importorskip("skops.io", reason="skops is not installed")
    y = (arrays["y"] > 0).astype(int)
    np.savez(tmp_path / "d.npz", X=arrays["X"], y=y)
    arguments = ["fit", str(tmp_path / "d.npz"), "--cv", "0", "-o", str(tmp_path / "m.skops")]
    assert main(arguments) == 0
    said = capsys.readouterr().err
    assert said.count("warning") == 1 and "only two values, 0 and 1" in said
    assert main([*arguments, "--model", "smm"]) == 0
    assert "two values" not in capsys.readouterr().err
