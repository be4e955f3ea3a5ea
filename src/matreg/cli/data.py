"""Samples, labels, groups and coordinates from files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..inspection import MapAxes

KINDS = "an .npz, .npy, .csv or .nc file or a folder of zarr or of .nc files"
NETCDF = (".nc", ".netcdf", ".h5netcdf")


@dataclass(frozen=True)
class Data:
    """What a file holds.

    Attributes
    ----------
    X : array of shape (n, p, q)
        Samples; mapped from the file where it can be.
    y, groups : ndarray of shape (n,) or None
        Labels and groups.
    names : MapAxes
        Coordinates of rows and columns.
    target : str
        What the label is called.
    """

    X: Any
    y: NDArray[Any] | None
    groups: NDArray[Any] | None
    names: MapAxes
    target: str


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where things are in the data."""
    parser.add_argument(
        "data",
        metavar="DATA",
        help="samples: .npz with X, y, groups and coordinates; .npy (not read into memory) with "
        "--labels; .csv of flat samples with --shape; a zarr folder; netCDF, one .nc file or a "
        "folder of them",
    )
    parser.add_argument(
        "--target", default="y", metavar="NAME", help="array or column with the labels (default y)"
    )
    parser.add_argument(
        "--samples", default="X", metavar="NAME", help="array with the samples (default X)"
    )
    parser.add_argument("--groups", metavar="NAME", help="array or column with the groups")
    parser.add_argument("--labels", metavar="FILE", help="labels of an .npy: .npy, .csv or .txt")
    parser.add_argument(
        "--shape", type=_shape, metavar="P,Q", help="rows and columns of flat samples"
    )


def load_data(args: argparse.Namespace, *, labelled: bool = True) -> Data:
    """Read what the options name.

    Parameters
    ----------
    args : argparse.Namespace
        Options of :func:`add_data_options`.
    labelled : bool, default=True
        Whether there must be labels.

    Returns
    -------
    Data
        Samples as matrices, with all that belongs to them.
    """
    path = Path(args.data)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    if path.suffix == ".csv":
        data = _from_csv(path, args, labelled)
    else:
        data = _from_arrays(_open(path, args), path, args)
    if labelled and data.y is None:
        alone = path.suffix == ".npy" and args.labels is None
        remedy = "pass them with --labels" if alone else "name them with --target"
        raise ValueError(f"{path} has no labels {args.target!r}: {remedy}.")
    _check_lengths(data)
    return data


def _open(path: Path, args: argparse.Namespace) -> Mapping[str, Any]:
    """Arrays of a file by name."""
    if path.suffix == ".npz":
        with _numpy_file(path):
            content = np.load(path, allow_pickle=False)
            return {name: content[name] for name in content.files}
    if path.suffix == ".npy":
        with _numpy_file(path):
            arrays = {args.samples: np.load(path, mmap_mode="r", allow_pickle=False)}
        return arrays if args.labels is None else arrays | _read_labels(args)
    files = sorted(one for one in path.glob("*") if one.suffix in NETCDF)
    if files or path.suffix in NETCDF:
        return _open_netcdf(files or [path], args.samples)
    if path.is_dir():
        return _open_zarr(path)
    raise ValueError(f"{path} must be {KINDS}; got {path.suffix or 'no ending'}.")


def check_folder(path: str) -> None:
    """Refuse a file that cannot be written, before the work and not after it."""
    folder = Path(path).parent
    if not folder.is_dir():
        raise FileNotFoundError(f"-o must be in a folder that exists; {folder} does not.")


@contextmanager
def _numpy_file(path: Path) -> Iterator[None]:
    """Say of a file that NumPy cannot read without running code in it that it is none."""
    try:
        yield
    except (ValueError, EOFError, BadZipFile) as error:
        raise ValueError(f"{path} must be a file of NumPy that holds numbers or words.") from error


def _read_labels(args: argparse.Namespace) -> dict[str, Any]:
    path = Path(args.labels)
    if path.suffix == ".npy":
        with _numpy_file(path):
            return {args.target: np.load(path, allow_pickle=False)}
    if path.suffix == ".csv":
        table = _read_table(path)
        # The only column is what is meant, whatever it is called.
        return {args.target: next(iter(table.values()))} if len(table) == 1 else table
    if path.suffix == ".txt":
        return {args.target: _numbers_or_text(path.read_text(encoding="utf-8").split())}
    raise ValueError(f"--labels must be an .npy, .csv or .txt file; got {path}.")


def _open_zarr(path: Path) -> Mapping[str, Any]:
    try:
        import zarr
    except ImportError as error:
        raise ImportError("A zarr folder needs zarr: pip install matreg[files]") from error
    try:
        return dict(zarr.open_group(str(path), mode="r").arrays())
    except FileNotFoundError as error:
        raise ValueError(f"{path} must be {KINDS}; it holds neither.") from error


def _open_netcdf(files: list[Path], samples: str) -> Mapping[str, Any]:
    """Variables of a file, or of several whose samples follow each other in the order of names."""
    try:
        import xarray
    except ImportError as error:
        raise ImportError("A .nc file needs xarray: pip install matreg[files]") from error
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
    return {str(name): variable.values for name, variable in content.variables.items()}


