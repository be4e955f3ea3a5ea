"""Solvers: a problem in, a result out. They import no estimator.

Other folders import only the names that are listed here.

dispatch      the one entrance; choose: which method runs
certificate   what a solver returns, and the record of how it got there
interior  active_set  augmented               methods for samples in memory
passes        samples that are read block by block
rglm          smooth losses; grmr: samples that are cleaned; paper: the paper's algorithm
first_order   any convex loss and penalty; sparse: sparse and of low rank
neighbours    paths; warm_start: where a solver begins
dual_points   those known without a solver; largest_tau: where W = 0
loo           every sample left out once
"""

from .certificate import SolverResult, rounding_floor
from .dispatch import (
    SOLVERS,
    UNASKED,
    Options,
    last_step,
    mean_curvature,
    path,
    problem_tau_max,
    solve,
    solve_problem,
    tau_max,
)
from .first_order import solve_universal
from .grmr.alternation import (
    GRMRResult,
    after_steps,
    alternate,
    alternate_in_steps,
    clean_alone,
    outlier_fraction,
    shortfalls,
    table_of_steps,
)
from .grmr.decompose import Decomposition
from .grmr.default_weights import default_weights
from .grmr.new_samples import LearnedSpace, NewSamples, clean, learned_space, space_from
from .grmr.problem import GRMRProblem
from .grmr.restart import from_arrays, to_arrays
from .grmr.start import Limits, Prepared, prepare
from .loo.intervals import jackknife_plus
from .loo.refits import Refined, refined
from .loo.residuals import LeaveOneOut, leave_one_out
from .neighbours import tau_grid
from .passes.moments import moments
from .passes.solve import check_blocks, quadratic
from .warm_start import Start

__all__ = [
    "SOLVERS",
    "UNASKED",
    "Decomposition",
    "GRMRProblem",
    "GRMRResult",
    "LearnedSpace",
    "LeaveOneOut",
    "Limits",
    "NewSamples",
    "Options",
    "Prepared",
    "Refined",
    "SolverResult",
    "Start",
    "after_steps",
    "alternate",
    "alternate_in_steps",
    "check_blocks",
    "clean",
    "clean_alone",
    "default_weights",
    "from_arrays",
    "jackknife_plus",
    "last_step",
    "learned_space",
    "leave_one_out",
    "mean_curvature",
    "moments",
    "outlier_fraction",
    "path",
    "prepare",
    "problem_tau_max",
    "quadratic",
    "refined",
    "rounding_floor",
    "shortfalls",
    "solve",
    "solve_problem",
    "solve_universal",
    "space_from",
    "table_of_steps",
    "tau_grid",
    "tau_max",
    "to_arrays",
]
