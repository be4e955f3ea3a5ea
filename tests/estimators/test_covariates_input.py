"""Covariates as users pass them: collinear, missing, encoded, refused."""

import warnings

import numpy as np
import pytest

import matreg
from matreg import GRMR, GRMRCV, RGLM, RMR, RMRCV, SMM
from matreg.preprocessing import CovariateEncoder
from problems import covariate_data as data
from problems import covariate_labels as labels

N, P, Q = 90, 4, 3


def test_collinear_and_constant_columns_are_named_and_of_least_norm():
    X, Z, _ = data()
    y = labels("normal")
    table = {"age": Z[:, 0], "months": Z[:, 0], "one": np.ones(N), "site": ["a"] * N}
    with pytest.warns(UserWarning) as caught:
        model = RMR(tau=1.0).fit(X, y, covariates=table)
    messages = [str(one.message) for one in caught]
    assert any("'one', 'site' are constant" in one for one in messages)
    assert any("'age', 'months' are collinear" in one for one in messages)
    assert any("1 of them follows from the others" in one for one in messages)
    assert any("the coefficients are 0. Leave them out" in one for one in messages)
    alone = RMR(tau=1.0).fit(X, y, covariates=Z[:, 0])
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-4)
    np.testing.assert_allclose(
        model.covariate_coef_[:2], 0.5 * alone.covariate_coef_[[0, 0]], atol=1e-4
    )
    assert model.covariate_coef_[2] == 0.0


def test_numbers_stored_as_words_are_said_to_be_categories():
    X, _, _ = data()
    pandas = pytest.importorskip("pandas")
    ages = [str(20 + k % 12) for k in range(N)]
    for table in ({0: ages}, pandas.DataFrame({0: ages}), pandas.Series(ages, name="0")):
        with pytest.warns(matreg.AdviceWarning, match="'0' holds numbers stored as words.* 12 cat"):
            RMR(tau=1.0).fit(X, labels("normal"), covariates=table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        codes = {"site": [str(k % 7) for k in range(N)], "id": pandas.Categorical(ages)}
        RMR(tau=1.0).fit(X, labels("normal"), covariates=codes)


def test_covariates_that_fit_all_labels_are_said_to():
    X, _, _ = data()
    with pytest.warns(matreg.AdviceWarning, match="Categories with about one sample each"):
        RMR().fit(X, labels("normal"), covariates={"id": [f"s{k}" for k in range(N)]})


def test_predictions_ask_for_covariates_exactly_where_the_fit_had_them():
    X, Z, _ = data()
    y = labels("normal")
    model = RMR(tau=1.0).fit(X, y, covariates=Z)
    for call in (model.predict, lambda X: model.score(X, y)):
        with pytest.raises(ValueError, match="RMR was fitted with z0, z1"):
            call(X)
    with pytest.raises(ValueError, match="fitted without"):
        RMR(tau=1.0).fit(X, y).predict(X, covariates=Z)
    with pytest.raises(ValueError, match=r"one row for each of the 90 samples of X; got 89"):
        model.predict(X, covariates=Z[1:])
    with pytest.raises(ValueError, match="must have 2 columns as in fit; got 1"):
        model.predict(X, covariates=Z[:, 0])
    np.testing.assert_allclose(
        model.predict(X, covariates=Z),
        X.reshape(N, -1) @ model.coef_.ravel() + Z @ model.covariate_coef_ + model.intercept_,
    )


@pytest.mark.parametrize("model", [RMR(), RGLM(), SMM(), GRMR(), RMRCV(), GRMRCV()], ids=repr)
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.ones((N - 1, 2)), r"covariates must have one row for each of the 90 samples"),
        (np.full((N, 1), np.nan), "covariates must have no missing or infinite values; 'z0'"),
        (np.full((N, 1), np.inf), "covariates must have no missing"),
        (np.array([["a"]] * N), "covariates must be numbers where they are an array; got 'a'"),
        (np.ones((N, 2), dtype=complex), "covariates must be numbers"),
        (np.ones((N, 2, 2)), r"covariates must be an array of shape \(n, m\)"),
        (np.ones((N, 0)), "covariates must have a column"),
        (np.random.default_rng(0).standard_normal((N, N)), "fewer columns than there are samples"),
        ({"site": [f"s{k}" for k in range(N)], "z": np.ones(N)}, "fewer columns than"),
        ({"when": np.array(["2020-01-01"] * N, dtype="M8[D]")}, "'when' is of type"),
        ({"z": np.ones((N, 2))}, "one value per sample in each column"),
    ],
)
def test_bad_covariates_are_refused_by_name(model, bad, message):
    X, _, _ = data()
    y = labels("binomial" if isinstance(model, SMM) else "normal")
    with pytest.raises(ValueError, match=message):
        model.fit(X, y, covariates=bad)


def test_the_solver_of_the_paper_refuses_them():
    X, Z, _ = data()
    with pytest.raises(ValueError, match="solver='admm' fits only W and one intercept"):
        RMR(tau=1.0, solver="admm").fit(X, labels("normal"), covariates=Z)


def test_encoded_columns_make_unseen_sites_possible():
    X, _, _ = data()
    y = labels("normal")
    site = np.array(["a", "b"])[np.arange(N) % 2]
    encoder = CovariateEncoder(unknown="mean").fit({"site": site})
    model = RMR(tau=1.0).fit(X, y, covariates=encoder.transform({"site": site}))
    new = model.predict(X[:1], covariates=encoder.transform({"site": ["c"]}))
    both = [model.predict(X[:1], encoder.transform({"site": [s]}))[0] for s in "ab"]
    assert new[0] == pytest.approx(np.mean(both))
