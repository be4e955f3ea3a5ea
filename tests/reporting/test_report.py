"""The report: what is on the page, that it needs nothing else, and that a browser shows it."""

from __future__ import annotations

import html
import re
import shutil
import subprocess

import numpy as np
import pytest
from sklearn.model_selection import TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from matreg import GRMR, RMR, RMRCV, SMM
from matreg.inspection import MapAxes
from matreg.reporting import make_report
from problems import random_data

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("chrome")
SECTIONS = ["what-was-fitted", "score", "observed-against-predicted", "maps", "components"]


@pytest.fixture(scope="module")
def data():
    X, y = random_data(40, 5, 4)
    y[[3, 17]] += 50.0
    return X, y


@pytest.fixture(scope="module")
def page(data):
    X, y = data
    model = RMRCV(n_taus=5, cv=3, scoring="neg_median_absolute_error").fit(X, y)
    names = MapAxes(["Fz", "Cz", "Pz", "Oz", "<b>"], None, "channel", "time, s")
    return model.report(X, y, cv=3, names=names, target="age").html


@pytest.mark.slow
def test_all_sections_are_there(page):
    found = re.findall(r'<section id="([^"]*)"', page)
    assert found[:5] == SECTIONS
    assert found[5:] == [
        "path-and-choice",
        "labels-that-look-wrong",
        "unusual-samples",
        "certificate",
    ]
    assert "tau" in page and "scikit-learn" in page and "age" in page


@pytest.mark.slow
def test_the_page_says_how_samples_were_left_out(data):
    X, y = data
    model = RMR(1.0, C=0.1).fit(X, y)
    page = model.report(X, y).html
    assert "by the model without it (leave-one-out)" in page
    assert "The model was not fitted again" in page
    assert "was fitted to a fifth fewer samples" in page
    assert "By leave-one-out, as the mean over 5 parts of the samples, the R²" in page
    machine = SMM(1.0, C=0.1).fit(X, y > 0.0).report(X, y > 0.0).html
    assert "by the model without it (leave-one-out)" in machine
    weighted = RMR(1.0, C=0.1).fit(X, y, np.linspace(0.0, 3.0, len(y)))
    pipeline = make_pipeline(StandardScaler(), RMR(1.0, C=0.1)).fit(X.reshape(len(X), -1), y)
    for page in (
        model.report(X, y, groups=np.arange(len(y)) % 5).html,
        model.report(X, y, cv=3).html,
        weighted.report(X, y).html,
        make_report(pipeline, X.reshape(len(X), -1), y).html,
        RMR(1.0, C=0.1, adaptive=1).fit(X, y).report(X, y).html,
    ):
        assert "by a model that was fitted to the other folds" in page
        assert "leave-one-out" not in page


def test_wrong_labels_are_named(page):
    text = page[page.index('id="labels-that-look-wrong"') :]
    listed = re.search(r"samples ([\d, ]+)\.", text).group(1)
    assert {"3", "17"} <= set(listed.split(", "))


def test_names_of_the_user_are_escaped(page):
    assert "Fz" in page and "time, s" in page
    assert "<b>" not in page


def test_the_page_needs_nothing_else(page):
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(one.startswith(("#", "data:")) for one in addresses)
    assert "<script" not in page and "@import" not in page and "url(http" not in page


@pytest.mark.slow
def test_the_same_model_gives_the_same_page(data):
    X, y = data
    model = RMR(tau=2.0).fit(X, y)
    assert model.report(X, y, cv=2).html == make_report(model, X, y, cv=2).html


@pytest.mark.slow
def test_folds_that_do_not_test_all_samples(data):
    X, y = data
    page = RMR(tau=2.0).fit(X, y).report(X, y, cv=TimeSeriesSplit(3)).html
    assert "mean of 3 folds" in page


@pytest.mark.slow
def test_models_that_clean_and_pipelines(data, tmp_path):
    X, y = data
    assert "partial minimum" in GRMR(tau=2.0).fit(X, y).report(X, y, cv=None).html
    flat = X.reshape(len(X), -1)
    piped = make_pipeline(StandardScaler(), RMR(tau=2.0, matrix_shape=(5, 4))).fit(flat, y)
    report = make_report(piped, flat, y, cv=None, title="Ours & theirs")
    assert "Before the fit, StandardScaler transformed the samples." in report.html
    assert "The units of the samples are those after StandardScaler." in report.html
    assert report.save(tmp_path / "r.html").read_text() == report.html
    assert "<h1>Ours &amp; theirs</h1>" in report.html
    frame = html.unescape(report._repr_html_())
    assert frame.startswith("<iframe srcdoc=")
    assert '<base href="about:srcdoc">' in frame  # links stay within the frame


@pytest.mark.slow
@pytest.mark.parametrize("multi_class", ["one_vs_one", "one_vs_rest"])
def test_every_problem_of_several_classes_has_its_maps(data, multi_class):
    X, y = data
    kinds = np.array(["<low>", "mid", "high"])[np.digitize(y, np.quantile(y, [0.33, 0.67]))]
    model = SMM(tau=0.5, multi_class=multi_class).fit(X, kinds)
    page = model.report(X, kinds, cv=None).html
    found = re.findall(r'<section id="([^"]*)"', page)
    assert found[2:5] == ["observed-and-predicted", "maps", "components"]
    assert page.count('aria-label="coefficients ') == 3
    assert page.count('aria-label="pattern ') == 3
    assert page.count('aria-label="row profiles ') == 3
    pairs = "Each of the 3 pairs of classes has a W."
    assert ("Each class has a W." if multi_class == "one_vs_rest" else pairs) in page
    assert "labels agree on the diagonal" in page and "of the training samples" in page
    assert "<low>" not in page


def test_zero_coefficients_are_said(data):
    X, y = data
    with pytest.warns(UserWarning, match="smaller tau"):
        page = RMR(tau=1e6).fit(X, y).report(X, y, cv=None).html
    assert "W = 0: the model predicts the same label" in page


def test_bad_input(data):
    X, y = data
    model = RMR(tau=2.0).fit(X, y)
    with pytest.raises(ValueError, match="one label for each of the 40 samples"):
        model.report(X, y[:3])
    with pytest.raises(ValueError, match="row_coords must have 5 entries"):
        model.report(X, y, names=MapAxes(["a"]))


CHECK = """<script>
const figures = [...document.querySelectorAll("figure svg")];
const shown = figures.filter(one => one.getBoundingClientRect().height > 50);
const images = [...document.querySelectorAll("figure image")]
  .filter(one => one.getBoundingClientRect().height > 5);
document.title = [figures.length, shown.length, images.length,
  document.documentElement.scrollWidth].join(" ");
</script>"""


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: apt-get install chromium")
@pytest.mark.parametrize("width", [1200, 500], ids=["desktop", "narrow"])
def test_a_browser_shows_every_figure_without_an_error(page, tmp_path, width):
    """500 pixels is the narrowest window of a headless Chromium."""
    path = tmp_path / "report.html"
    path.write_text(page.replace("</body>", f"{CHECK}</body>"), encoding="utf-8")
    done = subprocess.run(
        [
            CHROMIUM,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--window-size={width},900",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in done.stderr
    found = re.search(r"<title>(\d+) (\d+) (\d+) (\d+)</title>", done.stdout)
    assert found, done.stdout[:500]
    figures, shown, images, scrolled = (int(one) for one in found.groups())
    assert figures == shown == page.count("<svg ") >= 8
    assert images == page.count("<image ")
    assert scrolled <= width
