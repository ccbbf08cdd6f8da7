"""
Sets of classes that contain the right one
==========================================

Where a classifier is unsure, one class is too little to say.
:class:`covshift.ConformalClassifier` gives a set of classes that contains the right one with the
chance asked for, on the target.
"""

# %%
# Tumours from the tables of scikit-learn, by radius and texture. The clear cases, very small or
# very large, were recorded more often than those between; the target is all others.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import ConformalClassifier

cancer = load_breast_cancer(as_frame=True)
columns = ["mean radius", "mean texture"]
tumours, kind = cancer.data[columns].to_numpy(), cancer.target_names[cancer.target]
size = np.log(tumours[:, 0])
chance = np.exp(1.5 * np.abs(size - np.median(size)) / size.std())
rng = np.random.default_rng(0)
recorded = rng.choice(len(tumours), 300, replace=False, p=chance / chance.sum())
others = np.setdiff1d(np.arange(len(tumours)), recorded)
X, y, T, y_target = tumours[recorded], kind[recorded], tumours[others], kind[others]

# %%
# Plain sets are calibrated on clear cases, and are too small for the target.
models, sets = {}, {}
for name, weighter in {"plain": None, "weighted": "cdf"}.items():
    learner = make_pipeline(StandardScaler(), LogisticRegression())
    model = ConformalClassifier(learner, weighter=weighter, random_state=0)
    sets[name] = model.fit(X, y, X_target=T).predict_set(T, coverage=0.9)
    inside = sets[name].covers(y_target).mean()
    print(
        f"{name:9s} {sets[name].mean_size:.2f} classes, the right one in {inside:.1%} of the sets"
    )

# %%
# Rows of the target by their set: the correction adds sets of both kinds in the middle.
figure, axes = plt.subplots(1, 2, figsize=(6.85, 3.8), layout="constrained", sharey=True)
looks = {0: ("none", "#595959", "x"), 1: ("one kind", "#0072B2", "o"), 2: ("both", "#D55E00", "s")}
for ax, (name, answer) in zip(axes, sets.items(), strict=True):
    size = answer.member.sum(axis=1)
    for k, (label, colour, marker) in looks.items():
        some = size == k
        if some.any():
            text = f"{label}: {some.mean():.0%}"
            ax.plot(*T[some].T, marker, color=colour, markersize=4, alpha=0.7, label=text)
    inside = answer.covers(y_target).mean()
    ax.set(title=f"{name}: {inside:.0%} contain the right kind\n90% asked for", xlabel=columns[0])
    ax.title.set_fontsize(10)
    ax.legend(frameon=False, fontsize=9, loc="lower right")
axes[0].set_ylabel(columns[1])

# %%
sets["weighted"]
