"""Leave-one-out: fits without one of the samples, computed from the fit to all samples.

residuals    leave-one-out residuals, leverage, influence, and their errors
response     linear response of the predictions to the dual variables
pivoting     exact removal of a sample, with this response held fixed
refits       actual refits without the few samples whose residuals are uncertain
intervals    prediction intervals: jackknife+
"""
