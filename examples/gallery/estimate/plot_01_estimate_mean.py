"""
A mean of the population from a biased sample
=============================================

Heavier and older patients are more likely to come to a second visit, and they are worse off. The
mean of those who came is therefore too high. :func:`covshift.estimate` corrects it with what is
known of everybody.
"""

# %%
# 442 patients with diabetes, from the tables of scikit-learn, and how far the disease had
# progressed after a year. Here they *are* the population, so that the truth is known: 150 of them
# are drawn, the heavier and the older the more often, and the others' outcome is forgotten.
import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from covshift import Target, estimate

diabetes = load_diabetes(as_frame=True, scaled=False)
everybody, progression = diabetes.data, diabetes.target
units = (everybody - everybody.mean()) / everybody.std()
chance = np.exp(0.7 * units["bmi"] + 0.35 * units["age"])
rng = np.random.default_rng(0)
came = rng.choice(len(everybody), 150, replace=False, p=chance / chance.sum())
X, y = everybody.iloc[came], progression.iloc[came].rename("progression")


def age_group(rows):
    return pd.cut(rows["age"], [0, 40, 55, 120], labels=["18 to 40", "41 to 55", "56 and over"])


population = Target(everybody, finite_population=True)
answer = estimate(X, y, population, by=(age_group(X), age_group(everybody)))
answer

# %%
# The picture shows the plain numbers beside the corrected ones, and the truth as a line.
truth = progression.mean()
display = answer.plot()
display.ax_.axvline(truth, color="#595959", linestyle=":", label=f"truth for all: {truth:.0f}")
display.ax_.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=9)

# %%
# The truth in each group, and whether the corrected interval contains it.
true_means = {None: truth, **progression.groupby(age_group(everybody), observed=True).mean()}
for row in answer:
    low, high = row.interval
    value = true_means[row.group]
    verdict = "inside" if low <= value <= high else "outside"
    print(f"{row.group or 'all':12s} {row.value:.0f} ({low:.0f} to {high:.0f})", end=", ")
    print(f"truth {value:.0f}: {verdict}")

# %%
# The interval cannot include what the columns do not show: if people stay away *because* they are
# ill, whatever their columns, nothing here sees it. ``answer.with_sensitivity(1.5)`` says what is
# left of the answer if that changes the odds of taking part up to 1.5-fold.
