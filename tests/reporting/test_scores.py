"""What a report says about scores: whose they are, in which units, and against what."""

from __future__ import annotations

import html
import os
import re

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, max_error, r2_score
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneOut, cross_val_score
from sklearn.pipeline import make_pipeline

from matreg import GRMR, RGLM, RGLMCV, RMR, RMRCV, SMM
from matreg._runtime.text import counted
from matreg.datasets import make_matrix_regression
from matreg.inspection import MapAxes
from matreg.reporting import make_report
from matreg.reporting._baselines import ALPHAS, fold_of, logistic, pls, ridge
from matreg.reporting._facts import gather
from matreg.reporting._measures import r2_of_medians
from matreg.reporting._pictures import picture_of
from matreg.reporting._scoring import scoring_of

DATA = make_matrix_regression(60, (5, 4), rank=1, noise_scale=0.5, random_state=0)
X, Y = DATA.X, DATA.y
CLASSES = np.where(Y > 0.0, "high", "low")
OPTIONS = {"covariates": None, "groups": None, "cv": 3, "names": None, "target": "y"}
DEFAULTS = OPTIONS | {"scoring": None, "baseline": True}


def words(page):
    """Text of a page, without marks."""
    return html.unescape(re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.DOTALL))


def rows_of(page):
    """Rows of the table of scores by their names."""
    table = re.search(r"<thead>.*?</table>", page, re.DOTALL).group(0)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in table.split("<tr>")[1:]]
    return {html.unescape(name): values for name, *values in cells}


@pytest.mark.slow
def test_the_score_is_that_of_the_search():
    model = RMRCV(n_taus=3, C="scale", cv=2, scoring="neg_median_absolute_error").fit(X, Y)
    page = model.report(X, Y, cv=3).html
    assert "median absolute error" in words(page)[:300] and "R² of medians" in words(page)[:300]
    assert list(rows_of(page))[:2] == ["", "median absolute error, mean of 3 folds"]
    search = GridSearchCV(RMR(), {"tau": [0.1, 1.0]}, scoring="neg_mean_absolute_error", cv=2)
    assert scoring_of(search.fit(X, Y)).name == "MAE"
    assert scoring_of(search, "r2").name == "R²"
    assert scoring_of(make_pipeline(model)).by_medians


DEFAULT_SCORES = {
    "R²": (RMR(), Y),
    "accuracy": (SMM(), CLASSES),
    "D² of the Poisson deviance": (RGLM(family="poisson"), np.round(np.exp(Y / 4))),
    "D² of the pinball loss": (RMR(loss="quantile", quantile=0.8), Y),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFAULT_SCORES)
@pytest.mark.filterwarnings("ignore")
def test_a_model_that_was_not_chosen_has_the_score_of_its_kind(name):
    model, labels = DEFAULT_SCORES[name]
    facts = gather(model.fit(X, labels), X, labels, **DEFAULTS)
    assert facts.scoring.name == name
    assert np.isfinite([one.scores for one in facts.test.outcomes]).all()


@pytest.mark.slow
def test_scores_are_those_of_scikit_learn():
    model = RMR(tau=0.5, C=1.0, epsilon=0.1).fit(X, Y)
    facts = gather(model, X, Y, **DEFAULTS)
    np.testing.assert_allclose(facts.own.scores, cross_val_score(model, X, Y, cv=KFold(3)))
    errors = rows_of(model.report(X, Y, cv=3).html)
    residual = Y - facts.own.predicted
    assert errors["RMSE, units of y"][0] == f"{np.sqrt(np.mean(residual**2)):.3g}"
    assert errors["MAE, units of y"][0] == f"{np.mean(np.abs(residual)):.3g}"


def singly(model, labels, **options):
    """Facts of a model whose predictions are by leave-one-out, and those from that alone."""
    facts = gather(model, X, labels, **DEFAULTS | {"cv": "auto"} | options)
    single = model.leave_one_out(X, labels)
    assert single.trusted and facts.test.single is not None
    np.testing.assert_array_equal(facts.own.predicted, single.predictions)
    return facts, single


