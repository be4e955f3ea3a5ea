"""Samples that are read block by block: a few passes over the data to a certificate.

solve             a model on blocks, by the passes of RMR or by moments
loop              the passes of RMR
pass_spec         a pass: coefficients at which samples are evaluated, and which of them are kept
summary           the result of a pass: sums, and a few rows
reduced_problems  problems of few rows that represent all samples
step_length       step lengths between two passes
moments           R-GLM from the second moments of the samples
moment_scans      the sums that the passes of moments compute
"""
