"""
Days of air quality
===================

Eight cheap sensors measure every hour; a reference analyser says what the mean benzene of the day
was. A sample is a day of 24 hours x 8 sensors.
"""

# %%
# The sensors have units of their own. Train on the first half, test on the second: neighbouring
# days are alike.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import RidgeCV
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold

from matreg import RMRCV
from matreg.datasets import load_air_quality
from matreg.inspection import MapAxes, PatternDisplay

air = load_air_quality()
half = len(air.y) // 2
mean, std = air.X[:half].mean(axis=(0, 1)), air.X[:half].std(axis=(0, 1))
X, y = (air.X - mean) / std, air.y

# %%
# RMR against ridge regression on flat samples.

model = RMRCV(n_taus=15, cv=KFold(5), tol=1e-3).fit(X[:half], y[:half])
ridge = RidgeCV(np.geomspace(1e-1, 1e4, 11)).fit(X[:half].reshape(half, -1), y[:half])
scores = {
    "RMR": r2_score(y[half:], model.predict(X[half:])),
    "ridge": r2_score(y[half:], ridge.predict(X[half:].reshape(len(X) - half, -1))),
}
print(", ".join(f"{name} R2 = {score:.3f}" for name, score in scores.items()))

# %%
# Which sensors, at what time of the day?

names = MapAxes(column_labels=list(air.sensors), row_name="hour", column_name="")
PatternDisplay.from_estimator(model, X[:half], names=names)
plt.show()
