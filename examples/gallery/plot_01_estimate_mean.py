"""
A share of the population from a biased survey
==============================================

Older people, and people who see a doctor often, answer a health survey more often than others.
The share with a chronic condition among those who answered is therefore too high.
:func:`covshift.estimate` corrects it with unlabelled rows of the population.
"""

# %%
# The survey is made up, so that the truth is known. ``X`` are those who answered, ``T`` is a
# sample of the population, of whom nobody was asked about the condition.
import pandas as pd

from covshift import estimate
from covshift.datasets import make_survey

survey = make_survey(n_train=400, n_target=600, random_state=0)
X = pd.DataFrame(survey.X, columns=survey.feature_names)
T = pd.DataFrame(survey.X_target, columns=survey.feature_names)
y = pd.Series(survey.y, name="chronic condition")


def age_group(rows):
    return pd.cut(rows["age"], [0, 40, 60, 120], labels=["18 to 40", "41 to 60", "61 and over"])


found = estimate(X, y, T, by=(age_group(X), age_group(T)))
found

# %%
# The picture shows the plain numbers beside the corrected ones, and the truth as a line. Within
# an age group little changes: the groups are asked in the wrong shares, and that is what moves
# the total.
truth = 100 * survey.probability_target.mean()
display = found.plot()
display.ax_.axvline(truth, color="#595959", linestyle=":", label=f"truth for all: {truth:.1f} %")
display.ax_.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1), fontsize=9)

# %%
# No interval counts what the features do not show: if people stay away *because* they are ill, at
# any age, nothing here sees it. ``found.with_sensitivity(1.5)`` says what is left of the answer
# if that changes the odds of taking part up to 1.5-fold.
