"""Loss families: what is asked of them beside the losses."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from matreg.losses.families import Squared


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_are_those_of_scikit_learn(weighted):
    rng = np.random.default_rng(0)
    y, f = rng.standard_normal(20), rng.standard_normal((3, 20))
    weights = rng.uniform(0.0, 2.0, 20) if weighted else None
    for labels in (y, np.ones(20)):
        decisions = np.vstack([f, labels])
        expected = [r2_score(labels, one, sample_weight=weights) for one in decisions]
        found = Squared().score(labels, decisions, weights)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    assert np.isnan(Squared().score(y[:1], f[:, :1], None)).all()
