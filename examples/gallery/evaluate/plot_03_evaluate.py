"""
How good is a model where there are no labels?
==============================================

A classifier was judged in a hospital that sees large tumours more often. It will be used for
everybody, whose labels nobody has. :func:`covshift.evaluate` says how good it is expected to be
there.
"""

# %%
# 569 tumours from the tables of scikit-learn. 300 of them are drawn for the hospital, the larger
# the more often. The model is trained on one half of these, and judged by the other.
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import precision_score, recall_score, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import evaluate

cancer = load_breast_cancer(as_frame=True)
columns = ["mean texture", "mean smoothness", "mean symmetry", "mean area"]
tumours, malignant = cancer.data[columns], 1 - cancer.target
size = np.log(tumours["mean area"])
chance = np.exp((size - size.mean()) / size.std())
rng = np.random.default_rng(0)
hospital = rng.choice(len(tumours), 300, replace=False, p=chance / chance.sum())
others = np.setdiff1d(np.arange(len(tumours)), hospital)
train, judge = np.split(rng.permutation(hospital), [150])

model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(tumours.iloc[train], malignant.iloc[train])
X, y, T = tumours.iloc[judge], malignant.iloc[judge], tumours.iloc[others]
answer = evaluate(model, X, y, T, metrics=["accuracy", "roc_auc", "recall", "precision"])
answer

# %%
# The truth is known here. Small tumours are seldom malignant, and when they are, the model often
# misses them: recall is far lower than in the hospital. In one draw the plain number may happen to
# be nearer to the truth; over many draws it is off by the same amount each time, and its interval
# does not say so.
labels, score = malignant.iloc[others], model.predict_proba(T)[:, 1]
truth = {
    "accuracy": model.score(T, labels),
    "roc_auc": roc_auc_score(labels, score),
    "recall": recall_score(labels, model.predict(T)),
    "precision": precision_score(labels, model.predict(T)),
}
for name, value in truth.items():
    row = answer[name]
    (low, high), plain = row.interval, answer.same(row, "none").value
    print(f"{name:10s} in the hospital {plain:.2f}, expected {row.value:.2f}", end=" ")
    print(f"({low:.2f} to {high:.2f}), truth {value:.2f}")

# %%
# All metrics in the hospital and for everybody, with their intervals.
answer.plot()
