"""Finding the file of a data set: a given folder, MATREG_DATA, the user's cache, the internet.

The public homes publish no checksums and may repack their archives, so what is verified is not the
file but what was read from it: :func:`fingerprint` of every array must have the recorded value.
That tells a truncated, wrong or changed file however it was packed, and forgives the last digit
that a spreadsheet keeps and a text file does not.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.packages import optional

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Source:
    """Where a data set comes from and how it is read.

    Attributes
    ----------
    title : str
        Name in messages.
    url : str
        Public address of the file `files[0]`.
    files : tuple of str
        Names under which the data may lie in a folder; the first is the one that is downloaded.
    parse : callable
        Reads such a file into named arrays.
    fingerprints : mapping
        Expected :func:`fingerprint` of some of these arrays.
    kept : str, default=None
        Name of the npz file that a download is kept as, one of `files`; None keeps the download
        itself. For homes that hold far more than the data, or hold them in a form slow to read.
    """

    title: str
    url: str
    files: tuple[str, ...]
    parse: Callable[[Path], Arrays]
    fingerprints: Mapping[str, float]
    kept: str | None = None


def fingerprint(array: NDArray[Any]) -> float:
    """Project the numbers of an array on a fixed wave, which no two data sets do alike."""
    values = np.nan_to_num(np.asarray(array, dtype=float).ravel(), nan=-1.0)
    return float(np.cos(np.arange(values.size)) @ values)


def load(source: Source, data_home: str | os.PathLike[str] | None = None) -> Arrays:
    """Read the arrays of a data set from where its file is, downloading it as the last resort."""
    if data_home is not None:
        folder = Path(data_home).expanduser()
        path = _find(source, folder)
        if path is None:
            names = " or ".join(source.files)
            raise FileNotFoundError(f"data_home={str(folder)!r} does not contain {names}.")
        return _read(source, path)
    for folder in _default_folders():
        if path := _find(source, folder):
            return _read(source, path)
    return _download(source, cache_folder())


def cache_folder() -> Path:
    """Folder of the current user for downloaded files, by the custom of the platform."""
    custom = {
        "darwin": Path("~/Library/Caches"),
        "win32": Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")),
    }
    default = custom.get(sys.platform, Path("~/.cache"))
    return Path(os.environ.get("XDG_CACHE_HOME") or default).expanduser() / "matreg"


def _default_folders() -> Iterator[Path]:
    if given := os.environ.get("MATREG_DATA"):
        yield Path(given).expanduser()
    yield cache_folder()


def _find(source: Source, folder: Path) -> Path | None:
    return next((folder / name for name in source.files if (folder / name).is_file()), None)


def _read(source: Source, path: Path, origin: str | None = None) -> Arrays:
    """Parse a file and make sure that it holds what it should."""
    try:
        arrays = _read_npz(path) if path.suffix == ".npz" else source.parse(path)
        for key, expected in source.fingerprints.items():
            if not np.isclose(fingerprint(arrays[key]), expected, rtol=1e-6, atol=0.0):
                raise ValueError(f"the content of its array {key} is not the expected one")
    except ImportError:
        raise
    except Exception as error:  # a damaged file can fail anywhere in a parser
        raise OSError(
            f"{origin or path} is not an intact copy of the {source.title} data ({error})."
        ) from error
    return arrays


def _read_npz(path: Path) -> Arrays:
    with np.load(path) as content:  # refuses pickles
        return dict(content)


def _download(source: Source, folder: Path) -> Arrays:
    """Fetch the public file; only an intact one ever appears in the folder under its name."""
    try:
        retrieve = optional("pooch", "data").HTTPDownloader(progressbar=_has_tqdm())
        folder.mkdir(parents=True, exist_ok=True)
        scratch = tempfile.TemporaryDirectory(dir=folder, prefix="download-")
    except (ImportError, OSError) as error:
        raise _by_hand(source, folder, error) from error
    with scratch:
        path = Path(scratch.name) / source.files[0]
        try:
            retrieve(source.url, str(path), None)
        except OSError as error:  # the errors of requests are of this kind
            raise _by_hand(source, folder, error) from error
        arrays = _read(source, path, origin=source.url)
        if source.kept is not None:
            path = path.with_name(source.kept)
            np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
        path.replace(folder / path.name)
    return arrays


def _by_hand(source: Source, folder: Path, error: Exception) -> FileNotFoundError:
    """What to do without a download, in one sentence."""
    # The messages of network errors are long and tell users little: the traceback has them. Those
    # of a full disk are short.
    reason = getattr(error, "strerror", None) or type(error).__name__
    if isinstance(error, ImportError):
        reason = str(error).rstrip(".")
    return FileNotFoundError(
        f"The {source.title} data could not be downloaded ({reason}): put "
        f"{' or '.join(source.files)} from {source.url} into {folder} or into the folder that "
        "data_home or the environment variable MATREG_DATA names."
    )


def _has_tqdm() -> bool:
    return importlib.util.find_spec("tqdm") is not None
