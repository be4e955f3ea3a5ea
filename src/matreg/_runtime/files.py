"""Files are written under another name and renamed: complete, or as they were before."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# Errors of a write, which do not name the file: no space, no quota, larger than allowed.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# Files that were written, for the last line of a command.
WRITTEN: list[str] = []


@contextmanager
def writing(path: str | os.PathLike[str], mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a file beside `path` that takes its place at the end: the whole file, or nothing.

    After a full disk, an error or Ctrl-C, the old file is still there, and no other.

    A link stays one, and its target is written. A file that is there keeps its permissions; what is
    no file, such as a pipe or a device, is refused. Text (mode "w") is in UTF-8 without translation
    of line ends. Errors of the disk name `path`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with writing(f"{folder}/a.txt", "w") as stream:
    ...         _ = stream.write("whole")
    ...     print(os.listdir(folder))
    ['a.txt']
    """
    target = Path(path).resolve()
    mode_before = target.stat().st_mode if target.exists() else None
    if mode_before is not None and not stat.S_ISREG(mode_before) and not target.is_dir():
        raise OSError(errno.EINVAL, "this is no file that can be replaced", os.fspath(path))
    # A random name: threads may write the same file, and killed processes leave theirs.
    beside = target.with_name(f".{target.name[:50]}.{secrets.token_hex(6)}.part")
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    try:
        with open(beside, mode.replace("w", "x"), **text) as stream:
            if mode_before is not None:
                os.chmod(beside, stat.S_IMODE(mode_before))
            yield stream
        os.replace(beside, target)
        WRITTEN.append(os.fspath(path))
    except OSError as error:
        nameless = error.filename is None and error.errno in FULL
        if nameless or error.filename in (beside, os.fspath(beside)):
            raise OSError(error.errno, error.strerror, os.fspath(path)) from error
        raise
    finally:
        beside.unlink(missing_ok=True)
