"""Fits without one of the samples, all of them from the fit to all samples.

residuals    leave-one-out residuals, leverage, influence, and how far to trust them
response     how decisions respond to multipliers; pivoting: exact removal of a sample
primal       many samples, through the coordinates of W
refits       true fits without the few samples that are in doubt
intervals    jackknife+
"""
