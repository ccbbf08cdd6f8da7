"""What the pictures share: colours, axes, and names that matplotlib must not read as formulas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..exceptions import import_extra
from ..numerics.quiet import quiet
from ..show.words import as_date

# The hues of Okabe and Ito, which most eyes tell apart, with lightness 15 apart for print in grey.
TRAIN = "#00407A"
TARGET = "#E2711D"
CORRECTED = "#00785C"
NEUTRAL = "#595959"
FAINT = "#c8c8c8"
SERIES = (CORRECTED, TARGET, TRAIN, "#CC79A7", "#EBAE1A")  # several models
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (8, 2)))  # theirs
SMALLEST = 8.0  # points of type, unless the reader's own default is smaller
_NARROW = 290.0  # points, 102 mm: a panel or a column rather than a page


def axes(ax: Any, size: tuple[float, float], *, rows: bool = False) -> Any:
    """Return ``ax``, or the axes of a new figure of pyplot, ``size`` in inches.

    Where the reader has changed matplotlib's ``figure.figsize``, it is used; a picture that grows
    with its ``rows`` takes the width alone.
    """
    if ax is not None:
        return ax
    pyplot = import_extra("matplotlib.pyplot", extra="plot", needed_by="covshift.plot")
    matplotlib = import_extra("matplotlib", extra="plot", needed_by="covshift.plot")
    chosen = tuple(matplotlib.rcParams["figure.figsize"])
    if chosen != tuple(matplotlib.rcParamsDefault["figure.figsize"]):
        size = (chosen[0], size[1] if rows else chosen[1])
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def room(ax: Any) -> tuple[float, float]:
    """Return width and height, in points, of the part of the figure that the axes may fill."""
    width, height = ax.figure.get_size_inches() * 72.0
    cell = ax.get_subplotspec()
    if cell is None:
        box = ax.get_position()
        return float(min(1.0, box.width + 0.15) * width), float(
            min(1.0, box.height + 0.15) * height
        )
    grid = cell.get_gridspec()
    shares = []
    for ratios, span in (
        (grid.get_width_ratios(), cell.colspan),
        (grid.get_height_ratios(), cell.rowspan),
    ):
        shares.append(sum(ratios[k] for k in span) / sum(ratios))
    return float(shares[0] * width), float(shares[1] * height)


def small(ax: Any) -> float:
    """Return the points of the smaller type, of legends and notes."""
    matplotlib = import_extra("matplotlib", extra="plot", needed_by="covshift.plot")
    usual = float(matplotlib.rcParams["font.size"])
    return min(usual, max(SMALLEST, (0.85 if room(ax)[0] < _NARROW else 0.9) * usual))


def legend(ax: Any, columns: int = 4, *, handles: Any = None) -> Any:
    """Write the legend above the axes, in as many columns as fit and at most so many.

    It ends where the axes end on the right, so that it may begin over the names on the left, and
    stands above a title that is there already. Names that are too long go on in the next line.
    """
    entries = handles or ax.get_legend_handles_labels()[0]
    if not entries:
        return None
    size, wide = small(ax), room(ax)[0] - 6.0
    names = [wrapped(entry.get_label(), size, wide - 2.0 * size) for entry in entries]
    widths = [_widest(name, size) + 2.0 * size for name in names]
    columns = min(columns, len(names))
    while columns > 1 and _columns_width(widths, columns) + (columns - 1) * size > wide:
        columns -= 1
    return ax.legend(
        entries,
        names,
        ncols=columns,
        fontsize=size,
        frameon=False,
        handlelength=1.4,
        handletextpad=0.5,
        columnspacing=1.0,
        borderpad=0.0,
        borderaxespad=0.5,
        loc="lower right",
        bbox_to_anchor=(1.0, 1.0),
        bbox_transform=above(ax),
    )


def _columns_width(widths: Sequence[float], columns: int) -> float:
    """Return the width of all columns: the first are longer by one where they are not even."""
    total, start = 0.0, 0
    for k in range(columns):
        stop = start + len(widths) // columns + (k < len(widths) % columns)
        total += max(widths[start:stop])
        start = stop
    return total


def above(ax: Any) -> Any:
    """Return the coordinates of the axes, lifted by the height of the title, if there is one."""
    transforms = import_extra("matplotlib.transforms", extra="plot", needed_by="covshift.plot")
    titles = (ax.title, ax._left_title, ax._right_title)
    lines = [text.get_text().count("\n") + 1 for text in titles if text.get_text()]
    lift = (1.25 * max(lines) * ax.title.get_size() + 4.0) / 72.0 if lines else 0.0
    return ax.transAxes + transforms.ScaledTranslation(0.0, lift, ax.figure.dpi_scale_trans)


def width_of(text: str, size: float) -> float:
    """Return the points that a line of text takes at this size."""
    paths = import_extra("matplotlib.textpath", extra="plot", needed_by="covshift.plot")
    fonts = import_extra("matplotlib.font_manager", extra="plot", needed_by="covshift.plot")
    with quiet(UserWarning, message=r"Glyph .* missing from"):
        line = text.replace(r"\$", "$")
        measure = paths.text_to_path.get_text_width_height_descent
        return float(measure(line, fonts.FontProperties(size=size), False)[0])


def wrapped(text: str, size: float, width: float) -> str:
    """Break a text between words, into lines of like lengths of at most ``width`` points."""
    broken = _broken(text, size, width)
    while "\n" in broken:
        width *= 0.93
        narrower = _broken(text, size, width)
        if narrower.count("\n") > broken.count("\n") or _widest(narrower, size) > width:
            break
        broken = narrower
    return broken


def _widest(text: str, size: float) -> float:
    return max(width_of(line, size) for line in text.split("\n"))


def _broken(text: str, size: float, width: float) -> str:
    lines: list[str] = []
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width_of(longer, size) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)


def name_rows(ax: Any, places: Any, names: Sequence[str]) -> None:
    """Write a name beside each row, on at most 42% of the width: in two lines, or cut."""
    wide, high = room(ax)
    size = _body(ax)
    most, two = 0.42 * wide, (high - 60.0) / max(len(names), 1) > 2.5 * size
    ax.set_yticks(places, [_fitting(name, size, most, two) for name in names])
    ax.tick_params(axis="y", length=0)


def _fitting(name: str, size: float, width: float, two: bool) -> str:
    if width_of(name, size) <= width:
        return name
    lines = wrapped(name, size, width)
    if two and lines.count("\n") == 1 and _widest(lines, size) <= width:
        return lines
    name = shorter = name.replace(r"\$", "$")
    for length in range(len(name) - 1, 3, -1):
        shorter = f"{name[: (length + 1) // 2].rstrip()}…{name[len(name) - length // 2 :].lstrip()}"
        if width_of(shorter, size) <= width:
            break
    return shorter.replace("$", r"\$")


def _body(ax: Any) -> float:
    """Return the points of the type of ticks and labels: smaller only on narrow axes."""
    matplotlib = import_extra("matplotlib", extra="plot", needed_by="covshift.plot")
    return small(ax) if room(ax)[0] < _NARROW else float(matplotlib.rcParams["font.size"])


def drawable(values: Any) -> Any:
    """Cut numbers beyond 1e150, with which matplotlib's own arithmetic would overflow."""
    return np.clip(values, -1e150, 1e150)


