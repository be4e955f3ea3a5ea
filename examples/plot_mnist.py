"""
Digits with the support matrix machine
======================================

The task is to distinguish two similar digits from few images. A support vector machine sees 784
numbers per image; a support matrix machine sees rows and columns. The support matrix machine is
slightly better with few images, and equal with many.
"""

# %%
# The digits are 3 and 8, with 30 to 240 training images.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from matreg import SMMCV
from matreg.datasets import load_mnist
from matreg.inspection import PatternDisplay

digits = load_mnist()
train = np.flatnonzero(np.isin(digits.y_train, (3, 8)))
test = np.flatnonzero(np.isin(digits.y_test, (3, 8)))
X, y = digits.X_train[train] / 255.0, digits.y_train[train]
X_test, y_test = digits.X_test[test] / 255.0, digits.y_test[test]

# %%
# Both machines are tuned by cross-validation on the training images.

sizes, repeats = (30, 60, 120, 240), 5
accuracy, spread = {"SVM": [], "SMM": []}, {"SVM": [], "SMM": []}
for size in sizes:
    scores = {"SVM": [], "SMM": []}
    for seed in range(repeats):
        rows = np.random.default_rng(seed).permutation(len(X))[:size]
        svm = GridSearchCV(SVC(kernel="linear"), {"C": np.geomspace(1e-3, 1, 4)}, cv=3)
        svm.fit(X[rows].reshape(size, -1), y[rows])
        scores["SVM"].append(svm.score(X_test.reshape(len(X_test), -1), y_test))
        smm = SMMCV(n_taus=8, tau_min_ratio=1e-4, C=0.1, cv=3, tol=1e-3).fit(X[rows], y[rows])
        scores["SMM"].append(smm.score(X_test, y_test))
    for name, values in scores.items():
        accuracy[name].append(np.mean(values))
        spread[name].append(np.std(values, ddof=1))
    print(f"{size:4d} images: SVM {accuracy['SVM'][-1]:.3f}, SMM {accuracy['SMM'][-1]:.3f}")

# %%
# The figure shows the accuracy on some 2,000 new images: mean and standard deviation of five draws.

figure, axis = plt.subplots(figsize=(5.5, 3.2), layout="constrained")
for shift, (name, values) in zip((0.98, 1.02), accuracy.items(), strict=True):
    places = shift * np.array(sizes)  # so that the bars do not cover each other
    axis.errorbar(places, values, spread[name], fmt="o-", capsize=3, label=name)
axis.set_xscale("log")
axis.set_xticks(sizes, sizes)
axis.minorticks_off()
axis.set(xlabel="training images", ylabel="accuracy")
axis.legend(frameon=False)

# %%
# The pattern shows how an eight differs from a three: the loops are closed on the left.

PatternDisplay.from_estimator(smm, X[rows])
plt.show()

assert accuracy["SMM"][-1] > 0.93
