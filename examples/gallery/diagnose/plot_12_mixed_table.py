"""
A table as it comes: text, gaps and dates
=========================================

Data frames need no preparation. Categories, dates and missing values are read as what they are,
by one :class:`covshift.TableEncoder` inside, and a gap is told apart from a value.
"""

# %%
# Customers who answered a questionnaire, and all customers. Those of the shop in Bern answer less
# often, and so do those whose income is not known.
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from covshift import diagnose, estimate
from covshift.plot import ECDFDisplay

rng = np.random.default_rng(0)
n = 3000
customers = pd.DataFrame(
    {
        "shop": rng.choice(["Bern", "Basel", "Chur"], n, p=[0.5, 0.3, 0.2]),
        "since": pd.Timestamp("2015-01-01") + pd.to_timedelta(rng.integers(0, 3600, n), unit="D"),
        "income": rng.lognormal(8.5, 0.4, n).round(),
        "online": rng.uniform(size=n) < 0.4,
    }
)
unknown = rng.uniform(size=n) < 0.2
content = rng.normal(7 - 1.2 * (customers["shop"] == "Bern") - 0.8 * unknown, 1.0)
customers.loc[unknown, "income"] = np.nan
answers = rng.uniform(size=n) < np.where(customers["shop"] == "Bern", 0.1, 0.35) * (
    1 - 0.5 * unknown
)
X = customers[answers]
y = pd.Series(content[answers], index=X.index, name="satisfaction")
T = customers.sample(600, random_state=0)
X.head()

# %%
# The diagnosis names the shop, and that gaps are rarer among the answers.
found = diagnose(X, T)
found

# %%
figure, axes = plt.subplots(1, 3, figsize=(6.85, 3.0), layout="constrained")
for ax, name in zip(axes, ["shop", "since", "income"], strict=True):
    ECDFDisplay.from_samples(X, T, feature=name, ax=ax)

# %%
# The corrected mean; neither the shop nor the gaps had to be encoded.
print(f"the truth: {content.mean():.2f}")
estimate(X, y, T)
