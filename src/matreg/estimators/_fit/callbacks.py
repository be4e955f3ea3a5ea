"""Progress of a fit for the terminal, and for scikit-learn's callbacks where it has them.

Callbacks are experimental in scikit-learn, from 1.9 on. Those of a model are called for every fold
of a search and for every certificate of a single fit, and may stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from ..._runtime.progress import GapLine, listening

if TYPE_CHECKING:
    from sklearn.callback import CallbackContext

    from .base import MatrixEstimator

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Placeholder without any methods."""


T = TypeVar("T")
Context: TypeAlias = "CallbackContext | None"

# Attributes that scikit-learn sets on a model during a fit and removes itself.
CALLBACK_STATE = ("_callback_fit_ctx", "_skl_callbacks_to_teardown")


@contextmanager
def callback_context(model: MatrixEstimator, tasks: int | None) -> Iterator[Context]:
    """Context of a fit of `tasks` tasks for the callbacks of a model; None without callbacks."""
    if not hasattr(model, "_skl_callbacks"):
        yield None
        return
    context = model._init_callback_context(max_subtasks=tasks)
    context.call_on_fit_task_begin(estimator=model)
    yield context
    context.call_on_fit_task_end(estimator=model)


def reported(
    model: MatrixEstimator, items: Iterable[T], may_stop: Callable[[], bool]
) -> Iterator[T]:
    """Iterate, and tell the callbacks of a model about every item, such as a fold.

    `may_stop` says whether enough is done to stop if a callback asks for it.
    """
    context, stop = getattr(model, "_callback_fit_ctx", None), False
    for item in items:
        task = _begin(model, context, "fold")
        yield item
        stop |= _end(model, task)
        if stop and may_stop():
            return


@contextmanager
def watched(model: MatrixEstimator, context: Context = None, alone: bool = True) -> Iterator[None]:
    """Show a progress line for a long fit, and tell the callbacks about its certificates.

    There is no line if the fit is one of several (`alone` is False), or if the model prints its
    steps.
    """
    shown, stop = alone and not model.verbose, False

    def on_certificate(method: str, gap: float, goal: float) -> bool:
        nonlocal stop
        stop = _end(model, _begin(model, context, "iteration")) or stop
        return stop

    with listening(on_certificate), GapLine(type(model).__name__) if shown else nullcontext():
        yield


def _begin(model: MatrixEstimator, context: Context, name: str) -> Context:
    if context is None:
        return None
    return context.subcontext(task_name=name).call_on_fit_task_begin(estimator=model)


def _end(model: MatrixEstimator, task: Context) -> bool:
    return task is not None and bool(task.call_on_fit_task_end(estimator=model))
