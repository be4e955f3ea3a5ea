"""Every experiment in a small form, and the facts that must hold in it."""

from __future__ import annotations

import csv
import io
import json
import os
import sys
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from matreg import RMRCV
from matreg.experiments import (
    Options,
    finance,
    head_pose,
    label_noise,
    risk_bound,
    shapes,
    shifted_labels,
    smm,
    tau_path,
)
from matreg.experiments.figures import STYLE, image_grid, save
from matreg.experiments.finance import block_bootstrap, near_ties
from matreg.experiments.methods import METHODS, Tuning, fit_methods, rae
from matreg.experiments.parallel import run_tasks
from matreg.experiments.records import to_markdown, versions, which_form
from matreg.experiments.tables import Stat, Table

needs_data = pytest.mark.skipif(
    "MATREG_DATA" not in os.environ, reason="MATREG_DATA names no folder with the real data"
)
ONE = Options(rounds=1)


# Shared pieces


def test_table_formats_and_keeps_all_digits_in_csv():
    rows = [["a", Stat(0.123456, 0.01), 1.5], ["b", 0.2, None]]
    table = Table("Title", ["Name", "Error", "Other"], rows, digits=2)
    assert "0.12 ± 0.01" in table.to_text()
    assert "| a | 0.12 ± 0.01 | 1.50 |" in table.to_markdown()
    lines = list(csv.reader(io.StringIO(table.to_csv())))
    assert lines[0] == ["Name", "Error mean", "Error std", "Other"]
    assert lines[1] == ["a", "0.123456", "0.01", "1.5"]
    assert lines[2] == ["b", "0.2", "", ""]


def test_one_round_has_no_deviation():
    assert Table("", ["x"], [[Stat.of([0.5])]]).to_markdown().endswith("| 0.5000 |\n")
    assert_allclose(Stat.of([1.0, 3.0]), (2.0, np.sqrt(2.0)))


def test_tasks_keep_their_order(capsys):
    assert run_tasks(pow, [(2, 3), (3, 2)], 1, "powers") == [8, 9]
    assert "powers: 2/2" in capsys.readouterr().err


def test_rae_is_the_papers():
    assert rae([3.0, 0.0], [0.0, 4.0]) == pytest.approx(5.0 / 4.0)


def test_versions_name_what_matters():
    assert {"python", "numpy", "scikit-learn"} <= set(versions())


def test_missing_matplotlib_is_one_sentence(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "matreg\[plot\]"'):
        image_grid({"row": [np.eye(2)]}, ["W"])


def test_images_have_a_scale_symmetric_around_zero():
    figure = image_grid({"row": [np.array([[0.0, -2.0], [1.0, 0.5]])]}, ["W"])
    assert figure.axes[0].images[0].get_clim() == (-2.0, 2.0)


def test_every_method_has_its_own_colour():
    assert len({style["color"] for style in STYLE.values()}) == len(STYLE)
    assert set(label_noise.ALL) <= set(STYLE)


def test_all_methods_fit_the_same_interface():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4, 3)), rng.standard_normal(40)
    tuning = Tuning(C=1.0, n_taus=3, n_rglm_taus=3, svr_C=(0.1, 1.0), lam=(1.0, 10.0))
    fits = fit_methods(X, y, tuning, label_noise.ALL)
    assert tuple(fits) == label_noise.ALL
    for fit in fits.values():
        assert fit.coef.shape == (4, 3)
        assert fit.model.predict(X).shape == (40,)
    assert fits["G-RMR"].parameters["lam_"] in (1.0, 10.0)
    assert fits["SVR"].parameters["svr__C"] in (0.1, 1.0)


# Shapes and the path


@pytest.fixture(scope="module")
def square():
    return shapes.run(ONE, shapes=("square",), size=24, n_samples=320)


def test_svr_has_the_error_of_a_random_subspace(square):
    assert_allclose(square.values["rae"][0, 0, 0], np.sqrt(1 - 160 / 24**2), rtol=0.03)


def test_rmr_is_far_ahead_of_svr_on_the_square(square):
    errors = dict(zip(shapes.COLUMNS, square.values["rae"][0, 0], strict=True))
    assert errors["RMR"] < 0.05 * errors["SVR"]


