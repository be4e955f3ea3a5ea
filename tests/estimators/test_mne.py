"""Epochs of MNE: in volts, with the pattern as an Evoked."""

import numpy as np
import pytest

from matreg import RMR
from matreg.inspection import pattern

mne = pytest.importorskip("mne")


@pytest.fixture(scope="module")
def epochs():
    """A topography times a time course whose strength is the label, in microvolts."""
    rng = np.random.default_rng(0)
    info = mne.create_info(["Fz", "Cz", "Pz", "Oz"], sfreq=100.0, ch_types="eeg")
    strength = rng.standard_normal(60)
    signal = np.outer([0.0, 1.0, 2.0, 1.0], np.exp(-0.5 * (np.arange(-5, 6) / 2.0) ** 2))
    data = strength[:, None, None] * signal + rng.standard_normal((60, 4, 11))
    with mne.use_log_level("ERROR"):
        made = mne.EpochsArray(5e-6 * data, info, tmin=-0.05)
    return made, strength, signal


def test_fit_in_volts(epochs):
    made, strength, _ = epochs
    X = made.get_data(copy=False)
    model = RMR().fit(X, strength)
    assert model.rank_ > 0 and model.score(X, strength) > 0.5
    micro = RMR().fit(1e6 * X, strength)
    np.testing.assert_allclose(micro.predict(1e6 * X), model.predict(X), atol=1e-6)


def test_the_pattern_is_an_evoked(epochs):
    made, strength, signal = epochs
    X = made.get_data(copy=False)
    model = RMR().fit(X, strength)
    found = model.pattern(X)
    np.testing.assert_array_equal(found, pattern(model, X))
    evoked = mne.EvokedArray(found, made.info, tmin=made.tmin)
    assert evoked.ch_names == made.ch_names
    np.testing.assert_allclose(evoked.times, made.times)
    assert np.corrcoef(found.ravel(), signal.ravel())[0, 1] > 0.9
    channel, time = evoked.get_peak()[:2]
    assert channel == "Pz" and abs(time) < 0.03
