"""
Windows of the stock exchange
=============================

Ten days of eight indices predict the next day's return in Istanbul. Hardly anything can be
predicted here: the example shows how to choose parameters on the past only, and how the model then
performs.
"""

# %%
# A sample holds ten days; its label is the return of the next day. The first 158 samples are for
# training, as in the paper, the later ones for testing. Each fold trains on earlier days than it
# tests.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from matreg import RMRCV, CVDisplay
from matreg.datasets import load_istanbul
from matreg.inspection import MapAxes, PatternDisplay
from matreg.preprocessing import windows

stocks = load_istanbul()
returns = 100.0 * stocks.returns[:, 1:]  # in per cent; the first is Istanbul in dollars
samples = windows(returns, 10, target=0)
X, y = samples.X, samples.y
train, test = slice(0, 158), slice(158, None)
model = RMRCV(
    taus=np.geomspace(1, 20, 12),
    C=[0.01, 0.1],
    cv=TimeSeriesSplit(4),
    scoring="neg_mean_absolute_error",
    tol=1e-4,
).fit(X[train], y[train])
print(f"tau = {model.tau_:.3g}, C = {model.C_:g}, rank {model.rank_}")
CVDisplay.from_estimator(model)

# %%
# How often is the sign right on the test days, and what is the final value of 100 dollars that are
# invested on days with a positive prediction and held in cash on the others?

predicted = model.predict(X[test])
right = np.mean(np.sign(predicted) == np.sign(y[test]))
wealth = 100.0 * np.cumprod(1.0 + np.where(predicted > 0.0, y[test], 0.0) / 100.0)
always = 100.0 * np.cumprod(1.0 + y[test] / 100.0)
print(f"sign right on {100 * right:.1f} % of {len(predicted)} days")

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
axis.plot(wealth, label="long or in cash, by the model")
axis.plot(always, label="always long", color="grey")
axis.set(xlabel="trading days after the training", ylabel="value of 100 at the start")
axis.legend(frameon=False)

# %%
# The pattern shows which index changes with the prediction, and how many days before.

days = np.arange(10, 0, -1)
names = MapAxes(days, stocks.feature_names, row_label="days back", column_label="")
if model.rank_:
    PatternDisplay.from_estimator(model, X[train], names=names)
plt.show()
