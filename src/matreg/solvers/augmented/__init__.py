"""The augmented Lagrangian method: for many samples in memory, and reduced problems of passes.

subsamples          from a subsample to all samples, then a working set
augmented           the method
smoothed_objective  the Moreau envelope of the objective, which the method minimises
newton              Newton systems in the entries of W, or in the samples within the smoothing
incremental_gram    Gram matrices and sums that are updated if a few samples change
"""
