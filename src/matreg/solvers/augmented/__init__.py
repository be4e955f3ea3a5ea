"""The augmented Lagrangian: many samples in memory, and reduced problems of passes.

subsamples          from a subsample to all samples, then a working set
augmented           the method
smoothed_objective  the Moreau envelope of the objective, which it minimises
newton              Newton systems of the order of W, or of the samples within the smoothing
incremental_gram    Gram matrices and sums that change with a few samples
"""
