"""The interior point method against CVXPY, and against its own certificate everywhere."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matreg.datasets import make_matrix_regression, make_shape
from matreg.penalties.spectral import SpectralElasticNet
from matreg.solvers.choose import solve_rmr
from matreg.solvers.dual_points import label_ray
from matreg.solvers.interior import interior_point
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.largest_tau import tau_max
from matreg.unpenalised.basis import ONES, covariates
from problems import (
    SHAPE_IDS,
    SHAPES,
    cvxpy_rmr,
    gap_of_result,
    make_problem,
    random_data,
    random_weights,
)

TOL = 1e-6
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)


def assert_solved(problem, result, tol=TOL):
    """The gap that was asked for, found independently, and equal to the one reported."""
    gap = gap_of_result(problem, result)
    assert gap <= tol * (1.0 + 1e-6) + 1e-9
    assert result.converged
    assert result.gap == pytest.approx(gap, abs=0.05 * tol + 1e-9)


def assert_finite(result):
    for part in (result.W.matrix, result.beta, result.b, result.primal, result.dual, result.gap):
        assert np.all(np.isfinite(part))


@each_shape
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize(
    ("tau", "C", "epsilon"),
    [(1.0, 1.0, 0.1), (0.0, 10.0, 0.1), (0.5, 1.0, 0.0), (1e4, 1.0, 0.1), (5.0, 100.0, 0.05)],
)
def test_against_cvxpy(shape, fit_intercept, weighted, tau, C, epsilon):
    X, y = random_data(12, *shape, seed=3)
    problem = make_problem(
        X,
        y,
        tau=tau,
        C=C,
        epsilon=epsilon,
        fit_intercept=fit_intercept,
        weights=random_weights(12) if weighted else None,
    )
    result = solve_cold(problem, tol=1e-9)
    assert_solved(problem, result, 1e-9)
    optimum, W = cvxpy_rmr(problem)
    assert result.primal == pytest.approx(optimum, rel=1e-6)
    # The objective is strongly convex: it is above the optimum by half the squared distance.
    off = np.sqrt(2.0 * 1e-7 * optimum)
    assert np.linalg.norm(result.W.matrix - W) <= off
    if tau == 1e4:
        assert result.W.rank == 0


@each_shape
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_samples(shape, fit_intercept, n):
    X, y = random_data(n, *shape, seed=1)
    for tau in (0.0, 0.5):
        for epsilon in (0.0, 0.1):
            problem = make_problem(
                X, y, tau=tau, C=10.0, epsilon=epsilon, fit_intercept=fit_intercept
            )
            result = solve_cold(problem)
            assert_solved(problem, result)
            assert result.primal == pytest.approx(cvxpy_rmr(problem)[0], rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("tau", [100.0, 1000.0])
def test_exactly_recovered_square(tau):
    data = make_matrix_regression(500, coef=make_shape("square"), random_state=0)
    problem = make_problem(data.X, data.y, tau=tau, C=1e3, epsilon=1e-2)
    result = solve_cold(problem)
    assert_solved(problem, result)
    off = np.linalg.norm(result.W.matrix - data.coef) / np.linalg.norm(data.coef)
    assert off < 0.01


@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2, 1e4, 1e6])
@pytest.mark.parametrize("tau", [0.0, 0.3, 30.0])
@pytest.mark.parametrize("n", [10, 60])
def test_C(C, tau, n):
    X, y = random_data(n, 5, 6, seed=2)
    problem = make_problem(X, y, tau=tau, C=C, epsilon=0.05)
    assert_solved(problem, solve_cold(problem))


# Few samples, labels that hardly leave the tube, singular values on the threshold, a huge box.
HARD = [
    # n, shape, seed, tau, C, epsilon, intercept
    (3, (1, 1), 0, 1.0, 10.0, 1.0, False),
    (5, (2, 3), 0, 1.0, 1.0, 1.0, False),
    (8, (2, 2), 0, 1e3, 1e3, 1.0, False),
    (4, (1, 1), 0, 1.0, 1e5, 0.1, True),
    (5, (2, 1), 1, 1.0, 1e5, 0.1, True),
    (5, (1, 2), 0, 10.0, 1e5, 0.1, False),
    (5, (2, 2), 0, 1.0, 10.0, 0.0, True),
    (5, (2, 3), 1, 10.0, 1e5, 0.1, False),
    (6, (2, 2), 1, 1.0, 1e3, 1.0, True),
    (6, (2, 3), 0, 1e3, 1e5, 0.1, True),
    (8, (2, 3), 0, 1.0, 1.0, 0.0, False),
    (10, (2, 2), 0, 100.0, 1e3, 1.0, False),
]


@pytest.mark.parametrize(("n", "shape", "seed", "tau", "C", "epsilon", "fit_intercept"), HARD)
def test_small_and_hard(n, shape, seed, tau, C, epsilon, fit_intercept):
    X, y = random_data(n, *shape, seed=seed)
    problem = make_problem(X, y, tau=tau, C=C, epsilon=epsilon, fit_intercept=fit_intercept)
    assert_solved(problem, solve_rmr(problem))


@pytest.mark.parametrize("sx", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sy", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_scaling_law(sx, sy, fit_intercept):
    """W scales as y/X, and the objective as its square, if the parameters follow."""
    X, y = random_data(20, 4, 3, seed=4)
    tau, C, epsilon = 1.0, 2.0, 0.1
    base = make_problem(X, y, tau=tau, C=C, epsilon=epsilon, fit_intercept=fit_intercept)
    reference = solve_cold(base, tol=1e-9)
    problem = make_problem(
        sx * X,
        sy * y,
        tau=tau * sy / sx,
        C=C * sy / sx**2,
        epsilon=epsilon * sy,
        fit_intercept=fit_intercept,
    )
    result = solve_cold(problem, tol=1e-9)
    assert_solved(problem, result, 1e-9)
    assert result.primal / (sy / sx) ** 2 == pytest.approx(reference.primal, rel=1e-8)
    off = result.W.matrix * sx / sy - reference.W.matrix
    assert np.linalg.norm(off) <= 2.0 * np.sqrt(2e-9 * reference.primal)
    assert result.W.rank == reference.W.rank


@pytest.mark.parametrize("sx", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("sy", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("epsilon", [0.0, 0.1])
@pytest.mark.parametrize("n", [6, 40])
def test_scaled_data_with_the_same_parameters(sx, sy, epsilon, n):
    X, y = random_data(n, 4, 3, seed=5)
    for fit_intercept in (True, False):
        problem = make_problem(sx * X, sy * y, C=10.0, epsilon=epsilon, fit_intercept=fit_intercept)
        result = solve_cold(problem, max_iter=1000)
        assert_finite(result)
        interpolates = n <= 12
        rounding = epsilon == 0.0 and interpolates and 10.0 * sx**2 / sy > 1e9
        if not rounding:
            assert_solved(problem, result)


def degenerate():
    rng = np.random.default_rng(0)
    X, y = random_data(10, 3, 4, seed=6)
    many, _ = random_data(40, 3, 2, seed=7)
    truth = rng.standard_normal((3, 2))
    line = rng.standard_normal((3, 4))
    padded = X.copy()
    padded[:, 0], padded[:, :, 1] = 0.0, 0.0
    return {
        "equal samples": (np.repeat(X[:1], 10, axis=0), y),
        "all equal": (np.repeat(X[:1], 10, axis=0), np.full(10, 2.0)),
        "X zero": (np.zeros_like(X), y),
        "y constant": (X, np.full(10, 3.0)),
        "y zero": (X, np.zeros(10)),
        "all zero": (np.zeros_like(X), np.zeros(10)),
        "duplicates": (np.repeat(X, 3, axis=0), np.repeat(y, 3)),
        "contradicting duplicates": (np.repeat(X, 2, axis=0), np.r_[y, -y]),
        "noiseless": (many, np.tensordot(many, truth, axes=2) + 1.0),
        "collinear": (rng.standard_normal((10, 1, 1)) * line, y),
        "zero rows and columns": (padded, y),
        "rank one samples": (np.einsum("ni,nj->nij", X[:, :, 0], X[:, 0]), y),
        "one outlier": (X, np.r_[1e6, y[1:]]),
        "one huge sample": (np.concatenate([1e6 * X[:1], X[1:]]), y),
    }


def rounding_of(problem, result):
    """Relative gap that float64's rounding of ``y - A W`` is worth, sample by sample."""
    design = problem.design
    terms = np.abs(design.X.reshape(design.n, -1)) @ np.abs(result.W.matrix).reshape(-1) + np.abs(
        problem.y
    )
    return float(problem.loss.upper @ terms) * np.finfo(float).eps / result.primal