def test_leave_one_out_takes_the_place_of_refits(monkeypatch):
    """Of the model alone: its predictions are scored on the same folds as the baselines."""
    model = RMR(tau=0.5, C=1.0, epsilon=0.1).fit(X, Y)
    monkeypatch.setattr("matreg.reporting._outcomes.fit_with", None)
    facts, single = singly(model, Y)
    parts = [test for _, test in KFold(5).split(X)]
    expected = [r2_score(Y[one], single.predictions[one]) for one in parts]
    np.testing.assert_allclose(facts.own.scores, expected)
    assert all(len(one.scores) == 5 for one in facts.test.outcomes)
    with pytest.raises(TypeError):
        gather(model, X, Y, **DEFAULTS | {"cv": 5})  # which refits


def test_leave_one_out_of_classes_has_margins_and_probabilities():
    model = RGLM(8.0, family="binomial").fit(X, CLASSES)
    facts, single = singly(model, CLASSES, scoring="neg_log_loss")
    sign = np.where(CLASSES == model.classes_[1], 1.0, -1.0)
    np.testing.assert_allclose(facts.test.margins, sign * single.decisions)
    part = facts.own.predicted == CLASSES
    np.testing.assert_array_equal(facts.test.margins > 0.0, part)
    losses = np.logaddexp(0.0, -sign * single.decisions)
    assert -facts.own.scores.mean() == pytest.approx(losses.mean(), rel=0.2)


@pytest.mark.slow
def test_probabilities_are_chosen_and_reported_by_the_log_loss():
    model = RGLMCV(family="binomial", n_taus=3, cv=2, ridge=0.0).fit(X, CLASSES)
    page = words(model.report(X, CLASSES, cv=3).html)
    assert "The score is the log loss, less is better" in page
    assert f"has the log loss {-model.best_score_:.4g} on the folds of the choice" in page
    assert "nan" not in re.search("log loss, mean of .*", page)[0]


def test_the_bounded_score_has_its_name_and_units():
    model = RMRCV(n_taus=3, C="scale", cv=3, scoring="neg_bounded_absolute_error").fit(X, Y)
    scoring = scoring_of(model)
    assert scoring.name == "bounded absolute error" and scoring.is_error and scoring.by_medians
    assert scoring(model, X, Y) == model.scorer_(model, X, Y)


def test_a_scoring_of_ones_own_and_a_mistyped_one():
    model = RMR().fit(X, Y)
    farthest = make_scorer(max_error, greater_is_better=False)
    facts = gather(model, X, Y, **OPTIONS, scoring=farthest, baseline=False)
    assert facts.scoring.name == "max error" and facts.scoring.is_error
    with pytest.raises(ValueError, match=r"such as neg_root_mean_squared_error"):
        model.report(X, Y, scoring="root_mean_square_error")
    with pytest.raises(ValueError, match="scoring must be a name or a function"):
        model.report(X, Y, scoring=3)
    with pytest.raises(ValueError, match="a score for searches over regressors"):
        model.report(X, Y, scoring="neg_bounded_absolute_error")


@pytest.mark.slow
def test_folds_of_one_sample_have_a_score_together():
    page = RMR().fit(X[:15], Y[:15]).report(X[:15], Y[:15], cv=LeaveOneOut()).html
    assert "nan" not in words(page)[:300]


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)], ids=["many", "few"])
def test_ridge_on_the_principal_axes_is_ridge(shape):
    rng = np.random.default_rng(0)
    samples, labels = rng.standard_normal(shape) + 3.0, rng.standard_normal(shape[0])
    train, test = samples[:-4], samples[-4:]
    centred = train - train.mean(axis=0)
    size = np.sqrt(np.mean(np.sum(centred**2, axis=1)))
    fold = fold_of(train, test, labels[:-4])
    for alpha, found in ridge(fold):
        if alpha in ALPHAS[::4]:
            other = Ridge(alpha, solver="svd").fit(train / size, labels[:-4])
            np.testing.assert_allclose(found.predict(fold.test), other.predict(test / size))


def test_other_baselines_are_those_of_scikit_learn():
    from sklearn.cross_decomposition import PLSRegression

    flat, train = X.reshape(60, -1), np.arange(50)
    fold = fold_of(flat[train], flat[50:], Y[train])
    for k, found in pls(fold):
        other = PLSRegression(int(k), scale=False).fit(flat[train], Y[train])
        np.testing.assert_allclose(found.predict(fold.test), other.predict(flat[50:]), rtol=1e-6)
    centred = flat - flat[train].mean(axis=0)
    size = np.sqrt(np.mean(np.sum(centred[train] ** 2, axis=1)))
    fold = fold_of(flat[train], flat[50:], CLASSES[train])
    for alpha, found in logistic(fold):
        other = LogisticRegression(C=1.0 / alpha).fit(centred[train] / size, CLASSES[train])
        expected = other.decision_function(centred[50:] / size)
        np.testing.assert_allclose(found.decision_function(fold.test), expected, atol=0.05)


