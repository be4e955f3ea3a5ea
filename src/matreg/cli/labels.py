"""Checks of labels whose kind is not clear: classes as integers, dates, numbers in strings."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.warn import warn
from .tables import to_numbers

# Integers look like classes if there are few values, and several samples per value on average.
MOST_CLASSES, LEAST_SAMPLES = 10, 3
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([T ].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}([T ].*)?")


def check_labels(y: NDArray[Any], target: str, classes: bool | None) -> NDArray[Any]:
    """Labels (n,) as numbers or words, with a warning if they look like the other kind.

    `classes` says whether the options ask for a model of classes (True) or of numbers (False); it
    is None if they do not say.
    """
    _refuse_missing(y, target)
    if y.dtype.kind == "b" and classes is None:
        return y.astype(str)
    if y.dtype.kind in "fiub":
        if classes is None:
            _question_integers(y, target)
        return y
    words = y.astype(str)
    if classes:
        return words
    if y.dtype.kind in "mM" or all(DATE.fullmatch(word) for word in words):
        raise ValueError(
            f"{target} holds dates or times such as {words[0]}, which are neither numbers nor "
            "classes. Give the days or hours since a start as numbers, name other labels with "
            "--target, or pass --model smm if each date is a class."
        )
    numbers = to_numbers(words.tolist(), commas=True)
    if numbers is not None:
        warn(
            f"{target} holds numbers that are stored as words, such as {str(words[0])!r}: they are "
            "taken as numbers. Pass --model smm if they are classes."
        )
        return numbers
    _refuse_a_few_words(words, target)
    if classes is False:
        raise ValueError(
            f"{target} must be numbers for this model; got words such as {str(words[0])!r}. Models "
            "of classes are fitted with --model smm."
        )
    _question_many_classes(words, target)
    return words


def _refuse_missing(y: NDArray[Any], target: str) -> None:
    kind = y.dtype.kind
    missing = np.isnan(y) if kind == "f" else np.isnat(y) if kind in "mM" else y.astype(str) == ""
    count = int(np.sum(missing))
    if count:
        raise ValueError(
            f"{target} must have a label for each sample; {count} of {len(y)} have none, the first "
            f"is sample {int(np.argmax(missing))}, counted from 0. Leave those samples out."
        )


def _question_integers(y: NDArray[Any], target: str) -> None:
    found = np.unique(y)
    few = len(found) <= min(MOST_CLASSES, len(y) // LEAST_SAMPLES)
    # Two values are questioned by the models themselves.
    if few and len(found) > 2 and bool(np.all(found == np.round(found.astype(float)))):
        values = ", ".join(f"{one:g}" for one in found.astype(float))
        warn(
            f"{target} holds {len(found)} distinct integers ({values}), which look like classes "
            "and are taken as numbers. Pass --model smm for classes, --model rglm --family poisson "
            "for counts, or --model rmr if they are numbers."
        )


def _refuse_a_few_words(words: NDArray[Any], target: str) -> None:
    """Refuse numbers with a cell or two that are none: a model of classes would be no answer."""
    odd = np.array([to_numbers([word], commas=True) is None for word in words.tolist()])
    if 2 * np.sum(odd) >= len(words):
        return
    if odd.any():
        first, what = int(np.argmax(odd)), "which is not a number"
    else:
        first = next(k for k, word in enumerate(words) if "." in word)
        what = "and others have decimal commas: its point may be decimal or separate thousands"
    raise ValueError(
        f"{target} holds numbers, but sample {first}, counted from 0, has {str(words[first])!r}, "
        f"{what}. Correct it, or pass --model smm if the labels are classes."
    )


def _question_many_classes(words: NDArray[Any], target: str) -> None:
    count = len(np.unique(words))
    if 2 * count > len(words):
        warn(
            f"{target} holds {count} different words for {len(words)} samples, which are many "
            "classes. Are they the labels? Name others with --target."
        )
