"""One thread for linear algebra in small pieces.

Many small products in a row are slower on several threads than on one, and on a busy machine the
threads, which wait for each other by spinning, can make a fit many times slower. Only data far
larger than the cache are worth more threads.

NumPy and SciPy, as installed from PyPI, each bring their own BLAS library, whose idle threads spin
while those of the other library work. Therefore SciPy's library never has more than one thread,
which makes fits to many samples faster.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache, wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

from ..thresholds import THREADED_NUMBERS

P = ParamSpec("P")
R = TypeVar("R")
Subject = TypeVar("Subject", bound=Any)


@cache
def controller() -> ThreadpoolController:
    """Handle of the loaded BLAS libraries; finding them takes a while, so that it is cached."""
    return ThreadpoolController().select(user_api="blas")


@cache
def guests() -> ThreadpoolController:
    """Handle of the BLAS libraries other than NumPy's; of none if all packages share one."""
    paths = [library["filepath"] for library in controller().info()]
    others = [path for path in paths if not belongs_to_numpy(path)]
    return controller().select(filepath=others if len(others) < len(paths) else [])


def belongs_to_numpy(path: str) -> bool:
    """Whether a library was installed with NumPy."""
    return any(part in ("numpy", "numpy.libs") for part in Path(path).parts)


def allowed() -> int:
    """Number of threads that the linear algebra may use now."""
    return max((library["num_threads"] for library in controller().info()), default=1)


def one_thread(size: int) -> AbstractContextManager[Any]:
    """Context with one thread for the linear algebra of samples with `size` numbers in total.

    Large samples may use all threads of NumPy's library.
    """
    libraries = guests() if size >= THREADED_NUMBERS else controller()
    return libraries.limit(limits=1)


def single_threaded(
    size: Callable[[Subject], int],
) -> Callable[[Callable[Concatenate[Subject, P], R]], Callable[Concatenate[Subject, P], R]]:
    """Decorator that runs a solver in :func:`one_thread`; `size` maps its first argument."""

    def decorate(solve: Callable[Concatenate[Subject, P], R]) -> Callable[..., R]:
        @wraps(solve)
        def wrapped(subject: Subject, *args: P.args, **kwargs: P.kwargs) -> R:
            with one_thread(size(subject)):
                return solve(subject, *args, **kwargs)

        return wrapped

    return decorate
