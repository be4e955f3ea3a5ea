"""Legal input that once crashed, warned or never ended."""

import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

import matreg
from matreg import (
    GRMR,
    GRMRCV,
    GSMM,
    RGLM,
    RGLMCV,
    RMR,
    RMRCV,
    SMM,
    SMMCV,
    information_criteria,
    path,
)
from matreg.losses.smooth import Logistic
from matreg.solvers.grmr.row_prox import relative

rng = np.random.default_rng(0)
X, y = rng.standard_normal((40, 2, 2)), rng.standard_normal(40)


def stored(samples, folder):
    np.save(folder / "X.npy", samples)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.parametrize("scale", [1e-30, 1e-9, 1.0])
def test_the_best_intercept_may_be_zero(scale):
    t = np.r_[np.zeros(10), np.ones(10)]
    for seed in range(50):
        r = scale * np.random.default_rng(seed).standard_normal(10)
        r = np.r_[r, -r]
        loss = Logistic(t, np.ones(20))
        b = loss.best_intercept(r)
        assert abs(loss.gradient(r - b).sum()) <= 1e-14


def test_the_best_intercept_of_residuals_beyond_its_rounding():
    r = 1971511581955096.0 + np.array([4124.25, 0.0, 4124.25, 0.0])
    weights = np.array([0.0087793748, 1.5903249, 10859.3247, 48.696558])
    b = Logistic(np.array([0.0, 0.0, 1.0, 1.0]), weights).best_intercept(r)
    assert 0.0 <= b - r.max() <= 20.0


