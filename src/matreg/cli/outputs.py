"""Checks of outputs before the work, and lines that are safe for terminals and spreadsheets."""

from __future__ import annotations

import io
import sys
import tempfile
from pathlib import Path
from typing import IO, Any, TextIO

from .._runtime.text import printable

# First characters of cells that spreadsheets interpret as formulas.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


def check_output(path: str, endings: tuple[str, ...], *inputs: str | None) -> None:
    """Refuse an output that has another ending, cannot be written, or would replace an input."""
    if not path.lower().endswith(endings):
        raise ValueError(f"-o must end with {' or '.join(endings)}; got {path}.")
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"-o must be in a folder that exists; {Path(path).parent} does not."
        )
    if target.is_dir():
        raise IsADirectoryError(f"-o must be a file; {path} is a folder.")
    if target.exists() and not target.is_file():
        raise ValueError(f"-o must be a file; {path} is a pipe or a device.")
    if not takes_files(target.parent):
        raise PermissionError(f"-o must be in a folder that you may write to; got {path}.")
    if any(one is not None and Path(one).resolve() == target for one in inputs):
        raise ValueError(f"-o must not be a file that is read; got {path}.")


def check_folder(path: str) -> None:
    """Make a folder for outputs, and refuse one that cannot be written to, before the work."""
    Path(path).mkdir(parents=True, exist_ok=True)
    if not takes_files(path):
        raise PermissionError(f"--out must be a folder that you may write to; got {path}.")


def takes_files(folder: str | Path) -> bool:
    """Whether a file can be created in a folder. Permissions do not tell: root has all of them."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


def write_array(stream: IO[bytes], array: Any) -> None:
    """Write an array as .npy, first into memory.

    On a full disk NumPy may write a part of the array into a file without an error.
    """
    import numpy as np

    content = io.BytesIO()
    np.save(content, array)
    stream.write(content.getbuffer())


def say(text: str, stream: TextIO | None = None) -> None:
    """Print lines without characters that terminals interpret as commands."""
    stream = sys.stdout if stream is None else stream
    lines = text.splitlines() if stream is sys.stdout else [" ".join(text.split())]
    print("\n".join(printable(line) for line in lines), file=stream)


def safe_cell(value: Any) -> Any:
    """A cell of a CSV file, with an apostrophe before words that a spreadsheet would compute.

    Numbers stay unchanged, and so do the single signs + and -, which are common classes.
    """
    if not isinstance(value, str) or not value.startswith(FORMULA) or value in ("+", "-"):
        return value
    try:
        float(value)
    except ValueError:
        return f"'{value}"
    return value
