"""Fitted models in files: skops, and nothing is trusted but the classes of matreg."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matreg

from ..estimators._base import MatrixEstimator
from ..inspection import MapAxes


def save_model(model: Any, path: str, names: MapAxes, target: str) -> None:
    """Write a fitted model, with the coordinates of its maps.

    Parameters
    ----------
    model : fitted model
        A model of matreg.
    path : str
        File to write.
    names : MapAxes
        Coordinates of rows and columns.
    target : str
        What the label is called.
    """
    model.about_ = {"target": target, "matreg": matreg.__version__, **vars(names)}
    _skops().dump(model, path)


def load_model(path: str) -> tuple[Any, MapAxes, str]:
    """Read a fitted model.

    Parameters
    ----------
    path : str
        File that :func:`save_model` or ``skops.io.dump`` has written.

    Returns
    -------
    model, names, target
        The model, the coordinates of its maps, and what its label is called.
    """
    if not Path(path).exists():
        raise FileNotFoundError(f"{path} does not exist.")
    skops = _skops()
    try:
        asked = skops.get_untrusted_types(file=path)
    except Exception as error:  # a file that is no archive fails in many ways
        raise ValueError(f"{path} is not a model that matreg has written.") from error
    foreign = sorted(set(asked) - trusted_types())
    if foreign:
        raise ValueError(f"{path} holds {foreign[0]}, which matreg does not trust: not loaded.")
    model = skops.load(path, trusted=asked)
    if not (isinstance(model, MatrixEstimator) and hasattr(model, "coef_")):
        raise ValueError(f"{path} must hold a fitted model of matreg; got {type(model).__name__}.")
    about = dict(getattr(model, "about_", {}))
    target = str(about.pop("target", "y"))
    about.pop("matreg", None)
    return model, MapAxes(**about), target


def trusted_types() -> set[str]:
    """Names of the public estimators of matreg."""
    classes = [getattr(matreg, name) for name in matreg.__all__]
    return {
        f"{one.__module__}.{one.__qualname__}"
        for one in classes
        if isinstance(one, type) and hasattr(one, "fit")
    }


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError("Model files need skops: pip install matreg[files]") from error
    return skops.io
