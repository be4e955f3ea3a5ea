"""Callbacks of scikit-learn, where it has them: from 1.9 on, as an experiment of its own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

try:
    from sklearn.callback import CallbackSupportMixin
except ImportError:  # scikit-learn before 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""


T = TypeVar("T")


def reported(model: Any, items: Iterable[T], total: int) -> Iterator[T]:
    """Iterate, and tell the callbacks of a model about every item.

    Parameters
    ----------
    model : estimator
        With callbacks set by ``set_callbacks``, or without.
    items : iterable
        What is done one after another, such as folds.
    total : int
        How many there are.
    """
    if not hasattr(model, "_skl_callbacks"):
        yield from items
        return
    context = model._init_callback_context(max_subtasks=total)
    context.call_on_fit_task_begin(estimator=model)
    for item in items:
        task = context.subcontext(task_name="fold").call_on_fit_task_begin(estimator=model)
        yield item
        task.call_on_fit_task_end(estimator=model)
    context.call_on_fit_task_end(estimator=model)