@pytest.mark.parametrize(("sx", "sy"), [(1e-6, 1.0), (1e6, 1.0), (1.0, 1e-6), (1.0, 1e6)])
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("tau", [0.0, 1.0, 100.0])
@pytest.mark.parametrize("epsilon", [0.0, 1e-2])
@pytest.mark.parametrize(("shape", "n"), [("square", 100), ("cross", 200)])
def test_scaled_data_to_the_last_digit(shape, n, epsilon, tau, C, sx, sy):
    """Fewer and more samples than coefficients; C (scale X)^2 / (scale y) up to 1e18."""
    data = make_matrix_regression(n, coef=make_shape(shape, 12), random_state=0)
    problem = make_problem(sx * data.X, sy * data.y, tau=tau, C=C, epsilon=epsilon * sy)
    result = solve_cold(problem, tol=TOL, max_iter=1000)
    assert gap_of_result(problem, result) <= max(TOL, rounding_of(problem, result)) * (1.0 + 1e-6)


DEGENERATE = degenerate()


@pytest.mark.parametrize("data", DEGENERATE.values(), ids=DEGENERATE)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_degenerate_data(data, fit_intercept):
    for tau, C, epsilon in [(0.0, 1.0, 0.1), (0.5, 10.0, 0.0), (2.0, 100.0, 0.1)]:
        problem = make_problem(*data, tau=tau, C=C, epsilon=epsilon, fit_intercept=fit_intercept)
        result = solve_cold(problem)
        assert_finite(result)
        assert_solved(problem, result)


