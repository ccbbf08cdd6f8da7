"""The diagnosis says beforehand what prediction intervals will be."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from covshift import ConformalRegressor, Margins, diagnose
from covshift.data import Samples
from covshift.diagnostics import IntervalOutlook
from covshift.diagnostics.usefulness import interval_outlook
from covshift.weights import CDFWeights, effective_sample_size


def normal(N, M, shift, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, 1)), rng.normal(shift, 1, size=(M, 1))


class Given:
    """Weights that are known: x is the weight of a row."""

    def __init__(self, X):
        self.weights_ = X[:, 0]

    def predict_weights(self, X):
        return X[:, 0]


def test_the_outlook_is_that_of_the_formula_row_by_row():
    X = np.array([[1.0], [2.0], [3.0], [4.0]])  # of W = 5 in one half
    T = np.array([[0.1], [0.55], [0.56], [3.0]])  # infinite where 0.9 v > 0.5
    samples = Samples.of_rows(X, T, target_weight=[1, 1, 2, 1])
    found = interval_outlook(Given(X), samples, samples, ())
    assert found == IntervalOutlook(pytest.approx(0.5 * 100 / 30), pytest.approx(3 / 5), 0.9)


def test_design_weights_are_part_of_the_weights_of_both_samples():
    X, d = np.array([[1.0], [1.0]]), np.array([1.0, 3.0])
    samples = Samples.of_rows(X, np.array([[0.06], [0.08]]), sample_weight=d)
    found = interval_outlook(Given(X), samples, samples, ())
    # Design weights of mean one are 0.5 and 1.5: W = 1, and target rows weigh 2.5 / 2 as much.
    assert found.effective_size == pytest.approx(0.5 * 4 / 2.5)
    assert found.infinite_share == pytest.approx(0.0)
    heavier = Samples.of_rows(X, np.array([[0.06], [0.09]]), sample_weight=d)
    assert interval_outlook(Given(X), heavier, heavier, ()).infinite_share == pytest.approx(0.5)


def test_rows_that_were_cut_count_for_all():
    X, T = normal(400, 300, 0.8)
    whole = Samples.of_rows(X, T)
    part = Samples.of_rows(X[::4], T[::3])
    found = interval_outlook(Given(np.abs(part.X)), part, whole, ())
    w = np.abs(X[::4, 0])
    assert found.effective_size == pytest.approx(2 * effective_sample_size(w))
    infinite = 0.9 * T[::3, 0] > 0.1 * 2 * w.sum()
    assert found.infinite_share == pytest.approx(infinite.mean())


def test_weights_of_zero_give_no_outlook():
    samples = Samples.of_rows(np.zeros((3, 1)), np.ones((2, 1)))
    assert interval_outlook(Given(samples.X), samples, samples, ()) is None


def test_diagnose_looks_ahead_with_its_own_weights():
    X, T = normal(40, 400, 0.9)
    found = diagnose(X, T, methods=()).intervals
    cdf = CDFWeights().fit(X, X_target=T)
    infinite = 0.9 * cdf.predict_weights(T) > 0.1 * cdf.weights_.sum() / 2
    assert 0.1 < infinite.mean() < 0.9
    assert found.infinite_share == pytest.approx(infinite.mean())
    assert found.effective_size == pytest.approx(effective_sample_size(cdf.weights_) / 2)
    model = ConformalRegressor(LinearRegression(), random_state=0).fit(X, X[:, 0], X_target=T)
    share = model.predict_interval(T).share_infinite  # by weights of one half, which are flatter
    assert 0.4 * found.infinite_share < share < 1.2 * found.infinite_share


def test_without_a_shift_half_of_the_rows_calibrate():
    X, T = normal(300, 300, 0.0)
    found = diagnose(X, T, methods=()).intervals
    assert 100 < found.effective_size <= 150
    assert found.infinite_share == 0.0


def test_target_rows_where_nothing_is_known_have_infinite_intervals():
    X, T = normal(300, 300, 0.0)
    T = np.vstack([T, T + 20])
    found = diagnose(X, T, methods=())
    assert not found.overlap
    assert found.intervals.infinite_share == pytest.approx(0.5)
    assert "(without overlap the finite ones may miss as well)" in str(found)


def test_the_text_and_the_dictionary_have_it():
    X, T = normal(300, 200, 0.3)
    found = diagnose(X, T, methods=())
    line = next(line for line in str(found).splitlines() if line.startswith("Prediction intervals"))
    size = round(found.intervals.effective_size)
    told = f"effective calibration size {size}, 0.0% infinite"
    assert line == f"Prediction intervals for 90%: {told}"
    assert found.to_dict()["intervals"] == {
        "effective_size": pytest.approx(found.intervals.effective_size),
        "infinite_share": 0.0,
        "coverage": 0.9,
    }


def test_margins_say_nothing_about_intervals():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"sex": ["f", "m"] * 30})
    found = diagnose(X, Margins({"sex": {"f": 0.6, "m": 0.4}}))
    assert "intervals" not in found.to_dict()
    assert "Prediction intervals" not in str(found)
