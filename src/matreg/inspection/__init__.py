"""Maps of fitted models, and how far to trust them."""

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
