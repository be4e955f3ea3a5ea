"""
Probabilities of classes
========================

How sure is the classifier? The decisions of a support matrix machine are distances from a margin,
not probabilities. scikit-learn's ``CalibratedClassifierCV`` turns them into probabilities, on folds
that the fits have not seen. Whether these can be trusted shows on new samples: of those with a
probability of 80 %, four in five should be what was predicted.
"""

# %%
# Fours and nines, 400 images to learn from and some 2,000 new ones. Noise makes them hard to tell
# apart: where everything is certain there is no probability to speak of.

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
# The machine, with its parameters chosen by cross-validation, calibrated by a sigmoid and by steps.
# What one gets by reading its decisions as log-odds is there for comparison, and so is a model that
# has probabilities of its own: logistic matrix regression.

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
# On the diagonal, a probability is what it says. Decisions read as log-odds are far too timid here:
# of the images with 70 %, nine in ten are nines. Calibration mends that, at five fits more, and
# changes next to nothing about which class is predicted. The Brier score, the mean squared distance
# of the probabilities from what is true, is the lower the better.

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
for name, p in probabilities.items():
    accuracy, brier = np.mean((p > 0.5) == y_new), brier_score_loss(y_new, p)
    print(f"{name:27s} accuracy {accuracy:.3f}, Brier score {brier:.4f}")
    CalibrationDisplay.from_predictions(y_new, p, n_bins=10, name=name, ax=axes[0], markersize=4)
    axes[1].hist(p, bins=20, range=(0, 1), histtype="step", lw=1.5, label=name)
axes[0].set(xlabel="probability of a nine", ylabel="share of nines", title="Can it be trusted?")
axes[0].legend(frameon=False, fontsize="small")
axes[1].set(xlabel="probability of a nine", ylabel="new images", title="How sure is it?")
plt.show()

scores = {name: brier_score_loss(y_new, p) for name, p in probabilities.items()}
assert scores["SMM, sigmoid"] < scores["SMM, decisions as log-odds"]
