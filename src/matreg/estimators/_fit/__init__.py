"""What fits share: parameters to a model, results to attributes, decisions, messages.

base          what all estimators share; fitted: what they offer after a fit
convex        fits that are one or several convex problems
regressor     losses of residuals; family: generalised linear models
classifier    losses of margins, several classes as problems of two
cleaning      models that clean their samples
units         parameters as numbers: "scale", adaptive steps, bases, l1
several       several labels: one fit each, or one joint problem
messages      warnings; callbacks: progress and scikit-learn's callbacks
"""
