"""The algorithm of the paper, errata corrected.

admm   ADMM with Nesterov steps and restarts
"""
