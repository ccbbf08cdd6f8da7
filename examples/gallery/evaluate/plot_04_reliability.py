"""
Do predicted probabilities come true on the target?
===================================================

A model can be calibrated where it was trained and not where it is used. The reliability curve on
the target needs no labels there.
"""

# %%
# 569 tumours from the tables of scikit-learn, and a hospital that sees large ones more often. A
# model there knows the texture and the smoothness of a tumour, and not its size. Its probabilities
# are right for the hospital, and too high for everybody.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import evaluate
from covshift.plot import ReliabilityDisplay

cancer = load_breast_cancer(as_frame=True)
tumours, malignant = (
    cancer.data[["mean texture", "mean smoothness", "mean area"]],
    1 - cancer.target,
)
size = np.log(tumours["mean area"])
chance = np.exp((size - size.mean()) / size.std())
rng = np.random.default_rng(0)
hospital = rng.choice(len(tumours), 350, replace=False, p=chance / chance.sum())
others = np.setdiff1d(np.arange(len(tumours)), hospital)
train, judge = np.split(rng.permutation(hospital), [150])

seen = ["mean texture", "mean smoothness"]
columns = ColumnTransformer([("seen", StandardScaler(), seen)])
model = make_pipeline(columns, LogisticRegression())
model.fit(tumours.iloc[train], malignant.iloc[train])
X, y, T = tumours.iloc[judge], malignant.iloc[judge], tumours.iloc[others]

# %%
# :func:`covshift.evaluate` gets the size as well: it is what differs between the hospital and
# everybody.
answer = evaluate(model, X, y, T, metrics=["brier", "calibration_intercept"])
answer

# %%
# On the left what :func:`covshift.evaluate` expects, on the right what the labels of the target
# say, by :meth:`covshift.plot.ReliabilityDisplay.from_estimator`.
figure, (left, right) = plt.subplots(1, 2, figsize=(6.85, 4.0), layout="constrained")
left.set_title("expected, without labels", fontsize=10)
answer.plot("reliability", ax=left)
right.set_title("observed", fontsize=10)
ReliabilityDisplay.from_estimator(
    model, T, malignant.iloc[others], name="target, with its labels", ax=right
)