def test_well_tuned_rglm_is_better_than_the_papers_column(square):
    assert square.values["rae"][0, 0, 1] < shapes.PAPER["square"][1][0]


def test_grmr_equals_rmr_on_clean_samples(square):
    assert_allclose(square.values["rae"][0, 0, 3], square.values["rae"][0, 0, 2], rtol=0.1)


def test_grmr_is_chosen_by_folds_like_the_others(square):
    """Its tau, gamma and lam come from lists of candidates, in both simulated experiments."""
    for tuning in (shapes.TUNING, label_noise.TUNING):
        assert min(len(tuning.gamma), len(tuning.lam), len(tuning.grmr_taus)) > 1
    chosen = square.parameters["chosen"][0]
    assert chosen["G-RMR"]["gamma_"] in shapes.TUNING.gamma
    assert chosen["G-RMR"]["lam_"] in shapes.TUNING.lam
    assert chosen["G-RMR"]["tau_"] / chosen["RMR"]["tau_"] in shapes.TUNING.grmr_taus


def test_forms_say_which_they_are(square):
    assert "short form" in square.form
    assert "whole table" in shapes._form(10, 64, 1000)
    assert "short form" in shapes._form(12, 32, 1000)
    assert "whole form" in which_form(10)
    assert "short form" in which_form(2)


def test_result_is_written_as_tables_figures_and_record(square, tmp_path):
    paths = square.save(tmp_path / "new", ONE, 1.5)
    names = {path.name for path in paths}
    expected = {"shapes.csv", "shapes.md", "shapes.json", "shapes-coef.png", "shapes-coef.svg"}
    assert names == expected
    assert all(path.stat().st_size > 0 for path in paths)
    record = json.loads((tmp_path / "new" / "shapes.json").read_text())
    assert record["options"]["seed"] == 0
    assert record["seconds"] == 1.5
    assert record["versions"]["numpy"] == np.__version__
    assert_allclose(record["values"]["rae"], square.values["rae"])
    assert record["command"] == "matreg reproduce shapes --rounds 1"
    assert to_markdown(record) == (tmp_path / "new" / "shapes.md").read_text()
    assert not list((tmp_path / "new").glob(".*")), "nothing beside"


def test_a_table_comes_back_from_its_record():
    rows = [["a", Stat(0.123456, 0.01), 1.5], ["b", Stat(0.2, np.nan), None]]
    table = Table("Title", ["Name", "Error", "Other"], rows, digits=2)
    again = Table.from_record(json.loads(json.dumps(table.to_record(), allow_nan=False)))
    assert again.to_markdown() == table.to_markdown()


def test_a_figure_that_fails_leaves_the_old_file(tmp_path):
    class Broken:
        def savefig(self, stream, **kwargs):
            stream.write(b"half")
            raise OSError("disk full")

    (tmp_path / "a-b.png").write_bytes(b"whole")
    with pytest.raises(OSError, match="disk full"):
        save(Broken, tmp_path, "a-b")
    assert [path.name for path in tmp_path.iterdir()] == ["a-b.png"]
    assert (tmp_path / "a-b.png").read_bytes() == b"whole"


def test_error_falls_and_rises_along_the_path(tmp_path):
    result = tau_path.run(replace(ONE, quick=True), size=16, n_train=120)
    errors = result.values["rae"]
    assert errors[0] == 1.0
    assert errors.min() < 0.1 * errors[-1]
    assert_allclose(errors[-1], result.values["svr_rae"], rtol=0.1)
    assert len(result.save(tmp_path, ONE, 0.0)) == 5


# Real data


def test_growth_is_that_of_the_invested_days():
    y = np.array([0.1, -0.5, 0.2])
    assert_allclose(finance.growth(np.array([1.0, -1.0, 1.0]), y), [110.0, 110.0, 132.0])
    scores = finance.score(np.array([1.0, -1.0, -1.0]), y)
    assert_allclose(scores.pcp, 200 / 3)
    assert_allclose(scores.d100, 110.0)


