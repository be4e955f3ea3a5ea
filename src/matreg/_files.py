"""Files that are written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


@contextmanager
def writing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file beside `path` that takes its place at the end: the whole file, or nothing.

    Parameters
    ----------
    path : path-like
        File to write.
    mode : {"wb", "w"}, default="wb"
        Bytes, or text in UTF-8 without translation of line ends.
    """
    target = Path(path).resolve()
    beside = target.with_name(f".{target.name}.{os.getpid()}.part")
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    with open(beside, mode.replace("w", "x"), **text) as stream:  # never one that is there
        try:
            yield stream
            stream.close()
            os.replace(beside, target)
        finally:
            beside.unlink(missing_ok=True)
