"""Estimators: the scikit-learn interface of the solvers.

rmr  rglm  smm        models with a certificate, each with its search
grmr  gsmm            models that clean their samples, each with its search
path                  paths along tau or C, and the smallest tau with W = 0
leave_one_out         each sample predicted without it
_input  _fit  _search arguments; what fits share; searches over parameters
_linear_part          the matreg model inside a pipeline or a search
"""