@needs_data
@pytest.mark.filterwarnings("ignore:This figure was using a layout engine")  # Matplotlib 3.9
def test_finance(tmp_path):
    result = finance.run(replace(ONE, quick=True))
    scores = result.values["scores"]
    assert f"{scores['Intercept only']['pcp']:.2f}" == "54.62"
    assert f"{scores['Intercept only']['d100']:.1f}" == "122.2"
    assert scores["RMR"]["rae"] < scores["SVR"]["rae"]
    assert scores["RMR"]["rae"] < scores["Intercept only"]["rae"]
    assert len(result.save(tmp_path, ONE, 0.0)) == 6
    for method, ties in result.values["near_ties"].items():
        assert scores[method] in ties, "the chosen one is one of them"
    low, high = result.values["bootstrap"]["RMR"]
    assert (low < [*scores["RMR"].values()]).all() and ([*scores["RMR"].values()] < high).all()


def test_blocks_of_days_follow_each_other_and_are_drawn_alike():
    days = block_bootstrap(50, 20, 4000, 0)
    assert days.shape == (4000, 50)
    steps = np.diff(days, axis=1)
    assert np.isin(steps[:, [*range(19), *range(20, 39)]], [1, -49]).all()
    assert_allclose(np.bincount(days.ravel()) / days.size, 1 / 50, rtol=0.1)


def test_near_ties_are_the_candidates_within_a_standard_error():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 4, 3)), rng.standard_normal(40)
    search = RMRCV(n_taus=5, C=1.0, cv=4).fit(X, y)
    table = search.cv_results_
    best = np.nanargmax(table["mean_test_score"])  # some were not tried
    enough = table["mean_test_score"][best] - table["se_test_score"][best]
    models = near_ties(search, X, y)
    kept = table["param_tau"][table["mean_test_score"] >= enough]
    assert_allclose([model.tau_ for model in models], kept)
    chosen = next(model for model in models if model.tau_ == search.tau_)
    assert_allclose(chosen.coef_, search.coef_, atol=1e-8)


def test_blocks_are_white_squares_on_a_tenth_of_the_images():
    X = np.full((50, 30, 32), 0.5)
    corrupted, chosen = head_pose.add_blocks(X, np.random.default_rng(0))
    assert len(chosen) == 5
    changed = (corrupted != X).sum(axis=(1, 2))
    assert (changed[chosen] == 64).all()
    assert changed.sum() == 5 * 64
    assert (X == 0.5).all()


@needs_data
def test_head_pose(tmp_path):
    result = head_pose.run(replace(ONE, quick=True), people=(3,))
    errors = result.values["rae"]
    assert errors.shape == (1, 3, 1, len(METHODS))
    assert (errors[:, :2] < 0.65).all(), "worse than the mean yaw"
    assert len(result.save(tmp_path, ONE, 0.0)) == 9


@pytest.fixture
def qmul(tmp_path):
    """Seven made-up people: a bright spot moves with the yaw."""
    image = pytest.importorskip("PIL.Image")
    rng = np.random.default_rng(0)
    y, x = np.mgrid[-1:1:20j, -1:1:20j]
    for person in "ABCDEFG":
        home = tmp_path / f"{person}Grey"
        home.mkdir()
        for yaw in range(0, 181, 30):
            centre = (yaw - 90) / 120 + 0.05 * rng.standard_normal()
            spot = 200 * np.exp(-3 * ((x - centre) ** 2 + y**2)) + 20
            image.fromarray(spot.astype(np.uint8)).save(home / f"{person}_090_{yaw:03d}.jpg")
    return tmp_path


def test_head_pose_on_the_papers_data(qmul, tmp_path):
    result = head_pose.run(replace(ONE, quick=True, data=str(qmul)))
    assert result.parameters["people"] == (5,), "10 people and more are not there"
    assert (result.values["rae"][:, 0] < 0.3).all()
    assert "the paper's data" in result.notes[0]
    assert len(result.save(tmp_path / "out", ONE, 0.0)) == 9
    with pytest.raises(FileNotFoundError, match=r"none.* has no image"):
        head_pose.run(replace(ONE, data=str(qmul / "none")))


