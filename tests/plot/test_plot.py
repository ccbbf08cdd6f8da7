"""The displays: what they draw is what was computed, on axes that were given or new ones."""

from __future__ import annotations

import io
import subprocess
import sys

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
pd = pytest.importorskip("pandas")

from matplotlib.figure import Figure  # noqa: E402

from covshift import diagnose  # noqa: E402
from covshift.diagnostics import standardized_mean_differences  # noqa: E402
from covshift.plot import (  # noqa: E402
    ECDFDisplay,
    LovePlotDisplay,
    OverlapDisplay,
    ReliabilityDisplay,
    WeightsDisplay,
)

NAMES = ["$x_{", "<script>", "a" * 200]


@pytest.fixture(scope="module")
def samples():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 3)), rng.normal([0.2, 2.0, 1.0], 1.0, size=(30, 3))


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def drawings(X, T, ax=None):
    """Every display on the same samples."""
    w = np.linspace(0.5, 1.5, len(X))
    named = [pd.DataFrame(rows, columns=NAMES) for rows in (X, T)]
    yield LovePlotDisplay.from_samples(*named, w, ax=ax)
    yield ECDFDisplay.from_samples(*named, w, feature="$x_{", ax=ax)
    yield WeightsDisplay.from_weights(w, ax=ax)
    yield OverlapDisplay.from_samples(*named, ax=ax)
    yield OverlapDisplay.from_samples(*named, plane="principal", ax=ax)
    yield ReliabilityDisplay.from_predictions(X[:, 0] > 0, w / 2, w, name="$p_{", ax=ax)


@pytest.mark.part(20)
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_names_that_look_like_formulas_can_be_saved(samples, kind):
    for display in drawings(*samples):
        display.figure_.savefig(io.BytesIO(), format=kind)


def test_given_axes_are_drawn_on_and_pyplot_knows_of_no_figure(samples):
    import matplotlib.pyplot as plt

    before, settings = plt.get_fignums(), dict(matplotlib.rcParams)
    ax = Figure().subplots()
    for display in drawings(*samples, ax=ax):
        assert display.ax_ is ax
        assert display.figure_ is ax.figure
    assert plt.get_fignums() == before
    assert dict(matplotlib.rcParams) == settings


def test_a_display_can_be_drawn_again_elsewhere(samples):
    display = LovePlotDisplay.from_samples(*samples)
    first, other = display.ax_, Figure().subplots()
    assert display.plot(other) is display
    assert display.ax_ is other is not first


def test_love_plot_shows_the_differences_in_order(samples):
    X, T = samples
    w = np.linspace(0.5, 1.5, 40)
    display = LovePlotDisplay.from_samples(X, T, w)
    share = np.full(30, 1 / 30)
    np.testing.assert_allclose(display.before, standardized_mean_differences(X, T, share))
    np.testing.assert_allclose(display.after, standardized_mean_differences(X, T, share, w))
    shown = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert shown == ["x0", "x2", "x1"]  # from below: the largest on top
    points = {line.get_label(): line.get_xdata() for line in display.ax_.lines}
    np.testing.assert_allclose(points["as sampled"], np.sort(display.before))


def test_love_plot_of_a_diagnosis_is_that_of_the_samples(samples):
    found = diagnose(*samples, methods=())
    display = found.plot()
    np.testing.assert_allclose(display.before, [feature.smd for feature in found.features])
    assert display.after is not None


def test_love_plot_draws_infinite_differences_at_the_edge():
    display = LovePlotDisplay(["a", "b"], [np.inf, 0.5]).plot()
    low, high = display.ax_.get_xlim()
    assert np.isfinite([low, high]).all()
    display.figure_.savefig(io.BytesIO())


def test_distribution_functions_by_hand():
    display = ECDFDisplay.from_samples(
        [[1.0], [1.0], [3.0]], [[2.0], [4.0]], [1, 1, 2], target_weight=[3, 1]
    )
    expected = {
        "training": ([1, 3], [2 / 3, 1]),
        "target": ([2, 4], [0.75, 1]),
        "corrected": ([1, 3], [0.5, 1]),
    }
    for name, curve in expected.items():
        np.testing.assert_allclose(display.curves[name], curve)


def test_long_distribution_functions_are_thinned_within_half_a_percent():
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(20_000, 1)), rng.normal(size=(50, 1))
    display = ECDFDisplay.from_samples(X, T)
    line = display.ax_.lines[0]
    x, y = line.get_data()
    assert len(x) < 500
    values, heights = display.curves["training"]
    drawn = y[np.searchsorted(x, values, side="right") - 1]
    assert np.abs(drawn - heights).max() < 0.005


def test_weights_display_states_the_effective_sample_size():
    display = WeightsDisplay.from_weights([1, 1, 1, 3])
    assert display.effective_sample_size == pytest.approx(3)
    assert "effective sample size 3 of 4 (75%)" in display.ax_.texts[0].get_text()
    assert display.weights.mean() == pytest.approx(1)
    assert sum(bar.get_height() for bar in display.ax_.patches) == 4
    equal = WeightsDisplay.from_weights(np.full(7, 5.0))
    assert sum(bar.get_height() for bar in equal.ax_.patches) == 7


def test_overlap_map_takes_the_most_shifted_features_and_few_rows(samples):
    display = OverlapDisplay.from_samples(*samples, most=10)
    assert display.labels == ("x1", "x2")
    assert display.train.shape == display.target.shape == (10, 2)
    one = OverlapDisplay.from_samples(samples[0][:, :1], samples[1][:, :1])
    assert one.labels[0] == "x0"


def test_reliability_by_hand_and_with_integer_weights():
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.4, 0.8, 0.6])
    display = ReliabilityDisplay.from_predictions(y, p, n_bins=2)
    predicted, observed, error = display.curves["model"]
    np.testing.assert_allclose(predicted, [0.3, 0.7])
    np.testing.assert_allclose(observed, [0.5, 0.5])
    np.testing.assert_allclose(error, np.sqrt(0.5) / 2)
    w = np.array([2, 1, 1, 2])
    weighted = ReliabilityDisplay.from_predictions(y, p, w, n_bins=2).curves["model"]
    copies = np.repeat(np.arange(4), w)
    repeated = ReliabilityDisplay.from_predictions(y[copies], p[copies], n_bins=2).curves["model"]
    np.testing.assert_allclose(weighted[:2], repeated[:2])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: ECDFDisplay.from_samples([[1.0]], [[2.0]], feature="b"), "is not a column"),
        (lambda: ECDFDisplay.from_samples([[1.0]], [[2.0]], feature=3), "not between 0 and 0"),
        (lambda: OverlapDisplay.from_samples([[1.0]], [[2.0]], plane="z"), "plane='z'"),
        (lambda: ReliabilityDisplay.from_predictions([0, 2], [0.1, 0.2]), "0 and 1 only"),
        (lambda: ReliabilityDisplay.from_predictions([0, 1], [0.1, 1.2]), "between 0 and 1"),
        (lambda: ReliabilityDisplay.from_predictions([0, 1], [0.1]), "one of each per row"),
    ],
)
def test_bad_input_is_named(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()


@pytest.mark.thorough
def test_without_matplotlib_there_is_a_hint():
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.pyplot"] = None
from covshift.plot import WeightsDisplay
try:
    WeightsDisplay.from_weights([1.0, 2.0])
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith('install covshift with its extra "plot"')
