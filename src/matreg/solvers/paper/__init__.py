"""The algorithm of the paper, with its errata corrected.

admm   ADMM with Nesterov steps and restarts
"""
