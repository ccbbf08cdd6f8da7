"""
Only published numbers of the population
========================================

Often there are no rows of the population, only the tables of a statistical office.
:class:`covshift.Margins` takes such numbers, and most of the library accepts them in place of
rows.
"""

# %%
# The 442 patients of scikit-learn's diabetes table are the population again. Heavier and older ones
# are drawn more often.
import numpy as np
from sklearn.datasets import load_diabetes

from covshift import Margins, diagnose, estimate
from covshift.weights import Raking

diabetes = load_diabetes(as_frame=True, scaled=False)
everybody = diabetes.data[["age", "bmi"]].round().astype(int)
progression = diabetes.target.rename("progression")
units = (everybody - everybody.mean()) / everybody.std()
chance = np.exp(0.7 * units["bmi"] + 0.35 * units["age"])
rng = np.random.default_rng(0)
came = rng.choice(len(everybody), 150, replace=False, p=chance / chance.sum())
X, y = everybody.iloc[came], progression.iloc[came]

# %%
# What is published goes into a dictionary as it is printed: shares of brackets.
ages, weights = [(18, 34), (35, 49), (50, 64), (65, None)], [(None, 24), (25, 29), (30, None)]


def shares(column, brackets):
    inside = [column.between(low or 0, high or np.inf).mean() for low, high in brackets]
    return dict(zip(brackets, np.round(inside, 4), strict=True))


margins = Margins(
    {"age": shares(everybody["age"], ages), "bmi": shares(everybody["bmi"], weights)},
    source="yearbook, table 2.1",
)
margins

# %%
# :class:`covshift.weights.Raking` gives the sample these shares: the green squares lie on the
# target.
diagnose(X, margins).plot()

# %%
# The corrected mean. Raking by itself gives nearly the same number; :func:`covshift.estimate` adds
# an error that knows where the weights come from. What neither can know is how age and weight go
# together in the population: no table of both was published.
answer = estimate(X, y, margins)
raked = np.average(y, weights=Raking().fit(X, X_target=margins).weights_)
print(f"sample {y.mean():.0f}, raked {raked:.0f}, truth {progression.mean():.0f}")
answer
