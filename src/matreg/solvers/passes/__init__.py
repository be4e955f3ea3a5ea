"""Samples that are read block by block: a handful of passes to a certificate.

solve             a declared model on blocks, by the passes of RMR or by moments
loop              the passes of RMR
pass_spec         where a pass evaluates the samples, and which of them it keeps
summary           the result of a pass: sums, and a few rows
reduced_problems  problems of few rows that stand for all samples
step_length       how far to go between two passes
moments           R-GLM from the second moments of the samples
moment_scans      the sums of its passes
"""
