"""One thread for linear algebra in small pieces.

Many small products in a row are slower on several threads than on one, and on a busy machine the
threads of NumPy's and SciPy's libraries, which wait for each other by spinning, can make a fit
twenty times as slow. Only data far larger than the cache are worth more threads.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")
Subject = TypeVar("Subject", bound=Any)

# Numbers in the samples from which on all threads are used: 256 MB of them.
LARGE = 2**25


@cache
def controller() -> ThreadpoolController:
    """Handle of the libraries that are loaded, which takes a while to find."""
    return ThreadpoolController()


def one_thread(size: int) -> AbstractContextManager[Any]:
    """Context with one thread for the linear algebra of samples of this many numbers."""
    if size >= LARGE:
        return nullcontext()
    return controller().limit(limits=1, user_api="blas")


def single_threaded(
    size: Callable[[Subject], int],
) -> Callable[[Callable[Concatenate[Subject, P], R]], Callable[Concatenate[Subject, P], R]]:
    """Run a solver in that context, given how to find the size in its first argument."""

    def decorate(solve: Callable[Concatenate[Subject, P], R]) -> Callable[..., R]:
        @wraps(solve)
        def wrapped(subject: Subject, *args: P.args, **kwargs: P.kwargs) -> R:
            with one_thread(size(subject)):
                return solve(subject, *args, **kwargs)

        return wrapped

    return decorate
