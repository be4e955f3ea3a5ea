import numpy as np
import pytest
from scipy.linalg import cholesky
from threadpoolctl import ThreadpoolController

from matreg.linalg import threads


@pytest.fixture
def two_threads():
    cholesky(np.eye(2))  # both libraries are loaded
    libraries = ThreadpoolController().select(user_api="blas")
    with libraries.limit(limits=2):
        yield libraries


def counts(libraries):
    return {library["filepath"]: library["num_threads"] for library in libraries.info()}


def test_small_samples_have_one_thread(two_threads):
    before = counts(two_threads)
    with threads.one_thread(threads.THREADED_NUMBERS - 1):
        assert set(counts(two_threads).values()) == {1}
    assert counts(two_threads) == before


def test_large_samples_have_the_threads_of_one_library(two_threads):
    before = counts(two_threads)
    with threads.one_thread(threads.THREADED_NUMBERS):
        now = counts(two_threads)
    assert counts(two_threads) == before
    shared = len(now) == 1 or not any(map(threads.belongs_to_numpy, now))
    for path, number in now.items():
        own = shared or threads.belongs_to_numpy(path)
        assert number == (before[path] if own else 1)


@pytest.mark.parametrize(
    ("path", "own"),
    [
        ("/env/lib/site-packages/numpy.libs/libscipy_openblas64_-32a4b2a6.so", True),
        ("/env/lib/site-packages/numpy/.dylibs/libopenblas64_.0.dylib", True),
        ("/env/lib/site-packages/scipy.libs/libscipy_openblas-6cdc3b4a.so", False),
        ("/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so", False),
    ],
)
def test_whose_library_it_is(path, own):
    assert threads.belongs_to_numpy(path) is own
