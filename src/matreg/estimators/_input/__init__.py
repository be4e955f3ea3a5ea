"""What users pass.

arrays        samples, labels, weights, shapes; axes: names and coordinates of rows and columns
classes       class labels; covariates: what stands beside the matrix without a penalty
parameters    which values the parameters may have
stored        which samples stay where they are; streamed: fits to them, block by block
"""
