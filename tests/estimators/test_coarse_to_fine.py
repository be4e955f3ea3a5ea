"""Searches from coarse to fine: what they try, what they find, and what they say about it."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from matreg import GRMR, GRMRCV, GSMM, GSMMCV, RGLMCV, RMRCV, SMMCV
from matreg.datasets import make_matrix_regression
from matreg.estimators._search import rounds
from matreg.estimators._search.adaptive_search import standard_errors
from matreg.estimators._search.candidates import Candidate
from matreg.estimators._search.coarse_to_fine import CoarseToFine


@pytest.fixture(scope="module")
def data():
    return make_matrix_regression(60, (5, 4), rank=1, noise_scale=1.0, random_state=0)


def grid(shape, n_taus):
    """Candidates of a grid of parameters with paths of equal length."""
    taus = np.arange(n_taus, 0.0, -1)
    return [
        Candidate(dict(zip(("C", "a"), place, strict=False)), taus, place=place)
        for place in np.ndindex(*shape)
    ]


def searched(surface, candidates, **options):
    """What a search on known scores has found, and how many points it has tried."""
    plan = CoarseToFine(candidates, False, options.get("one_standard_error", False))
    scores = np.full((2, surface.size), np.nan)
    todo = plan.first()
    while todo:
        for one in todo:
            points = plan.points(one)
            assert np.isnan(scores[:, points]).all()  # nothing is tried twice
            scores[:, points] = surface.ravel()[points] + np.array([[0.1], [-0.1]])
            if one.start is not None:
                assert np.isfinite(scores[0, plan.edges[one.start[0]] + one.start[1]])
        todo = plan.further(scores.mean(axis=0), standard_errors(scores))
    return scores.mean(axis=0), plan


@pytest.mark.parametrize("n_taus", [1, 2, 3, 7, 16, 50])
@pytest.mark.parametrize("shape", [(1,), (2,), (4,), (3, 2)])
def test_the_top_of_a_single_hill_is_found(shape, n_taus):
    rng = np.random.default_rng(n_taus)
    candidates = grid(shape, n_taus)
    places = np.array([one.place for one in candidates])
    for _ in range(20):
        top, tau = [rng.integers(size) for size in shape], rng.integers(n_taus)
        away = np.abs(places - top) @ rng.uniform(0.5, 2.0, len(shape))
        along = np.abs(np.arange(n_taus) - tau) * rng.uniform(0.1, 1.0)
        surface = -((away[:, None] + along) ** rng.uniform(0.5, 2.0))
        scores, plan = searched(surface, candidates)
        assert np.nanargmax(scores) == surface.argmax()
        if n_taus >= 16 and len(candidates) > 2:
            assert plan.tried.sum() < 0.6 * surface.size


@pytest.mark.parametrize("n_taus", [12, 16, 30])
def test_a_hill_at_large_tau_is_not_missed_behind_a_valley(n_taus):
    """Scores of a robust fit of low rank to wrong labels: two hills, that of large tau higher."""
    away = np.abs(np.arange(n_taus) / n_taus - 0.17)
    surface = np.maximum(-60.0 * away, -17.0 + 2.0 * np.arange(n_taus) / n_taus)[None]
    scores, _ = searched(surface, grid((1,), n_taus))
    assert np.nanargmax(scores) == surface.argmax()


def test_the_largest_tau_within_one_standard_error_has_its_neighbours_tried():
    surface = -0.05 * np.abs(np.arange(16) - 11.0)[None]
    scores, plan = searched(surface, grid((1,), 16), one_standard_error=True)
    enough = scores[11] - 0.1  # two folds that are 0.2 apart
    first = int(np.flatnonzero(surface[0] >= enough)[0])
    assert int(np.flatnonzero(scores >= enough)[0]) == first and plan.tried[first - 1]


@pytest.mark.parametrize("search", [RMRCV, SMMCV, RGLMCV])
def test_what_is_tried_has_the_scores_of_whole_paths(data, search):
    y = np.digitize(data.y, [-0.5, 0.5]) if search is SMMCV else data.y
    options = {"C": ["0.1*scale", "scale", "10*scale"]} if search is not RGLMCV else {}
    model = search(n_taus=9, cv=3, tol=1e-8, **options).fit(data.X, y)
    mean = model.cv_results_["mean_test_score"]
    tried = np.isfinite(mean)
    assert 3 < tried.sum() < 0.8 * len(mean) and model.best_index_ == np.nanargmax(mean)
    assert np.isnan(model.cv_results_["mean_coef_rank"][~tried]).all()
    chosen = {"C": model.C_} if options else {"ridge": model.ridge_}
    same = model.cv_results_[f"param_{next(iter(chosen))}"] == next(iter(chosen.values()))
    whole = search(model.taus_, cv=3, tol=1e-8, **chosen).fit(data.X, y).cv_results_
    assert np.isfinite(whole["mean_test_score"]).all()  # what is given is tried
    order = np.argsort(-whole["param_tau"])
    for name in ("split0_test_score", "split2_test_score"):
        found, expected = model.cv_results_[name][same], whole[name][order]
        known = np.isfinite(found)
        np.testing.assert_allclose(found[known], expected[known], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("search", [GRMRCV, GSMMCV])
def test_a_part_of_the_grid_of_models_that_clean_is_tried(search):
    spoiled = make_matrix_regression(45, (5, 4), x_rank=2, x_corruption=0.05, random_state=0)
    X, y = spoiled.X, spoiled.y if search is GRMRCV else spoiled.y > 0.0
    folds = list(KFold(3).split(X))
    model = search(cv=folds).fit(X, y)
    table = model.cv_results_
    mean = table["mean_test_score"]
    tried = np.isfinite(mean)
    assert 5 < tried.sum() < 0.5 * len(mean)
    assert model.best_index_ == np.nanargmax(mean)
    # Each tried point has about the scores of the model without a search.
    plain = {GRMRCV: GRMR, GSMMCV: GSMM}[search]
    numbers = {"C": model.C_} | ({"epsilon": model.epsilon_} if search is GRMRCV else {})
    some = np.random.default_rng(0).choice(np.flatnonzero(tried), 4, replace=False)
    for k in (model.best_index_, *some):
        own = {name: table[f"param_{name}"][k] for name in ("tau", "gamma", "limit")}
        scores = [
            plain(**own, **numbers).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in folds
        ]
        assert mean[k] == pytest.approx(np.mean(scores), abs=0.05)
    given = search(cv=folds, taus=[model.tau_]).fit(X, y)
    assert np.isfinite(given.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize("given", [{"C": [0.3, 30.0]}, {"noise": [None, "tails", 0.5]}])
def test_candidates_share_what_does_not_depend_on_them(data, given):
    ((name, values),) = given.items()
    alike = {"taus": [3.0], "gamma": 10.0, "limit": 3.0, "cv": 2}
    together = GRMRCV(**alike, **given).fit(data.X, data.y).cv_results_["mean_test_score"]
    alone = [GRMRCV(**alike, **{name: value}).fit(data.X, data.y).best_score_ for value in values]
    np.testing.assert_allclose(together, alone, atol=1e-3)


@pytest.mark.slow
def test_processes_choose_the_same(data):
    one, two = (RMRCV(n_taus=6, cv=2, n_jobs=n).fit(data.X, data.y) for n in (None, 2))
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], atol=1e-9
    )


def test_ctrl_c_after_the_first_round_chooses_among_what_was_tried(data, monkeypatch):
    original, done = rounds.solve_segment, []

    def interrupted(*args):
        if len(done) == 3:
            raise KeyboardInterrupt
        done.append(args)
        return original(*args)

    monkeypatch.setattr(rounds, "solve_segment", interrupted)
    with pytest.warns(UserWarning, match="among what was tried until then"):
        model = RMRCV(n_taus=9, C=1.0, cv=2).fit(data.X, data.y)
    assert np.isfinite(model.best_score_) and "split1_test_score" in model.cv_results_


def test_a_score_that_is_nowhere_a_number_ends(data):
    def score(model, X, y):
        return float("nan") if np.std(model.predict(X)) > 0.01 else 0.0

    with pytest.raises(ValueError, match="is not a number"):
        RMRCV(n_taus=4, C=1.0, cv=2, scoring=score).fit(data.X, data.y)
