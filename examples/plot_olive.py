"""
Prediction for a new oil
========================

The data are fluorescence spectra of four olive oils, pure and mixed with soybean oil. A calibration
is useful if it holds for a new oil: each oil is left out once, and all parameters are chosen on the
other three.
"""

# %%
# Scattered light lies along lines where the emission wavelength equals the excitation wavelength or
# twice that. It depends on bubbles and cells rather than on the oil. The same entries are masked in
# all samples, so that setting them to zero has the same effect as leaving them out.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cross_decomposition import PLSRegression
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.model_selection import GridSearchCV, LeaveOneGroupOut
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from matreg import RGLMCV, RMRCV
from matreg.datasets import load_olive
from matreg.inspection import MapAxes, PatternDisplay
from matreg.preprocessing import mask_scatter

olive = load_olive()
y, oils = olive.y, olive.groups
masked = mask_scatter(olive.X, olive.emission, olive.excitation, width=15.0, raman=())
X = np.nan_to_num(masked) / np.nanstd(masked)
print(f"{100 * np.isnan(masked).mean():.0f} % of the entries are scattered light")

# %%
# All methods choose their parameters by the mean absolute error on each of the three training oils
# in turn.

flat = FunctionTransformer(lambda X: X.reshape(len(X), -1))
score = "neg_mean_absolute_error"


def models(cv):
    """Searches on the given folds."""
    search = {"cv": cv, "scoring": score}
    return {
        "PLS": GridSearchCV(
            make_pipeline(flat, PLSRegression(scale=False)),
            {"plsregression__n_components": range(1, 9)},
            **search,
        ),
        "ridge": GridSearchCV(
            make_pipeline(flat, Ridge()), {"ridge__alpha": np.geomspace(1e-2, 1e5, 15)}, **search
        ),
        "RGLM": RGLMCV(n_taus=20, tol=1e-4, **search),
        "RMR": RMRCV(n_taus=15, tol=1e-4, **search),
    }


leave_out = LeaveOneGroupOut()
predicted = {}
for train, test in leave_out.split(X, y, oils):
    folds = list(leave_out.split(X[train], y[train], oils[train]))
    for name, model in models(folds).items():
        rows = predicted.setdefault(name, np.zeros(len(y)))
        rows[test] = np.ravel(model.fit(X[train], y[train]).predict(X[test]))

print("mean absolute error in per cent of soybean oil")
for name, rows in predicted.items():
    by_oil = [f"{mean_absolute_error(y[oils == k], rows[oils == k]):5.1f}" for k in "ABCD"]
    error, r2 = mean_absolute_error(y, rows), r2_score(y, rows)
    print(f"{name:6s} {error:5.1f}   R2 {r2:.2f}   oils A to D: {' '.join(by_oil)}")

# %%
# Oil D is unlike the other three: no method predicts it well. Four oils are few, and the ranking of
# the methods may differ for other oils.

figure, axes = plt.subplots(1, 4, figsize=(10, 3), sharey=True, layout="constrained")
for axis, (name, rows) in zip(axes, predicted.items(), strict=True):
    axis.axline((0, 0), slope=1, color="grey", linewidth=1)
    for oil in "ABCD":
        axis.scatter(rows[oils == oil], y[oils == oil], s=14, label=oil)
    axis.set(title=name, xlabel="predicted, %")
axes[0].set_ylabel("soybean oil, %")
handles, oil_names = axes[0].get_legend_handles_labels()
figure.legend(handles, oil_names, title="oil left out", loc="outside right upper", fontsize=8)

# %%
# The pattern of a model of all four oils shows what changes with soybean oil.

folds = list(leave_out.split(X, y, oils))
model = models(folds)["RMR"].fit(X, y)
names = MapAxes(olive.emission, olive.excitation, "emission, nm", "excitation, nm")
PatternDisplay.from_estimator(model, X, names=names)
plt.show()
