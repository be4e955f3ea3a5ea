"""Units of samples, labels and weights: those whose products float64 can hold."""

from __future__ import annotations

from typing import Any

import numpy as np

# Range of sizes whose squares, products and sums of many products are normal float64 numbers.
SMALLEST, LARGEST = 1e-100, 1e100
# Orders of magnitude that the units of samples, labels and weights may span together.
ORDERS = 150.0
# Most orders of magnitude of ``c |X|^2 / |y|``, with c the factors C s of the losses. From some 26
# on the rounding of multipliers at their bounds is worth more than the objective, here even that of
# multipliers far inside.
HEAVIEST = 40.0
# Size of the losses below which the objective is not a normal number of float64.
LIGHTEST = 1e-290
# Weights of nuclear norm and outliers below which their squares lose digits.
LIGHTEST_PRICE = 1e-140


def check_units(X: Any, y: Any, weights: Any, orders: float = ORDERS) -> None:
    """Refuse numbers whose squares or products would vanish or overflow.

    The multipliers are of the size ``y / X^2``, and their squares are computed: `orders` is the
    largest number of orders of magnitude of ``X^2``, y and the weights together.
    """
    sizes = {"X": largest(X), "y": largest(y), "sample_weight": largest(weights)}
    for name, size in sizes.items():
        check_size(name, size)
    far = {name: abs(np.log10(size)) if size else 0.0 for name, size in sizes.items()}
    if far["X"] + sum(far.values()) > orders:
        name = max(far, key=lambda one: far[one])
        raise ValueError(
            f"X, y and sample_weight have entries of sizes up to {sizes['X']:.3g}, "
            f"{sizes['y']:.3g} and {sizes['sample_weight']:.3g}, whose products leave the range of "
            f"float64. Pass {name} in other units, divided by {sizes[name]:.1g}."
        )


def check_weighed(weights: Any) -> None:
    """Refuse weights, at least 0, of which none is positive."""
    if largest(weights) == 0.0:
        raise ValueError("sample_weight must have a positive entry; got zeros only.")


def check_size(name: str, size: float) -> None:
    """Refuse numbers, the largest of this size, whose squares vanish or overflow."""
    if size != 0.0 and not SMALLEST <= size <= LARGEST:
        raise ValueError(
            f"{name} has entries of sizes up to {size:.3g}, whose squares leave the range of "
            f"float64: the largest must be between {SMALLEST:g} and {LARGEST:g}. Pass {name} "
            f"in other units, divided by {size:.1g}."
        )


def check_price(name: str, price: float) -> None:
    """Refuse a price of the cleaning whose square, which its certificate computes, vanishes."""
    if price < LIGHTEST_PRICE:
        raise ValueError(
            f"{name} is {price:.3g}, whose square vanishes in float64. Raise {name}, or C, from "
            f"which it follows by default: it must be at least {LIGHTEST_PRICE:g}."
        )


def check_factors(c: Any, norms: Any, y: Any) -> None:
    """Refuse factors c of the losses that vanish, or beside which ``||W||^2 / 2`` is rounding."""
    sizes = [largest(c), largest(norms), largest(y)]
    if sizes[2] and sizes[0] * sizes[2] < LIGHTEST:
        raise ValueError(
            f"C times sample_weight is at most {sizes[0]:.1g}: the losses of labels of size "
            f"{sizes[2]:.1g} vanish in float64. Raise C or sample_weight."
        )
    if not all(sizes):
        return
    orders = float(np.log10(sizes) @ (1.0, 2.0, -1.0))
    if orders > HEAVIEST:
        raise ValueError(
            f"C times sample_weight is up to {sizes[0]:.1g}, too much for samples of norm "
            f"{sizes[1]:.1g} and labels of size {sizes[2]:.1g}: the losses outweigh the penalty "
            f"by {orders:.0f} orders of magnitude, and float64 has 16 digits. Lower C or "
            "sample_weight."
        )


def largest(numbers: Any) -> float:
    """Largest absolute value, without missing numbers."""
    return max(
        float(np.fmax.reduce(numbers, axis=None, initial=0)),
        -float(np.fmin.reduce(numbers, axis=None, initial=0)),
    )
