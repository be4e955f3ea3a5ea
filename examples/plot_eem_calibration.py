"""
Calibration of fluorescence, compared with PLS
==============================================

The samples are excitation-emission matrices of 38 water samples, and the labels are numbers of
cells in the water. There are fewer samples than wavelengths, and the signal of a fluorophore is the
product of an emission profile and an excitation profile, a matrix of rank one.
"""

# %%
# Neighbouring samples in time are alike, so that the folds are blocks in time order.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from matreg import RGLMCV, RMRCV
from matreg.datasets import load_eem_cells
from matreg.inspection import ComponentsDisplay, MapAxes, PatternDisplay

water = load_eem_cells()
X, y = water.X[:, :, ::-1] / water.X.std(), water.y
excitation = water.excitation[::-1]  # the instrument begins at the longest wavelength
blocks = KFold(6)

# %%
# The number of components of PLS and tau of matreg's models are chosen within the training part of
# each fold.

flat = FunctionTransformer(lambda X: X.reshape(len(X), -1))
models = {
    "PLS": GridSearchCV(
        make_pipeline(flat, PLSRegression(scale=False)),
        {"plsregression__n_components": range(1, 9)},
        cv=KFold(5),
    ),
    "RGLM": RGLMCV(n_taus=20, cv=KFold(5), tol=1e-4),
    "RMR": RMRCV(n_taus=20, C="scale", cv=KFold(5), tol=1e-4),
}
figure, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
scores = {}
for axis, (name, model) in zip(axes, models.items(), strict=True):
    predicted = np.ravel(cross_val_predict(model, X, y, cv=blocks))
    scores[name] = r2_score(y, predicted)
    axis.axline((2, 2), slope=1, color="grey", linewidth=1)
    axis.scatter(predicted, y, s=16)
    axis.set(title=f"{name}, R2 = {scores[name]:.2f}", xlabel="predicted, millions per mL")
axes[0].set_ylabel("counted, millions per mL")

# %%
# The filter W subtracts scattered light; the pattern shows what changes with the number of cells:
# mainly the light that they scatter.

model = models["RGLM"].fit(X, y)
names = MapAxes(water.emission, excitation, "emission, nm", "excitation, nm")
PatternDisplay.from_estimator(model, X, names=names)

# %%
# Each component is the product of an emission profile and an excitation profile.

ComponentsDisplay.from_estimator(model, names=names)
plt.show()

# %%
# Low rank predicts about as well as PLS here, and its components are pairs of an emission and an
# excitation spectrum.

assert scores["RGLM"] > scores["PLS"] - 0.05
