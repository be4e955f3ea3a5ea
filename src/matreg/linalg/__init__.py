"""Linear algebra that solvers share.

factors        matrices as U diag(d) V'
thresholding   thresholding of singular values and its derivative
bordered       linear systems with a border of unpenalised columns
descent        Nesterov's extrapolation and Armijo's rule
large_svt      thresholding of large matrices
threads        number of threads that the linear algebra uses
"""
