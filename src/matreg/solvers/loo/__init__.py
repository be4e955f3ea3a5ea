"""Fits without one of the samples, all of them from the fit to all samples.

residuals    leave-one-out residuals, leverage, influence, and how far to trust them
response     how predictions follow the dual variables
pivoting     the exact removal of a sample, with that response held fixed
refits       true fits without the few samples that are in doubt
intervals    prediction intervals: jackknife+
"""
