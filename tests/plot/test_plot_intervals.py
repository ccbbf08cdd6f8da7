"""The picture of intervals: bars where they are, infinite ones marked, outcomes told apart."""

from __future__ import annotations

import io

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from matplotlib.figure import Figure  # noqa: E402
from sklearn.linear_model import LinearRegression  # noqa: E402

from covshift import ConformalRegressor  # noqa: E402
from covshift.exceptions import InputError  # noqa: E402
from covshift.plot import IntervalsDisplay  # noqa: E402

INF = np.inf


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X[:, 0] + rng.normal(size=80)
    return ConformalRegressor(LinearRegression(), random_state=0).fit(X, y), X, y


def bars(display):
    """Ends of the bars, by their label."""
    return {
        lines.get_label(): np.array(
            [(a[0], a[1], b[1]) for a, b in (segment for segment in lines.get_segments())]
        )
        for lines in display.ax_.collections
    }


def points(display):
    return {line.get_label(): np.column_stack(line.get_data()) for line in display.ax_.lines}


def test_bars_stand_at_x_and_reach_from_end_to_end():
    display = IntervalsDisplay([1, 2], [0, 1], [3, 5], x=[9, 4], coverage=0.8).plot(
        Figure().subplots()
    )
    np.testing.assert_allclose(bars(display)["80% interval"], [[4, 1, 5], [9, 0, 3]])
    np.testing.assert_allclose(points(display)["prediction"], [[4, 2], [9, 1]])


def test_without_x_rows_stand_in_the_order_of_their_prediction():
    display = IntervalsDisplay([5, 1, 3], [4, 0, 2], [6, 2, 4]).plot(Figure().subplots())
    expected = [[1, 0, 2], [2, 2, 4], [3, 4, 6]]
    np.testing.assert_allclose(bars(display)["interval"], expected)
    assert "order of their prediction" in display.ax_.get_xlabel()


def test_infinite_intervals_reach_to_the_edge_and_are_counted():
    display = IntervalsDisplay([1, 1, 1, 1], [0, -INF, 0, -INF], [2, INF, 2, 3], x=range(4)).plot(
        Figure().subplots()
    )
    low, high = display.ax_.get_ylim()
    assert low < 0
    assert high > 3
    assert display.share_infinite == 0.5
    found = bars(display)
    np.testing.assert_allclose(found["infinite (50.0%)"], [[1, low, high], [3, low, 3]])
    assert found["interval"][:, 0].tolist() == [0, 2]


def test_only_infinite_intervals_can_be_drawn():
    display = IntervalsDisplay([1, 1], [-INF] * 2, [INF] * 2).plot(Figure().subplots())
    assert list(bars(display)) == ["infinite (100.0%)"]
    display.figure_.savefig(io.BytesIO())


def test_outcomes_outside_of_their_interval_are_told_apart():
    display = IntervalsDisplay([1, 1, 1], [0, 0, 0], [2, 2, 2], x=[0, 1, 2], y=[2, 2.1, -1]).plot(
        Figure().subplots()
    )
    found = points(display)
    np.testing.assert_allclose(found["outcome, 33.3% inside"], [[0, 2]])
    np.testing.assert_allclose(found["outcome outside"], [[1, 2.1], [2, -1]])
    assert display.share_covered == pytest.approx(1 / 3)


def test_many_rows_are_thinned_and_the_shares_are_those_of_all():
    f = np.arange(1000.0)
    y = np.where(np.arange(1000) % 10 == 0, f + 5, f)
    display = IntervalsDisplay(f, f - 1, f + 1, x=f, y=y, most=50).plot(Figure().subplots())
    drawn = bars(display)["interval"]
    assert len(drawn) == 50
    assert drawn[0, 0] == 0
    assert drawn[-1, 0] == 999
    assert display.share_covered == 0.9


def test_the_method_of_the_result_draws_its_own_numbers(fitted):
    model, X, y = fitted
    found = model.predict_interval(X, coverage=0.8)
    ax = Figure().subplots()
    display = found.plot(X[:, 1], y, ax=ax)
    assert display.ax_ is ax
    order = np.argsort(X[:, 1])
    ends = np.column_stack([X[:, 1], found.lower, found.upper])[order]
    np.testing.assert_allclose(bars(display)["80% interval"], ends)
    assert display.share_covered == found.covers(y).mean()


def test_from_estimator_reads_columns_by_number_and_name(fitted):
    model, X, y = fitted
    by_number = IntervalsDisplay.from_estimator(model, X, y, feature=1, ax=Figure().subplots())
    np.testing.assert_array_equal(by_number.x, X[:, 1])
    assert by_number.ax_.get_xlabel() == "x1"
    no_feature = IntervalsDisplay.from_estimator(model, X, feature=None, ax=Figure().subplots())
    assert no_feature.x is None
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["age", "$x_{"])
    again = ConformalRegressor(LinearRegression(), random_state=0).fit(frame, y)
    named = IntervalsDisplay.from_estimator(again, frame, feature="$x_{", ax=Figure().subplots())
    np.testing.assert_array_equal(named.x, X[:, 1])
    named.figure_.savefig(io.BytesIO())
    for wrong in ("height", 2):
        with pytest.raises(InputError, match="is not one of the columns: 'age'"):
            IntervalsDisplay.from_estimator(again, frame, feature=wrong)


def test_a_column_of_words_has_no_place_on_the_axis(fitted):
    pandas = pytest.importorskip("pandas")
    model, X, _ = fitted

    class Named:
        def predict_interval(self, rows, coverage):
            return model.predict_interval(X, coverage)

    frame = pandas.DataFrame({"sex": ["f", "m"] * 40, "x": X[:, 0]})
    with pytest.raises(InputError, match="'sex' does not hold numbers"):
        IntervalsDisplay.from_estimator(Named(), frame, feature="sex")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": [1]}, "x has 1 values, but there are 2 intervals"),
        ({"y": [1, 2, 3]}, "y has 3 values"),
        ({"x": [1, np.nan]}, "x contains NaN or inf"),
    ],
)
def test_bad_input_is_named(given, message):
    with pytest.raises(InputError, match=message):
        IntervalsDisplay([1, 2], [0, 1], [2, 3], **given)
