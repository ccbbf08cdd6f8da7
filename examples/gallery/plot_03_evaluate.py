"""
How good is a model where there are no labels?
==============================================

A classifier was judged on rows of a survey. It will be used on the population, whose labels
nobody has. :func:`covshift.evaluate` says how good it is expected to be there.
"""

# %%
# The model is trained on one half of the survey, and judged by the other.
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import evaluate
from covshift.datasets import make_survey

survey = make_survey(n_train=1000, n_target=800, random_state=1)
model = make_pipeline(StandardScaler(), LogisticRegression())
model.fit(survey.X[:500], survey.y[:500])
X, y = survey.X[500:], survey.y[500:]

metrics = ["accuracy", "roc_auc", "recall", "precision"]
found = evaluate(model, X, y, survey.X_target, metrics=metrics)
found

# %%
# The truth is known here. In one draw the plain number may happen to be nearer to it; over many
# draws it is off by the same amount each time, and its interval does not say so.
p = survey.probability_target
positive = model.predict(survey.X_target) == 1
truth = {
    "accuracy": np.where(positive, p, 1 - p).mean(),
    "recall": p[positive].sum() / p.sum(),
    "precision": p[positive].mean(),
}
for name, value in truth.items():
    row = found[name]
    low, high = row.interval
    print(f"{name:10s} expected {row.value:.3f} ({low:.3f} to {high:.3f}), truth {value:.3f}")

# %%
# All metrics on the survey's rows and on the population, with their intervals.
found.plot()
