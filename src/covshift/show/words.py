"""Numbers and names for people: the digits that count, and the order that people expect."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from datetime import date, datetime, timedelta
from difflib import get_close_matches
from typing import Any, Protocol

NAME = 28  # characters of a name, at most
_FORMATS = (  # of months and days, with the month in full or short; ISO dates need none
    *("%b", "%b %Y", "%Y %b", "%b-%Y", "%Y-%b", "%b %y", "%b-%y", "%m/%Y", "%m.%Y", "%m-%Y"),
    *("%d.%m.%Y", "%d.%m.%y", "%m/%d/%Y", "%d/%m/%Y", "%d %b %Y", "%b %d, %Y"),
)
_QUARTER = re.compile(r"(?:q(?P<q>[1-4])[ -/]?(?P<y>\d{4})|(?P<Y>\d{4})[ -/]?q(?P<Q>[1-4]))", re.I)


def readable(value: float) -> str:
    """Write a number with four significant digits; whole numbers below a million in full.

    >>> [readable(v) for v in (129071.6878, 0.0123456, 3.5, 1200, 65, 4.2e12, -0.0)]
    ['129,100', '0.01235', '3.5', '1,200', '65', '4.2e+12', '0']
    """
    if not math.isfinite(value):
        return f"{value:g}"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    rounded = float(f"{value:.4g}")
    if not 1e-4 <= abs(rounded) < 1e9:
        return f"{value:.4g}"
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}"
    return f"{rounded:.4g}"


def percent(share: float) -> str:
    """Write a share in percent, small ones with the digits that count.

    >>> percent(0.3149), percent(0.0449), percent(0.00123), percent(0.0)
    ('31%', '4.5%', '0.12%', '0%')
    """
    if share == 0 or share >= 0.095:
        return f"{share:.0%}"
    return f"{100 * share:.1f}%" if share >= 0.01 else f"{100 * share:.2g}%"


def as_date(days: float) -> str:
    """Write days since 1970-01-01 as a date.

    >>> as_date(20454.5)
    '2026-01-01'
    """
    try:
        return (date(1970, 1, 1) + timedelta(days=math.floor(days))).isoformat()
    except (OverflowError, ValueError):
        return readable(days)


def signed(value: float) -> str:
    """Write a difference with its sign and three digits, and zero without a minus.

    >>> signed(0.12), signed(-0.0001)
    ('+0.120', '+0.000')
    """
    return f"{round(value, 3) + 0.0:+.3f}"


class Written(Protocol):
    """What it takes to write a number: its error, and whether it is a share."""

    @property
    def standard_error(self) -> float: ...

    @property
    def proportion(self) -> bool: ...


def shown(value: float, row: Written, *, percent: bool = True) -> str:
    """Write a number with as many digits as its error deserves; shares in per cent."""
    if not math.isfinite(value):
        return "nan" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    error = row.standard_error
    if row.proportion:
        digits = 1 if not 1e-9 < error < 0.001 else min(6, 1 - math.floor(math.log10(error * 100)))
        return f"{100 * value:.{digits}f}" + "%" * percent
    if not 0 < error < math.inf:
        return f"{value:.6g}"
    digits = 1 - math.floor(math.log10(error))
    if digits > 12 or abs(value) >= 1e15:
        return f"{value:.4g}"
    return f"{value:,.{digits}f}" if digits > 0 else f"{round(value, digits):,.0f}"


def in_digits_of(rows: Iterable[Any], same: Callable[[Any], Hashable]) -> Callable[[Any], Written]:
    """Return what says, for a row, which of the ``same`` kind its number is written like.

    That is the one of the smallest error, so that a column has one number of decimals; errors below
    a hundredth of the largest count for none.
    """
    kinds: dict[Hashable, list[Any]] = {}
    for row in rows:
        if 0 < row.standard_error < math.inf:
            kinds.setdefault(same(row), []).append(row)
    finest = {}
    for kind, found in kinds.items():
        largest = max(row.standard_error for row in found)
        enough = (row for row in found if row.standard_error >= largest / 100)
        finest[kind] = min(enough, key=lambda row: row.standard_error)
    return lambda row: finest.get(same(row), row)


def interval_of(row: Written, interval: tuple[float, float], confidence: float) -> str:
    """Write a confidence interval as a sentence has it: "95% CI 27.7% to 35.9%"."""
    low, high = (shown(bound, row) for bound in interval)
    return f"{100 * confidence:g}% CI {low} to {high}"


def printable(name: str, width: int = NAME) -> str:
    """Shorten a name, and replace what a terminal might take for a command.

    >>> printable("a\\x1b[31m")
    'a\\\\x1b[31m'
    """
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
    return text if len(text) <= width else text[: width - 1] + "…"


def joined(names: Iterable[str]) -> str:
    """Return names as a sentence has them: "a, b and c"; nothing for none.

    >>> joined(["a", "b", "c"]), joined(["a"]), joined([])
    ('a, b and c', 'a', '')
    """
    *most, last = list(names) or [""]
    return f"{', '.join(most)} and {last}" if most else last


def counted(number: int, one: str, many: str = "") -> str:
    """Count things in words.

    >>> counted(1, "row"), counted(1200, "row"), counted(2, "stratum", "strata")
    ('1 row', '1,200 rows', '2 strata')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def named(names: Sequence[str]) -> str:
    """List names in a message; of many, the first twelve."""
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return ", ".join(map(repr, names[:12])) + more


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the one of the ``known`` names that a misspelt one most likely stands for."""
    names = {one.casefold(): one for one in known}
    near = get_close_matches(name.casefold(), names, n=1, cutoff=0.7)
    return names[near[0]] if near else None


def meant(name: Any, known: Iterable[str]) -> str:
    """Guess which of the ``known`` names a misspelt one stands for: " Did you mean 'deny'?".

    >>> meant("dney", ["deny", "accept"])
    " Did you mean 'deny'?"
    >>> meant("zebra", ["deny", "accept"])
    ''
    """
    near = nearest(name, known) if isinstance(name, str) else None
    return "" if near is None else f" Did you mean {near!r}?"


def in_order(names: Iterable[str], shown: Callable[[str], str] = str) -> list[str]:
    """Return names by their numbers or dates where all of them are such, else in natural order.

    ``shown`` is the part of a name that tells its place, such as that of a file without its ending.

    >>> in_order(["batch 10", "batch 2"]), in_order(["Feb 2025", "Dec 2024", "Jan 2025"])
    (['batch 2', 'batch 10'], ['Dec 2024', 'Jan 2025', 'Feb 2025'])
    """
    parts = {name: shown(name) for name in names}
    places: dict[str, Any] | None = None
    for place in (_number, _quarter, *map(_date, _FORMATS)):
        places = _places(parts, place)
        if places is not None:
            break
    if places is None:
        places = {name: _natural(part) for name, part in parts.items()}
    return sorted(parts, key=lambda name: (places[name], name))


def _places(parts: dict[str, str], place: Callable[[str], Any]) -> dict[str, Any] | None:
    """Places of all names; None where one of them has none."""
    try:
        return {name: place(part) for name, part in parts.items()}
    except ValueError:
        return None


def _number(text: str) -> float:
    value = float(text)
    if math.isnan(value):
        raise ValueError(text)
    return value


def _quarter(text: str) -> tuple[int, int]:
    found = _QUARTER.fullmatch(text.strip())
    if found is None:
        raise ValueError(text)
    return int(found["y"] or found["Y"]), int(found["q"] or found["Q"])


def _date(form: str) -> Callable[[str], datetime]:
    def place(text: str) -> datetime:
        try:
            return datetime.strptime(text.strip(), form)
        except ValueError:
            return datetime.strptime(text.strip(), form.replace("%b", "%B"))

    return place


def _natural(text: str) -> list[tuple[int, str]]:
    """Runs of digits as numbers, all else as text without its case."""
    parts = re.split(r"([0-9]+)", text.casefold())
    return [(int(part), "") if k % 2 else (-1, part) for k, part in enumerate(parts)]
