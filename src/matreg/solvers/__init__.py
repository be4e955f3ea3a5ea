"""Solvers: a problem in, a result out. They know no estimator.

This is the only door: what is not named here is the inside of a solver.
"""

from .certificate import SolverResult, rounding_floor, starting_point
from .grmr.alternation import GRMRProblem, GRMRResult, alternate
from .grmr.default_weights import default_weights
from .grmr.new_samples import Cleaner, RowSpace, clean, warn_unless_clean
from .grmr.restart import from_arrays, to_arrays
from .grmr.split import Decomposition
from .path import follow, tau_grid, walk
from .rglm.least_squares import RGLMState
from .rglm.path import PathSolver as RGLMPathSolver
from .rglm.solve import rglm_tau_max, solve_rglm
from .rmr.admm import solve_admm
from .rmr.path import PathSolver as RMRPathSolver
from .rmr.solve import solve_rmr
from .rmr.tau_max import tau_max as rmr_tau_max

__all__ = [
    "Cleaner",
    "Decomposition",
    "GRMRProblem",
    "GRMRResult",
    "RGLMPathSolver",
    "RGLMState",
    "RMRPathSolver",
    "RowSpace",
    "SolverResult",
    "alternate",
    "clean",
    "default_weights",
    "follow",
    "from_arrays",
    "rglm_tau_max",
    "rmr_tau_max",
    "rounding_floor",
    "solve_admm",
    "solve_rglm",
    "solve_rmr",
    "starting_point",
    "tau_grid",
    "to_arrays",
    "walk",
    "warn_unless_clean",
]
