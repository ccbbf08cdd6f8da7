"""
A model over the months
=======================

A model is used month after month, on data that change. Labels come late or never. Shift and
expected performance can be followed from the first day.
"""

# %%
# 1,797 handwritten digits, from the tables of scikit-learn, in the order in which they were
# written: every few dozen rows somebody else holds the pen. A model says whether a digit is even.
# It is trained on the first 500, judged by the next 500, and used for the rest, 200 in each batch.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from covshift import Target, evaluate
from covshift.diagnostics import diagnose_batches

digits = load_digits()
squares = digits.images.reshape(-1, 4, 2, 4, 2).mean(axis=(2, 4)).reshape(-1, 16)
even = 1 - digits.target % 2
starts = range(1000, 1797, 200)
batches = {f"from {start}": squares[start : start + 200] for start in starts}
model = LogisticRegression(max_iter=1000).fit(squares[:500], even[:500])

# %%
# How well a classifier can tell each batch from the first thousand rows: 0.5 is "not at all". All
# are told apart. This shift is real, nobody drew it.
shift = diagnose_batches(squares[:1000], batches, methods=())
shift.plot()
shift

# %%
# What accuracy to expect, and, as circles, what the labels said.
everyone = np.vstack(list(batches.values()))
target = Target(everyone, batch=np.repeat(list(batches), [len(rows) for rows in batches.values()]))
judged = evaluate(model, squares[500:1000], even[500:1000], target, metrics=["accuracy"])
observed = {
    name: model.score(batches[name], even[start : start + 200])
    for name, start in zip(batches, starts, strict=True)
}
judged.plot("batches", observed=observed)