@settings(max_examples=120, deadline=None, derandomize=True)
@given(
    n=st.integers(1, 12),
    p=st.integers(1, 5),
    q=st.integers(1, 5),
    seed=st.integers(0, 10**6),
    tau=st.sampled_from([0.0, 1e-3, 0.1, 1.0, 10.0, 1000.0]),
    log_C=st.floats(-2.0, 4.0),
    epsilon=st.sampled_from([0.0, 1e-3, 0.1, 1.0]),
    noise=st.sampled_from([0.0, 0.3]),
    fit_intercept=st.booleans(),
    weighted=st.booleans(),
)
def test_odd_shapes_and_parameters(
    n, p, q, seed, tau, log_C, epsilon, noise, fit_intercept, weighted
):
    X, y = random_data(n, p, q, seed=seed, noise=noise)
    problem = make_problem(
        X,
        y,
        tau=tau,
        C=10.0**log_C,
        epsilon=epsilon,
        fit_intercept=fit_intercept,
        weights=random_weights(n, seed) if weighted else None,
    )
    assert_solved(problem, solve_cold(problem))


@pytest.mark.parametrize("sx", [1e-150, 1e150])
@pytest.mark.parametrize("sy", [1e-150, 1e150])
def test_extreme_but_finite_input_raises_nothing(sx, sy):
    X, y = random_data(8, 3, 2, seed=8)
    result = solve_cold(make_problem(sx * X, sy * y), max_iter=50)
    assert np.all(np.isfinite(result.W.matrix)) and np.isfinite(result.b)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("epsilon", [0.0, 0.3])
@pytest.mark.parametrize("C", [1e4, 1e12, 1e18])
@pytest.mark.parametrize("tau", [0.0, 10.0])
def test_labels_that_cannot_be_fitted_in_a_huge_box(tau, C, epsilon, fit_intercept):
    # The penalty is next to nothing there: least absolute deviations, where A'beta nearly vanishes.
    problem = make_problem(
        *random_data(47, 4, 4, noise=1.0), tau=tau, C=C, epsilon=epsilon,
        fit_intercept=fit_intercept, weights=random_weights(47),
    )  # fmt: skip
    assert_solved(problem, solve_cold(problem))


def test_a_barrier_that_underflows_ends_the_run():
    X, y = random_data(16, 5, 6, noise=1.0)
    problem = make_problem(1e6 * X, 1e-6 * y, tau=0.0, C=24.0, epsilon=0.0, fit_intercept=False)
    assert_finite(solve_cold(problem))


