"""The paper's Algorithm 1: same optimum as Newton's method, and its restarts and momentum."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from matreg import RMR
from matreg.solvers import Start
from matreg.solvers.interior.attempts import solve_cold
from matreg.solvers.paper import admm
from matreg.solvers.paper.admm import RegressionStep, solve_admm
from problems import SHAPE_IDS, SHAPES, gap_of_result, make_problem, random_data, random_weights


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES, ids=SHAPE_IDS)
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("weighted", [True, False])
def test_same_optimum_as_newton(shape, fit_intercept, weighted):
    X, y = random_data(25, *shape, seed=3)
    weights = random_weights(25) if weighted else None
    for tau in (0.0, 1.5):
        problem = make_problem(X, y, tau=tau, fit_intercept=fit_intercept, weights=weights)
        result = solve_admm(problem, tol=1e-4, max_iter=400)
        assert result.gap <= 1e-3
        assert gap_of_result(problem, result) == pytest.approx(result.gap, abs=1e-9)
        truth = solve_cold(problem, tol=1e-9)
        assert truth.primal * (1.0 - 1e-9) <= result.primal
        assert result.primal * (1.0 - result.gap) <= truth.primal * (1.0 + 1e-9)
        off = np.linalg.norm(result.W.matrix - truth.W.matrix)
        assert off <= np.sqrt(2.0 * (result.gap + 1e-9) * result.primal)


@pytest.mark.parametrize("rho", [0.1, 1.0, 10.0])
def test_any_penalty_parameter_finds_the_optimum(rho):
    X, y = random_data(25, 5, 4, seed=4)
    problem = make_problem(X, y, tau=1.5)
    result = solve_admm(problem, rho=rho, tol=1e-4, max_iter=3000)
    assert result.converged
    assert result.primal == pytest.approx(solve_cold(problem).primal, rel=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_regression_step_minimises_its_definition(fit_intercept):
    """W and b of the first line, against random perturbations."""
    X, y = random_data(15, 3, 2, seed=5)
    rng = np.random.default_rng(0)
    S, Lambda, rho = rng.standard_normal((3, 2)), rng.standard_normal((3, 2)), 0.7
    weights = random_weights(15)
    problem = make_problem(X, y, C=2.0, fit_intercept=fit_intercept, weights=weights)
    W, beta = RegressionStep(problem, rho, 1e-10)(S, Lambda)

    def value(V):
        residual = y - problem.design.forward(V)
        b = problem.loss.best_intercept(residual) if fit_intercept else 0.0
        loss = problem.loss.value(residual - b)
        return loss + 0.5 * np.sum(V**2) - np.vdot(Lambda, V) + 0.5 * rho * np.sum((V - S) ** 2)

    at = value(W)
    for size in (1e-4, 1e-2, 1.0):
        for _ in range(50):
            assert value(W + size * rng.standard_normal(W.shape)) >= at - 1e-9
    assert np.all(np.abs(beta) <= problem.loss.upper * (1.0 + 1e-9))
    if fit_intercept:
        assert abs(beta.sum()) <= 1e-9 * problem.loss.upper.sum()


def reference(problem, rho, eta, iterations):
    """Algorithm 1 of the paper with the errata corrected, written down a second time."""
    step = RegressionStep(problem, rho, 1e-8)
    tau = problem.penalty.tau
    S = [np.zeros((problem.design.p, problem.design.q))] * 2
    L = list(S)
    S_hat, L_hat = S[-1], L[-1]
    t, c_last, restarts, weights = 1.0, np.inf, 0, []
    for _ in range(iterations):
        W, _ = step(S_hat, L_hat)
        U, d, Vt = np.linalg.svd(W - L_hat / rho, full_matrices=False)
        S.append((U * np.maximum(d - tau / rho, 0.0)) @ Vt)
        L.append(L_hat - rho * (W - S[-1]))
        c = np.sum((L[-1] - L_hat) ** 2) / rho + rho * np.sum((S[-1] - S_hat) ** 2)
        if c < eta * c_last:
            t_next = (1.0 + np.sqrt(1.0 + 4.0 * t**2)) / 2.0
            weights.append((t - 1.0) / t_next)
            S_hat = S[-1] + weights[-1] * (S[-1] - S[-2])
            L_hat = L[-1] + weights[-1] * (L[-1] - L[-2])
            t = t_next
        else:
            S_hat, L_hat = S[-2], L[-2]
            t, c, restarts = 1.0, c_last / eta, restarts + 1
        c_last = c
    return S[-1], L[-1], restarts, weights


@pytest.mark.parametrize("eta", [0.999, 0.5])
@pytest.mark.parametrize("iterations", [1, 2, 5, 30])
def test_iterates_are_those_of_the_paper(eta, iterations):
    X, y = random_data(20, 5, 4, seed=6)
    problem = make_problem(X, y, tau=1.5)
    result = solve_admm(problem, eta=eta, tol=1e-8, max_iter=iterations)
    S, Lambda, restarts, _ = reference(problem, 1.0, eta, result.n_iter)
    assert result.n_iter == iterations
    np.testing.assert_allclose(result.kept.W, S, atol=1e-6)
    np.testing.assert_allclose(result.kept.Lambda, -Lambda, atol=1e-6)
    if iterations == 30:
        assert restarts > 0


def test_momentum_sequence():
    X, y = random_data(20, 5, 4, seed=6)
    weights = reference(make_problem(X, y, tau=1.5), 1.0, 0.999, 4)[3]
    # t = 1, 1.618, 2.194, 2.750: (t_k - 1) / t_{k+1}.
    np.testing.assert_allclose(weights[:3], [0.0, 0.28175, 0.43404], atol=1e-5)


def test_a_run_can_go_on():
    X, y = random_data(25, 5, 4, seed=7)
    problem = make_problem(X, y, tau=1.5)
    first = solve_admm(problem, tol=1e-5)
    again = solve_admm(problem, tol=1e-5, start=first.start)
    assert again.converged and again.n_iter < first.n_iter
    stored = Start(first.W.matrix, first.gamma, first.beta)
    assert solve_admm(problem, tol=1e-5, start=stored).n_iter < first.n_iter


def test_warm_start_of_the_estimator():
    X, y = random_data(25, 5, 4, seed=7)
    cold = RMR(1.5, solver="admm", tol=1e-5).fit(X, y)
    model = RMR(1.5, solver="admm", tol=1e-5, max_iter=max(2, cold.n_iter_ // 2), warm_start=True)
    with pytest.warns(ConvergenceWarning, match=r"gap of .*tol=1e-05.*max_iter"):
        model.fit(X, y)
    first_gap = model.dual_gap_
    model.set_params(max_iter=1000).fit(X, y)
    assert model.dual_gap_ <= 1e-5 < first_gap
    assert model.n_iter_ < cold.n_iter_
    model.fit(X, y)
    assert model.n_iter_ <= cold.n_iter_ // 2
    model.set_params(warm_start=False).fit(X, y)
    assert model.n_iter_ == cold.n_iter_
    Xn, yn = random_data(20, 3, 2, seed=8)
    assert model.set_params(warm_start=True).fit(Xn, yn).dual_gap_ <= 1e-5


def test_stopped_early_is_said_and_kept():
    X, y = random_data(25, 5, 4, seed=7)
    model = RMR(1.5, solver="admm", max_iter=3)
    with pytest.warns(ConvergenceWarning) as record:
        model.fit(X, y)
    message = str(record[0].message)
    assert len(record) == 1
    for part in ("RMR", "3 iterations", f"{model.dual_gap_:.1e}", "tol=1e-06", "max_iter", "rho"):
        assert part in message
    assert model.n_iter_ == 3 and model.coef_.shape == (5, 4)
    assert model.predict(X).shape == (25,)


def test_the_restart_goes_back_to_the_previous_point(monkeypatch):
    """A residual that rises must send the next step from the last accepted iterates."""
    X, y = random_data(20, 5, 4, seed=6)
    problem = make_problem(X, y, tau=1.5)
    seen = []

    class Recorded(RegressionStep):
        def __call__(self, S, Lambda):
            seen.append(S.copy())
            return super().__call__(S, Lambda)

    monkeypatch.setattr(admm, "RegressionStep", Recorded)
    # With eta close to 0 no step falls fast enough: all but the first restart.
    solve_admm(problem, eta=1e-6, tol=1e-12, max_iter=4)
    S = {k: solve_admm(problem, eta=1e-6, tol=1e-12, max_iter=k).kept.W for k in (1, 2)}
    np.testing.assert_allclose(seen[1], S[1], atol=1e-7)
    np.testing.assert_allclose(seen[2], S[1], atol=1e-7)
    np.testing.assert_allclose(seen[3], S[2], atol=1e-7)


def test_a_step_that_is_cut_short_is_counted_without_the_words_of_libsvm():
    """Warnings are errors here; one sentence at the end says how many steps there were."""
    X, y = random_data(30, 3, 2, seed=7)
    step = RegressionStep(make_problem(X, y, C=1e3), 1.0, 1e-12)
    step.svr.set_params(max_iter=2)
    step(np.zeros((3, 2)), np.zeros((3, 2)))
    assert step.cut_short == 1
    with pytest.warns(ConvergenceWarning, match="in 1 of the 1 steps"):
        step.warn_if_cut_short(1)
