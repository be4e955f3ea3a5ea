"""Every check that scikit-learn has for estimators, none excused except for an error of its own."""

import warnings

import pytest
import sklearn
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks

from matreg import GRMR, GRMRCV, GSMM, GSMMCV, RGLM, RGLMCV, RMR, RMRCV, SMM, SMMCV

ESTIMATORS = [
    RMR(),
    RGLM(),
    RGLM(family="binomial"),
    RGLM(family="poisson"),
    SMM(),
    SMM(loss="squared_hinge", multi_class="one_vs_rest"),
    GRMR(),
]
SLOW = [
    GSMM(),
    RGLM(family="multinomial"),
    RMR(solver="admm"),
    RMRCV(n_taus=10),
    RGLMCV(n_taus=10),
    RGLMCV(n_taus=10, family="binomial"),
    SMMCV(n_taus=5, cv=3),
    GRMRCV([1.0, 10.0], gamma=10.0, limit=4.0),
    GSMM(loss="squared_hinge", multi_class="one_vs_rest", outliers="split", max_iter=100),
    GSMMCV([0.1, 1.0], gamma=10.0, limit=4.0, cv=3),
]


def excused(estimator):
    """Checks that cannot pass, with the reason."""
    if sklearn.__version__.startswith("1.6.") and getattr(estimator, "family", "") == "binomial":
        why = "it makes two classes of three by the first sample, which is not the same one twice"
        return {"check_sample_weight_equivalence_on_dense_data": why}
    return {}


@pytest.mark.filterwarnings("ignore:The least populated class")  # samples of scikit-learn 1.6
@parametrize_with_checks(ESTIMATORS, expected_failed_checks=excused)
def test_conventions(estimator, check):
    conventions(estimator, check)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:The least populated class")
@parametrize_with_checks(SLOW, expected_failed_checks=excused)
def test_conventions_of_slow_ones(estimator, check):
    conventions(estimator, check)


def conventions(estimator, check):
    """Run one of the checks."""
    with warnings.catch_warnings():
        if getattr(estimator, "solver", None) == "admm":  # it may well be slow, and says so
            warnings.simplefilter("ignore", ConvergenceWarning)
        check(estimator)
