"""A parameter that the others make idle is not ignored silently."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from matreg import GRMR, RMR, RMRCV, AdviceWarning
from matreg.losses import Huber

g = np.random.default_rng(0)
X = g.standard_normal((20, 3, 3))
y = X[:, 0, 0] + 0.1 * g.standard_normal(20)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (RMR(quantile=0.9), "quantile=0.9 has no effect with loss='epsilon_insensitive'"),
        (RMR(loss="absolute", epsilon=0.1), "epsilon=0.1 has no effect with loss='absolute'"),
        (RMR(loss=Huber(1.0), delta=2.0), "delta=2.0 has no effect with loss=Huber(delta=1.0)"),
        (GRMR(delta=2.0), "delta=2.0 has no effect"),
        (RMRCV(loss="huber", quantile=0.9, n_taus=3, cv=2), "quantile=0.9 has no effect"),
        (RMR(rho=2.0), "rho=2.0 has no effect with solver='auto'"),
        (RMR(solver="admm", rho=2.0, max_iter=3000), None),
        (RMR(loss="quantile", quantile=0.9), None),
        (clone(RMRCV(n_taus=3, cv=2)), None),
    ],
    ids=str,
)
def test_idle_parameters_are_named(model, words):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", AdviceWarning)
        model.fit(X, y)
    idle = [str(one.message) for one in found if "no effect" in str(one.message)]
    assert [words in one for one in idle] == [True] if words else not idle


@pytest.mark.parametrize("loss", ["epsilon_insensitive", "huber"])
def test_the_chosen_model_has_no_idle_parameters(loss):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", AdviceWarning)
        chosen = RMRCV(loss=loss, n_taus=3, cv=2).fit(X, y).best_estimator_
        again = clone(chosen).fit(X, y)
    assert not [one for one in found if "no effect" in str(one.message)]
    assert again.objective_ == pytest.approx(chosen.objective_, rel=1e-5)
