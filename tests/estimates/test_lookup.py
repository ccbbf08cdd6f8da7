"""Numbers of an answer by their names, and intervals at other levels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from covshift import Quantile, estimate, evaluate
from covshift.exceptions import InputError

RNG = np.random.default_rng(0)
X, T = RNG.normal(size=(150, 2)), RNG.normal(0.4, 1, size=(100, 2))
Y = (RNG.random(150) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)
WORDS = np.array(["no", "yes", "maybe"])[Y + (RNG.random(len(Y)) < 0.2)]
GROUPS = (
    np.array(["a", "b"])[RNG.integers(0, 2, len(X))],
    np.array(["a", "b"])[RNG.integers(0, 2, len(T))],
)
MODEL = LogisticRegression().fit(X, Y)


def asked(kind, **more):
    given = {"outcome_model": LogisticRegression(), "n_rep": 1}
    if kind == "evaluate":
        return evaluate(MODEL, X, Y, T, **{k: v for k, v in given.items() if k != "n_rep"}, **more)
    if kind == "labels":
        return estimate(X, Y, T, y_target=np.where(np.arange(len(T)) < 30, 1.0, np.nan), **more)
    if kind == "quantile":
        return estimate(X, X[:, 0], T, what=Quantile([0.2, 0.7]), n_rep=1, **more)
    if kind == "label shift":
        return estimate(X, Y, T, shift="label", **more)
    if kind == "replicates":
        return estimate(X, Y, T, method="weights", weighter="entropy", replicates=20, **more)
    return estimate(X, Y, T, **given, **more)


@pytest.mark.parametrize(
    "kind", ["estimate", "evaluate", "labels", "quantile", "label shift", "replicates"]
)
def test_intervals_of_another_level_are_those_that_are_asked_for_at_once(kind):
    found, other = asked(kind), asked(kind, confidence=0.6)
    expected = np.array([row.interval for row in other.overall])
    np.testing.assert_allclose(np.atleast_2d(found.conf_int(0.6)), expected, rtol=1e-9)
    plain = np.array([row.interval for row in found.overall])
    np.testing.assert_array_equal(np.atleast_2d(found.conf_int()), plain)


def test_numbers_are_looked_up_by_their_names():
    found = estimate(X, WORDS, T, by=GROUPS, what="proportion", n_rep=1)
    assert found["yes"] == next(row for row in found if row.what == "yes" and row.group is None)
    assert {row.group for row in found["a"]} == {"a"}
    judged = asked("evaluate")
    assert judged["accuracy"] == next(row for row in judged if row.metric == "accuracy")


def test_unknown_names_and_levels_are_refused():
    found = asked("estimate")
    with pytest.raises(InputError, match=r"There is no number 'x'\. Found: 'y'"):
        found["x"]
    with pytest.raises(InputError, match="confidence"):
        found.conf_int(95)
