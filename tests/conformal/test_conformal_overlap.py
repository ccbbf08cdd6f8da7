"""Intervals where a part of the target has no calibration rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from covshift.conformal import ConformalRegressor
from covshift.exceptions import NoOverlapError

pytestmark = pytest.mark.filterwarnings("ignore::covshift.exceptions.WeightWarning")


@pytest.fixture
def apart():
    """Half of the target lies beyond all labelled rows."""
    rng = np.random.default_rng(0)
    X, T = rng.uniform(size=(200, 1)), rng.uniform(0.5, 1.5, size=(200, 1))
    return X, X[:, 0] + rng.normal(size=200), T


def test_both_thresholds_are_infinite_where_the_target_has_no_calibration_rows(apart):
    X, y, T = apart
    found = {}
    for threshold in ("weighted", "dr"):
        model = ConformalRegressor(LinearRegression(), threshold=threshold, random_state=0)
        found[threshold] = model.fit(X, y, X_target=T).predict_interval(T)
    beyond = T[:, 0] > X.max()
    assert found["dr"].infinite[beyond].all()
    assert not found["dr"].infinite[~beyond].all()
    np.testing.assert_array_equal(found["dr"].upper, found["weighted"].upper)


def test_without_overlap_the_expected_coverage_says_why_it_is_not_known(apart):
    X, y, T = apart
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, y, X_target=T)
    said = model.expected_coverage(0.9)
    assert np.isnan(said.value)
    assert said.interval == (0.0, 1.0)
    assert "do not cover the target" in said.note


def test_estimate_refuses_what_the_doubly_robust_threshold_leaves_alone(apart):
    from covshift import estimate

    X, y, T = apart
    with pytest.raises(NoOverlapError):
        estimate(X, y, T)