@pytest.mark.slow
def test_low_rank_helps_or_does_not():
    big = make_matrix_regression(80, (12, 12), rank=1, noise_scale=0.5, random_state=0)
    model = RGLM().fit(big.X, big.y)
    assert "Does low rank help here? Yes: the R² is" in words(model.report(big.X, big.y).html)
    noise = np.random.default_rng(0).standard_normal(len(Y))
    said = words(RMR().fit(X, noise).report(X, noise).html)
    assert "Do low rank and a robust loss help here? " in said
    assert "The model is no better than this constant." in said


@pytest.mark.slow
def test_baselines_are_chosen_and_refused_by_kind():
    model = RMR().fit(X, Y)
    both = rows_of(model.report(X, Y, cv=2, baseline=["ridge", "pls"]).html)
    assert both[""] == ["RMR", "ridge regression", "partial least squares", "mean of the labels"]
    assert both["chosen on the folds"][2].startswith("components = ")
    none = rows_of(model.report(X, Y, cv=2, baseline=False).html)
    assert none[""] == ["RMR", "mean of the labels"]
    with pytest.raises(ValueError, match=r"baseline must be .*'pls', 'ridge'.*got 'logistic'"):
        model.report(X, Y, baseline="logistic")


def test_gaps_are_filled_for_the_baseline():
    gaps = X.copy()
    gaps[::7, 1, 2] = np.nan
    facts = gather(GRMR(tau=1.0).fit(gaps, Y), gaps, Y, **DEFAULTS | {"cv": 2})
    assert np.isfinite(facts.rivals[0].scores).all()


def test_errors_of_a_mediocre_classifier_are_no_wrong_labels():
    rng = np.random.default_rng(1)
    mixed = np.where(rng.random(len(Y)) < 0.35, CLASSES[::-1], CLASSES)
    page = SMM().fit(X, mixed).report(X, mixed, cv=3).html
    assert 'id="errors"' in page and 'id="labels-that-look-wrong"' not in page
    assert "most frequent class" in rows_of(page)[""]
    assert "A constant prediction, the most frequent class, has the" in words(page)


@pytest.mark.parametrize("number", [2, 3])
def test_flipped_labels_of_a_good_classifier_look_wrong(number):
    rng = np.random.default_rng(0)
    means = rng.standard_normal((number, 5, 4))
    true = rng.integers(number, size=150)
    samples = means[true] + 0.15 * rng.standard_normal((150, 5, 4))
    given = true.copy()
    given[[3, 70]] = (given[[3, 70]] + 1) % number
    facts = gather(SMM().fit(samples, given), samples, given, **DEFAULTS)
    assert {3, 70} <= set(facts.suspects.tolist()) and len(facts.suspects) < 6


def test_a_minority_of_wrong_labels_does_not_spoil_medians():
    labels = np.arange(100.0)
    guess = labels + 1.0
    labels[:20] += 1e6
    assert r2_of_medians(labels, guess) > 0.99


MARKUP = "<script>alert(1)</script> & \"'$x_{1$"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:constrained_layout not applied")  # names as long as the figure
def test_markup_and_dollars_in_all_names_are_harmless(tmp_path):
    kinds = np.where(Y > 0.0, MARKUP, "<img src=x onerror=alert(1)>")
    names = MapAxes([MARKUP] * 5, [MARKUP] * 4, MARKUP, MARKUP)
    named = {"names": names, "target": MARKUP, "title": MARKUP, "cv": 2}
    for model, labels in ((RMR(), Y), (SMM(), kinds)):
        report = make_report(model.fit(X, labels), X, labels, **named)
        assert "<script" not in report.html and "<img" not in report.html
        assert MARKUP in words(report.html)
        assert report.save(tmp_path / "a<b>&.html").read_text(encoding="utf-8") == report.html


