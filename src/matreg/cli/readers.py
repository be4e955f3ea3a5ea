"""Arrays of a file by name, for all formats. Nothing in a file is run or unpickled."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._runtime.packages import optional

KINDS = "an .npz, .npy, .csv, .h5 or .nc file or a folder of zarr or of .nc files"
NETCDF = (".nc", ".netcdf", ".h5netcdf")
HDF5 = (".h5", ".hdf5", ".he5")
# Errors of files that are no archives, or are damaged, encrypted or packed in another way.
DAMAGED = (ValueError, EOFError, KeyError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Content:
    """Arrays of a file by name, and the names of their dimensions if they have any."""

    arrays: Mapping[str, Any]  # mapped from the file if possible
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def read_content(path: Path, samples: str) -> Content:
    """Open a file or folder of arrays; an array without a name gets that of the samples."""
    if path.suffix == ".npz":
        return Content(_read_npz(path))
    if path.suffix == ".npy":
        with numpy_file(path):
            return Content({samples: np.load(path, mmap_mode="r", allow_pickle=False)})
    if path.suffix in HDF5 and path.is_file():
        return Content(_open_hdf5(path))
    files = sorted(one for one in path.glob("*") if one.suffix in NETCDF)
    if files or path.suffix in NETCDF:
        return _read_netcdf(files or [path], samples)
    if path.is_dir():
        return _open_zarr(path, samples)
    raise ValueError(f"{path} must be {KINDS}; got {path.suffix or 'no ending'}.")


@contextmanager
def numpy_file(path: Path) -> Iterator[None]:
    """Refuse a file that NumPy cannot read, or could read only by running code in it."""
    try:
        yield
    except DAMAGED as error:
        raise ValueError(f"{path} must be a file of NumPy that holds numbers or words.") from error


def check_unpacked_size(path: Path) -> None:
    """Refuse a zip archive whose files are larger than the memory of this machine."""
    with zipfile.ZipFile(path) as archive:
        size = sum(one.file_size for one in archive.infolist())
    memory = _physical_memory()
    if size > memory:
        raise MemoryError(
            f"{path} unpacks to {size / 2**30:.1f} GiB, more than the {memory / 2**30:.1f} GiB of "
            "memory."
        )


def _physical_memory() -> float:
    try:
        return float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, ValueError, OSError):  # not known on this system
        return float("inf")


def _read_npz(path: Path) -> dict[str, Any]:
    with numpy_file(path):
        check_unpacked_size(path)
        with np.load(path, allow_pickle=False) as content:
            found = {name: content[name] for name in content.files}
        # Of a file in the archive that is not its own NumPy gives the bytes.
        arrays = {name: one for name, one in found.items() if isinstance(one, np.ndarray)}
        if not arrays:
            raise ValueError("no arrays")
        return arrays


def _open_hdf5(path: Path) -> dict[str, Any]:
    h5py = optional("h5py", "files")
    found: dict[str, Any] = {}

    def note(name: str, item: Any) -> None:  # links to other files are not followed
        if not isinstance(item, h5py.Dataset) or item.external or item.is_virtual:
            return
        found[name] = item.asstr()[...] if h5py.check_string_dtype(item.dtype) else item

    try:
        h5py.File(path, "r").visititems(note)
    except OSError as error:
        raise ValueError(f"{path} must be an HDF5 file; h5py cannot read it.") from error
    return found


def _open_zarr(path: Path, samples: str) -> Content:
    zarr = optional("zarr", "files")
    try:
        opened = zarr.open(str(path), mode="r")
        arrays = {samples: opened} if isinstance(opened, zarr.Array) else dict(opened.arrays())
        for array in arrays.values():
            _refuse_pickles(array)
    except FileNotFoundError as error:
        raise ValueError(f"{path} must be {KINDS}; it holds neither.") from error
    except Exception as error:  # unknown and unsafe codecs, damaged metadata
        raise ValueError(f"{path} must be a zarr folder; zarr cannot read it: {error}") from error
    dims = {name: _zarr_dims(array) for name, array in arrays.items()}
    return Content(arrays, {name: found for name, found in dims.items() if found})


def _refuse_pickles(array: Any) -> None:
    """Refuse codecs that run code of the file when it is read; zarr before 3.1 allows them."""
    stored = array.metadata
    codecs = getattr(stored, "codecs", None) or (stored.compressor, *(stored.filters or ()))
    if any("pickle" in repr(codec).lower() for codec in codecs):
        raise ValueError("it holds pickles, which can run any code.")


def _zarr_dims(array: Any) -> tuple[str, ...]:
    """Names of dimensions, as zarr 3 and xarray write them."""
    names = getattr(array.metadata, "dimension_names", None)
    names = names or array.attrs.get("_ARRAY_DIMENSIONS") or ()
    return tuple(names) if all(isinstance(one, str) for one in names) else ()


def _read_netcdf(files: list[Path], samples: str) -> Content:
    """Variables of a file, or of several files with samples concatenated in order of file names."""
    xarray = optional("xarray", "files")
    parts = []
    for path in files:
        try:
            parts.append(xarray.load_dataset(path))
        except (OSError, ValueError) as error:
            raise ValueError(f"{path} must be a netCDF file; xarray cannot read it.") from error
    content = parts[0]
    if len(parts) > 1 and samples in content:
        alike: Any = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}
        content = xarray.concat(parts, content[samples].dims[0], join="exact", **alike)
    variables = {str(name): variable for name, variable in content.variables.items()}
    return Content(
        {name: variable.values for name, variable in variables.items()},
        {name: tuple(map(str, variable.dims)) for name, variable in variables.items()},
    )
