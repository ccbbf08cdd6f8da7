"""
Only published numbers of the population
========================================

Often there are no rows of the population, only the tables of a statistical office.
:class:`covshift.Margins` takes such numbers, and most of the library accepts them in place of
rows.
"""

# %%
# A made-up population of visits to the doctor, and a survey that older women answer more often.
import numpy as np
import pandas as pd

from covshift import Margins, diagnose, estimate
from covshift.weights import Raking

rng = np.random.default_rng(0)
size = 20_000
population = pd.DataFrame(
    {"age": rng.integers(18, 90, size), "sex": rng.choice(["f", "m"], size, p=[0.51, 0.49])}
)
female = (population["sex"] == "f").to_numpy()
visits = rng.poisson(0.5 + 0.05 * population["age"] + 0.8 * female)
answers = 1 / (1 + np.exp(4.5 - 0.05 * population["age"] - 0.7 * female))
asked = np.flatnonzero(rng.uniform(size=size) < answers)[:800]
X = population.iloc[asked]
y = pd.Series(visits[asked], index=X.index, name="visits")

# %%
# What the office publishes goes into a dictionary as it is printed.
age = np.histogram(population["age"], [18, 30, 45, 65, 91])[0] / size
brackets = [(18, 29), (30, 44), (45, 64), (65, None)]
margins = Margins(
    {
        "age": dict(zip(brackets, age.round(3), strict=True)),
        "sex": {"f": female.mean().round(3), "m": 1 - female.mean().round(3)},
    },
    source="yearbook, table 2.1",
)
margins

# %%
# :class:`covshift.weights.Raking` gives the sample these shares: the green squares lie on the
# target.
diagnose(X, margins).plot()

# %%
# The corrected mean. Raking by itself gives the same number; :func:`covshift.estimate` adds an
# error that knows where the weights come from. What it cannot know is how age and sex go together
# in the population: no table of both was published.
found = estimate(X, y, margins)
raked = np.average(y, weights=Raking().fit(X, X_target=margins).weights_)
print(f"survey {y.mean():.2f}, raked {raked:.2f}, truth {visits.mean():.2f}")
found
