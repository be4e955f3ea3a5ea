"""Both kinds of K against their numbers."""

import numpy as np
import pytest

from matreg.solvers.active_set.kernels import DenseKernel, FactoredKernel

RNG = np.random.default_rng(0)
PHI, DIAGONAL = RNG.standard_normal((12, 3)), RNG.uniform(0.1, 1.0, 12)
NUMBERS = PHI @ PHI.T + np.diag(DIAGONAL)
KERNELS = {"dense": DenseKernel(NUMBERS), "factored": FactoredKernel(PHI, DIAGONAL)}


@pytest.mark.parametrize("kind", KERNELS)
def test_products_and_blocks(kind):
    K, x = KERNELS[kind], RNG.standard_normal(12)
    some, others = np.array([1, 4, 7]), np.array([7, 0, 2, 1])
    np.testing.assert_allclose(K.times(x), NUMBERS @ x)
    np.testing.assert_allclose(K.times(np.eye(12)), NUMBERS)
    np.testing.assert_allclose(K.block(some, others), NUMBERS[np.ix_(some, others)])
    np.testing.assert_allclose(K.block(some, some), NUMBERS[np.ix_(some, some)])


@pytest.mark.parametrize("kind", KERNELS)
def test_systems_with_another_diagonal(kind):
    K, D, rhs = KERNELS[kind], RNG.uniform(0.1, 1.0, 12), RNG.standard_normal(12)
    expected = np.linalg.solve(NUMBERS + np.diag(D), rhs)
    np.testing.assert_allclose(K.solver(D)(rhs), expected, rtol=1e-9)
    np.testing.assert_allclose(K.plus(D).times(rhs), (NUMBERS + np.diag(D)) @ rhs)