def tidy(ax: Any) -> None:
    """Keep the left and bottom spine only, and fit type and labels to the width; call it last."""
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    wide, high = room(ax)
    if wide < _NARROW:
        ax.tick_params(labelsize=small(ax))
        for text in (ax.xaxis.label, ax.yaxis.label):
            text.set_size(small(ax))
        ticker = import_extra("matplotlib.ticker", extra="plot", needed_by="covshift.plot")
        if isinstance(ax.xaxis.get_major_locator(), ticker.AutoLocator):
            # As many as the layout begins with: its own number would differ where it ends.
            bins = max(2, int((wide - _beside(ax)) / (3.5 * small(ax))))
            ax.xaxis.set_major_locator(ticker.MaxNLocator(bins, steps=[1, 2, 2.5, 5, 10]))
    beside = 2.0 * _body(ax) * bool(ax.get_ylabel()) + _beside(ax)
    for text, most in ((ax.xaxis.label, wide - beside), (ax.yaxis.label, high - 5.0 * _body(ax))):
        text.set_text(wrapped(text.get_text(), text.get_size(), max(most - 12.0, 60.0)))


def _beside(ax: Any) -> float:
    """Return the points that the names of the rows take, or numbers, roughly."""
    ticker = import_extra("matplotlib.ticker", extra="plot", needed_by="covshift.plot")
    named = isinstance(ax.yaxis.get_major_locator(), ticker.FixedLocator)
    names = [text.get_text() for text in ax.get_yticklabels()] if named else ["0.00"]
    return max((_widest(name, _body(ax)) for name in names), default=0.0) + 8.0


def name_columns(ax: Any, places: Any, names: Sequence[str]) -> None:
    """Write names below the axis, slanted where they would meet, and only every so many of many."""
    size, wide = _body(ax), max(room(ax)[0] - 50.0, 60.0)
    step = max(1, int(np.ceil(1.4 * size * len(names) / wide)))
    places, names = places[::step], names[::step]
    ax.set_xticks(places, names)
    longest = max((width_of(name, size) for name in names), default=0.0)
    if longest + size > wide / max(len(names), 1):
        ax.tick_params(axis="x", labelrotation=45)
        for text in ax.get_xticklabels():
            text.set_horizontalalignment("right")
            text.set_rotation_mode("anchor")


def write_dates(axis: Any) -> None:
    """Write days since 1970-01-01 as dates along an axis, in two lines where they would meet."""
    ticker = import_extra("matplotlib.ticker", extra="plot", needed_by="covshift.plot")
    ax = axis.axes
    meet = room(ax)[0] < 4.5 * width_of("2000-01-01", small(ax))
    gap = "\n" if meet and axis is ax.xaxis else "-"
    axis.set_major_locator(ticker.MaxNLocator(3, integer=True))

    def written(day: float, _: Any) -> str:
        text = as_date(day)
        return text[0] + text[1:].replace("-", gap, 1)

    axis.set_major_formatter(ticker.FuncFormatter(written))


def label(name: str, width: int = 28) -> str:
    """Make a name safe to draw: no formula, no control characters, not too long.

    >>> label("$x_{")
    '\\\\$x_{'
    """
    text = "".join(c if c.isprintable() else "�" for c in name)
    if len(text) > width:
        text = text[: width - 1] + "…"
    return text.replace("$", r"\$")
