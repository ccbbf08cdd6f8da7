"""
A model over the months
=======================

A model is used month after month, on people who change. Labels come late or never. Shift and
expected performance can be followed from the first day.
"""

# %%
# Months whose people move further from the training rows.
import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

from covshift import Target, evaluate
from covshift.diagnostics import diagnose_batches

rng = np.random.default_rng(0)
months = ["2026-01", "2026-02", "2026-03", "2026-04"]


def chance(X):
    return expit(2.0 * X[:, 0] - X[:, 1])


def labels(X):
    return (rng.uniform(size=len(X)) < chance(X)).astype(int)


X = rng.normal(size=(500, 2))
y = labels(X)
T = {month: rng.normal([0.35 * k, 0.0], 1.0, size=(120, 2)) for k, month in enumerate(months)}
model = LogisticRegression().fit(X[:200], y[:200])

# %%
# How well a classifier can tell each month from the training rows: 0.5 is "not at all". March and
# April are told apart. With 120 rows a month, chance has its say: January was drawn like the
# training rows, and its interval lies above 0.5 all the same; February has moved a little, and
# nothing is seen. Who looks every month meets such accidents.
found = diagnose_batches(X, T, methods=())
found.plot()
found

# %%
# What accuracy to expect, and, as circles, what the labels said later. The months differ less
# than one month's labels would scatter.
everyone = np.vstack(list(T.values()))
target = Target(everyone, batch=np.repeat(months, 120))
judged = evaluate(model, X[200:], y[200:], target, metrics=["accuracy"])
observed = {month: np.mean(model.predict(rows) == labels(rows)) for month, rows in T.items()}
judged.plot("batches", observed=observed)