def test_head_pose_on_fei_faces(qmul, tmp_path):
    yaws = {0: 1, 60: 4, 120: 7, 180: 10, 90: 11}
    for number, home in enumerate(sorted(qmul.glob("*Grey")), 1):
        for yaw, view in yaws.items():
            image = next(home.glob(f"*_{yaw:03d}.jpg"))
            image.rename(qmul / f"{number}-{view:02d}.jpg")
    result = head_pose.run(replace(ONE, quick=True, data=str(qmul)))
    assert "the FEI faces" in result.notes[0]
    assert "G-RMR by" in result.notes[1] and "a tenth" in result.notes[1]
    assert result.values["rae"].shape == (1, 3, 1, len(METHODS))


def test_head_pose_needs_people_to_test_on(qmul):
    for person in "EFG":
        (qmul / f"{person}Grey").rename(qmul / person)
    with pytest.raises(FileNotFoundError, match="has 4 people; more than 5 are needed"):
        head_pose.run(replace(ONE, data=str(qmul)))


# Theory and noise


def test_risk_is_the_expected_loss():
    rng = np.random.default_rng(0)
    error = rng.standard_normal(10**6) * np.hypot(0.7, risk_bound.NOISE) + 0.2
    sampled = np.maximum(np.abs(error) - risk_bound.EPSILON, 0.0).mean()
    assert_allclose(risk_bound.risk(0.7, 0.2), sampled, rtol=3e-3)


def test_bound_is_the_corrected_one():
    complexity, _ = risk_bound.bound(np.diag([3.0, 0.0]), 4)
    assert_allclose(complexity, 2 * 3 * (2 * np.sqrt(2)) / 2)


def test_excess_risk_falls_and_stays_below_the_bound(tmp_path):
    result = risk_bound.run(Options(rounds=2), samples=(60, 120, 240), shape=(6, 6), rank=1)
    excess = result.values["excess"].mean(axis=1)
    assert (np.diff(excess) < 0.0).all()
    assert (excess < result.values["bound"].sum(axis=1)).all()
    assert result.values["slope"] < -0.5
    assert len(result.save(tmp_path, ONE, 0.0)) == 5


def test_rmr_is_far_ahead_of_rglm_with_wrong_labels(tmp_path):
    few = {"fractions": (0.1,), "tails": ("student",), "ranks": (1,), "shares": (0.2,)}
    tuning = replace(label_noise.TUNING, n_taus=6, grmr_taus=(1.0,))
    result = label_noise.run(ONE, size=12, n_train=120, tuning=tuning, **few)
    errors = dict(zip(label_noise.ALL, result.values["rae"][0, 0], strict=True))
    assert errors["RMR"] < 0.3 * errors["R-GLM"]
    assert errors["RMR"] < 0.3 * errors["Huber ridge"]
    shifted = dict(zip(shifted_labels.METHODS, result.values["shifted_rae"][0, 0, 0], strict=True))
    assert shifted["RMR"] < 0.6 * shifted["R-GLM"]
    assert len(result.save(tmp_path, ONE, 0.0)) == 7


def test_noise_on_the_test_samples_spoils_the_labels(tmp_path):
    result = smm.run(ONE, shape=(6, 10), n_train=100, n_test=200, n_taus=3, Cs=(1.0,), real=())
    accuracy = result.values["synthetic"][0]
    assert accuracy.shape == (2, 5, 3) and accuracy[:, 0].min() > 0.6
    assert np.all(accuracy[:, -1] < accuracy[:, 0])
    result.save(tmp_path, ONE, 0.0)
    assert (tmp_path / "smm.md").exists() and list(tmp_path.glob("smm-noise*"))


def test_salt_and_pepper_is_at_the_extremes():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 5, 4))
    noisy = smm.corrupt(X, "salt-and-pepper", 0.3, rng)
    hit = noisy != X
    assert 0.2 < hit.mean() < 0.4 and np.all(np.abs(noisy[hit]) == np.abs(X).max())
    np.testing.assert_array_equal(smm.corrupt(X, "gaussian", 0.0, rng), X)
