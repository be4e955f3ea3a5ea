"""Checks of a loss and a penalty of a user's own, of which the certificate believes every number.

For convex functions two facts hold at every point, and a wrong method breaks one of them: the
function lies above its tangents, and ``f(x) + f*(g) = <g, x>`` for each of its slopes g at x.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._typing import Array
from .linalg.factors import Factors
from .losses.families import LossFamily
from .penalties import SpectralPenalty

TOLERANCE = 1e-5  # relative to the terms of a sum
STEP = 0.5  # of the prox


def check_own_parts(loss: Any, penalty: Any, y: Array, shape: tuple[int, int]) -> None:
    """Raise an error if methods of a user's own loss or penalty contradict each other."""
    with np.errstate(all="ignore"):
        if is_own(loss, "value", "conjugate", "feasible") and len(y):
            _check_loss(loss, y)
        if is_own(penalty, "value_of", "conjugate_of", "shrink_factor_of", "prox"):
            _check_penalty(penalty, shape)


def is_own(part: Any, *needs: str) -> bool:
    """Whether an object is no class of matreg, and has the methods `needs`."""
    own = type(part).__module__.partition(".")[0] != "matreg"
    return own and all(hasattr(part, name) for name in needs)


def check_weights(family: LossFamily, y: Array, c: Array) -> None:
    """Raise an error if a user's own family leaves out the factors c, C times the weights."""
    r = np.linspace(-1.0, 1.0, len(y)) * (float(np.abs(y).max(initial=0.0)) or 1.0)
    with np.errstate(all="ignore"):
        once, twice = (family.of(y, factor * c).value(r) for factor in (1.0, 2.0))
    if np.isfinite(twice) and abs(twice - 2.0 * once) > TOLERANCE * abs(twice):
        raise ValueError(
            f"the loss family {type(family).__name__} must be proportional to c, the product of C "
            f"and the weights of the samples: of(y, 2 * c) has the value {twice:.6g}, and of(y, c) "
            f"{once:.6g}."
        )


def _check_loss(loss: Any, y: Array) -> None:
    """Compare the methods at the residuals of a constant and at others of the same size."""
    name = f"the loss {type(loss).__name__}"
    if not (hasattr(loss, "gradient") or hasattr(loss, "prox")):
        return  # the solver names what is missing
    spread = float(np.abs(y - np.median(y)).max()) or 1.0
    unit = _number(loss.value(np.ones(len(y))), f"{name} must return one number from value(r)")
    rounding = 1e-13 * abs(unit) if np.isfinite(unit) else 0.0  # of values near r = 0
    for r in (y - np.median(y), spread * np.linspace(-1.0, 1.0, len(y))):
        r, g, method = _slope(loss, r, spread)
        value = _number(loss.value(r), f"{name} must return one number from value(r)")
        if value == np.inf:
            continue  # overflow, far from the labels
        if np.shape(g) != y.shape or not np.isfinite(g).all():
            raise ValueError(f"{name} must return {len(y)} finite numbers from {method}.")
        for size, doubt in ((1e-3, ""), (1.0, ", or value(r) is not convex")):
            h = size * spread * np.where(g < 0.0, -1.0, 1.0)
            room = 1e-2 * size * spread * float(np.abs(g).sum())
            room += TOLERANCE * abs(value) * size + rounding
            for step in (h, -h, size * r, -size * r):
                if loss.value(r + step) < value + float(g @ step) - room:
                    raise ValueError(f"{name}: {method} contradicts the slope of value(r){doubt}.")
        g = loss.feasible(g, None)  # rounding errors may take g to where the conjugate is infinite
        conjugate = _number(loss.conjugate(g), f"{name} must return one number from conjugate(g)")
        if _differ(value, conjugate, g * r, rounding):
            raise ValueError(
                f"{name}: value(r) + conjugate(g) must be r'g where g is the slope at r, but it is "
                f"{value + conjugate:.6g} instead of {float(g @ r):.6g}. conjugate is wrong, or "
                "value(r) is not convex."
            )
        if hasattr(loss, "best_intercept"):
            _check_intercept(loss, r, 1e-3 * spread, rounding, name)


def _slope(loss: Any, r: Array, spread: float) -> tuple[Array, Array, str]:
    """Residuals, the slopes there, and the method that states them."""
    if hasattr(loss, "gradient"):
        return r, loss.gradient(r), "gradient(r)"
    step = 1.0
    for _ in range(2):  # with small factors c, a small step would leave rounding errors only
        near = loss.prox(r, step)
        g = (r - near) / step
        step = 0.1 * spread / (float(np.abs(g).max()) or spread)
    return near, g, "prox(v, step)"


def _check_intercept(loss: Any, r: Array, step: float, rounding: float, name: str) -> None:
    b = _number(loss.best_intercept(r), f"{name} must return one number from best_intercept(r)")
    best = loss.value(r - b)
    room = TOLERANCE * abs(best) + rounding
    if min(loss.value(r - b - step), loss.value(r - b + step)) < best - room:
        raise ValueError(f"{name}: best_intercept(r) is not the b with the smallest value(r - b).")


def _check_penalty(penalty: Any, shape: tuple[int, int]) -> None:
    """Compare the methods at the prox of two matrices."""
    name = f"the penalty {type(penalty).__name__}"
    size = float(getattr(penalty, "tau", 1.0))
    if size == 0.0:  # a path begins without a tau
        penalty, size = penalty.at(1.0), 1.0
    for scale in (size, 10.0 * size):
        Z = scale * np.random.default_rng(0).standard_normal(shape)
        W = penalty.prox(Z, STEP)
        if not hasattr(W, "matrix"):
            raise TypeError(f"{name} must return matreg.linalg.factors.svd(W) from prox(Z, step).")
        value = _number(penalty.value_of(W), f"{name} must return one number from its value")
        G = (Z - W.matrix) / STEP
        room = TOLERANCE * (abs(value) + float(np.abs(G * W.matrix).sum()))
        for factor in (0.0, 0.5, 0.99, 1.01, 2.0):
            other = penalty.value_of(Factors(W.U, factor * W.d, W.Vt))
            if other < value + (factor - 1.0) * float(np.vdot(G, W.matrix)) - room:
                wrong = "prox(Z, step) does not minimise value_of(W) near Z"
                if isinstance(penalty, SpectralPenalty):
                    wrong = "threshold(d, scale, smoothing) is not the prox of part(d)"
                raise ValueError(f"{name}: {wrong}, or it is not convex.")
        G = G * penalty.shrink_factor_of(G)
        conjugate = _number(penalty.conjugate_of(G), f"{name} needs a number from conjugate_of(Z)")
        if _differ(value, conjugate, G * W.matrix):
            raise ValueError(
                f"{name}: value_of(W) + conjugate_of(Z) must be <Z, W> where Z is the slope at W, "
                f"but it is {value + conjugate:.6g} instead of {np.vdot(G, W.matrix):.6g}."
            )


def _number(value: Any, needs: str) -> float:
    if np.ndim(value) or np.isnan(value) or value == -np.inf:
        what = f"an array of shape {np.shape(value)}" if np.ndim(value) else value
        raise ValueError(f"{needs}; got {what}.")
    return float(value)


def _differ(value: float, conjugate: float, products: Array, rounding: float = 0.0) -> bool:
    size = abs(value) + abs(conjugate) + float(np.abs(products).sum())
    return not abs(value + conjugate - float(products.sum())) <= TOLERANCE * size + rounding
