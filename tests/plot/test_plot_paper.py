"""Pictures fit for a paper: type, size and colours hold at the width of a column and of a page."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

from drawings import COLUMN, HEIGHTS, PAGE, forest, intervals, love, roc, weights  # noqa: E402
from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: E402
from matplotlib.colors import to_rgb  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.text import Text  # noqa: E402

from covshift.plot import ECDFDisplay, style  # noqa: E402

KINDS = pytest.mark.parametrize("picture", HEIGHTS, ids=lambda picture: picture.__name__)
WIDTHS = pytest.mark.parametrize(
    "width",
    [
        pytest.param(COLUMN, id="column"),
        pytest.param(PAGE, id="page", marks=pytest.mark.thorough),
    ],
)


def drawn(picture, width, height=None):
    figure = Figure((width, height or HEIGHTS[picture]), layout="constrained")
    display = picture().plot(figure.subplots())
    return display, texts_of(figure)


def texts_of(figure):
    """Every text that is seen, and where: boxes (4,) in points; ticks beyond the ends are not."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    hidden = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            room = 1e-9 * (high - low)
            for tick in axis.get_major_ticks():
                if not low - room <= tick.get_loc() <= high + room:
                    hidden |= {tick.label1, tick.label2}
    found = {}
    for text in figure.findobj(Text):
        if text.get_text().strip() and text.get_visible() and text not in hidden:
            corners = text.get_window_extent(canvas.get_renderer()).extents
            if text.get_rotation() % 90 == 0:  # the box of a slanted one is mostly empty
                found[text] = corners * 72 / figure.dpi
            else:
                found[text] = np.array([np.inf, np.inf, -np.inf, -np.inf])
                assert corners.min() >= -1, text
    return found


def assert_readable(figure, texts):
    width, height = figure.get_size_inches() * 72
    for text, (left, low, right, high) in texts.items():
        assert text.get_size() >= style.SMALLEST, text
        assert min(left, low) > -0.5, text
        assert right < width + 0.5, text
        assert high < height + 0.5, text
    for (one, a), (other, b) in combinations(texts.items(), 2):
        across = min(a[2], b[2]) - max(a[0], b[0])
        along = min(a[3], b[3]) - max(a[1], b[1])
        assert not (across > 0.5 and along > 0.5), (one, other)


@KINDS
@WIDTHS
def test_type_is_large_enough_whole_and_apart(picture, width):
    display, texts = drawn(picture, width)
    assert display.figure_.get_size_inches() == pytest.approx([width, HEIGHTS[picture]])
    assert len(texts) > 5
    assert_readable(display.figure_, texts)
    ax = display.ax_.get_window_extent()
    assert ax.width > 0.45 * display.figure_.bbox.width or display.ax_.get_aspect() == 1
    assert ax.height > 0.45 * display.figure_.bbox.height


@pytest.mark.parametrize("models", [1, 5])
@WIDTHS
def test_a_roc_curve_is_square(models, width):
    display, texts = drawn(lambda: roc(models), width, 4.2)
    assert_readable(display.figure_, texts)
    box = display.ax_.get_window_extent()
    assert box.width == pytest.approx(box.height, rel=1e-6)
    assert display.ax_.get_xlim() == display.ax_.get_ylim()


def dates(seed):
    days = np.sort(np.random.default_rng(seed).integers(16_500, 19_700, 50))
    return ECDFDisplay({"training": (days, np.linspace(0, 1, 50))}, "since", dates=True)


def panels(picture, rows, columns, size):
    figure = Figure(size, layout="constrained")
    for number, ax in enumerate(figure.subplots(rows, columns).flat):
        ax.set_title(f"panel {number + 1}", fontsize=9)  # the legend stands above it
        picture(seed=number + 1).plot(ax)
    return figure


