"""Write model files and what they predict, to show that later versions still read them.

    python tests/recorded/make_models.py

writes ``tests/recorded/models/format-N/``, N the format of this version, which
`tests/persistence/test_committed_models.py` loads.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

import covshift
from covshift import VSVC, VSVR, Reweighted, VBoostClassifier
from covshift.conformal import ConformalRegressor
from covshift.encoding import Feature
from covshift.files.encoding import Encoding
from covshift.persistence import Model, archive
from covshift.weights import KLIEP, CDFWeights

rng = np.random.default_rng(0)
X, T = rng.normal(size=(16, 2)), rng.normal(0.4, 1.0, size=(12, 2))
NEW = rng.normal(0.2, 1.2, size=(5, 2))
CLASS = np.array(["ä", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
NUMBER = X[:, 0] ** 2 + X[:, 1]


def estimators():
    table = Encoding.of(
        [Feature("age", "number", fill=1.5), Feature("tøwn", "category", ("u", "v"))]
    )
    machine = VSVR(fast=True).fit(X, NUMBER, X_target=T)
    about = {"covshift": covshift.__version__, "id": None}
    scaling = (np.array([0.1, 0.2]), np.array([2.0, 1.0]))
    return {
        "table": Model(
            machine, table, *scaling, "regression", "sport", "vsvm", "blended", "min", about
        ),
        "classifier": VSVC(fast=True).fit(X, CLASS, X_target=T),
        "boosted": VBoostClassifier(n_estimators=2, min_samples_leaf=3).fit(X, CLASS, X_target=T),
        "reweighted": Reweighted(LogisticRegression()).fit(X, CLASS, X_target=T),
        "kliep": KLIEP(random_state=0).fit(X, X_target=T),
        "cdf": CDFWeights().fit(X, X_target=T),
        "intervals": ConformalRegressor(Ridge(), random_state=0).fit(X, NUMBER, X_target=T),
    }


def answers(model):
    """What a model says about rows that it never saw."""
    names = ("predict", "predict_proba", "predict_weights", "predict_interval")
    if isinstance(model, Model):
        names = names[:1]
    return {
        name: np.asarray(getattr(model, name)(NEW)).tolist()
        for name in names
        if hasattr(model, name)
    }


def main():
    folder = Path(__file__).parent / "models" / f"format-{archive.VERSION}"
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, model in estimators().items():
        covshift.save(model, folder / f"{name}.covshift")
        found[name] = answers(model)
    text = json.dumps({"rows": NEW.tolist(), "answers": found}, indent=1, ensure_ascii=False)
    (folder / "answers.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
