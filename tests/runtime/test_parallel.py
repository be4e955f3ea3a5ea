"""Workers that are killed."""

import os

import pytest
from joblib import delayed

from matreg._runtime.parallel import in_parallel


def test_a_killed_worker_is_one_sentence():
    with pytest.raises(ChildProcessError, match=r"worker process was killed.*Fewer jobs"):
        list(in_parallel([delayed(os._exit)(1) for _ in range(2)], 2))
    assert list(in_parallel([delayed(abs)(-k) for k in range(3)], 2)) == [0, 1, 2]
