"""Figures of the maps: what is in them, and that they fit a page."""

from __future__ import annotations

import matplotlib
import matplotlib.figure
import numpy as np
import pytest

from matreg import RMR
from matreg.inspection import (
    BootstrapDisplay,
    ComponentsDisplay,
    MapAxes,
    PatternDisplay,
    PermutationDisplay,
    bootstrap_maps,
    maps_figure,
    pattern,
    permutation_map,
)
from matreg.inspection.displays import outline
from problems import random_data

matplotlib.use("Agg")


@pytest.fixture(scope="module")
def fitted():
    X, y = random_data(40, 5, 4)
    model = RMR(tau=2.0, C=1.0, epsilon=0.1).fit(X, y)
    maps = bootstrap_maps(model, X, y, n_resamples=3, random_state=0)
    tested = permutation_map(model, X, y, n_permutations=3, cv=2, random_state=0)
    return model, X, maps, tested


NAMES = MapAxes(["a", "b", "c", "d", "e"], [250.0, 300.0, 350.0, 400.0], "channel", "wavelength")


def test_pattern_display_has_the_names_of_the_user(fitted):
    model, X, _, _ = fitted
    display = PatternDisplay.from_estimator(model, X, names=NAMES)
    left, right = display.axes_
    np.testing.assert_array_equal(left.images[0].get_array(), model.coef_)
    np.testing.assert_array_equal(right.images[0].get_array(), pattern(model, X))
    assert (left.get_ylabel(), left.get_xlabel()) == ("channel", "wavelength")
    assert [text.get_text() for text in left.get_yticklabels()] == ["a", "b", "c", "d", "e"]
    assert "300" in [text.get_text() for text in left.get_xticklabels()]


def test_components_display_has_a_line_a_component_and_their_spread(fitted):
    model, _, maps, _ = fitted
    plain = ComponentsDisplay.from_estimator(model, n_components=2)
    assert len(plain.axes_[0].collections) == 0
    spread = ComponentsDisplay.from_bootstrap(maps, n_components=2)
    assert len(spread.axes_[0].collections) == min(2, model.rank_)


def test_bootstrap_display(fitted):
    display = BootstrapDisplay(fitted[2]).plot()
    np.testing.assert_array_equal(display.axes_[1].images[0].get_array(), fitted[2].std)
    assert display.axes_[2].images[0].get_clim() == (0.5, 1.0)


def test_all_maps_fit_a_page(fitted):
    model, X, maps, tested = fitted
    page = maps_figure(model, X, bootstrap=maps, permutation=tested, names=NAMES)
    assert tuple(page.get_size_inches()) <= (8.3, 11.7)
    assert len(page.subfigs) == 4
    page.canvas.draw()


def test_permutation_display_outlines_what_is_significant(fitted):
    display = PermutationDisplay(fitted[3]).plot()
    assert "corrected" in display.axes_[0].get_title()
    assert len(display.axes_[1].patches) == 20


def test_an_outline_has_the_length_of_the_border():
    axis = matplotlib.figure.Figure().subplots()
    outline(axis, np.array([[True, True], [False, True]]))
    assert len(axis.lines) == 8


def test_many_channels_stay_readable():
    axis = matplotlib.figure.Figure().subplots()
    MapAxes(row_coords=[f"channel {k}" for k in range(200)]).draw(axis, np.eye(200))
    assert len(axis.get_yticks()) <= 12


def test_labels_of_the_wrong_length_are_refused(fitted):
    with pytest.raises(ValueError, match="row_coords must have 5 entries; got 1"):
        PatternDisplay.from_estimator(fitted[0], fitted[1], names=MapAxes(["a"]))
    with pytest.raises(ValueError, match="axes must be 2"):
        PatternDisplay.from_estimator(fitted[0], fitted[1], axes=[None])
