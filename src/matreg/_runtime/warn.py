"""Warnings that point at the line of the user's code which called the library."""

from __future__ import annotations

import sys
import warnings

# Packages whose lines are not the user's.
INSIDE = ("matreg", "sklearn", "joblib", "contextlib")


class AdviceWarning(UserWarning):
    """What a legal call should know about its data, parameters or result, with the remedy.

    All of matreg's warnings are of this class, except scikit-learn's ``ConvergenceWarning`` and
    Python's ``FutureWarning``.

    Examples
    --------
    >>> import warnings
    >>> from matreg import RMR, AdviceWarning
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", AdviceWarning)
    ...     model = RMR(tau=1e6).fit([[[0.0, 1.0]], [[1.0, 0.0]]], [0.0, 1.0])
    >>> model.rank_
    0
    """


def warn(message: str, category: type[Warning] = AdviceWarning) -> None:
    """Warn at the first line outside of the library, however deep the call is.

    Parameters
    ----------
    message : str
        What happened, with numbers, and the remedy.
    category : type of Warning, default=AdviceWarning
        Kind of warning.
    """
    frame, level = sys._getframe(), 1
    while (
        frame.f_back is not None
        and str(frame.f_globals.get("__name__")).partition(".")[0] in INSIDE
    ):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
