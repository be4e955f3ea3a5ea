"""Robust regression on matrices.

The estimators are imported from here: ``from matreg import RMR``. The package follows the theory
from loss to estimator; CONTRIBUTING.md says which part may import which.

losses  penalties  barriers        value, prox, conjugate; bounds in interior point methods
design  data                       samples as a linear operator; with labels and weights
unpenalised  covariate_ridge       unpenalised columns, and a ridge on covariates
problem  model                     the objective with samples, and without
own_parts                          checks of a user's own losses and penalties
bases  known_structure  adaptive   other bases of rows and columns; steps that shrink less
solvers                            from a problem to a certified result; linalg: linear algebra
thresholds                         problem sizes at which methods change
estimators                         the scikit-learn interface
preprocessing  datasets            units, windows, masks, covariates; loaders
criteria  scoring  robust          information criteria; a score for wrong labels; medians, scales
inspection  plotting  reporting    maps and their uncertainty; figures; one page about a model
adapters  onnx                     models for other libraries and programs
experiments  cli                   the paper's experiments; the command line
_validation  _runtime  _typing     checks of user input; progress, Ctrl-C, files; types
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._runtime.warn import AdviceWarning
    from .criteria import information_criteria
    from .estimators.grmr import GRMR, GRMRCV
    from .estimators.gsmm import GSMM, GSMMCV
    from .estimators.path import RegularizationPath, path, tau_max
    from .estimators.rglm import RGLM, RGLMCV
    from .estimators.rmr import RMR, RMRCV
    from .estimators.smm import SMM, SMMCV
    from .plotting import CoefDisplay, CVDisplay, OutlierDisplay, PathDisplay

__version__ = "0.2.0"

__all__ = [
    "GRMR",
    "GRMRCV",
    "GSMM",
    "GSMMCV",
    "RGLM",
    "RGLMCV",
    "RMR",
    "RMRCV",
    "SMM",
    "SMMCV",
    "AdviceWarning",
    "CVDisplay",
    "CoefDisplay",
    "OutlierDisplay",
    "PathDisplay",
    "RegularizationPath",
    "information_criteria",
    "path",
    "tau_max",
]

# Where the names live: each module is loaded when one of its names is first used.
_HOMES = {
    "._runtime.warn": ["AdviceWarning"],
    ".criteria": ["information_criteria"],
    ".estimators.grmr": ["GRMR", "GRMRCV"],
    ".estimators.gsmm": ["GSMM", "GSMMCV"],
    ".estimators.path": ["RegularizationPath", "path", "tau_max"],
    ".estimators.rglm": ["RGLM", "RGLMCV"],
    ".estimators.rmr": ["RMR", "RMRCV"],
    ".estimators.smm": ["SMM", "SMMCV"],
    ".plotting": ["CVDisplay", "CoefDisplay", "OutlierDisplay", "PathDisplay"],
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(import_module(home, __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
