"""What is drawn, compared with pictures that were looked at: points, lines, bars and colours.

Type is left out, because its shape follows the version of FreeType; test_plot_paper.py measures it.
To renew a picture delete its file in tests/plot/baseline and run its test: it writes the picture
anew and fails, so that you look at it before you commit it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import matplotlib.style  # noqa: E402
from drawings import COLUMN, HEIGHTS, batches, forest, intervals, roc  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.testing.compare import compare_images  # noqa: E402
from matplotlib.text import Text  # noqa: E402

import covshift.plot.style as looks  # noqa: E402

BASELINE = Path(__file__).parent / "baseline"
# Root mean square of grey levels: from 3.8 to 3.11 and FreeType 2.6 to 2.14 it is 0, and 0.9 where
# the rings of four batches get another orange.
TOLERANCE = 0.5


def save(picture, path):
    """Draw without type on axes of a fixed place, which do not follow the width of letters."""
    with matplotlib.style.context("default"):
        figure = Figure((COLUMN, HEIGHTS[picture]))
        ax = figure.add_axes((0.08, 0.08, 0.84, 0.84))
        picture().plot(ax)
        if ax.get_legend():
            ax.get_legend().remove()
        ax.set(xticks=[], yticks=[])
        for text in ax.findobj(Text):
            text.set_visible(False)
        figure.savefig(path, dpi=72, metadata={"Software": None})


def difference(picture, folder):
    path = folder / f"{picture.__name__}.png"
    save(picture, path)
    return compare_images(str(BASELINE / path.name), str(path), TOLERANCE, in_decorator=True)


@pytest.mark.parametrize("picture", HEIGHTS, ids=lambda picture: picture.__name__)
def test_pictures_stay_as_they_are(picture, tmp_path):
    expected = BASELINE / f"{picture.__name__}.png"
    if not expected.exists():
        BASELINE.mkdir(exist_ok=True)
        save(picture, expected)
        pytest.fail(f"{expected} was missing and is written now: look at it, and commit it.")
    found = difference(picture, tmp_path)
    assert found is None, found


def test_a_picture_is_small_and_none_is_left_over():
    files = sorted(BASELINE.glob("*.png"))
    assert [path.stem for path in files] == sorted(picture.__name__ for picture in HEIGHTS)
    assert max(path.stat().st_size for path in files) < 25_000


@pytest.mark.parametrize(
    ("picture", "name", "value"),
    [
        (forest, "CORRECTED", "#009E73"),
        (batches, "TARGET", "#D55E00"),
        (roc, "DASHES", ("-",) * 5),
        (intervals, "TRAIN", "#0072B2"),
    ],
    ids=["colour", "marks", "dashes", "points"],
)
def test_a_change_of_looks_is_seen(picture, name, value, tmp_path, monkeypatch):
    monkeypatch.setattr(looks, name, value)
    assert difference(picture, tmp_path)["rms"] > TOLERANCE
