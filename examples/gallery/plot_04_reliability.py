"""
Do predicted probabilities come true on the target?
===================================================

A model can be calibrated where it was trained and not where it is used. The reliability curve on
the target needs no labels there.
"""

# %%
# The relation of x and y is curved, and a logistic regression is straight: it is right on average
# where the training rows are, on the left, and not on the target, on the right.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from covshift import evaluate
from covshift.plot import ReliabilityDisplay


def truth(x):
    return expit(2.5 * np.sin(1.5 * x))


rng = np.random.default_rng(0)
x, t = rng.normal(0, 1, 1200), rng.normal(0.9, 0.7, 800)
y = (rng.uniform(size=len(x)) < truth(x)).astype(int)
y_target = (rng.uniform(size=len(t)) < truth(t)).astype(int)  # to check: nobody has it
X, T = x[:, None], t[:, None]
model = LogisticRegression().fit(X[:400], y[:400])
found = evaluate(model, X[400:], y[400:], T, metrics=["brier", "calibration_slope"])
found

# %%
# On the left what :func:`covshift.evaluate` expects, on the right what the labels of the target
# say, by :meth:`covshift.plot.ReliabilityDisplay.from_estimator`. High probabilities are too high
# on the target.
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
found.plot("reliability", ax=left)
left.set_title("expected, without labels", fontsize=10)
ReliabilityDisplay.from_estimator(model, T, y_target, name="target, with its labels", ax=right)
right.set_title("observed", fontsize=10)
