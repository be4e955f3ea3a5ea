"""Imports of optional packages, and the versions of the packages that matter."""

from __future__ import annotations

import importlib
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

PACKAGES = ("matreg", "numpy", "scipy", "scikit-learn", "joblib", "matplotlib")


def optional(module: str, extra: str) -> Any:
    """Import a module; if it is missing, the error says which extra of matreg installs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f'{module} is missing: run `pip install "matreg[{extra}]"`.') from error


def versions() -> dict[str, str]:
    """Versions of Python and of those packages in `PACKAGES` that are installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
