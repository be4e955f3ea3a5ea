"""A declared model on samples that are read block by block."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._runtime.progress import span
from ..._typing import Array
from ..._validation.stored import working_memory
from ...covariate_ridge import ridge_block
from ...data.moments import Moments
from ...data.samples import Block
from ...losses.piecewise import PiecewiseLoss
from ...model import Model
from ...penalties.sparse import SparseLowRank
from ...penalties.spectral import SpectralElasticNet, SpectralPenalty
from ..certificate import SolverResult
from .loop import solve_stream
from .moments import MEASURING, Reduced, moments, solve_moments, solve_streamed_rglm, with_ridge


def path_on_blocks(model: Model, blocks: Any, taus: Array, **options: Any) -> list[SolverResult]:
    """Solutions on samples that are read block by block."""
    check_blocks(model, options.get("solver", "auto"))
    own = model.fit_intercept
    if isinstance(blocks, Moments):
        results = path_on_moments(model, blocks, taus, some_of(options, "tol", "max_iter"))
    elif quadratic(model):
        known: dict[str, Any] = {"G": known_moments(blocks), "ridge": ridge_of(model, blocks)}
        known |= {"penalty": model.penalty, **some_of(options, "tol", "max_iter")}
        results = solve_streamed_rglm(blocks, taus, fit_intercept=own, **known)
    else:
        limits = some_of(options, "tol", "verbose")
        limits |= {"memory": working_memory(), "rare": blocks.rare}
        results = [solve_stream(blocks, model.at(tau=float(tau)), **limits) for tau in taus]
    basis = blocks.unpenalised(own)
    return [result.with_covariates(basis, own) for result in results]


def path_on_moments(
    model: Model, samples: Moments, taus: Array, limits: dict[str, Any]
) -> list[SolverResult]:
    """Solutions on samples of which only the moments are known, certified as far as these tell."""
    known = reduced(model, samples)
    results = solve_moments(known, taus, **limits, penalty=model.penalty)
    return [replace(one, gamma=known.gamma(one.W.matrix.reshape(-1))) for one in results]


def some_of(options: dict[str, Any], *names: str) -> dict[str, Any]:
    """The options with these names, if they are given."""
    return {name: options[name] for name in names if name in options}


def ridge_of(model: Model, blocks: Any) -> Block | None:
    """The samples of a ridge on the coefficients of covariates, if the model has one."""
    basis = blocks.unpenalised(model.fit_intercept)
    return ridge_block(basis, model.covariate_ridge, model.fit_intercept, blocks.p * blocks.q)


def reduced(model: Model, blocks: Any) -> Reduced:
    """The problem of the moments of all samples, for a model with the squared loss."""
    G = with_ridge(known_moments(blocks), ridge_of(model, blocks))
    return Reduced(G, (blocks.p, blocks.q), model.fit_intercept)


def one_sample_loss(model: Model) -> Any:
    """The losses of one sample of each class, which show the kind of the loss."""
    return model.losses(np.array([1.0, 0.0]), np.ones(2))


def quadratic(model: Model) -> bool:
    """Whether a model needs nothing but the second moments of the samples."""
    loss = one_sample_loss(model)
    spectral = isinstance(model.penalty, SpectralElasticNet)
    return isinstance(loss, PiecewiseLoss) and loss.quadratic and spectral


def check_blocks(model: Model, solver: str = "auto") -> None:
    """Refuse a model that needs all samples in memory."""
    loss = one_sample_loss(model)
    linear = isinstance(loss, PiecewiseLoss) and not loss.curved
    spectral = isinstance(model.penalty, SpectralPenalty)
    instead = 'a loss of RMR or SMM without curvature, or RGLM with family="normal"'
    if solver != "auto":
        what, instead = f"solver={solver!r}", 'solver="auto"'
    elif quadratic(model) or (linear and spectral and model.penalty.ridge > 0.0):
        return
    elif not spectral:
        name = type(model.penalty).__name__
        what = "l1" if isinstance(model.penalty, SparseLowRank) else f"penalty={name}"
        instead = "a spectral penalty, such as the default with l1=0"
    else:
        what = f"{'loss' if model.penalty.ridge > 0.0 else 'family'}={model.loss.name!r}"
    raise ValueError(
        f"{what} needs all samples in memory, but X is read block by block. Use {instead}; or fit "
        "a part of the samples, or load X if it fits."
    )


def known_moments(blocks: Any) -> Array:
    """Second moments of all samples, which take a pass the first time."""
    if blocks.moments is None:
        with span(0.0, MEASURING):
            (blocks.moments,) = moments(blocks)
    return np.asarray(blocks.moments)
