"""Every problem size at which matreg changes its method: samples, entries, orders of matrices.

:mod:`matreg.solvers.choose` has a table of the methods that these thresholds select. Code that
compares the costs of two methods needs no threshold.
"""

# Samples per entry of W from which the augmented Lagrangian is faster for a cold start. On 51
# simulated problems it took .4 to 1.4 of the interior point method's time at 1.2, .6 to 1.2
# (median .75) at 2, .4 to 1.2 (.8) at 4, and .2 to 1.4 (.5) at 8 samples per entry.
SAMPLES_PER_ENTRY = 2
# Largest number of entries of the kernel matrix of the active set, or of the factor of the kernel
# matrix if the factor is smaller: 64 MB.
KERNEL_NUMBERS = 2**23
# From this number of n^2 / (pq) on, most multipliers are held at their bounds along a path, and the
# active set solves for the rest. On 16 paths of 300 to 2,500 samples that took .5 to .85 of the
# time of the active set for all samples above this number, and 1.1 to 3.6 (once .7) below.
HELD_RATIO = 2**14
# Order n + d of a linear system up to which single precision saves almost no time.
SMALL_SYSTEM = 700
# Largest order of the linear systems of crossover; their time grows with the third power of it.
CROSSOVER_ORDER = 2000
# Entries of W up to which R-GLM replaces many samples by a triangular matrix, which costs as much
# as pq/20 iterations.
COMPRESSED_ENTRIES = 1024
# Samples per entry of W from which R-GLM does so: then the triangular matrix is a quarter as large.
COMPRESSED_RATIO = 4
# Order min(n, pq) of the Gram matrix up to which R-GLM computes the norm of its samples from all
# eigenvalues: .03 to .3 ms of CPU time, .4 ms with Lanczos steps. At 196 the two take 1.2 and .6
# ms, at 400 8 and 2.5 ms.
NORM_ENTRIES = 100
# Largest number of entries of a sample for the Gram matrix of stored samples: 512 MB.
MOMENT_ENTRIES = 8192
# Number of samples from which the best coefficients of covariates are computed without the samples
# far from a kink. At 3,000 samples that took up to twice the time, at 20,000 .4 to 2 times, and at
# 200,000 .04 to .8 times.
COVARIATE_SAMPLES = 20_000
# Number of samples from which X is neither copied nor converted, and units are computed on a part.
MANY_SAMPLES = 20_000
# Number of entries of all samples from which all threads are used: 256 MB.
THREADED_NUMBERS = 2**25