@pytest.mark.parametrize("seed", range(10))
def test_counts_without_an_intercept(seed):
    g = np.random.default_rng(seed)
    samples = 100.0 * g.standard_normal((15, 2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RGLM(0.1, family="poisson", fit_intercept=False).fit(samples, g.poisson(3.0, 15))
    assert np.isfinite(model.objective_)


@pytest.mark.parametrize("weights", [None, np.arange(40) == 7])
@pytest.mark.parametrize("model", [RMR(tau=0.1, C=1.0), RMR(tau=0.1, C=1.0, loss="absolute")])
def test_one_sample_of_a_stored_array(model, weights, tmp_path):
    some = 1 if weights is None else 40
    weights = None if weights is None else weights.astype(float)
    with sklearn.config_context(working_memory=1e-9), pytest.warns(UserWarning, match="W = 0"):
        model.fit(stored(X[:some], tmp_path), y[:some], sample_weight=weights)
    assert model.objective_ == 0.0 and model.rank_ == 0


@pytest.mark.parametrize("loss", ["huber", "epsilon_insensitive"])
def test_one_sample_in_memory(loss):
    model = RMR(loss=loss, tau=5e-15, C=34.0).fit(X[:1], y[:1])
    assert model.objective_ <= 1e-14


@pytest.mark.parametrize("search", [RMRCV, RGLMCV, GRMRCV, SMMCV])
def test_a_fold_without_weight_is_named(search):
    weights = np.where(np.arange(40) < 8, 0.0, 1.0)
    labels = (y > 0).astype(int) if search is SMMCV else y
    with pytest.raises(ValueError, match=r"fold 0 of cv has no sample of positive sample_weight"):
        search(cv=KFold(5)).fit(X, labels, sample_weight=weights)


def test_a_class_of_one_sample_is_named():
    labels = np.where(np.arange(40) == 0, "rare", np.where(y > 0, "a", "b"))
    message = "no sample to train on of a class with 1 sample of .* leave it out"
    with (
        pytest.warns(UserWarning, match="least populated class"),
        pytest.raises(ValueError, match=message),
    ):
        SMMCV(n_taus=2).fit(X, labels)


@pytest.mark.parametrize(("first", "part"), [(0, "test"), (1, "train")])
@pytest.mark.parametrize("search", [RGLMCV(n_taus=3), RMRCV(n_taus=3)])
def test_a_fold_without_weight_is_named_from_blocks(search, first, part, tmp_path):
    weights = np.where((np.arange(40) < 10) == first, 1.0, 0.0)
    with (
        sklearn.config_context(working_memory=1e-9),
        pytest.raises(ValueError, match=rf"fold 0 of cv has no sample of .* to {part} on\. Leave"),
    ):
        clone(search).set_params(cv=KFold(4)).fit(stored(X, tmp_path), y, sample_weight=weights)


def test_folds_that_cannot_be_are_refused_from_blocks(tmp_path):
    with (
        sklearn.config_context(working_memory=1e-9),
        pytest.raises(ValueError, match=r"cannot split the 1 samples"),
    ):
        RGLMCV(cv=2).fit(stored(X[:1], tmp_path), y[:1])


def test_a_fold_of_one_class_is_named():
    with pytest.raises(ValueError, match=r"fold 0 of cv .*StratifiedKFold"):
        SMMCV(cv=KFold(2)).fit(X, np.repeat([0, 1], 20))


def test_a_fold_without_a_positive_count_is_named():
    counts = np.repeat([0, 2], 20)
    with pytest.raises(ValueError, match=r"fold 1 of cv .* positive count .* cv=KFold"):
        RGLMCV(family="poisson", cv=KFold(2)).fit(X, counts)


@pytest.mark.parametrize("search", [RMRCV, RGLMCV, GRMRCV])
def test_few_samples_with_a_weight_are_not_all_in_one_tenth(search):
    """Without it no sample would be left to score by leave-one-out."""
    tenth = np.random.default_rng(0).permutation(20) % 10
    model = search(n_taus=3, cv="loo")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", matreg.AdviceWarning)
        model.fit(X[:20], y[:20], sample_weight=(tenth == 0) * 1.0)
    assert np.isfinite(model.best_score_)
    with pytest.raises(ValueError, match='cv="loo" needs two different samples'):
        model.fit(X, y, sample_weight=(np.arange(40) == 3) * 1.0)


def test_a_rough_first_stage_is_not_taken_for_converged():
    g = np.random.default_rng(19)
    g.choice([8, 20, 40])
    samples = g.standard_normal((20, 3, 2))
    labels = samples[:, 0, 0] + g.standard_normal(20)
    with pytest.warns(ConvergenceWarning, match="above tol=1e-06"):
        model = RMR(solver="active-set", max_iter=4).fit(samples, labels)
    assert 1e-6 < model.dual_gap_ <= 1e-2


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::matreg.AdviceWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_passes_without_a_bound_do_not_narrow_the_smoothing_for_ever(tmp_path):
    g = np.random.default_rng(2)
    samples = 1e-60 * g.standard_normal((20, 2, 1))
    labels = samples[:, 0, 0] + 5e-61 * g.standard_normal(20) > 0.0
    weights, age = 10.0 ** g.uniform(-8.0, 8.0, 20), g.standard_normal((20, 1))
    model = SMM(tau="10*scale", covariate_ridge=7e7, tol=0.5)
    with sklearn.config_context(working_memory=1e-9):
        model.fit(stored(samples, tmp_path), labels, sample_weight=weights, covariates=age)
    assert np.isfinite(model.objective_)


def test_clean_samples_that_vanish_do_not_overflow():
    g = np.random.default_rng(3)
    model = GRMR(tau=0.0, fit_intercept=False).fit(g.standard_normal((30, 1, 2)), g.random(30))
    assert np.isfinite(model.objective_)


def test_residuals_relative_to_nothing_do_not_overflow():
    assert np.isfinite(relative(9.0, 0.0)) and relative(9.0, 1.0) == 3.0


def test_an_exact_fit_from_blocks_claims_no_multipliers(tmp_path):
    with sklearn.config_context(working_memory=1e-9):
        model = RGLM(0.0).fit(stored(X[:3], tmp_path), y[:3])
        assert not model.dual_coef_.any()
    assert model.dual_gap_ == 0.0


@pytest.mark.parametrize("unit", [1e-150, 1e150])
@pytest.mark.parametrize("model", [RMR(), RGLM(), GRMR()])
def test_units_beyond_float64_are_refused(model, unit):
    with pytest.raises(ValueError, match=r"X has entries .* in other units"):
        model.fit(unit * X, y)
    with pytest.raises(ValueError, match=r"y has entries"):
        model.fit(X, unit * y)
    with pytest.raises(ValueError, match=r"sample_weight has entries"):
        model.fit(X, y, sample_weight=np.full(40, unit))


@pytest.mark.parametrize("C", [1e90, 1e200])
@pytest.mark.parametrize("model", [GRMR, GSMM])
def test_cleaning_with_losses_beside_which_the_penalty_is_rounding_is_refused(model, C):
    with pytest.raises(ValueError, match=r"C times sample_weight is up to"):
        model(C=C).fit(X, y > 0 if model is GSMM else y)


@pytest.mark.parametrize(("C", "weight"), [(1e-260, 1e-60), (1e-310, 1.0)])
@pytest.mark.parametrize("model", [RMR, SMM, GRMR])
def test_losses_that_vanish_in_float64_are_refused(model, C, weight):
    with pytest.raises(ValueError, match=r"C times sample_weight is at most .* Raise C"):
        weights = np.full(40, weight)
        model(C=C, tau=0.0).fit(X, y > 0 if model is SMM else y, sample_weight=weights)


@pytest.mark.parametrize("epsilon", [0.1, "scale"])
def test_labels_without_weight_do_not_count_where_w_is_zero(epsilon):
    weights = np.zeros(40)
    weights[3] = 1.0
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        assert RMR(epsilon=epsilon).fit(X, y, sample_weight=weights).rank_ == 0
    assert not [one for one in found if "span" in str(one.message)]


@pytest.mark.parametrize("unit", [1e-165, 1e200])
def test_covariates_whose_squares_leave_float64_are_not_called_constant(unit):
    Z = unit * rng.standard_normal((40, 1))
    with pytest.raises(ValueError, match=r"the covariate z0 has entries .* in other units"):
        RMR().fit(X, y, covariates=Z)


@pytest.mark.parametrize(
    ("model", "unit", "of_labels"),
    [
        (RMR(loss="huber"), 1e-65, 1e66),
        (RGLM(), 1e73, 1e72),
        (SMM(loss="squared_hinge"), 1e-93, 1.0),
        (GRMR(), 1e-60, 1.0),
        (GRMR(outliers="split"), 1e-34, 1e36),
    ],
)
def test_units_whose_products_are_beyond_float64_are_refused(model, unit, of_labels):
    labels = (y > 0).astype(int) if isinstance(model, SMM) else of_labels * y
    with pytest.raises(ValueError, match=r"products leave the range .* in other units"):
        model.fit(unit * X, labels)


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_far_units_change_nothing(unit):
    assert RMR().fit(unit * X, y).dual_gap_ <= 1e-6
    fit, same = RMR().fit(unit * X, y), RMR().fit(X, y)
    np.testing.assert_allclose(fit.predict(unit * X), same.predict(X), rtol=1e-3, atol=1e-3)


def test_tau_zero_is_not_called_too_large(tmp_path):
    np.save(tmp_path / "X.npy", np.ones((6, 2, 3)))
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    with (
        sklearn.config_context(working_memory=1e-9),
        pytest.warns(UserWarning, match=r"W = 0.*: the samples do not vary with the labels\.$"),
    ):
        RMR(tau=0.0).fit(X, np.arange(6.0))


def test_a_fold_of_equal_labels_from_blocks(tmp_path):
    rng = np.random.default_rng(0)
    np.save(tmp_path / "X.npy", rng.standard_normal((12, 2, 2)))
    X, y = np.load(tmp_path / "X.npy", mmap_mode="r"), np.repeat([1.0, 2.0, 1.5], 4)
    y[8:] += np.arange(4.0)
    with sklearn.config_context(working_memory=1e-9), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        search = RGLMCV([1e6, 1.0], ridge=0.0, cv=KFold(3)).fit(X, y)
        memory = RGLMCV([1e6, 1.0], ridge=0.0, cv=KFold(3)).fit(np.asarray(X), y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    for name in ("split0_test_score", "split2_test_score"):
        expected = memory.cv_results_[name]
        np.testing.assert_allclose(search.cv_results_[name], expected, rtol=1e-4)


@pytest.mark.parametrize("tau", [0.0, 1.0])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("covariates", [None, np.arange(12.0)])
def test_sparse_coefficients_of_samples_that_the_columns_fit(tau, unit, covariates):
    z = np.zeros(12) if covariates is None else covariates
    samples = unit * (np.array([[-9.87], [6.07]]) + z[:, None, None])
    labels = np.array([0.0, 27, 0, 17, 16, 0, 4, 0, 18, 0, 0, 25])
    model = RGLM(tau, family="poisson", l1=0.2)
    with pytest.warns(UserWarning, match=r"W = 0.* Lower t" + ("au" if tau else "ol")):
        model.fit(samples, labels, covariates=covariates)
    assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("model", [RGLM(0.0, l1=0.5), RMR(tau=0.0, C=1.0, l1=0.5)])
def test_sparse_coefficients_without_a_penalty_are_plain_ones(model):
    plain = clone(model).set_params(l1=0.0).fit(X, y)
    assert model.fit(X, y).dual_gap_ <= 1e-6
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-5)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("tau", [0.0, "scale"])
def test_several_classes_of_samples_that_are_zero(tau, intercept):
    model = RGLM(tau, family="multinomial", fit_intercept=intercept)
    with pytest.warns(UserWarning, match="do not vary with the labels"):
        model.fit(np.zeros((12, 2, 2)), np.arange(12) % 3)
    assert model.dual_gap_ <= 1e-12
    assert model.objective_ == pytest.approx(12 * np.log(3.0))


@pytest.mark.parametrize("family", ["binomial", "poisson"])
def test_the_only_sample_of_a_class_cannot_be_left_out(family):
    labels = (np.arange(40) == 3).astype(int)
    model = RGLM(family=family).fit(X, labels)
    with pytest.raises(ValueError, match=r"leave_one_out needs two different samples"):
        model.leave_one_out(X, labels)
    with pytest.raises(ValueError, match=r"cv=\"loo\" needs two different samples"):
        RGLMCV(family=family, cv="loo").fit(X, labels)
    without = RGLM(family=family, fit_intercept=False).fit(X, labels)
    assert np.isfinite(without.leave_one_out(X, labels).decisions).all()


def test_samples_of_dask_are_left_out():
    dask = pytest.importorskip("dask.array", reason="dask is not installed")
    with sklearn.config_context(working_memory=1e-9):
        model = RGLM(tau=1.0).fit(dask.from_array(X, chunks=(10, 2, 2)), y)
    found, expected = (one.leave_one_out(X, y) for one in (model, RGLM(tau=1.0).fit(X, y)))
    np.testing.assert_allclose(found.residuals, expected.residuals, rtol=1e-4)


@pytest.mark.parametrize("model", [RMR(loss="absolute"), RGLM()])
def test_criteria_of_an_exact_fit(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        whole = path(model, X[:1], y[:1])
    assert np.all(information_criteria(whole, X[:1], y[:1]).aic == -np.inf)


def test_a_single_sample_cannot_be_left_out():
    samples, labels = np.ones((6, 2, 2)), np.full(6, 2.5)
    with pytest.raises(ValueError, match=r"leave_one_out needs two different samples of positive"):
        RGLM(1.0, fit_intercept=False).fit(samples, labels).leave_one_out(samples, labels)


@pytest.mark.parametrize("weights", [None, np.arange(40) < 2])
def test_the_score_of_counts_that_are_all_the_same(weights):
    model = RGLM(1.0, family="poisson").fit(X, np.arange(40) % 3)
    assert model.score(X, np.ones(40), sample_weight=weights) == 0.0


def test_a_report_on_samples_that_are_all_the_same(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    samples = np.full((5, 3, 3), 0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        report = RMR(tau=1.0).fit(samples, y[:5]).report(samples, y[:5])
    report.save(tmp_path / "report.html")


@pytest.mark.filterwarnings("ignore:W = 0")
@pytest.mark.parametrize("tau", [1e160, 1e300])
@pytest.mark.parametrize("model", [RMR(), SMM(covariate_ridge=0.1), RGLM(ridge=0.5)])
def test_a_huge_tau_does_not_overflow(model, tau):
    g = np.random.default_rng(0)
    samples, Z = g.standard_normal((30, 3, 2)), g.standard_normal((30, 1))
    labels = samples[:, 0, 0] + Z[:, 0] + 0.1 * g.standard_normal(30)
    labels = labels > 0.0 if isinstance(model, SMM) else labels
    Z = np.column_stack([Z, labels > 0.0])
    fitted = clone(model).set_params(tau=tau).fit(samples, labels, covariates=Z)
    assert fitted.rank_ == 0 and fitted.dual_gap_ <= 1e-6


@pytest.mark.parametrize("model", [GRMR(C=1e-200), GSMM(C=1e-200), GRMR(C=1.0, gamma=1e-200)])
def test_prices_of_cleaning_whose_squares_vanish_are_refused(model):
    labels = y > 0.0 if isinstance(model, GSMM) else y
    with pytest.raises(ValueError, match=r"(gamma|lam) is .*, whose square vanishes .* Raise"):
        clone(model).fit(X, labels)
