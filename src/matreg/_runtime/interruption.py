"""Ctrl-C in long work: what is finished is kept, and pressed again soon it stops everything.

A path or a search that keeps what it has would go on in a loop over many of them, and in those of
scikit-learn, which no single Ctrl-C could stop.
"""

from __future__ import annotations

import time
from multiprocessing import parent_process

# Seconds within which Ctrl-C a second time means to stop everything.
AGAIN = 5.0
ADVICE = f"Press Ctrl-C again within {AGAIN:.0f} seconds to stop everything."

_last = -float("inf")


def may_keep() -> bool:
    """Whether to keep what is finished after a KeyboardInterrupt, instead of raising it again.

    Not in a worker process, whose parent decides, and not shortly after the last time.
    """
    global _last
    now = time.monotonic()
    soon, _last = now - _last < AGAIN, now
    return not soon and parent_process() is None
