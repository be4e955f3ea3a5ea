"""
Age, and a site without training samples
========================================

Known properties of the samples, such as age and site, enter the model as covariates, whose
coefficients have no penalty. The first part treats a confounder in three ways; the second part has
four sites, one of them left out.
"""

# %%
# Age changes the matrices, along a matrix A that overlaps with W, and it changes the labels. The
# data are simulated, so that the truth is known.

import matplotlib.pyplot as plt
import numpy as np

from matreg import RGLM, RMR
from matreg.preprocessing import CovariateEncoder

n, p = 250, 16


def unit(matrix):
    return matrix / np.linalg.norm(matrix)


def simulate(seed):
    rng = np.random.default_rng(seed)
    W = unit(np.outer(rng.standard_normal(p), rng.standard_normal(p)))
    A = unit(unit(np.outer(rng.standard_normal(p), rng.standard_normal(p))) + W)
    age, noise = rng.standard_normal(n), 0.3 * rng.laplace(size=n)
    plain = rng.standard_normal((n, p, p))
    X = plain + 2.0 * age[:, None, None] * A
    return 3.0 * W, age, plain, X, noise


def errors(kind, seed):
    """Relative error of W for each way."""
    W, age, plain, X, noise = simulate(seed)
    y = np.tensordot(X, W, 2) - 6.0 * age + noise
    first = y - np.polyval(np.polyfit(age, y, 1), age)
    fits = {
        "ignored": kind().fit(X, y),
        "regressed out of y": kind().fit(X, first),
        "covariates=age": kind().fit(X, y, covariates=age),
        "no confounding": kind().fit(plain, np.tensordot(plain, W, 2) + noise),
    }
    return {name: np.linalg.norm(fit.coef_ - W) / np.linalg.norm(W) for name, fit in fits.items()}


found = {kind: [errors(kind, seed) for seed in range(5)] for kind in (RMR, RGLM)}
for kind, runs in found.items():
    print(kind.__name__, {name: f"{np.mean([one[name] for one in runs]):.3f}" for name in runs[0]})

# %%
# The joint fit is as accurate as a fit to matrices that do not change with age. Regressing age out
# of y first also removes a part of ``<W, X>``.

fig, axis = plt.subplots(figsize=(6, 3), layout="constrained")
for k, (kind, runs) in enumerate(found.items()):
    means = [np.mean([one[name] for one in runs]) for name in runs[0]]
    axis.barh(np.arange(4) + 0.35 * k, means, height=0.35, label=kind.__name__)
axis.set_yticks(np.arange(4) + 0.175, list(found[RMR][0]))
axis.set_xlabel("relative error of W")
axis.invert_yaxis()
_ = axis.legend()

# %%
# Four sites measure the same quantity, each with its own offset. The site is a category: one column
# of 0 and 1 for each site except the first, learned from the training samples only.

W, age, _, X, noise = simulate(7)
rng = np.random.default_rng(7)
sites = np.array(["Bern", "Graz", "Oslo", "Rome"])[rng.integers(0, 4, n)]
offset = {"Bern": 0.0, "Graz": 4.0, "Oslo": -3.0, "Rome": 6.0}
y = np.tensordot(X, W, 2) - 6.0 * age + noise + [offset[site] for site in sites]

seen = sites != "Rome"
half = np.arange(n) % 2 == 0
train, test, rome = seen & half, seen & ~half, ~seen


def table(rows):
    return {"age": age[rows], "site": sites[rows]}


model = RGLM().fit(X[train], y[train], covariates=table(train))
for name, effect in zip(model.covariate_names_, model.covariate_coef_, strict=True):
    print(f"{name}: {effect:.2f}")
error = np.abs(y[test] - model.predict(X[test], covariates=table(test)))
print(f"new samples of the three sites: mean absolute error {error.mean():.2f}")

without = RGLM().fit(X[train], y[train], covariates=age[train])
error = np.abs(y[test] - without.predict(X[test], covariates=age[test]))
print(f"the same without the site:      mean absolute error {error.mean():.2f}")

# %%
# The effects of the sites are close to the true differences from Bern. The effect of age is closer
# to zero than the true one, -6: the penalty shrinks W, and the coefficient of age makes up for the
# missing part of ``<W, X>`` that changes with age.
#
# There are no training samples from Rome, and the model refuses to predict for this site.

try:
    model.predict(X[rome], covariates=table(rome))
except ValueError as refusal:
    print(refusal)

# %%
# With the mean effect of the training sites, the model can predict for Rome. The offset of Rome is
# still unknown: all predictions for Rome are off by about the same number.

encoder = CovariateEncoder(unknown="mean").fit(table(train))
model = RGLM().fit(X[train], y[train], covariates=encoder.transform(table(train)))
predicted = model.predict(X[rome], covariates=encoder.transform(table(rome)))
print(
    f"Rome: mean absolute error {np.abs(y[rome] - predicted).mean():.2f}, of which the offset is "
    f"{(y[rome] - predicted).mean():.2f}; correlation {np.corrcoef(y[rome], predicted)[0, 1]:.2f}"
)

fig, axis = plt.subplots(figsize=(4, 4), layout="constrained")
for rows, name in ((test, "new samples of the three sites"), (rome, "Rome")):
    f = model.predict(X[rows], covariates=encoder.transform(table(rows)))
    axis.scatter(f, y[rows], s=8, label=name)
axis.axline((0.0, 0.0), slope=1.0, color="grey", lw=0.8)
axis.set(xlabel="predicted", ylabel="observed")
_ = axis.legend()
