"""The algorithm of the paper, errata corrected."""
