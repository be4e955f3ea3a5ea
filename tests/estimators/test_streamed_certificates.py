"""The certificate of samples that are read block by block, on all of them and by NumPy alone."""

import numpy as np
import pytest
import sklearn

from matreg import RGLM, RMR, SMM

N, SHAPE = 4000, (3, 2)
# What sums of all samples may be off by, relative to the sums of the sizes of their terms.
ROUNDING = 1e-13
CASES = {
    "tube": (RMR, {"tau": 5.0, "C": 0.2, "epsilon": 0.2}),
    "absolute, covariates": (RMR, {"tau": 5.0, "C": 0.2, "loss": "absolute"}),
    "hinge": (SMM, {"tau": 5.0, "C": 0.2}),
    "squared": (RGLM, {"tau": 30.0}),
    "least squares": (RGLM, {"tau": 0.0}),
    "least squares, covariates": (RGLM, {"tau": 0.0}),
}


def stored(X, storage, folder):
    if storage == "dask":
        da = pytest.importorskip("dask.array")
        return da.from_array(X, chunks=(701, -1, -1))
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


@pytest.mark.slow
@pytest.mark.parametrize("weights", ["even", "uneven"])
@pytest.mark.parametrize("storage", ["file", "dask"])
@pytest.mark.parametrize("case", CASES)
def test_what_a_fit_to_stored_samples_states_is_true_of_all_of_them(
    case, storage, weights, tmp_path
):
    cls, parameters = CASES[case]
    rng = np.random.default_rng(len(case))
    X = rng.standard_normal((N, *SHAPE)) + 3.0
    flat = X.reshape(N, -1)
    noise = 1e-6 if "least" in case else 1.0  # residuals that are small beside the labels
    y = flat @ rng.standard_normal(6) + noise * rng.standard_normal(N)
    s = np.ones(N) if weights == "even" else 10.0 ** rng.uniform(-5.0, 2.0, N)
    given, columns = None, np.ones((N, 1))
    if "covariates" in case:
        given = rng.standard_normal((N, 2)) + 1.0
        y, columns = y + given @ [1.0, -2.0], np.column_stack([columns, given])
    if cls is SMM:
        y = np.where(y > np.median(y), 1.0, -1.0)
    more = {} if given is None else {"covariates": given}
    with sklearn.config_context(working_memory=1e-2):
        model = cls(**parameters).fit(stored(X, storage, tmp_path), y, sample_weight=s, **more)
        beta = np.asarray(model.dual_coef_)
    size, d = np.abs(beta), np.linalg.svd((beta @ flat).reshape(SHAPE), compute_uv=False)
    assert size.any()
    # Equations of the columns without a penalty.
    assert np.all(np.abs(beta @ columns) <= ROUNDING * (size @ np.abs(columns)))
    singular = np.linalg.svd(model.coef_, compute_uv=False)
    f = flat @ model.coef_.ravel() + model.intercept_
    f = f if given is None else f + given @ model.covariate_coef_
    if cls is RGLM:
        tau = parameters["tau"]
        assert d.max() <= tau + ROUNDING * (size @ np.linalg.norm(flat, axis=1))
        primal = 0.5 * s @ (y - f) ** 2 + tau * singular.sum()
        bound = y @ beta - 0.5 * beta @ (beta / s)
    else:
        tau, c = parameters["tau"], parameters["C"] * s
        epsilon = parameters.get("epsilon", 0.0)
        positive = cls is SMM
        assert np.all(beta <= (c * (y > 0) if positive else c))
        assert np.all(beta >= (-c * (y < 0) if positive else -c))
        loss = np.maximum(1.0 - y * f, 0.0) if positive else np.maximum(np.abs(y - f) - epsilon, 0)
        primal = c @ loss + tau * singular.sum() + 0.5 * singular @ singular
        bound = y @ beta - epsilon * size.sum() - 0.5 * (np.maximum(d - tau, 0.0) ** 2).sum()
    rounding = 1e-14 * (np.abs(y) @ size + primal)  # of y'beta, and of the residuals
    assert abs(model.objective_ - primal) <= rounding
    assert primal - bound <= model.dual_gap_ * primal + rounding
    assert model.dual_gap_ <= model.tol
