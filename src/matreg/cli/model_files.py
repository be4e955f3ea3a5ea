"""Fitted models in files of skops, which may hold only classes of matreg."""

from __future__ import annotations

import zipfile
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

import matreg

from .._runtime.files import writing
from .._runtime.packages import optional
from ..inspection import MapAxes
from ..preprocessing import MatrixScaler
from .data import Origin
from .readers import check_unpacked_size

LARGEST_SCHEMA = 2**24  # bytes of JSON in a model file; those of matreg have some ten thousand


def save_model(model: Any, path: str, origin: Origin) -> None:
    """Write a fitted model, or a pipeline of a scaler and a model, with the names of its data."""
    model_in(model).about_ = {"matreg": matreg.__version__, **asdict(origin)}
    with writing(path) as stream:
        skops_io().dump(model, stream)


def load_model(path: str) -> tuple[Any, Origin]:
    """Read a fitted model that :func:`save_model` or skops has written, and its origin."""
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist.")
    skops = skops_io()
    try:
        check_unpacked_size(Path(path))
        _check_schema(path)
        asked = skops.get_untrusted_types(file=path)
        foreign = sorted(set(asked) - trusted_types())
        if not foreign:
            model = skops.load(path, trusted=asked)
    except MemoryError:
        raise
    except Exception as error:  # other files fail in many ways
        raise ValueError(f"{path} is not a model that matreg has written.") from error
    if foreign:
        raise ValueError(f"{path} holds {foreign[0]}, which matreg does not trust: not loaded.")
    _check_model(model_in(model), path)
    if isinstance(model, Pipeline):
        _check_scaler(model, path)
    return model, _origin(model_in(model), path)


def model_in(model: Any) -> Any:
    """The model of matreg after a scaler, or the model itself."""
    return model.steps[-1][1] if isinstance(model, Pipeline) and model.steps else model


def trusted_types() -> set[str]:
    """Names of the public estimators of matreg, and of its scaler."""
    classes = [MatrixScaler, *(getattr(matreg, name) for name in matreg.__all__)]
    return {
        f"{one.__module__}.{one.__qualname__}"
        for one in classes
        if isinstance(one, type) and hasattr(one, "fit")
    }


def skops_io() -> Any:
    """The module that reads and writes model files."""
    return optional("skops.io", "files")


def _check_schema(path: str) -> None:
    """Refuse a description of the model that is far larger than any that matreg writes."""
    with zipfile.ZipFile(path) as archive:
        if archive.getinfo("schema.json").file_size > LARGEST_SCHEMA:
            raise ValueError("The schema is too large.")


def _check_model(model: Any, path: str) -> None:
    """Refuse an object that is not a fitted model with intact coefficients."""
    if type(model).__name__ not in matreg.__all__ or not hasattr(model, "intercept_"):
        raise ValueError(f"{path} must hold a fitted model of matreg; got {type(model).__name__}.")
    coef, b = (getattr(model, name) for name in ("coef_", "intercept_"))
    numbers = all(isinstance(one, float | np.ndarray | np.floating) for one in (coef, b))
    ok = (
        numbers
        and all(np.asarray(one).dtype.kind == "f" for one in (coef, b))
        and np.ndim(coef) in (2, 3)
        and np.shape(b) == coef.shape[:-2]
        and getattr(model, "matrix_shape_", None) == coef.shape[-2:]
        and bool(np.isfinite(coef).all() and np.isfinite(b).all())
    )
    if ok and hasattr(model, "covariate_coef_"):
        beside = (*np.shape(b), len(getattr(model, "covariate_names_", ())))
        ok = np.shape(model.covariate_coef_) == beside
    if not ok:
        raise ValueError(f"{path} is not a model that matreg has written: W or b is damaged.")


def _check_scaler(model: Pipeline, path: str) -> None:
    """Refuse a pipeline unless the only step before the model is a fitted, intact scaler."""
    scaler, shape = model.steps[0][1], model_in(model).matrix_shape_
    ok = len(model.steps) == 2 and isinstance(scaler, MatrixScaler)
    for name in ("center_", "scale_"):
        numbers: Any = getattr(scaler, name, None)
        ok = ok and isinstance(numbers, np.ndarray) and numbers.dtype.kind == "f"
        ok = ok and numbers.shape in {(1, shape[1]), (shape[0], 1), (1, 1), shape}
        ok = ok and bool(np.isfinite(numbers).all())
    if not (ok and getattr(scaler, "matrix_shape_", None) == shape and scaler.scale_.min() > 0.0):
        raise ValueError(f"{path} is not a model that matreg has written: the scaler is damaged.")


def _origin(model: Any, path: str) -> Origin:
    """Names in the data of a model; for a model fitted in Python, the names of its axes if any."""
    shape = (int(model.matrix_shape_[0]), int(model.matrix_shape_[1]))
    about = getattr(model, "about_", None)
    if about is None:
        return Origin(names=MapAxes.of(model), shape=shape)
    try:
        about = {name: value for name, value in about.items() if name != "matreg"}
        origin = Origin(**about | {"names": MapAxes(**about["names"]), "shape": shape})
        origin.names.check(shape)
    except (AttributeError, TypeError, KeyError, ValueError) as error:
        raise ValueError(f"{path} is not a model that matreg has written.") from error
    return replace(origin, target=str(origin.target), samples=str(origin.samples))
