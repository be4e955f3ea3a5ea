"""What users pass, checked: errors say what is wrong and what to pass instead.

arrays        samples, labels, weights, shapes; axes: names and coordinates of rows and columns
classes       class labels
stored        which samples stay where they are: files and Dask arrays
"""
