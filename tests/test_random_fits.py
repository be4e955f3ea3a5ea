"""Random fits of every estimator are what they say, by NumPy alone."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.random_cases import EXTRAS, KINDS, SOLVERS, STORAGES, TWISTS, fitted, random_case
from benchmarks.random_claims import claims
from benchmarks.random_fits import complaints, verdict
from benchmarks.random_multinomial import multinomial_complaints
from benchmarks.random_splits import split_complaints


@pytest.mark.parametrize("first", range(0, 300, 30))
def test_what_a_model_states_is_true(first):
    wrong = {seed: found for seed in range(first, first + 30) if (found := verdict(seed, many=0.0))}
    assert not wrong


def test_every_kind_of_fit_is_among_them():
    cases = [random_case(seed, many=0.0) for seed in range(300)]
    assert {(case.name, case.kind) for case in cases} == set(KINDS)
    assert {(case.name, case.extra) for case in cases} >= {
        (name, extra) for name, extras in EXTRAS.items() for extra in extras
    }
    assert {case.storage for case in cases} == {"array", *STORAGES}
    assert {case.parameters.get("solver", "auto") for case in cases} == set(SOLVERS)
    assert {case.twist for case in cases} == {"", *TWISTS}


SINGLE = sorted({extra for some in EXTRAS.values() for extra in some} - {"multinomial"})


@pytest.mark.parametrize("extra", SINGLE)
def test_what_is_not_true_is_found(extra, tmp_path):
    found = 0
    for seed in range(400):
        case = random_case(seed, many=0.0)
        if case.extra != extra or case.storage != "array" or len(case.y) < 8 or found == 2:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                *_, claim = claims(case, fitted(case, str(tmp_path)), str(tmp_path))
            except ValueError:  # a refusal
                continue
        told = claim.objective is None or claim.objective > 1e-6  # more than rounding
        if not (np.any(claim.W) and claim.whole and told and claim.tau):
            continue
        found += 1
        with np.errstate(all="ignore"):
            assert not complaints(claim)
            if claim.objective is not None and not claim.share:  # it tells the weight of a ridge
                assert complaints(replace(claim, objective=1.001 * claim.objective))
            size = np.abs(claim.beta).max()
            assert complaints(replace(claim, beta=claim.beta + 0.1 * size))
            assert complaints(replace(claim, W=1.1 * claim.W))
    assert found


@pytest.mark.parametrize(
    "change",
    [
        {"objective_": lambda value: 1.001 * value},
        {"dual_coef_": lambda beta: beta + 0.1 * np.abs(beta).max()},
        {"coef_": lambda W: 1.1 * W},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_not_true_of_multinomial_is_found(change, tmp_path):
    rng = np.random.default_rng(0)
    case = next(case for seed in range(400) if (case := random_case(seed)).extra == "multinomial")
    X, y = rng.standard_normal((30, 3, 2)), np.arange(30) % 3
    parameters = {"family": "multinomial", "joint": "rows", "tau": "scale"}
    case = replace(case, X=X, y=y, s=None, Z=None, parameters=parameters)
    model = fitted(case, str(tmp_path))
    assert not multinomial_complaints(case, model)
    for name, wrong in change.items():
        setattr(model, name, wrong(getattr(model, name)))
    assert multinomial_complaints(case, model)


def cleaned(name, extra, tmp_path):
    """A fit that cleans, with outliers, and its case."""
    rng = np.random.default_rng(0)
    case = next(
        one for seed in range(400) if (one := random_case(seed)).name == name and one.extra == extra
    )
    X = rng.standard_normal((13, 3, 1)) * rng.standard_normal((13, 1, 2))
    X[::4, 0, 0] += 10.0
    y = np.arange(13) % 3 if extra == "classes" else X[:, 1, 1] + 0.1 * rng.standard_normal(13)
    own = {"outliers": "split", "tau": 0.1, "C": 1.0, "fit_intercept": True}
    own |= {"multi_class": "one_vs_rest"} if extra == "classes" else {"max_iter": 1}
    kind = "hinge" if name == "GSMM" else "epsilon_insensitive"
    case = replace(case, X=X, y=y, s=None, Z=None, parameters=own, twist="", kind=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return case, fitted(case, str(tmp_path))


@pytest.mark.parametrize(("name", "extra"), [("GRMR", "split"), ("GSMM", "classes")])
def test_what_is_not_true_of_a_split_is_found(name, extra, tmp_path):
    case, model = cleaned(name, extra, tmp_path)
    assert model.outlier_fraction_ > 0.0 and not split_complaints(case, model)
    model.split_gap_ /= 1e3
    assert split_complaints(case, model)
    model.split_gap_ *= 1e3
    model.X_clean_, model.outliers_ = model.X_clean_ + 0.1, model.outliers_ - 0.1
    assert split_complaints(case, model)


def test_a_wrong_sum_of_the_problems_of_three_classes_is_found(tmp_path):
    case, model = cleaned("GSMM", "classes", tmp_path)
    assert not any(complaints(claim) for claim in claims(case, model, str(tmp_path)))
    model.objective_ *= 1.0 + 1e-6
    assert any(complaints(claim) for claim in claims(case, model, str(tmp_path)))


@pytest.mark.parametrize(
    ("seed", "ridge"),
    [(120002441, 0.54199), (122000379, 1.5269530956585465e-24), (122000511, 6.147172193653339e-11)],
    ids=["heavy losses", "cancelling sums", "reduced problem without a bound"],
)
def test_what_once_was_not_true_with_a_ridge_on_covariates(seed, ridge, tmp_path):
    case = random_case(seed, many=0.0 if seed == 120002441 else 0.5)
    parameters = {key: one for key, one in case.parameters.items() if key != "solver"}
    storage = "array" if seed == 120002441 else "file"
    case = replace(case, storage=storage, parameters=parameters | {"covariate_ridge": ridge})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        model = fitted(case, str(tmp_path))
        with np.errstate(all="ignore"):
            found = list(claims(case, model, str(tmp_path)))
            assert not [wrong for claim in found for wrong in complaints(claim)]


def test_sums_of_several_classes_and_splits_are_true():
    cases = {seed: random_case(seed, many=0.0) for seed in range(11, 3000, len(KINDS))}  # GSMM
    cleaning = {
        seed: (case.extra, case.parameters.get("outliers"))
        for seed, case in cases.items()
        if case.extra == "split" or (case.extra == "classes" and len(np.unique(case.y)) == 3)
    }
    assert set(cleaning.values()) == {("classes", None), ("classes", "split"), ("split", "split")}
    assert not {seed: found for seed in cleaning if (found := verdict(seed, many=0.0))}
