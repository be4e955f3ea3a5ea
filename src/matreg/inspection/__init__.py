"""Maps of fitted models, and how far to trust them.

maps          the pattern and the components of a model
bootstrap     how far a map would change with other samples
permutation   tests of the entries and of the score; _p_values: corrected for all entries
displays      figures of the maps; _axes: names of rows and columns
_refits       many fits to changed data, with the parameters that were chosen
_covariates   fits and predictions with covariates
"""

from ._axes import MapAxes
from .bootstrap import BootstrapMaps, bootstrap_maps
from .displays import (
    BootstrapDisplay,
    ComponentsDisplay,
    PatternDisplay,
    PermutationDisplay,
    maps_figure,
)
from .maps import Components, coef_to_xarray, components, pattern
from .permutation import PermutationMap, permutation_map

__all__ = [
    "BootstrapDisplay",
    "BootstrapMaps",
    "Components",
    "ComponentsDisplay",
    "MapAxes",
    "PatternDisplay",
    "PermutationDisplay",
    "PermutationMap",
    "bootstrap_maps",
    "coef_to_xarray",
    "components",
    "maps_figure",
    "pattern",
    "permutation_map",
]
