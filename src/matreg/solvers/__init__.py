"""Solvers: a problem in, a result out. They know no estimator.

This is the only door: what is not named here is the inside of a solver.
"""

from .certificate import SolverResult, rounding_floor, starting_point
from .grmr.alternation import GRMRResult, alternate, outlier_fraction, shortfalls
from .grmr.clean import clean, learned_space, space_from, warn_unless_clean
from .grmr.default_weights import default_weights, robust_scale
from .grmr.problem import GRMRProblem
from .grmr.restart import from_arrays, to_arrays
from .grmr.start import Limits, first_samples, robust_pca, with_noise
from .grmr.tracker import Decomposition
from .loo.intervals import jackknife_plus
from .loo.refits import refined
from .loo.residuals import LeaveOneOut, leave_one_out
from .many.cores import Model
from .many.stream import solve_stream
from .path import follow, tau_grid, walk
from .rglm.gram import Reduced, moments, solve_moments, solve_streamed_rglm
from .rglm.least_squares import RGLMState
from .rglm.path import PathSolver as RGLMPathSolver
from .rglm.solve import rglm_tau_max, solve_rglm
from .rmr.admm import solve_admm
from .rmr.path import PathSolver as RMRPathSolver
from .rmr.solve import solve_rmr
from .rmr.tau_max import tau_max as rmr_tau_max

__all__ = [
    "Decomposition",
    "GRMRProblem",
    "GRMRResult",
    "LeaveOneOut",
    "Limits",
    "Model",
    "RGLMPathSolver",
    "RGLMState",
    "RMRPathSolver",
    "Reduced",
    "SolverResult",
    "alternate",
    "clean",
    "default_weights",
    "first_samples",
    "follow",
    "from_arrays",
    "jackknife_plus",
    "learned_space",
    "leave_one_out",
    "moments",
    "outlier_fraction",
    "refined",
    "rglm_tau_max",
    "rmr_tau_max",
    "robust_pca",
    "robust_scale",
    "rounding_floor",
    "shortfalls",
    "solve_admm",
    "solve_moments",
    "solve_rglm",
    "solve_rmr",
    "solve_stream",
    "solve_streamed_rglm",
    "space_from",
    "starting_point",
    "tau_grid",
    "to_arrays",
    "walk",
    "warn_unless_clean",
    "with_noise",
]
