"""
Probabilities of classes
========================

The decision values of a support matrix machine are not probabilities. scikit-learn's
``CalibratedClassifierCV`` converts them to probabilities on left-out folds. New samples show
whether these are calibrated: of the samples with a probability of 80 %, four in five should belong
to the class.
"""

# %%
# The digits are 4 and 9, with 400 training images and some 2,000 new ones. Added noise makes them
# hard to distinguish; otherwise nearly all probabilities would be 0 or 1.

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.metrics import brier_score_loss

from matreg import RGLMCV, SMM, SMMCV
from matreg.datasets import load_mnist

rng = np.random.default_rng(0)
digits = load_mnist()
train = rng.permutation(np.flatnonzero(np.isin(digits.y_train, (4, 9))))[:400]
new = np.flatnonzero(np.isin(digits.y_test, (4, 9)))
X, X_new = (
    images / 255.0 + rng.standard_normal(images.shape)
    for images in (digits.X_train[train], digits.X_test[new])
)
y, y_new = digits.y_train[train] == 9, digits.y_test[new] == 9

# %%
# The parameters are chosen by cross-validation, and the machine is calibrated by a sigmoid and by
# isotonic regression. For comparison, its decision values are interpreted as log-odds, and logistic
# matrix regression gives probabilities directly.

chosen = SMMCV(n_taus=8, C="scale", cv=3, tol=1e-4).fit(X, y)
machine = SMM(chosen.tau_, C=chosen.C_, tol=1e-4)
sigmoid = CalibratedClassifierCV(machine, method="sigmoid", cv=5).fit(X, y)
steps = CalibratedClassifierCV(machine, method="isotonic", cv=5).fit(X, y)
logistic = RGLMCV(family="binomial", n_taus=8, cv=3, tol=1e-4).fit(X, y)

probabilities = {
    "SMM, decisions as log-odds": expit(chosen.decision_function(X_new)),
    "SMM, sigmoid": sigmoid.predict_proba(X_new)[:, 1],
    "SMM, isotonic": steps.predict_proba(X_new)[:, 1],
    "R-GLM": logistic.predict_proba(X_new)[:, 1],
}

# %%
# Calibrated probabilities lie on the diagonal. Decision values taken as log-odds are too close to
# one half. Calibration corrects that with five more fits, and hardly changes the predicted classes.
# The Brier score is the mean squared difference between probability and outcome; lower is better.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, p in probabilities.items():
    accuracy, brier = np.mean((p > 0.5) == y_new), brier_score_loss(y_new, p)
    print(f"{name:27s} accuracy {accuracy:.3f}, Brier score {brier:.4f}")
    CalibrationDisplay.from_predictions(y_new, p, n_bins=10, name=name, ax=axes[0], markersize=4)
    axes[1].hist(p, bins=20, range=(0, 1), histtype="step", lw=1.5, label=name)
axes[0].set(xlabel="probability of a nine", ylabel="share of nines", title="calibration")
axes[0].legend(frameon=False, fontsize="small")
axes[1].set(xlabel="probability of a nine", ylabel="new images", title="distribution")
plt.show()

scores = {name: brier_score_loss(y_new, p) for name, p in probabilities.items()}
assert scores["SMM, sigmoid"] < scores["SMM, decisions as log-odds"]
