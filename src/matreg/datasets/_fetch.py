"""Finding the file of a data set: a given folder, MATREG_DATA, the user's cache, the internet.

The public sites publish no checksums and may repack their archives. Therefore the arrays are
verified instead of the file: their :func:`fingerprint` must have the recorded value. It detects a
truncated, wrong or changed file, however it was packed, and tolerates differences of the last
digit, which a spreadsheet keeps and a text file does not.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.packages import optional

Arrays = dict[str, NDArray[Any]]


def interpolate(series: NDArray[Any], places: NDArray[Any]) -> NDArray[Any]:
    """Fill missing values (n,) linearly between their places; at the ends, with the nearest one."""
    known = ~np.isnan(series)
    return np.interp(places, places[known], series[known])


@dataclass(frozen=True)
class Source:
    """Where a data set comes from and how it is read."""

    title: str  # name of the data in messages
    url: str  # address of `files[0]`
    files: tuple[str, ...]  # names that the file may have; the first is that of the download
    parse: Callable[[Path], Arrays]
    fingerprints: Mapping[str, float]  # expected fingerprints of some of the arrays
    # Name in `files` of the npz file in which the arrays are kept; None keeps the download itself.
    kept: str | None = None


def fingerprint(array: NDArray[Any]) -> float:
    """Inner product of the entries of an array with a cosine, which differs between data sets."""
    values = np.nan_to_num(np.asarray(array, dtype=float).ravel(), nan=-1.0)
    return float(np.cos(np.arange(values.size)) @ values)


def load(source: Source, data_home: str | os.PathLike[str] | None = None) -> Arrays:
    """Read the arrays of a data set from its file, which is downloaded if it is not found."""
    if data_home is not None:
        folder = Path(data_home).expanduser()
        path = _find(source, folder)
        if path is None:
            names = " or ".join(source.files)
            raise FileNotFoundError(f"data_home={str(folder)!r} does not contain {names}.")
        return _read(source, path)
    given = os.environ.get("MATREG_DATA")
    for folder in ([Path(given).expanduser()] if given else []) + [cache_folder()]:
        if path := _find(source, folder):
            return _read(source, path)
    return _download(source, cache_folder())


def cache_folder() -> Path:
    """The user's folder for downloaded files on this platform."""
    custom = {
        "darwin": Path("~/Library/Caches"),
        "win32": Path(os.environ.get("LOCALAPPDATA", "~/AppData/Local")),
    }
    default = custom.get(sys.platform, Path("~/.cache"))
    return Path(os.environ.get("XDG_CACHE_HOME") or default).expanduser() / "matreg"


def _find(source: Source, folder: Path) -> Path | None:
    return next((folder / name for name in source.files if (folder / name).is_file()), None)


def _read(source: Source, path: Path, origin: str | None = None) -> Arrays:
    """Parse a file and check its content."""
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
    """Download the public file; it is moved to its name in the folder only if it is intact."""
    try:
        bar = importlib.util.find_spec("tqdm") is not None
        retrieve = optional("pooch", "data").HTTPDownloader(progressbar=bar)
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
    """An error that says how to get the file without a download."""
    # Messages of network errors are long and help little; the traceback has them.
    reason = getattr(error, "strerror", None) or type(error).__name__
    if isinstance(error, ImportError):
        reason = str(error).rstrip(".")
    return FileNotFoundError(
        f"The {source.title} data could not be downloaded ({reason}): put "
        f"{' or '.join(source.files)} from {source.url} into {folder} or into the folder that "
        "data_home or the environment variable MATREG_DATA names."
    )
