"""
How to read a report
====================

Every fitted model can write a report. This example makes one for data with wrong labels, and looks
for the answer to the main question: does low rank help here?
"""

# %%
# One label in ten is grossly wrong. The parameters are therefore chosen by a score that bounds each
# error.

import matplotlib.pyplot as plt

from matreg import RMRCV
from matreg.datasets import make_matrix_regression, make_shape

data = make_matrix_regression(
    300, coef=make_shape("square", 16), noise_scale=0.5, label_outliers=0.1, random_state=0
)
model = RMRCV(n_taus=15, cv=3, scoring="neg_bounded_absolute_error", tol=1e-4)
model.fit(data.X, data.y)

# %%
# The report is one file, which ``report.save("report.html")`` writes. In a notebook, a cell that
# ends with ``report`` shows the page, as here.
#
# The headline compares the model with ridge regression on flat samples and with a constant, by the
# score that chose the parameters. The section *Score* says in words whether low rank and a robust
# loss help, and has the errors in the units of the response. *Labels that look wrong* lists the
# samples to check.

report = model.report(data.X, data.y, target="response")
report

# %%
# The simulation also has the true labels, which the report does not know. The figure compares both
# models with them.

from sklearn.linear_model import RidgeCV

flat = data.X.reshape(300, -1)
ridge = RidgeCV(alphas=[1.0, 10.0, 100.0, 1000.0]).fit(flat, data.y)
predicted = {
    "RMRCV": model.predict(data.X),
    "ridge on flat samples": ridge.predict(flat),
}
figure, axes = plt.subplots(1, 2, figsize=(7.2, 3.4), sharey=True, layout="constrained")
for axis, (name, guess) in zip(axes, predicted.items(), strict=True):
    axis.scatter(guess, data.y_clean, s=10, alpha=0.6)
    axis.axline((0.0, 0.0), slope=1.0, color="grey", linewidth=1.0)
    axis.set(title=name, xlabel="predicted response")
axes[0].set_ylabel("true response")
plt.show()
