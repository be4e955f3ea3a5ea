"""Loss families: what is asked of them beside the losses."""

import numpy as np
import pytest
from sklearn.metrics import r2_score

from matreg import GRMR, GSMM, RGLM, RMR, SMM
from matreg.losses.families import GLM_FAMILIES, REGRESSION_LOSSES, Squared, family_of
from problems import losses

# Losses of labels y and decisions f by their names, as they are written.
WRITTEN = {
    "hinge": lambda y, f: np.maximum(0.0, 1.0 - y * f),
    "squared_hinge": lambda y, f: np.maximum(0.0, 1.0 - y * f) ** 2,
    "normal": lambda y, f: (y - f) ** 2 / 2.0,
    "gaussian": lambda y, f: (y - f) ** 2 / 2.0,
    "binomial": lambda y, f: np.log1p(np.exp(f)) - y * f,
    # Two samples in two classes, class after class.
    "multinomial": lambda y, f: np.log(np.exp(f.reshape(2, 2)).sum(axis=0)).sum() / 4.0 - y * f,
    "poisson": lambda y, f: np.exp(f) - y * f,
}
NAMES = [(kind, "loss", name) for kind in (RMR, GRMR, SMM, GSMM) for name in kind._losses]
NAMES += [(RGLM, "family", name) for name in GLM_FAMILIES]


@pytest.mark.parametrize(("kind", "parameter", "name"), NAMES)
def test_every_name_is_the_loss_that_it_names(kind, parameter, name):
    """Up to a constant, for labels that all of them take: as they differ, so do the names."""
    numbers = {"epsilon": 0.3, "delta": 0.7, "quantile": 0.2}
    given = {one: numbers[one] for one in numbers if one in kind._get_param_names()}
    model = kind(**{parameter: name}, **given)
    model._validate_params()
    y, family = np.array([1.0, -1.0, -1.0, 1.0]), model._loss()
    y = y if parameter == "loss" else np.maximum(y, 0.0)
    f = np.array([0.9, 0.1, -1.5, 2.0])
    found = [family.of(y, np.ones(4)).value(family.target(y) - g) for g in (f, -f)]
    written = WRITTEN.get(name, lambda y, f: losses(name, y - f, **numbers))
    expected = [np.sum(written(y, g)) for g in (f, -f)]
    assert found[0] - found[1] == pytest.approx(expected[0] - expected[1], rel=1e-12)


def test_an_unknown_name_is_no_loss():
    with pytest.raises(KeyError):
        family_of("tube", REGRESSION_LOSSES, epsilon=0.1, delta=1.0, quantile=0.5)


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