@pytest.mark.part(4)
@pytest.mark.parametrize(
    ("picture", "rows", "columns", "size"),
    [
        (dates, 1, 3, (PAGE, 3.0)),
        (intervals, 1, 3, (PAGE, 3.2)),
        (intervals, 3, 1, (COLUMN, 8.4)),
        (weights, 2, 3, (PAGE, 5.0)),
        (weights, 3, 2, (COLUMN, 7.5)),
    ],
    ids=["dates", "three-page", "three-column", "six-page", "six-column"],
)
def test_panels_can_be_read(picture, rows, columns, size):
    figure = panels(picture, rows, columns, size)
    assert_readable(figure, texts_of(figure))


def test_a_size_that_the_reader_has_chosen_is_used():
    import matplotlib.pyplot as plt

    with matplotlib.rc_context({"figure.figsize": (COLUMN, 2.5)}):
        sizes = [display.plot().figure_.get_size_inches() for display in (roc(), love())]
    plt.close("all")
    assert sizes[0] == pytest.approx([COLUMN, 2.5])
    assert sizes[1][0] == pytest.approx(COLUMN)  # rows need their height
    assert sizes[1][1] == pytest.approx(1.3 + 0.26 * 6)


def test_small_type_of_the_reader_stays_small():
    with matplotlib.rc_context({"font.size": 7.0}):
        _, texts = drawn(forest, COLUMN)
    assert {text.get_size() for text in texts} == {7.0}


# Colours, as most eyes, eyes without one kind of cones, and copies in grey show them.

# Machado, Oliveira and Fernandes (2009), severity 1, of linear sRGB.
SEEN_BY = {
    "most": np.eye(3),
    "deuteranopes": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopes": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "tritanopes": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
XYZ = np.array(  # of linear sRGB
    [
        [0.4124564, 0.3575761, 0.1804375],
        [0.2126729, 0.7151522, 0.072175],
        [0.0193339, 0.119192, 0.9503041],
    ]
)


def lab(colour, eyes="most"):
    """CIE L*, a*, b* of a colour under D65."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    linear = np.clip(np.asarray(SEEN_BY[eyes]) @ linear, 0, 1)
    t = XYZ @ linear / (XYZ @ np.ones(3))
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


MAIN = (style.TRAIN, style.CORRECTED, style.TARGET)


def test_white_and_black_have_their_lightness():
    np.testing.assert_allclose(lab("white"), [100, 0, 0], atol=1e-9)
    np.testing.assert_allclose(lab("black"), [0, 0, 0], atol=1e-9)
    np.testing.assert_allclose(lab("#0072B2"), [46, -2.7, -41.4], atol=0.1)  # by another program


def test_the_main_colours_differ_in_lightness_and_from_paper():
    lightness = sorted(lab(colour)[0] for colour in MAIN)
    assert np.diff(lightness).min() > 14
    assert lightness[-1] < 62  # contrast to white of 3, WCAG's least for pictures


@pytest.mark.parametrize("eyes", SEEN_BY)
def test_colours_are_told_apart_by_all_eyes(eyes):
    def least(colours):
        pairs = combinations([lab(colour, eyes) for colour in colours], 2)
        return min(np.linalg.norm(a - b) for a, b in pairs)

    assert least(MAIN) > 20
    assert least(style.SERIES) > 15  # of which every line has its own dashes too
    assert len(set(map(str, style.DASHES))) == len(style.SERIES)


@pytest.mark.parametrize("picture", [roc, forest], ids=lambda picture: picture.__name__)
def test_lines_and_points_differ_in_more_than_their_colour(picture):
    display, _ = drawn(picture if picture is forest else lambda: roc(5), COLUMN, 4.0)
    lines = [line for line in display.ax_.lines if not line.get_label().startswith("_")]
    looks = {(line.get_marker(), str(line._unscaled_dash_pattern)) for line in lines}
    assert len(looks) == len(lines)


def test_a_short_name_on_a_tiny_axis_stays_as_it_is():
    """It is wider than its share of the width, and has no middle to leave out."""
    assert style._fitting("sex", 10.0, 5.0, False) == "sex"
    assert style._fitting("a long name", 10.0, 30.0, False).count("…") == 1
