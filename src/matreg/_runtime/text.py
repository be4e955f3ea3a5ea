"""Text without control characters, and numbers with their nouns."""

from __future__ import annotations

# Characters to keep although ``str.isprintable`` is false for them.
HARMLESS = "\n\u00a0"


def printable(text: str) -> str:
    r"""The text, with escape sequences for control characters and those that hide or reorder text.

    Examples
    --------
    >>> printable("red" + chr(27) + "[31m")
    'red\\x1b[31m'
    """
    return "".join(
        one if one.isprintable() or one in HARMLESS else ascii(one)[1:-1] for one in text
    )


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun: 1 sample, 2 samples.

    Examples
    --------
    >>> counted(1, "label is", "labels are"), counted(2, "fold")
    ('1 label is', '2 folds')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"
