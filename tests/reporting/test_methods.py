"""The paragraph for a methods section describes the model that was fitted."""

from __future__ import annotations

import numpy as np
import pytest

from matreg import GRMR, RGLM, RMR
from matreg.bases import smooth_basis
from matreg.penalties import SpectralElasticNet
from matreg.reporting._methods import parameters
from problems import random_data

OWN = RMR(tau=1.0, penalty=SpectralElasticNet(1.0))
AXES = RMR(tau=1.0, row_basis=np.eye(4), column_basis=smooth_basis(3, 2.0))


@pytest.fixture(scope="module")
def data():
    return random_data(40, 4, 3)[:2]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("model", "said"),
    [
        (RGLM(tau=1.0, ridge=0.9), "The penalty includes a ridge, with the share 0.9."),
        (RMR(tau=1.0, l1=0.3, tol=1e-3), "The penalty includes tau times the absolute entries"),
        (AXES, "The penalty applies to coefficients in given row and column bases."),
        (OWN, "Instead of these norms, the penalty was SpectralElasticNet."),
    ],
)
def test_the_penalty_is_described_whole(model, said, data):
    assert said in model.fit(*data).report(*data, cv=None).html


def test_the_plain_penalty_needs_no_words(data):
    assert "The penalty" not in RMR(tau=1.0).fit(*data).report(*data, cv=None).html


def test_a_ridge_on_covariates_is_no_missing_penalty(data):
    ages = np.arange(40.0)
    model = RMR(tau=1.0, covariate_ridge=2.0).fit(*data, covariates=ages)
    page = model.report(*data, covariates=ages, cv=None).html
    assert "with a ridge of 2, coefficients" in page
    assert "without a penalty" not in page


def test_parameters_of_the_model_are_listed_and_no_others(data):
    ridge = dict(parameters(RGLM(tau=1.0, ridge=0.9).fit(*data)))
    assert ridge["ridge"] == "0.9"
    assert "ridge" not in dict(parameters(RGLM(tau=1.0).fit(*data)))
    replacing, splitting = (
        dict(parameters(GRMR(tau=1.0, outliers=how).fit(*data))) for how in ("replace", "split")
    )
    assert replacing["limit"] == "4"
    assert "limit" not in splitting
