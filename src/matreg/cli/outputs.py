"""What the commands write: whole files or none, and lines that cannot command a terminal."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import IO, Any, TextIO

# First characters by which spreadsheets take a cell for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_output(path: str, endings: tuple[str, ...], *inputs: str | None) -> None:
    """Refuse an output that cannot be written or is not what its ending says, before the work.

    Parameters
    ----------
    path : str
        File to write.
    endings : tuple of str
        Endings of the formats that the command writes.
    *inputs : str or None
        Files that the command reads, which the output must not replace.
    """
    if not path.lower().endswith(endings):
        raise ValueError(f"-o must end with {' or '.join(endings)}; got {path}.")
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"-o must be in a folder that exists; {Path(path).parent} does not."
        )
    if target.is_dir():
        raise IsADirectoryError(f"-o must be a file; {path} is a folder.")
    if not os.access(target.parent, os.W_OK):
        raise PermissionError(f"-o must be in a folder that you may write to; got {path}.")
    if any(one is not None and Path(one).resolve() == target for one in inputs):
        raise ValueError(f"-o must not be a file that is read; got {path}.")


def check_folder(path: str) -> None:
    """Make a folder for outputs, and refuse one that cannot be written to, before the work."""
    Path(path).mkdir(parents=True, exist_ok=True)
    if not os.access(path, os.W_OK):
        raise PermissionError(f"--out must be a folder that you may write to; got {path}.")


def write_array(stream: IO[bytes], array: Any) -> None:
    """Write an array as .npy.

    By way of memory: where the disk is full, NumPy's own way into a file ends in silence with a
    part of the array, because nobody looks at what closing the file says.
    """
    import numpy as np

    content = io.BytesIO()
    np.save(content, array)
    stream.write(content.getbuffer())


def say(text: str, stream: TextIO | None = None) -> None:
    """Print one line, or several, without characters that terminals take for commands."""
    stream = sys.stdout if stream is None else stream
    lines = text.splitlines() if stream is sys.stdout else [" ".join(text.split())]
    print("\n".join(printable(line) for line in lines), file=stream)


def printable(text: str) -> str:
    """A line in which control characters are written as their escape sequences."""
    return "".join(one if one.isprintable() else ascii(one)[1:-1] for one in text)


def safe_cell(value: Any) -> Any:
    """A cell of a CSV file; words that a spreadsheet would compute get an apostrophe before them.

    Numbers stay as they are, and so do the signs + and - alone, which are common classes.
    """
    if not isinstance(value, str) or not value.startswith(FORMULA) or value in ("+", "-"):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
