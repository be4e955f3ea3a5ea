"""Many independent tasks on several cores, with a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from joblib import delayed

from .._runtime.parallel import in_parallel
from .._runtime.progress import track
from ..linalg.threads import one_thread

T = TypeVar("T")


def run_tasks(
    function: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int, label: str
) -> list[T]:
    """Results of a function for each tuple of arguments, in the order of the tasks."""
    calls = (delayed(_alone)(function, *task) for task in tasks)
    return list(track(in_parallel(calls, jobs), label, len(tasks), verbose=1))


def _alone(function: Callable[..., T], *arguments: Any) -> T:
    """Call a function with one BLAS thread, because other tasks use the other cores."""
    with one_thread(0):
        return function(*arguments)
