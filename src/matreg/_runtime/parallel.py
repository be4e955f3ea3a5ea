"""Calls in joblib's worker processes, which do not outlive their parent."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import BrokenExecutor
from contextlib import contextmanager
from multiprocessing import active_children
from typing import Any

from joblib import Parallel

# Seconds to wait for a worker to end.
ENDING = 5.0


def in_parallel(calls: Iterable[Any], n_jobs: int | None, *, ordered: bool = True) -> Iterator[Any]:
    """Yield the results of calls that were made by ``joblib.delayed``.

    With `ordered` the results come in the order of the calls, otherwise as the calls finish. If a
    worker process was killed, a ChildProcessError is raised.
    """
    results = Parallel(n_jobs, return_as="generator" if ordered else "generator_unordered")(calls)
    with _workers_end_with_us():
        try:
            yield from results
        except BrokenExecutor as error:
            raise ChildProcessError(
                "A worker process was killed, most often because the memory ran out. Fewer jobs "
                "need less memory: lower n_jobs."
            ) from error


@contextmanager
def _workers_end_with_us() -> Iterator[None]:
    """Let SIGTERM end the workers, too: otherwise they would wait minutes for their ended parent.

    If the program has set its own handler of the signal, that handler is kept.
    """
    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
    if ours:
        signal.signal(signal.SIGTERM, _end_all)
    try:
        yield
    finally:
        if ours and signal.getsignal(signal.SIGTERM) is _end_all:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _end_all(number: int, frame: Any) -> None:
    workers = [child for child in active_children() if child.name.startswith("LokyProcess")]
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(ENDING)
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