@pytest.mark.parametrize("k", [1, 2])
def test_a_step_that_is_not_finite_ends_the_run(monkeypatch, k):
    def nothing(solve, border):
        return lambda rhs, total: (np.full_like(rhs, np.nan), np.full_like(total, np.nan))

    monkeypatch.setattr(interior_point, "with_border", nothing)
    X, y = random_data(20, 4, 3)
    problem = make_problem(X, y, tau=0.1, C=1.0, epsilon=0.1)
    columns = ONES if k == 1 else covariates(X[:, 0, :1])
    result = solve_cold(replace(problem, unpenalised=columns, linear_gamma=np.zeros(k)))
    assert_finite(result)
    assert not result.converged and result.n_iter == 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("n", [15, 16])  # the best intercepts are a point or an interval
def test_zero_is_certified_without_a_step_from_tau_max_on(fit_intercept, n):
    X, y = random_data(n, 4, 3, seed=5)
    problem = make_problem(X, y, tau=1.0, C=2.0, epsilon=0.1, fit_intercept=fit_intercept)
    largest = tau_max(problem)
    for factor in (1.0 + 1e-9, 2.0):
        at_tau = replace(problem, penalty=SpectralElasticNet(factor * largest))
        result = solve_cold(at_tau)
        assert result.n_iter == 0 and result.W.rank == 0
        assert_solved(at_tau, result)
    below = solve_cold(replace(problem, penalty=SpectralElasticNet(0.9 * largest)))
    assert below.n_iter > 0 and below.W.rank > 0


@pytest.mark.parametrize("shape", ["cross", "square"])
@pytest.mark.parametrize("C", [1.0, 1e3])
@pytest.mark.parametrize("share", [0.9, 0.2, 0.01])
def test_steps_stay_few_from_the_largest_tau_downwards(shape, C, share):
    # W far smaller than what fits the labels, a vertex of the box, a truth that is recovered: each
    # of these once took two to six times as many.
    data = make_matrix_regression(300, coef=make_shape(shape, 24), random_state=0)
    problem = make_problem(data.X, data.y, tau=1.0, C=C, epsilon=1e-2)
    tau = share * tau_max(problem)
    result = solve_cold(replace(problem, penalty=SpectralElasticNet(tau)))
    assert result.converged and result.n_iter <= 30


def test_looser_tolerance_stops_earlier_and_the_limit_is_kept():
    X, y = random_data(30, 6, 5, seed=9)
    problem = make_problem(X, y)
    loose, tight = solve_cold(problem, tol=1e-2), solve_cold(problem, tol=1e-8)
    assert loose.n_iter < tight.n_iter
    assert_solved(problem, loose, 1e-2)
    stopped = solve_cold(problem, tol=1e-8, max_iter=2)
    assert stopped.n_iter == 2 and not stopped.converged
    assert gap_of_result(problem, stopped) == pytest.approx(stopped.gap, abs=1e-9)


def test_history_is_monotone():
    X, y = random_data(30, 6, 5, seed=9)
    history = solve_cold(make_problem(X, y)).history
    columns = ("iteration", "time", "primal", "dual", "gap", "rank", "method")
    assert history.dtype.names == columns
    np.testing.assert_array_equal(history["iteration"], np.arange(len(history)))
    assert np.all(np.diff(history["primal"]) <= 0.0) and np.all(np.diff(history["dual"]) >= 0.0)
    assert np.all(np.diff(history["gap"]) <= 0.0) and np.all(np.diff(history["time"]) >= 0.0)


def test_history_ends_with_what_is_returned():
    for n, fit_intercept in ((30, True), (1, False)):
        X, y = random_data(n, 3, 2, seed=9)
        problem = make_problem(X, y, C=100.0, epsilon=0.0, fit_intercept=fit_intercept)
        result = solve_cold(problem)
        last = result.history[-1]
        assert last["primal"] == result.primal and last["dual"] == result.dual
        assert last["gap"] == result.gap and last["method"] == result.method
        assert last["iteration"] == result.n_iter and last["rank"] == result.W.rank


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_label_ray_where_most_labels_are_in_the_tube(fit_intercept):
    X, _ = random_data(9, 3, 2, seed=1)
    y = np.array([0.1, -0.2, 0.05, 0.4, -0.45, 0.2, 0.0, -0.1, 0.1])
    problem = make_problem(X, y, tau=0.1, C=10.0, epsilon=0.3, fit_intercept=fit_intercept)
    beta = label_ray(problem, 0.9)
    assert problem.dual(beta) > 0.0 and np.all(np.abs(beta) <= 9.0)
    assert beta.sum() == 0.0 or not fit_intercept
    assert np.all(label_ray(make_problem(X, 0.0 * y, epsilon=0.3), 0.9) == 0.0)
