"""
Is there a shift, and where?
============================

:func:`covshift.diagnose` compares the two samples before anything is corrected: which columns
differ, by how much, and whether the sample has rows where the target is.
"""

# %%
# The survey of those who answered, and the population.
import matplotlib.pyplot as plt
import pandas as pd

from covshift import diagnose
from covshift.datasets import make_survey
from covshift.plot import ECDFDisplay, OverlapDisplay
from covshift.weights import CDFWeights

survey = make_survey(n_train=400, n_target=500, random_state=0)
X = pd.DataFrame(survey.X, columns=survey.feature_names)
T = pd.DataFrame(survey.X_target, columns=survey.feature_names)
found = diagnose(X, T)
found

# %%
# Means of the columns, target minus training, in standard deviations: blue as sampled, green
# after weighting. Within the grey band a difference is usually taken as negligible.
found.plot()

# %%
# Distribution functions of the columns that differ most, which is also how the weights see them.
weighter = CDFWeights().fit(X, X_target=T)
worst = [feature.name for feature in found.worst[:3]]
figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained", sharey=True)
for ax, name in zip(axes, worst, strict=True):
    ECDFDisplay.from_estimator(weighter, X, T, feature=name, ax=ax)

# %%
# And both samples in the plane of the two worst columns: there is no part of the target without
# training rows, so that weights can correct the shift.
OverlapDisplay.from_samples(X, T)
