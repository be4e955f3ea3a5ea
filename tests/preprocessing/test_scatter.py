"""Lines of scattered light, at their known places."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from matreg import GRMR
from matreg.preprocessing import mask_scatter

EMISSION = np.arange(280.0, 951.0)


def masked(excitation, **options):
    """Emissions that are masked at one excitation."""
    found = mask_scatter(np.ones((2, len(EMISSION), 1)), EMISSION, [excitation], **options)
    assert_array_equal(np.isnan(found[0]), np.isnan(found[1]))
    return EMISSION[np.isnan(found[0, :, 0])]


def test_rayleigh_lines_are_at_the_excitation_and_at_twice_it():
    assert_array_equal(masked(350.0, raman=(), rayleigh=(1,)), np.arange(340.0, 361.0))
    assert_array_equal(masked(350.0, raman=(), rayleigh=(2,), width=3), np.arange(697.0, 704.0))


# The line of water that instruments are calibrated with: excitation at 350 nm, Raman peak at 397.
@pytest.mark.parametrize(("excitation", "peak"), [(350.0, 397.0), (275.0, 303.0), (400.0, 463.0)])
def test_raman_lines_of_water(excitation, peak):
    first = masked(excitation, rayleigh=(), raman=(1,), width=0.5)
    assert abs(first.mean() - peak) <= 1.0
    second = masked(excitation, rayleigh=(), raman=(2,), width=0.5)
    assert abs(second.mean() - 2.0 * peak) <= 2.0


def test_another_solvent():
    ethanol = masked(350.0, rayleigh=(), raman=(1,), width=0.5, wavenumber=2900.0)
    assert abs(ethanol.mean() - 1e7 / (1e7 / 350.0 - 2900.0)) <= 0.5


def test_all_lines_by_default_and_what_is_below():
    parts = [masked(350.0, rayleigh=a, raman=b) for a, b in ([(1,), ()], [(2,), ()], [(), (1, 2)])]
    assert_array_equal(masked(350.0), np.unique(np.concatenate(parts)))
    assert len(masked(350.0, rayleigh=(), raman=())) == 0
    assert_array_equal(masked(350.0, rayleigh=(), raman=(), below=True), np.arange(280.0, 350.0))


def test_the_rest_is_as_it_was():
    X = np.random.default_rng(0).standard_normal((3, len(EMISSION), 2)).astype(np.float32)
    X[0, 0, 0] = np.nan
    before = X.copy()
    found = mask_scatter(X, EMISSION, [300.0, 420.0])
    assert found.dtype == np.float32
    kept = ~np.isnan(found)
    assert_array_equal(found[kept], X[kept])
    assert_array_equal(X, before)
    assert np.isnan(mask_scatter(X[0], EMISSION, [300.0, 420.0])[0, 0])


def test_data_arrays_keep_their_names():
    xarray = pytest.importorskip("xarray")
    X = xarray.DataArray(np.ones((3, 5, 2)), dims=("sample", "emission", "excitation"))
    found = mask_scatter(X, [300, 350, 400, 500, 600], [300, 350])
    assert found.dims == X.dims and bool(np.isnan(found[0, 0, 0]))


def test_cleaning_models_take_what_is_masked():
    rng = np.random.default_rng(0)
    emission, excitation = np.linspace(300.0, 500.0, 11), np.linspace(260.0, 400.0, 8)
    X = np.einsum("nk,ki,kj->nij", rng.random((40, 2)), rng.random((2, 11)), rng.random((2, 8)))
    y = X.sum(axis=(1, 2))
    masked = mask_scatter(X, emission, excitation)
    assert 0.05 < np.isnan(masked).mean() < 0.5
    assert GRMR().fit(masked, y).score(masked, y) > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.ones((3, 2, 4))}, r"X must have shape \(n, 4, 2\).*Swap its last two axes"),
        (
            {"X": np.ones((3, 4, 5))},
            r"X must have shape \(n, 4, 2\), emissions by exc.*\(3, 4, 5\)",
        ),
        ({"X": np.full((4, 2), "a")}, "could not convert string to float"),
        ({"emission": [0.3, 0.4, 0.5, 0.6]}, "emission must be in nanometres; got 0.6 at most"),
        ({"excitation": [-300.0, 400.0]}, "excitation must be a list of positive wavelengths"),
        ({"emission": "blue"}, "emission must be a list|could not convert"),
        ({"width": -1.0}, "width == -1.0, must be >= 0"),
        ({"wavenumber": 0.0}, "wavenumber == 0.0, must be > 0"),
        ({"rayleigh": (1, 3)}, "rayleigh must hold the orders 1 and 2"),
        ({"raman": 1}, "raman must hold the orders 1 and 2"),
    ],
)
def test_bad_input(change, message):
    good = {"X": np.ones((3, 4, 2)), "emission": [300, 400, 500, 600], "excitation": [300, 350]}
    with pytest.raises(ValueError, match=message):
        mask_scatter(**(good | change))
