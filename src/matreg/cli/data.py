"""Samples, labels, groups and coordinates, from a file and from what a model knows of its data."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..inspection import MapAxes
from .axes import align, coordinates, samples_first
from .readers import Content, numpy_file, read_content
from .tables import Table, read_table, to_numbers_or_words


@dataclass(frozen=True)
class Origin:
    """Where things are in the data of a model: read at `fit`, and known at `predict`.

    Attributes
    ----------
    target, samples : str
        Names of the labels and of the samples.
    groups : str or None
        Name of the groups.
    covariates : list of str or None
        Names of the covariates.
    columns : list of str or None
        Columns of a table that are the entries of the samples, in order.
    names : MapAxes
        Names and coordinates of rows and columns.
    shape : tuple of int or None
        (p, q); None before a model is fitted.
    """

    target: str = "y"
    samples: str = "X"
    groups: str | None = None
    covariates: list[str] | None = None
    columns: list[str] | None = None
    names: MapAxes = field(default_factory=MapAxes)
    shape: tuple[int, int] | None = None


@dataclass(frozen=True)
class Data:
    """What a file holds.

    Attributes
    ----------
    X : array of shape (n, p, q)
        Samples; mapped from the file where it can be.
    y, groups : ndarray of shape (n,) or None
        Labels and groups.
    origin : Origin
        What they are called in the file.
    missing : str or None
        A sentence about empty cells of a table.
    covariates : dict of ndarray or None
        Covariates by name, each of shape (n,).
    """

    X: Any
    y: NDArray[Any] | None
    groups: NDArray[Any] | None
    origin: Origin
    missing: str | None = None
    covariates: dict[str, NDArray[Any]] | None = None


def load_data(
    args: argparse.Namespace, known: Origin | None = None, *, labelled: bool = True
) -> Data:
    """Read what the options name.

    Parameters
    ----------
    args : argparse.Namespace
        Options of :func:`matreg.cli.options.add_data_options`.
    known : Origin, default=None
        Of the model that the data is for. Its names stand in for options that are not given;
        samples are transposed by name, and other coordinates than its own are refused.
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
    asked = Origin(
        target=args.target or (known.target if known else "y"),
        samples=args.samples or (known.samples if known else "X"),
        groups=args.groups,
        covariates=args.covariates or (known.covariates if known else None),
        columns=known.columns if known else None,
        shape=args.shape or (known.shape if known else None),
    )
    if path.suffix == ".csv" and args.samples is not None:
        raise ValueError(f"--samples names an array, and {path} has columns.")
    labels = {} if args.labels is None else _read_labels(Path(args.labels), asked.target)
    if path.suffix == ".csv":
        table = read_table(path)
        if labelled and not labels and asked.target not in table.cells:
            table.column(asked.target, "--target")  # which says that it is not there
        data = _from_table(table, asked, args.drop, labels, known)
    else:
        if args.drop:
            raise ValueError(f"--drop leaves out columns of a .csv file; got {path}.")
        data = _from_arrays(read_content(path, asked.samples), path, asked, labels, known)
    if labelled and data.y is None:
        alone = path.suffix == ".npy" and args.labels is None
        remedy = "pass them with --labels" if alone else "name them with --target or --labels"
        raise ValueError(f"{path} has no labels {asked.target!r}: {remedy}.")
    _check_lengths(data)
    if args.shape not in (None, tuple(data.X.shape[1:])):
        raise ValueError(f"--shape is {args.shape}, but samples are {tuple(data.X.shape[1:])}.")
    return data


def _read_labels(path: Path, target: str) -> dict[str, Any]:
    if path.suffix == ".npy":
        with numpy_file(path):
            return {target: np.load(path, allow_pickle=False)}
    if path.suffix == ".csv":
        table = read_table(path)
        # The only column is what is meant, whatever it is called.
        name = next(iter(table.cells)) if len(table.cells) == 1 else target
        return {target: table.column(name, "--target")}
    if path.suffix == ".txt":
        words = path.read_text(encoding="utf-8-sig").split()
        return {target: to_numbers_or_words(words, commas=True)}
    raise ValueError(f"--labels must be an .npy, .csv or .txt file; got {path}.")


