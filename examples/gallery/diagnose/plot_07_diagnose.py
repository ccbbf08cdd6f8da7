"""
Is there a shift, and where?
============================

:func:`covshift.diagnose` compares the two samples before anything is corrected: which columns
differ, by how much, and whether the sample has rows where the target is.
"""

# %%
# Of the 442 patients in scikit-learn's diabetes table 180 came to a second visit, the heavier and
# the older the more often. The target are those who did not.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from covshift import diagnose
from covshift.plot import ECDFDisplay, OverlapDisplay
from covshift.weights import CDFWeights

everybody = load_diabetes(as_frame=True, scaled=False).data
units = (everybody - everybody.mean()) / everybody.std()
chance = np.exp(0.4 * units["bmi"] + 0.2 * units["age"])
rng = np.random.default_rng(0)
came = rng.choice(len(everybody), 180, replace=False, p=chance / chance.sum())
X, T = everybody.iloc[came], everybody.drop(index=came)
answer = diagnose(X, T)
answer

# %%
# Means of the columns, target minus training, in standard deviations: blue as sampled, green
# after weighting. Within the grey band a difference is usually taken as negligible. Only age and
# weight decided who came, and other columns differ because they go with these.
answer.plot()

# %%
# Distribution functions of the columns that differ most, which is also how the weights see them.
weighter = CDFWeights().fit(X, X_target=T)
worst = [feature.name for feature in answer.worst[:3]]
figure, axes = plt.subplots(1, 3, figsize=(6.85, 2.8), layout="constrained", sharey=True)
for ax, name in zip(axes, worst, strict=True):
    ECDFDisplay.from_estimator(weighter, X, T, feature=name, ax=ax)
    ax.label_outer()

# %%
# And both samples in the plane of the two worst columns: there is no part of the target without
# training rows, so that weights can correct the shift.
OverlapDisplay.from_samples(X, T)
