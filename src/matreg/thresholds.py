"""Every problem size at which matreg changes its method: samples, entries, orders of matrices.

:mod:`matreg.solvers.choose` has a table of the methods that follow from them. Code that compares
the costs of two methods needs no threshold.
"""

# Samples per entry of W from which the augmented Lagrangian is the quicker method from scratch. On
# 51 simulated problems it took .4 to 1.4 of the interior point method's time at 1.2, .6 to 1.2
# (median .75) at 2, .4 to 1.2 (.8) at 4, and .2 to 1.4 (.5) at 8 samples per entry.
SAMPLES_PER_ENTRY = 2
# Largest number of entries of the kernel matrix of the active set, or of its factor where that is
# smaller: 64 MB.
KERNEL_NUMBERS = 2**23
# Squared samples per entry of W from which, along a path, most multipliers are held at their bounds
# and the active set solves for the rest. On 16 paths of 300 to 2,500 samples that took .5 to .85 of
# the time of the active set for all samples above this number, 1.1 to 3.6 (once .7) below.
HELD_RATIO = 2**14
# Order n + d of a linear system up to which single precision saves next to nothing.
SMALL_SYSTEM = 700
# Largest order of the linear systems of crossover, whose time grows with the third power.
CROSSOVER_ORDER = 2000
# Entries of W up to which R-GLM replaces many samples by a triangular matrix: that costs as much as
# pq/20 iterations.
COMPRESSED_ENTRIES = 1024
# Samples per entry of W from which it does so: then the triangular matrix is a quarter as large.
COMPRESSED_RATIO = 4
# Samples, or entries of W where these are fewer, up to which R-GLM finds the norm of its samples by
# all eigenvalues of a Gram matrix: .03 to .3 ms of CPU time, .4 for Lanczos steps. At 196 it is 1.2
# ms and .6, at 400 8 and 2.5.
NORM_ENTRIES = 100
# Largest number of entries of a sample for the Gram matrix of stored samples: 512 MB.
MOMENT_ENTRIES = 8192
# Samples from which the best coefficients of covariates are found without those far from a kink. At
# 3,000 samples that took up to twice the time, at 20,000 .4 to 2, and at 200,000 .04 to .8.
COVARIATE_SAMPLES = 20_000
# Samples from which X is neither copied nor converted, and units are measured on a part.
MANY_SAMPLES = 20_000
# Entries of all samples from which all threads are used: 256 MB.
THREADED_NUMBERS = 2**25
