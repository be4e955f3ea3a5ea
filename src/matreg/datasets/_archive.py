"""Reading files from archives, which may be nested, and workbooks."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from .._runtime.packages import optional

_ARCHIVE = re.compile(r".*\.(zip|tar|tgz|tar\.gz)", re.IGNORECASE)


def read_members(archive: bytes, pattern: str) -> dict[str, bytes]:
    """Contents of all files whose name, without folders, matches; archives inside are opened too.

    Everything stays in memory: nothing is unpacked to the disk.
    """
    found = {}
    for path, read in _entries(archive):
        name = path.rsplit("/", 1)[-1]
        if re.fullmatch(pattern, name):
            found[name] = read()
        elif _ARCHIVE.fullmatch(name):
            found.update(read_members(read(), pattern))
    return found


def _entries(archive: bytes) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Path and reader of every file in a zip or tar archive."""
    stream = io.BytesIO(archive)
    if zipfile.is_zipfile(stream):
        with zipfile.ZipFile(stream) as packed:
            for name in packed.namelist():
                yield name, partial(packed.read, name)
        return
    stream.seek(0)
    with tarfile.open(fileobj=stream) as tape:
        for member in tape:
            if file := tape.extractfile(member):
                yield member.name, file.read


def rows_of_workbook(content: bytes) -> Iterator[tuple[Any, ...]]:
    """Rows of values of the first sheet of an .xlsx file."""
    openpyxl = optional("openpyxl", "data")
    book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
    rows: Iterator[tuple[Any, ...]] = book.worksheets[0].iter_rows(values_only=True)
    return rows