@pytest.mark.filterwarnings("ignore:Glyph")
def test_characters_that_act_hide_or_reorder_others_are_shown():
    kinds = np.where(Y > 0.0, "one\u202eeno", "two\x1b[31m\x00two")
    page = make_report(SMM().fit(X, kinds), X, kinds, title="a\x07", cv=None).html
    assert {one for one in page if not one.isprintable()} <= {"\n", "\u00a0"}
    for shown in ("one\\u202eeno", "two\\x1b[31m\\x00two", "a\\x07"):
        assert shown in page


@pytest.mark.slow
def test_numbers_agree_with_their_nouns():
    assert counted(1, "label is", "labels are") == "1 label is"
    assert counted(2, "label is", "labels are") == "2 labels are"
    labels = 0.1 * Y + 10.0 * X[:, 0, 0]
    labels[7] += 1000.0
    said = words(RMR().fit(X, labels).report(X, labels, cv=2).html)
    assert "1 label is more than" in said and "sample 7." in said
    assert not re.search(r"\b1 (labels|samples|entries|products|folds|iterations)\b", said)


def test_an_old_report_stays_until_the_new_one_is_whole(tmp_path, monkeypatch):
    report = RMR().fit(X, Y).report(X, Y, cv=None)
    path = tmp_path / "report.html"
    path.write_text("old")

    def fails(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fails)
        with pytest.raises(OSError, match="disk full"):
            report.save(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.html
    assert repr(report).startswith("Report of ") and len(repr(report)) < 80


@pytest.mark.slow
def test_stored_samples_are_reported_on_a_part_of_them(tmp_path):
    big = make_matrix_regression(3000, (6, 6), rank=1, noise_scale=0.5, random_state=0)
    np.save(tmp_path / "X.npy", big.X)
    stored = np.load(tmp_path / "X.npy", mmap_mode="r")
    with sklearn.config_context(working_memory=0.5):
        model = RMR(tau=5.0, C=0.1, epsilon=0.1).fit(stored, big.y)
        facts = gather(model, stored, big.y, **DEFAULTS)
        page = model.report(stored, big.y).html
    assert 0 < len(facts.y) < 500 and facts.total == 3000
    assert f"describes {len(facts.y)} of the 3000 samples" in words(page)
    np.testing.assert_allclose(facts.predicted, model.predict(facts.X))
    assert np.isin(facts.y, big.y).all()


def test_pictures_show_something():
    rng = np.random.default_rng(0)
    image = rng.standard_normal((50, 8, 6))
    image[0, 0, 0] = 1e6
    scale = picture_of(image)
    assert -5.0 < scale.low == -scale.high and scale.note.startswith("All pictures")
    units = np.array([1e-3, 10.0, 0.1, 500.0, 1.0, 30.0])
    scale = picture_of(image[1:] * units + 100.0 * units)
    shown = scale.of(image[1] * units + 100.0 * units)
    assert "columns have different units" in scale.note
    assert np.all(shown.std(axis=0) > 0.3) and np.abs(shown).max() < 5.0
    assert "rows have different units" in picture_of((image[1:] * units).transpose(0, 2, 1)).note
    some = np.array([1.0, 1.0, 1.0, 1.0, 1e-3, 1e-3])  # a minority, but of other units
    assert "columns have different units" in picture_of(image[1:] * some).note
    constant = picture_of(np.ones((4, 3, 3)))
    assert constant.low <= 1.0 <= constant.high


def test_few_small_negative_entries_do_not_take_half_of_the_colours():
    spectra = 2e3 * np.random.default_rng(0).random((50, 8, 6)) - 20.0
    scale = picture_of(spectra)
    assert -20.0 <= scale.low < 20.0 and scale.look["cmap"] == "viridis"
    assert "e+03" not in scale.note


def test_labels_of_another_shape_are_refused():
    with pytest.raises(ValueError, match=r"60 samples.*\(60, 2\)\. A report is about one label"):
        RMR().fit(X, Y).report(X, np.column_stack([Y, Y]))


def test_a_word_for_folds_and_digits_for_classes_are_refused():
    with pytest.raises(ValueError, match=r"cv must be 'auto', .* or None; got 'loo'"):
        RMR().fit(X, Y).report(X, Y, cv="loo")
    classes = (Y > np.median(Y)).astype(int)
    with pytest.raises(
        ValueError, match="classes that were in fit, such as 0; got '0', which was not"
    ):
        SMM().fit(X, classes).report(X, classes.astype(str))
