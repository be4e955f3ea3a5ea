"""Several labels for one problem: they are read, and in units of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ..._typing import Array, Index
from ..._validation.arrays import check_length
from ..._validation.stored import refuse_streamed
from ...data.samples import Samples
from ...losses.families import Squared
from .._input.fit_input import FitInput
from .several import label_columns
from .units import Units

if TYPE_CHECKING:
    from .base import MatrixEstimator


def each_label(samples: Samples) -> list[tuple[Index, Array]]:
    """For each of several labels the samples that have it, and its values."""
    assert samples.table is not None
    own = samples.table[samples.y.astype(int)]
    every = ((np.flatnonzero(~np.isnan(one)), one) for one in own.T)
    return [(rows, one[rows]) for rows, one in every]


def read_together(model: MatrixEstimator, given: FitInput) -> Samples:
    """Samples with several labels (n, k) for one problem, NaN where one is missing.

    Labels that have units are in those of their spread, `label_scale_` of the model.
    """
    refuse_streamed(f"{type(model).__name__}(joint={model.joint!r})", given.X)
    Y = label_columns(given.y)
    check_length(Y, len(given.X))
    first = model._given(given._replace(y=np.nan_to_num(Y)[:, 0]))
    assert isinstance(first, Samples)
    samples = replace(first, y=np.arange(first.n, dtype=np.float64), table=Y)
    scale = np.ones(Y.shape[1])
    units = not hasattr(model, "family") or isinstance(model._loss(), Squared)
    for j, (rows, values) in enumerate(each_label(samples)):
        if not np.any(samples.weights[rows]):
            raise ValueError(
                f"Each label needs a sample of positive weight; label {j} has {len(rows)} samples, "
                "all of weight 0."
            )
        if units:
            scale[j] = Units(samples.part(rows, values), model.fit_intercept).spread
    model.label_scale_ = scale
    return replace(samples, table=Y / scale)
