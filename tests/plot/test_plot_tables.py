"""Pictures and the report of data frames with categories and gaps."""

from __future__ import annotations

import numpy as np
import pytest

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

from covshift import diagnose, report  # noqa: E402
from covshift.plot import ECDFDisplay, LovePlotDisplay, OverlapDisplay  # noqa: E402


def frame(n, p, seed):
    rng = np.random.default_rng(seed)
    income = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.lognormal(10, 0.5, n))
    region = rng.choice(["east", "north", "south"], n, p=p)
    return pandas.DataFrame({"age": rng.normal(40, 10, n), "region": region, "income": income})


X, T = frame(120, (0.5, 0.3, 0.2), 0), frame(90, (0.2, 0.3, 0.5), 1)


def test_the_levels_of_a_category_are_bars_of_their_shares():
    weights = np.where(X["region"] == "south", 3.0, 1.0)
    display = ECDFDisplay.from_samples(X, T, weights, feature="region")
    assert set(display.levels) == {"east", "north", "south"}
    for kind, rows, w in (
        ("training", X, np.ones(120)),
        ("target", T, np.ones(90)),
        ("corrected", X, weights),
    ):
        of_level = [w[rows["region"] == level].sum() / w.sum() for level in display.levels]
        assert display.curves[kind][1] == pytest.approx(of_level)
    assert len(display.ax_.patches) == 9
    assert len(display.ax_.get_xticklabels()) == 3


def test_a_number_with_gaps_is_drawn_where_it_is_known():
    values, heights = ECDFDisplay.from_samples(X, T, feature="income").curves["training"]
    assert values.tolist() == sorted(set(X["income"].dropna()))
    assert heights[-1] == pytest.approx(1)


def test_the_love_plot_has_one_line_per_feature_as_the_diagnosis():
    display = LovePlotDisplay.from_samples(X, T)
    found = diagnose(X, T, methods=())
    assert display.names == ("age", "region", "income", "income missing")
    assert display.before.tolist() == [feature.smd for feature in found.features]


def test_the_overlap_map_takes_one_column_of_each_feature():
    labels = OverlapDisplay.from_samples(X, T).labels
    assert sum(label.startswith("region=") for label in labels) == 1
    assert OverlapDisplay.from_samples(X, T, plane="principal").train.shape == (120, 2)


@pytest.mark.thorough
def test_the_report_shows_the_level_that_differs_most():
    pytest.importorskip("jinja2")
    page = report.build(diagnose(X, T))
    region = diagnose(X, T, methods=()).features[1]
    assert f"<small>{region.detail}</small>" in page
    assert "total variation" in page
    assert "4 features" in page
