"""Text that terminals and browsers show as it is, and numbers with their nouns."""

from __future__ import annotations

# Spaces and ends of lines, which Python does not call printable.
HARMLESS = "\n\u00a0"


def printable(text: str) -> str:
    r"""The text, with control characters and characters that hide or reorder others as escape
    sequences.

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
