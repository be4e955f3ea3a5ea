"""Many independent tasks on several cores, with a bar that shows how far they are."""

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
    """Call a function once for each tuple of arguments, in parallel, with a progress bar.

    Parameters
    ----------
    function : callable
        What to call; it must be a function of a module.
    tasks : sequence of tuples
        Positional arguments of each call.
    jobs : int
        Number of processes; -1 is one per core.
    label : str
        What the bar says.

    Returns
    -------
    list
        Results in the order of the tasks.
    """
    calls = (delayed(_alone)(function, *task) for task in tasks)
    results = in_parallel(calls, jobs)
    return list(track(results, label, len(tasks), verbose=1))


def _alone(function: Callable[..., T], *arguments: Any) -> T:
    """Call without BLAS threads, because the cores have other tasks."""
    with one_thread(0):
        return function(*arguments)
