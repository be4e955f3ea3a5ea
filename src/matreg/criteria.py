"""Degrees of freedom and information criteria along a path: selection without folds.

R-GLM. The degrees of freedom are the divergence ``sum_i d yhat_i / d y_i`` of the fit, the quantity
in Stein's lemma for Gaussian noise of equal variance. At a solution B of rank r with singular
values w, with ``lambda_l`` the singular values of ``A'(y - yhat)`` below tau, the fit moves like a
ridge regression in the tangent space of the matrices of rank r, with penalties

    0                                 for u_k v_k' and u_k v_l' + u_l v_k',      k, l <= r
    2 tau / (w_k + w_l)               for u_k v_l' - u_l v_k',                   k, l <= r
    (tau -+ lambda_l) / w_k           for u_k v_l' +- u_l v_k',                  k <= r < l
    tau / w_k                         for what is outside of the thin basis,     k <= r

and the divergence is the trace of its hat matrix, plus one for the intercept. For an orthonormal
design this is the formula of Zhou and Li (2014), which they use for all designs with the singular
values of the least squares fit; the divergence needs no such fit and holds for every design. For
the families "binomial" and "poisson" the fit moves like that of the last reweighted least squares
problem, with the second derivatives of the loss as weights, and the criterion is the deviance in
the place of ``n log`` of the mean square.

RMR. With the epsilon-insensitive loss yhat_i follows y_i where the residual sits on the edge of
the tube, ``0 < |beta_i| < C s_i``, and does not where it is inside or outside: the degrees of
freedom are the number of samples on the edge, as for quantile regression (Li, Liu and Zhu 2007).
The criterion is that of Laplace noise, of asymmetric Laplace noise for the loss "quantile". The
loss "huber" is not a negative log-likelihood with a free scale, so that AIC and BIC are undefined.

Both criteria assume independent samples, a model fixed in advance and no gross outliers: if labels
may be wrong, cross-validate with a robust score instead.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier

from ._typing import Array
from ._validation.arrays import validate_labels
from ._validation.classes import encode_classes
from .covariate_ridge import priced
from .data.samples import Samples, merge_duplicates
from .design import Design
from .estimators._input.covariates import new_covariates
from .estimators.path import RegularizationPath
from .estimators.rglm import RGLM
from .estimators.rmr import RMR
from .linalg.bordered import cholesky
from .linalg.factors import svd
from .linalg.threads import single_threaded
from .losses.piecewise import PiecewiseLoss
from .solvers import SolverResult
from .unpenalised.basis import Basis

COLUMNS = np.dtype([("tau", float), ("rank", int), ("df", float), ("aic", float), ("bic", float)])


def information_criteria(
    path: RegularizationPath, X: ArrayLike, y: ArrayLike, covariates: Any = None
) -> NDArray[Any]:
    """Degrees of freedom, AIC and BIC of all models of a path.

    Parameters
    ----------
    path : RegularizationPath
        From :func:`path` of an RMR or RGLM, fitted without weights.
    X, y : array-like
        The data that the path was fitted to, without duplicates.
    covariates : array-like of shape (n, m), table or dict of columns, default=None
        Those of the path, if it had any.

    Returns
    -------
    numpy record array of shape (k,)
        One row per model: tau, rank, df, aic, bic. The smallest criterion is the best.

    Examples
    --------
    >>> from matreg import RGLM, information_criteria, path
    >>> from matreg.datasets import make_matrix_regression
    >>> data = make_matrix_regression(200, (6, 5), rank=1, noise_scale=1.0, random_state=0)
    >>> found = path(RGLM(), data.X, data.y, n_taus=20)
    >>> table = information_criteria(found, data.X, data.y)
    >>> int(table["rank"][table["bic"].argmin()])
    2
    """
    if not isinstance(path, RegularizationPath):
        raise TypeError(
            f"path must be a path, such as matreg.path(RMR(), X, y); got {type(path).__name__}."
        )
    if not isinstance(path.model, RMR | RGLM):
        raise ValueError(
            f"path must be one of RMR or RGLM; got one of {type(path.model).__name__}."
        )
    if path.sample_weight is not None:
        raise ValueError("path must be fitted without weights; got one with sample_weight.")
    samples = path.model._validate_samples(X)
    n = len(samples)
    labels = encode_classes(y, n)[1] if is_classifier(path.model) else validate_labels(y, n)
    Z = new_covariates(path.model, covariates, n)
    distinct = merge_duplicates(samples, labels, np.ones(n), Z)
    if len(path.points[0].beta) != len(distinct.y):
        raise ValueError(
            f"X must hold the {len(path.points[0].beta)} samples of the path; got {n}."
        )
    rows = [
        _criteria(path, distinct, float(tau), point)
        for tau, point in zip(path.taus, path.points, strict=True)
    ]
    return np.array(rows, dtype=COLUMNS).view(np.recarray)


def _criteria(
    path: RegularizationPath, samples: Samples, tau: float, point: SolverResult
) -> tuple[float, int, float, float, float]:
    """One row of the table."""
    y, n, model = samples.y, samples.n, path.model
    basis, family = samples.unpenalised(model.fit_intercept), model._loss()
    f = samples.design.forward(point.W.matrix) + basis.times(point.gamma)
    loss: Any = family.of(y, np.full(n, getattr(model, "C", 1.0)))
    deviance = family.deviance(y, f)
    if isinstance(model, RMR):
        df = rmr_degrees_of_freedom(point, loss)
    else:
        weights = None if isinstance(loss, PiecewiseLoss) else loss.second_derivative(-f)
        rows, prices = priced(basis, model.covariate_ridge, model.fit_intercept)
        price = (prices * rows.T) @ rows
        df = rglm_degrees_of_freedom(samples.design, point, tau, basis, weights, price)
    return tau, point.W.rank, df, deviance + 2.0 * df, deviance + np.log(n) * df


def rmr_degrees_of_freedom(point: SolverResult, loss: PiecewiseLoss) -> float:
    """Number of samples on a kink of their loss."""
    # A certified beta reaches its bounds only up to the root of the gap.
    small = 1e-3 * loss.size
    inside = (point.beta > loss.lower + small) & (point.beta < loss.upper - small)
    return float(np.count_nonzero(inside & (np.abs(point.beta) > small)))


@single_threaded(lambda design: design.size)
def rglm_degrees_of_freedom(
    design: Design,
    point: SolverResult,
    tau: float,
    basis: Basis,
    weights: Array | None,
    price: Array,
) -> float:
    """Divergence of the fit, a weighted least squares problem in the tangent space.

    `weights` (n,) are the second derivatives of the losses, None for ones; `price` (k, k) is that
    of a ridge on the coefficients of the columns.
    """
    Phi, penalty = np.zeros((design.n, 0)), np.zeros(0)
    if point.W.rank > 0:
        Phi, penalty = _tangent(design, point, tau)
    both = np.column_stack([Phi, basis.columns(len(Phi))])
    if both.shape[1] == 0:
        return 0.0
    if weights is not None:
        both *= np.sqrt(weights)[:, None]
    H = both.T @ both
    r = len(penalty)
    P = np.diag(np.append(penalty, np.zeros(basis.size)))
    P[:r, :r] += np.diag(np.full(r, 1e-12 * np.trace(H[:r, :r]) / max(r, 1)))
    P[r:, r:] += price
    return float(np.trace(cholesky(H + P)(H)))


def _tangent(design: Design, point: SolverResult, tau: float) -> tuple[Array, Array]:
    """Samples in an orthonormal basis of the tangent space, and the penalties of its vectors."""
    wide = design.p <= design.q
    X = design.stack() if wide else design.stack().transpose(0, 2, 1)
    B, G = point.W.matrix, design.adjoint(point.beta)
    # B and its gradient have common singular vectors; those of a sum are those of both.
    weight = point.W.d[0] / tau if tau > 0.0 else 0.0
    f = svd((B + weight * G) if wide else (B + weight * G).T)
    U, V, r = f.U, f.Vt.T, point.W.rank
    w = point.W.d[:r]
    lam = np.minimum(f.d[r:] / weight, tau) if weight > 0.0 else np.zeros(len(f.d) - r)
    rows = np.matmul(U[:, :r].T, X)
    top = np.matmul(rows, V)
    left = np.matmul(U.T, np.matmul(X, V[:, :r])).transpose(0, 2, 1)
    k, l = np.triu_indices(r, 1, len(f.d))
    inside = l < r
    other = np.where(inside, 0, l - r)
    w_l = w[np.where(inside, l, 0)]
    lam_l = lam[other] if len(lam) else np.zeros(len(l))
    symmetric = np.where(inside, 0.0, (tau - lam_l) / w[k])
    antisymmetric = np.where(inside, 2.0 * tau / (w[k] + w_l), (tau + lam_l) / w[k])
    blocks = [
        np.einsum("nkk->nk", top[:, :, :r]),
        (top[:, k, l] + left[:, k, l]) / np.sqrt(2.0),
        (top[:, k, l] - left[:, k, l]) / np.sqrt(2.0),
    ]
    penalties = [np.zeros(r), symmetric, antisymmetric]
    if V.shape[0] > V.shape[1]:
        rest = rows - np.matmul(top, V.T)
        blocks.append(rest.reshape(design.n, -1))
        penalties.append(np.repeat(tau / w, V.shape[0]))
    return np.concatenate(blocks, axis=1), np.concatenate(penalties)
