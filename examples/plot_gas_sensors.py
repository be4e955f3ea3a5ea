"""
Drifting gas sensors
====================

Sixteen sensors with eight features each measure the concentration of a gas. The sensors drift over
three years: a model is trained on early batches and has to predict later ones. Shuffled folds would
hide the drift.
"""

# %%
# The features have different units: each is centred and divided by its spread in the training
# samples, batches 1 to 3 (at most 400 samples per gas, to be quick). The later batches are for
# testing.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import RidgeCV
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV

from matreg import RGLMCV, RMRCV
from matreg.datasets import load_gas_sensors
from matreg.inspection import MapAxes, PatternDisplay
from matreg.preprocessing import MatrixScaler

data = load_gas_sensors()


def split(gas):
    """Training samples and later ones of a gas, in units of the training samples."""
    train = np.flatnonzero((data.gas == gas) & (data.batch <= 3))
    train = np.random.default_rng(0).permutation(train)[:400]
    test = np.flatnonzero((data.gas == gas) & (data.batch > 3))
    scaler = MatrixScaler("entries", robust=False).fit(data.X[train])
    X, X_later = scaler.transform(data.X[train]), scaler.transform(data.X[test])
    return X, data.y[train], X_later, data.y[test]


# %%
# All parameters are chosen on the early batches only. The values of tau extend almost to zero. If
# the smallest is chosen, a warning says so: low rank does not help for that gas.

models = {
    "ridge": RidgeCV(np.geomspace(1e-2, 1e4, 13)),
    "PLS": GridSearchCV(PLSRegression(scale=False), {"n_components": range(1, 13)}),
    "RMR": RMRCV(n_taus=12, tau_min_ratio=1e-5, C="scale", cv=5, tol=1e-3),
    "RGLM": RGLMCV(n_taus=12, tau_min_ratio=1e-5, cv=5, tol=1e-3),
}
gases = [gas for gas in np.unique(data.gas) if np.sum((data.gas == gas) & (data.batch > 3)) > 50]
errors = np.zeros((len(models), len(gases)))
for j, gas in enumerate(gases):
    X, y, X_later, y_later = split(gas)
    for i, (name, model) in enumerate(models.items()):
        flat = name in ("ridge", "PLS")
        model.fit(X.reshape(len(X), -1) if flat else X, y)
        later = X_later.reshape(len(X_later), -1) if flat else X_later
        errors[i, j] = root_mean_squared_error(y_later, np.ravel(model.predict(later)))
for name, row in zip(models, errors, strict=True):
    print(f"{name:6s} median RMSE {np.median(row):.3f}, by gas", np.round(row, 2))

# %%
# The errors are in decades of the concentration. Which method is best depends on the gas and on the
# drift of the sensors. The worst gas would dominate a mean, so look at each gas.

figure, axis = plt.subplots(figsize=(7, 3.2), layout="constrained")
places = np.arange(len(gases))
for i, name in enumerate(models):
    axis.bar(places + 0.2 * (i - 1.5), errors[i], width=0.2, label=name)
axis.set_xticks(places, gases)
axis.set(ylabel="RMSE, log10 ppmv")
axis.legend(frameon=False)

# %%
# The pattern of the last gas shows which sensors and features change with its concentration. The
# features are the change of the resistance, the relative change, and moving averages of its rise
# and of its decay, slow ones first.

features = ["change", "relative", "rise .001", "rise .01", "rise .1"]
features += ["decay .001", "decay .01", "decay .1"]
names = MapAxes(column_coords=features, row_label="sensor", column_label="feature")
PatternDisplay.from_estimator(models["RGLM"], X, names=names)
plt.show()
