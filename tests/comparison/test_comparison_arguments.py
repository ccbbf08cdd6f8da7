"""What `compare` refuses before it fits anything, and what the message names."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import RepeatedKFold

from covshift import Reweighted, compare
from covshift.comparison import TargetSafeSplit
from covshift.datasets import make_survey
from covshift.exceptions import InputError

DATA = make_survey(60, 60, random_state=0)
OWN = {"weighted": Reweighted(LogisticRegression(), weighter="cdf")}
LEARNER = {"learner": "linear", "methods": ["cdf"]}


class Folds:
    """A splitter that gives the same folds to all."""

    def __init__(self, *folds):
        self.folds = folds

    def split(self, X, y=None):
        return iter(self.folds)


EMPTY = Folds((np.arange(60), np.array([], dtype=int)), (np.array([], dtype=int), np.arange(60)))
OUTSIDE = Folds((np.arange(30), np.arange(30, 90)))
BY_FLAGS = Folds((np.arange(60) < 30, np.arange(60) >= 30))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_folds", value) for value in (2.5, 0, 1, "x", None, True)),
        *(("max_rows", value) for value in (0, 1, -1, "x", 2.5)),
        *(("random_state", value) for value in ("x", -1, 2.5, None)),
        *(("methods", value) for value in ([5], "cdf", 5)),
        *(("task", value) for value in ("x", ["regression"])),
        *(("loss", value) for value in ("hinge", max)),
        *(("weighter", value) for value in ("x", 5)),
        ("verbose", "x"),
    ],
)
def test_arguments_for_a_learner_are_checked_by_name(name, value):
    with pytest.raises(InputError, match=f"^{name}="):
        compare(DATA.X, DATA.y, DATA.X_target, **{**LEARNER, name: value})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("n_folds", value) for value in (2.5, 0, 1, "x")),
        *(("random_state", value) for value in ("x", -1)),
        *(("baseline", value) for value in ("plain", 5, LogisticRegression)),
        *(("estimators", value) for value in ("x", [OWN["weighted"]], OWN["weighted"], Reweighted)),
        *(("estimators", {"a": value}) for value in (5, None, LogisticRegression)),
        ("estimators", {1: OWN["weighted"]}),
        *(("cv", value) for value in (5, "x", TargetSafeSplit, EMPTY, OUTSIDE, BY_FLAGS)),
        ("cv", RepeatedKFold(n_splits=2, n_repeats=2)),
    ],
)
def test_arguments_for_estimators_are_checked_by_name(name, value):
    with pytest.raises(InputError, match=f"^{name}"):
        compare(DATA.X, DATA.y, DATA.X_target, **{"estimators": OWN, name: value})


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("n_splits", {"n_splits": 1}),
        ("n_splits", {"n_splits": 2.5}),
        ("n_splits", {"n_splits": 61}),
        ("shuffle", {"shuffle": "x"}),
        ("random_state", {"random_state": "x"}),
    ],
)
def test_a_splitter_checks_its_parameters(name, given):
    with pytest.raises(InputError, match=f"^{name}="):
        compare(DATA.X, DATA.y, DATA.X_target, estimators=OWN, cv=TargetSafeSplit(**given))
