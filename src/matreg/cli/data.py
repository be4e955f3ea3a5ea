"""Samples, labels, groups and coordinates of a file, with the names stored in a model."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._runtime.text import counted
from ..inspection import MapAxes
from .axes import align, coordinates, samples_first
from .readers import Content, numpy_file, read_content
from .tables import Table, read_table, to_numbers_or_words


@dataclass(frozen=True)
class Origin:
    """Names in the data of a model, which the model file stores for `predict`."""

    target: str = "y"
    samples: str = "X"
    groups: str | None = None
    covariates: list[str] | None = None
    columns: list[str] | None = None  # columns of a table with the entries of samples, in order
    names: MapAxes = field(default_factory=MapAxes)
    shape: tuple[int, int] | None = None  # (p, q); None before a model is fitted


@dataclass(frozen=True)
class Data:
    """The content of a file."""

    X: Any  # (n, p, q), mapped from the file if possible
    y: NDArray[Any] | None  # (n,)
    groups: NDArray[Any] | None  # (n,)
    origin: Origin
    missing: str | None = None  # a sentence about empty cells of a table
    covariates: dict[str, NDArray[Any]] | None = None  # by name, each (n,)


def load_data(
    args: argparse.Namespace, known: Origin | None = None, *, labelled: bool = True
) -> Data:
    """Read the data that the options of :func:`add_data_options` name.

    Names of the model, `known`, replace options that are not given. Samples are transposed by name;
    coordinates that differ from those of the model are refused.
    """
    path = Path(args.data)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist.")
    default = known or Origin()
    asked = Origin(
        target=args.target or default.target,
        samples=args.samples or default.samples,
        groups=args.groups,
        covariates=args.covariates or default.covariates,
        columns=default.columns,
        shape=args.shape or default.shape,
    )
    if path.suffix == ".csv" and args.samples is not None:
        raise ValueError(f"--samples names an array, but {path} has no arrays, only columns.")
    for option, names in (("groups", [asked.groups]), ("covariates", asked.covariates or [])):
        if asked.target in names:
            raise ValueError(f"--{option} names {asked.target!r}, which is the label itself.")
    labels = {} if args.labels is None else _read_labels(Path(args.labels), asked.target)
    if path.suffix == ".csv":
        table = read_table(path)
        _refuse_another_order(args.labels, labels, path, table.cells, asked.target)
        if labelled and not labels and asked.target not in table.cells:
            table.column(asked.target, "--target")  # raises
        data = _from_table(table, asked, args.drop, labels, known)
    else:
        if args.drop:
            raise ValueError(f"--drop leaves out columns of a .csv file; got {path}.")
        content = read_content(path, asked.samples)
        _refuse_another_order(args.labels, labels, path, content.arrays, asked.target)
        data = _from_arrays(content, path, asked, labels, known)
    if labelled and data.y is None:
        alone = path.suffix == ".npy" and args.labels is None
        remedy = "pass them with --labels" if alone else "name them with --target or --labels"
        raise ValueError(f"{path} has no labels {asked.target!r}: {remedy}.")
    _check_lengths(data)
    if labelled and data.groups is not None:
        _refuse_empty("--groups", str(data.origin.groups), data.groups)
    if args.shape not in (None, tuple(data.X.shape[1:])):
        raise ValueError(f"--shape is {args.shape}, but samples are {tuple(data.X.shape[1:])}.")
    return data


def _read_labels(path: Path, target: str) -> dict[str, Any]:
    """Labels of a separate file, under the name `target`, and the other columns of a table."""
    if path.suffix == ".npy":
        with numpy_file(path):
            return {target: np.load(path, allow_pickle=False)}
    if path.suffix == ".csv":
        table = read_table(path)
        # A single column may have any name.
        name = next(iter(table.cells)) if len(table.cells) == 1 else target
        return {target: table.column(name, "--target"), **table.cells}
    if path.suffix == ".txt":
        words = path.read_text(encoding="utf-8-sig").split()
        return {target: to_numbers_or_words(words, commas=True)}
    raise ValueError(f"--labels must be an .npy, .csv or .txt file; got {path}.")


def _refuse_another_order(
    labels: str | None,
    columns: Mapping[str, Any],
    path: Path,
    beside: Mapping[str, Any],
    target: str,
) -> None:
    """Compare columns, such as names of samples, that the files of labels and samples share."""
    for name in columns.keys() & beside.keys() - {target}:
        if np.shape(beside[name]) != np.shape(columns[name]):
            continue
        theirs, ours = list(columns[name]), [str(one) for one in beside[name][:]]
        if theirs != ours and sorted(theirs) == sorted(ours):
            k = next(
                k for k, (one, other) in enumerate(zip(ours, theirs, strict=True)) if one != other
            )
            raise ValueError(
                f"{labels} has the samples in another order than {path}: in {name!r}, sample {k} "
                f"(counted from 0) is {theirs[k]} there and {ours[k]} here. Labels are taken line "
                "by line: sort both files in the same way."
            )


def _from_arrays(
    content: Content, path: Path, asked: Origin, labels: Mapping[str, Any], known: Origin | None
) -> Data:
    """Samples, labels, groups, covariates and coordinates from named arrays."""
    arrays, name = content.arrays, asked.samples
    X, dims = _named(arrays, name, path, "--samples"), content.dims.get(name, ())
    if X.ndim == 2 and asked.shape is not None:
        X, dims = X[:].reshape(X.shape[0], *_check_shape(asked.shape, X.shape[1])), ()
    if X.ndim != 3:
        raise ValueError(
            f"{name} in {path} must have three dimensions (n, p, q), or two with --shape; got "
            f"shape {X.shape}."
        )
    names = known.names if known else None
    if len(dims) == 3:
        X, dims = samples_first(X, dims, content.dims.get(asked.target, ()), names)
    y = labels.get(asked.target, arrays.get(asked.target))
    grouping = _grouping(arrays, asked, known)
    groups = None if grouping is None else _named(arrays, grouping, path, "--groups")
    covariates = _covariates(lambda one: _whole(_named(arrays, one, path, "--covariates")), asked)
    used = {name, asked.target, grouping, *(asked.covariates or ())}
    others = {one: arrays[one] for one in arrays if one not in used}
    found = coordinates(others, X.shape, dims, names)
    if names is not None:
        X, found = align(X, found, names)
    origin = Origin(asked.target, name, grouping, asked.covariates, None, found)
    y, groups = (None if one is None else _whole(one) for one in (y, groups))
    return Data(X, y, groups, origin, covariates=covariates)


def _covariates(column: Callable[[str], Any], asked: Origin) -> dict[str, Any] | None:
    """The covariates of the options or of the model, by name."""
    if asked.covariates is None:
        return None
    found = {name: column(name) for name in asked.covariates}
    for name, values in found.items():
        _refuse_empty("--covariates", name, values)
    return found


def _refuse_empty(option: str, name: str, values: NDArray[Any]) -> None:
    empty = np.flatnonzero([one == "" for one in values.tolist()])
    if len(empty):
        raise ValueError(
            f"{option}: {name!r} has {counted(len(empty), 'empty cell')}, the first in sample "
            f"{empty[0]}, counted from 0. Leave these samples out, or fill them in."
        )


def _grouping(arrays: Mapping[str, Any], asked: Origin, known: Origin | None) -> str | None:
    """Name of the groups: that of the options, that of the model, or "groups"."""
    if asked.groups is not None:
        return asked.groups
    usual = (known.groups if known else None, "groups")
    return next((one for one in usual if one in arrays), None)


def _from_table(
    table: Table, asked: Origin, drop: list[str], labels: Mapping[str, Any], known: Origin | None
) -> Data:
    """Flat samples, labels, groups and covariates from the columns of a table."""
    for name in drop:
        table.column(name, "--drop")
    inside = table.column(asked.target, "--target") if asked.target in table.cells else None
    y = labels.get(asked.target, inside)
    grouping, groups = asked.groups, None
    if grouping is None and known is not None and known.groups in table.cells:
        grouping = known.groups
    if grouping is not None:
        groups = table.column(grouping, "--groups")
    covariates = _covariates(lambda one: table.column(one, "--covariates"), asked)
    columns = _entries(table, asked)
    X, missing = table.samples(columns)  # refuses a column of words before columns are counted
    if asked.shape is None:
        raise ValueError(
            f"{table.path} has flat samples of {len(columns)} columns: pass --shape P,Q."
        )
    p, q = _check_shape(asked.shape, len(columns))
    origin = Origin(asked.target, asked.samples, grouping, asked.covariates, columns)
    return Data(X.reshape(-1, p, q), y, groups, origin, missing, covariates)


def _entries(table: Table, asked: Origin) -> list[str]:
    """Names of the columns of the samples: those of the model, or all that are left."""
    if asked.columns is None:
        return list(table.cells)
    absent = [name for name in asked.columns if name not in table.cells]
    if absent:
        raise ValueError(
            f"{table.path} must have the {len(asked.columns)} columns that were in fit; "
            f"{len(absent)} of them are missing, the first is {absent[0]!r}."
        )
    return asked.columns


def _whole(values: Any) -> NDArray[Any]:
    return np.asarray(values[...])


def _named(arrays: Mapping[str, Any], name: str, path: Path, option: str) -> Any:
    if name not in arrays:
        raise ValueError(
            f"{path} has no {name!r}: choose one of {', '.join(sorted(arrays))} with {option}."
        )
    return arrays[name]


def _check_lengths(data: Data) -> None:
    beside = list((data.covariates or {}).items())
    for name, values in ((data.origin.target, data.y), ("groups", data.groups), *beside):
        if values is not None and values.shape != (data.X.shape[0],):
            raise ValueError(
                f"{name} must have one entry for each of the {data.X.shape[0]} samples; got shape "
                f"{values.shape}. {_remedy(values.shape, data.X.shape[0])}"
            )


def _remedy(shape: tuple[int, ...], n: int) -> str:
    if len(shape) == 2 and shape[0] == n:
        return "Store each column under its own name: several labels are fitted in Python only."
    return "Samples are along the first axis of an array."


def _check_shape(shape: tuple[int, int], columns: int) -> tuple[int, int]:
    if shape[0] * shape[1] != columns:
        raise ValueError(
            f"--shape {shape[0]},{shape[1]} needs {shape[0] * shape[1]} numbers per sample; there "
            f"are {columns}."
        )
    return shape
