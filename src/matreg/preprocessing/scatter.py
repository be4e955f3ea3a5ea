"""Scattered light in excitation-emission matrices."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_array, check_scalar

from .._typing import Array

# Wavenumber of the O-H stretching vibration of water, per centimetre.
WATER = 3400.0
ORDERS = (1, 2)


def mask_scatter(
    X: ArrayLike,
    emission: ArrayLike,
    excitation: ArrayLike,
    *,
    width: float = 10.0,
    rayleigh: Iterable[int] = ORDERS,
    raman: Iterable[int] = ORDERS,
    wavenumber: float = WATER,
    below: bool = False,
) -> Any:
    """Excitation-emission matrices with NaN where there is scattered light.

    Light that is scattered and not absorbed lies along lines: Rayleigh scattering at the wavelength
    of the excitation, Raman scattering of the solvent at a fixed wavenumber below it, both again at
    twice their wavelength, the second order of a grating. Scattered light depends on particles and
    on the solvent, not on fluorophores, and is not of low rank. :class:`~matreg.GRMR` treats NaN as
    entries that were not observed.

    Parameters
    ----------
    X : array-like of shape (n, p, q) or (p, q)
        Matrices of p emissions and q excitations. A DataArray stays one.
    emission : array-like of shape (p,)
        Wavelengths of the rows in nanometres.
    excitation : array-like of shape (q,)
        Wavelengths of the columns in nanometres.
    width : float, default=10.0
        Largest distance of a masked emission from a line, in nanometres: half of the breadth of the
        band that is masked. Use at least half of the spectral bandwidth plus half of the distance
        between two emissions.
    rayleigh, raman : iterable of 1 and 2, default=(1, 2)
        Orders that are masked; () for none.
    wavenumber : float, default=3400.0
        Raman shift of the solvent per centimetre; the default is that of water.
    below : bool, default=False
        Whether to mask all emissions below the excitation, too, where there is no fluorescence.

    Returns
    -------
    ndarray of shape (n, p, q) or (p, q)
        A copy of X, of floating-point numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from matreg.preprocessing import mask_scatter
    >>> emission, excitation = np.arange(300.0, 601.0, 50.0), [300.0]
    >>> masked = mask_scatter(np.ones((7, 1)), emission, excitation)
    >>> emission[np.isnan(masked[:, 0])]
    array([300., 600.])
    """
    check_scalar(width, "width", (int, float), min_val=0.0)
    check_scalar(wavenumber, "wavenumber", (int, float), min_val=0.0, include_boundaries="neither")
    rows, columns = _wavelengths("emission", emission), _wavelengths("excitation", excitation)
    array = check_array(
        X, allow_nd=True, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan"
    )
    if array.shape[-2:] != (len(rows), len(columns)) or array.ndim > 3:
        swapped = array.shape[-2:] == (len(columns), len(rows))
        hint = " Swap its last two axes, or the two arguments." if swapped else ""
        raise ValueError(
            f"X must have shape (n, {len(rows)}, {len(columns)}), emissions by excitations; got "
            f"{array.shape}.{hint}"
        )
    mask = np.zeros((len(rows), len(columns)), dtype=bool)
    raman_line = _raman(columns, wavenumber)
    for name, orders, line in (("rayleigh", rayleigh, columns), ("raman", raman, raman_line)):
        for order in _orders(name, orders):
            mask |= np.abs(rows[:, None] - order * line) <= width
    if below:
        mask |= rows[:, None] < columns
    values = np.where(mask, np.array(np.nan, dtype=array.dtype), array)
    named: Any = X
    return named.copy(data=values) if hasattr(X, "dims") and hasattr(X, "coords") else values


def _raman(excitation: Array, wavenumber: float) -> Array:
    """Emissions of Raman scattering: 1 / emission = 1 / excitation - wavenumber, in nanometres."""
    inverse = 1.0 / excitation - wavenumber * 1e-7  # a centimetre is 1e7 nm
    return 1.0 / np.where(inverse > 0.0, inverse, np.nan)


def _orders(name: str, orders: Any) -> list[int]:
    found = list(orders) if isinstance(orders, Iterable) and not isinstance(orders, str) else None
    if found is None or any(order not in ORDERS for order in found):
        raise ValueError(f"{name} must hold the orders 1 and 2, or nothing; got {orders!r}.")
    return found


def _wavelengths(name: str, given: Any) -> Array:
    found = check_array(given, ensure_2d=False, dtype=np.float64, input_name=name)
    if found.ndim != 1 or (found <= 0.0).any():
        raise ValueError(f"{name} must be a list of positive wavelengths in nanometres.")
    if found.max() < 50.0:
        raise ValueError(f"{name} must be in nanometres; got {found.max():g} at most.")
    return np.asarray(found)