def _from_arrays(
    content: Content,
    path: Path,
    asked: Origin,
    labels: Mapping[str, Any],
    known: Origin | None,
) -> Data:
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
    y = _whole(labels[asked.target]) if asked.target in labels else None
    if y is None and asked.target in arrays:
        y = _whole(arrays[asked.target])
    grouping = _grouping(arrays, asked, known)
    groups = None
    if grouping is not None:
        groups = _whole(_named(arrays, grouping, path, "--groups"))
    covariates = _covariates(lambda one: _whole(_named(arrays, one, path, "--covariates")), asked)
    used = {name, asked.target, grouping, *(asked.covariates or ())}
    others = {one: arrays[one] for one in arrays if one not in used}
    found = coordinates(others, X.shape, dims, names)
    if names is not None:
        X, found = align(X, found, names)
    origin = Origin(asked.target, name, grouping, asked.covariates, None, found)
    return Data(X, y, groups, origin, covariates=covariates)


def _covariates(column: Callable[[str], Any], asked: Origin) -> dict[str, Any] | None:
    """The covariates that were asked for by name, or that the model has."""
    if asked.covariates is None:
        return None
    found = {name: column(name) for name in asked.covariates}
    for name, values in found.items():
        empty = np.flatnonzero([one == "" for one in values.tolist()])
        if len(empty):
            raise ValueError(
                f"--covariates: {name!r} has {len(empty)} empty cells, the first of sample "
                f"{empty[0]}. Leave these samples out, or fill them in."
            )
    return found


def _grouping(arrays: Mapping[str, Any], asked: Origin, known: Origin | None) -> str | None:
    """Name of the groups: as asked, as in the model's own data, or simply "groups"."""
    if asked.groups is not None:
        return asked.groups
    usual = (known.groups if known and known.groups else None, "groups")
    return next((one for one in usual if one is not None and one in arrays), None)


def _from_table(
    table: Table, asked: Origin, drop: list[str], labels: Mapping[str, Any], known: Origin | None
) -> Data:
    for name in drop:
        table.column(name, "--drop")
    y = labels.get(asked.target)
    if asked.target in table.cells:
        inside = table.column(asked.target, "--target")
        y = inside if y is None else y
    grouping, groups = asked.groups, None
    if grouping is None and known is not None and known.groups in table.cells:
        grouping = known.groups
    if grouping is not None:
        groups = table.column(grouping, "--groups")
    covariates = _covariates(lambda one: table.column(one, "--covariates"), asked)
    columns = _entries(table, asked)
    X, missing = table.samples(columns)  # a column of words is named before the columns are counted
    if asked.shape is None:
        raise ValueError(
            f"{table.path} has flat samples of {len(columns)} columns: pass --shape P,Q."
        )
    p, q = _check_shape(asked.shape, len(columns))
    origin = Origin(asked.target, asked.samples, grouping, asked.covariates, columns)
    return Data(X.reshape(-1, p, q), y, groups, origin, missing, covariates)


def _entries(table: Table, asked: Origin) -> list[str]:
    """Columns that are entries of the samples: those of the model by name, or all that are left."""
    if asked.columns is None:
        return list(table.cells)
    absent = [name for name in asked.columns if name not in table.cells]
    if absent:
        raise ValueError(
            f"{table.path} must have the {len(asked.columns)} columns of the training; "
            f"{len(absent)} are not there, the first is {absent[0]!r}."
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
                f"{values.shape}."
            )


def _check_shape(shape: tuple[int, int], columns: int) -> tuple[int, int]:
    if shape[0] * shape[1] != columns:
        raise ValueError(
            f"--shape {shape[0]},{shape[1]} needs {shape[0] * shape[1]} numbers per sample; there "
            f"are {columns}."
        )
    return shape
