"""Ctrl-C in long work: finished results are kept, and a second Ctrl-C soon after stops everything.

Without the second one, a loop over many paths or searches, such as those of scikit-learn, could not
be stopped.
"""

from __future__ import annotations

import time
from multiprocessing import parent_process

# Seconds within which a second Ctrl-C means to stop everything.
AGAIN = 5.0
ADVICE = f"Press Ctrl-C again within {AGAIN:.0f} seconds to stop everything."

_last = -float("inf")


def may_keep() -> bool:
    """Whether to keep finished results after a KeyboardInterrupt, instead of raising it again.

    The answer is no in a worker process, whose parent decides, and soon after the last call.
    """
    global _last
    now = time.monotonic()
    soon, _last = now - _last < AGAIN, now
    return not soon and parent_process() is None
