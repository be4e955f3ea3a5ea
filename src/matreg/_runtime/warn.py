"""Warnings that point at the line of the user's code which called the library."""

from __future__ import annotations

import sys
import warnings

# Packages whose lines are not the user's.
INSIDE = ("matreg", "sklearn", "joblib", "contextlib")


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the first line outside of the library, however deep the call is.

    Parameters
    ----------
    message : str
        What happened, with numbers, and the remedy.
    category : type of Warning, default=UserWarning
        Kind of warning.
    """
    frame, level = sys._getframe(), 1
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__")).partition(".")[0] in INSIDE
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