def _from_arrays(arrays: Mapping[str, Any], path: Path, args: argparse.Namespace) -> Data:
    X = _named(arrays, args.samples, path, "--samples")
    if X.ndim == 2 and args.shape is not None:
        X = X[:].reshape(X.shape[0], *_check_shape(args.shape, X.shape[1]))
    if X.ndim != 3:
        raise ValueError(
            f"{args.samples} in {path} must have three dimensions (n, p, q), or two with --shape; "
            f"got shape {X.shape}."
        )
    y = np.asarray(arrays[args.target][:]) if args.target in arrays else None
    groups = None
    if args.groups is not None:
        groups = np.asarray(_named(arrays, args.groups, path, "--groups")[:])
    elif "groups" in arrays:
        groups = np.asarray(arrays["groups"][:])
    used = {args.samples, args.target, args.groups, "groups"}
    others = {name: arrays[name] for name in arrays if name not in used}
    return Data(X, y, groups, _coordinates(others, X.shape), args.target)


def _coordinates(arrays: Mapping[str, Any], shape: tuple[int, ...]) -> MapAxes:
    """Coordinates of rows and columns: the only array of their length, where lengths differ."""
    n, p, q = shape
    found: dict[str, Any] = {}
    for axis, length, others in (("row", p, (n, q)), ("column", q, (n, p))):
        fitting = [name for name in arrays if tuple(arrays[name].shape) == (length,)]
        if f"{axis}_coords" in fitting:
            found[f"{axis}_coords"] = np.asarray(arrays[f"{axis}_coords"][:]).tolist()
        elif len(fitting) == 1 and length not in others:
            found[f"{axis}_coords"] = np.asarray(arrays[fitting[0]][:]).tolist()
            found[f"{axis}_label"] = fitting[0]
    return MapAxes(**found)


def _from_csv(path: Path, args: argparse.Namespace, labelled: bool) -> Data:
    table = _read_table(path)
    if labelled and args.target not in table:
        columns = ", ".join(list(table)[-3:])
        raise ValueError(
            f"{path} has no column {args.target!r}, its last ones are {columns}: name the labels "
            "with --target."
        )
    y = table.pop(args.target, None)
    groups = None
    if args.groups is not None:
        groups = _named(table, args.groups, path, "--groups")
        table.pop(args.groups)
    bad = [name for name, column in table.items() if column.dtype.kind not in "fiu"]
    if bad:
        raise ValueError(
            f"{path} must have numbers in all columns but the labels and groups; column {bad[0]!r} "
            "has others."
        )
    if args.shape is None:
        raise ValueError(f"{path} has flat samples of {len(table)} columns: pass --shape P,Q.")
    p, q = _check_shape(args.shape, len(table))
    X = np.column_stack(list(table.values())).astype(float).reshape(-1, p, q)
    return Data(X, y, groups, MapAxes(), args.target)


def _read_table(path: Path) -> dict[str, NDArray[Any]]:
    """Columns of a CSV file with a header line."""
    import csv

    with path.open(encoding="utf-8", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row]
    if len(rows) < 2:
        raise ValueError(f"{path} must have a header line and at least one sample.")
    header = [name.strip() for name in rows[0]]
    short = next((k for k, row in enumerate(rows) if len(row) != len(header)), None)
    if short is not None:
        raise ValueError(
            f"{path} must have {len(header)} cells in each line; line {short + 1} has "
            f"{len(rows[short])}."
        )
    return {name: _numbers_or_text(list(cells)) for name, *cells in zip(*rows, strict=True)}


def _numbers_or_text(cells: list[str]) -> NDArray[Any]:
    try:
        return np.array([float(cell) if cell.strip() else np.nan for cell in cells])
    except ValueError:
        return np.array(cells)


def _named(arrays: Mapping[str, Any], name: str, path: Path, option: str) -> Any:
    if name not in arrays:
        raise ValueError(
            f"{path} has no {name!r}: choose one of {', '.join(sorted(arrays))} with {option}."
        )
    return arrays[name]


def _check_lengths(data: Data) -> None:
    for name, values in ((data.target, data.y), ("groups", data.groups)):
        if values is not None and values.shape != (data.X.shape[0],):
            raise ValueError(
                f"{name} must have one entry for each of the {data.X.shape[0]} samples; got shape "
                f"{values.shape}."
            )


def _check_shape(shape: tuple[int, int], columns: int) -> tuple[int, int]:
    if shape[0] * shape[1] != columns:
        raise ValueError(
            f"--shape {shape[0]},{shape[1]} needs {shape[0] * shape[1]} numbers a sample; there "
            f"are {columns}."
        )
    return shape


def _shape(text: str) -> tuple[int, int]:
    try:
        p, q = (int(part) for part in text.replace("x", ",").split(","))
        if min(p, q) < 1:
            raise ValueError
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"must be two positive integers such as 30,25; got {text}"
        ) from None
    return p, q
