"""Types that many modules use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]


class Table(Protocol):
    """A data frame of any library, with named columns."""

    @property
    def columns(self) -> Iterable[object]:
        """Names of the columns."""
        ...


# Covariates as users pass them: numbers (n, m), a table, or a dict of columns, with names in any
# order and categories as text. None if there are no covariates.
Covariates = ArrayLike | Mapping[str, ArrayLike] | Table | None
# Weights of samples as users pass them; None means that all weights are 1.
Weights = ArrayLike | None
# Indices of the training and of the test samples.
Fold = tuple[Index, Index]
# Values of parameters by their names.
Parameters = dict[str, Any]
# Labels, classes or coordinates of any type.
Values = NDArray[Any]
