"""Ctrl-C in long work: what is finished is kept, and a second Ctrl-C soon after stops everything.

Without the second one, a loop over many paths or searches, such as those of scikit-learn, could not
be stopped.
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
