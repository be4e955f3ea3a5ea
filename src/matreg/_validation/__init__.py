"""Checks of what users pass: errors say what is wrong and what to pass instead.

arrays        samples, labels, weights, shapes; axes: names and coordinates of rows and columns
classes       class labels
stored        samples that are not in memory: files and Dask arrays
"""
