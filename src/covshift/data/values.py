"""One value per row, of whatever library: masks, dates, text and gaps are named, not converted.

Weights, outcomes, labels and scores all come in here. NumPy would make numbers of dates and of
text, and would drop the imaginary part, without a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Set
from datetime import UTC, date, datetime, time, timedelta
from numbers import Complex, Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..exceptions import InputError, InputTypeError
from ..numerics.array import is_array, to_numpy

_DATES = (date, time, timedelta, np.datetime64, np.timedelta64)
_REMEDY = {
    "dates or times": "Turn them into numbers first, for example days since a fixed date.",
    "text": "Convert it to numbers first.",
    "complex numbers": "Pass real numbers.",
}


def refuse_lazy(values: Any) -> None:
    """Refuse a LazyFrame, which has no rows yet."""
    if type(values).__name__ == "LazyFrame":
        raise InputTypeError("A LazyFrame has no rows yet. Pass a data frame: frame.collect().")


def numbers_of_rows(values: Any, name: str, what: str = "one number per row") -> NDArray[Any]:
    """Return a copy of the values as float64, in their shape; gaps are NaN.

    ``what`` says in an error what to pass instead.
    """
    found = plain_values(values, name, what)
    kind = "no numbers"
    if found.dtype.kind == "O":
        cells = [cell for cell in found.ravel().tolist() if not is_gap(cell)]
        kind = _kind_of(cells)
        filled = (np.nan if is_gap(cell) else cell for cell in found.ravel().tolist())
        found = np.fromiter(filled, dtype=object, count=found.size).reshape(found.shape)
    elif found.dtype.kind in "UST":
        kind = "text"
    if kind in _REMEDY:
        refuse(name, kind)
    try:
        return found.astype(np.float64)
    except OverflowError:
        raise InputError(f"{name} holds numbers beyond float64. Scale them down.") from None
    except (TypeError, ValueError) as error:
        text = f"{name} contains values that are not numbers: {error}. Pass {what}."
        raise InputTypeError(text) from error


def plain_values(values: Any, name: str, what: str = "one value per row") -> NDArray[Any]:
    """Return the values as an array; refuse masked, sparse, complex ones, dates, and no values."""
    refuse_lazy(values)
    if np.ma.is_masked(values):
        raise InputError(f"{name} has masked entries. Fill them first.")
    if issparse(values):
        raise InputTypeError(f"{name} is sparse. Pass a dense array, {what}: {name}.toarray().")
    refuse_no_values(values, name, what)
    try:
        found = np.asarray(to_numpy(values) if is_array(values) else values)
    except ValueError as error:
        raise InputError(
            f"{name} contains values that are not numbers: its entries have different lengths. "
            f"Pass {what}."
        ) from error
    except (TypeError, RuntimeError) as error:  # of a library whose arrays do not leave it
        raise InputTypeError(f"{name}: {error}") from error
    if found.dtype.kind in "Mm":
        refuse(name, "dates or times")
    if found.dtype.kind == "c":
        refuse(name, "complex numbers")
    if found.dtype.kind == "V":
        raise InputTypeError(f"{name} holds records, not numbers. Pass {what}.")
    if found.dtype.kind in "US" and not isinstance(values, np.ndarray) and not _all_text(values):
        found = np.asarray(values, dtype=object)  # NumPy has made text of numbers
    if found.dtype.kind == "O" and _kind_of(found.ravel().tolist()) == "dates or times":
        refuse(name, "dates or times")
    return found


def refuse_no_values(values: Any, name: str, what: str) -> None:
    """Refuse what is no sequence of values, such as a string or a generator."""
    if issparse(values):  # of which some kinds are dicts
        return
    if values is None or isinstance(values, str | bytes | Mapping | Set | Iterator | Number):
        shown = repr(values) if isinstance(values, str | Number) else _a(type(values).__name__)
        raise InputTypeError(f"{name} is {shown:.60}, which holds no values of rows. Pass {what}.")


def is_gap(cell: Any) -> bool:
    """Whether a cell is missing: None, NaN, pandas' NA or NaT."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas' NA says neither yes nor no
        return type(cell).__name__ == "NAType"


def refuse(name: str, what: str) -> None:
    """Refuse what would become numbers that nobody meant."""
    complaint = "Complex data not supported: " if what == "complex numbers" else ""
    raise InputTypeError(f"{complaint}{name} holds {what}. {_REMEDY[what]}")


def _kind_of(cells: list[Any]) -> str:
    """Tell what objects are, if one of them is no number."""
    for kind, types in (("dates or times", _DATES), ("text", (str, bytes))):
        if any(isinstance(cell, types) for cell in cells):
            return kind
    if any(isinstance(cell, Complex) and not isinstance(cell, Real) for cell in cells):
        return "complex numbers"
    return "numbers"


def _all_text(values: Any) -> bool:
    try:
        return all(isinstance(cell, str | bytes) for cell in values)
    except TypeError:
        return False


def _a(kind: str) -> str:
    return f"{'an' if kind[0].lower() in 'aeiou' else 'a'} {kind}"


# ISO dates as text, the same for files and for data frames.


_ISO = re.compile(
    r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d{1,9})?)?\s?(Z|[+-]\d{2}:?\d{2})?)?"
)
_EPOCH = datetime(1970, 1, 1)
LONGEST = 40  # characters of a date


def is_iso(text: str) -> bool:
    """Tell whether a text is an ISO date, with or without a time.

    >>> is_iso("2026-11-15"), is_iso("2026-11-15 12:30"), is_iso("15.11.2026"), is_iso("2026-13-01")
    (True, True, False, False)
    """
    try:
        days_of(text)
    except ValueError:
        return False
    return True


def days_of(text: str, form: str | None = None) -> float:
    """Return days since 1970-01-01 (UTC) for an ISO date, or for one of the ``form`` given.

    >>> days_of("1970-01-03T12:00"), days_of("03.01.1970", "%d.%m.%Y")
    (2.5, 2.0)
    """
    if form is not None:
        moment = datetime.strptime(text, form)
    elif len(text) <= LONGEST and _ISO.fullmatch(text):
        moment = datetime.fromisoformat(text.replace(" +", "+").replace(" Z", "Z"))
    else:
        raise InputError(f"{text!r} is not an ISO date")
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    past = moment - _EPOCH
    return past.days + (past.seconds + past.microseconds / 1e6) / 86_400


# Other spellings: a format reads them where it is the only one that fits all.


_ANY = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].{1,30})?|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4}( .{1,30})?|"
    r"\d{1,2}:\d{2}(:\d{2})?|\d{1,2}[ -][A-Za-z]{3,9}[ -]\d{2,4}"
)
_DAYS = (
    *("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%Y/%m/%d", "%Y.%m.%d"),
    *("%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%d-%b-%y"),
)
_TIMES = ("", " %H:%M", " %H:%M:%S")


def look_like_dates(levels: Iterable[str]) -> bool:
    """Tell whether every text has the form of a date or time."""
    return all(len(level) <= LONGEST and _ANY.fullmatch(level) for level in levels)


def formats_of(levels: Iterable[str]) -> list[str]:
    """Return the formats that read all these dates: two where day and month may be swapped.

    >>> formats_of(["15.11.2026", "1.2.2026"]), formats_of(["1/2/2026"])
    (['%d.%m.%Y'], ['%d/%m/%Y', '%m/%d/%Y'])
    """
    levels = list(levels)
    found = [day + time for day in _DAYS for time in _TIMES]
    for level in levels:
        found = [form for form in found if _fits(level, form)]
        if not found:
            break
    return found


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


MOST_COLUMNS = 20_000  # that two samples are compared in


def too_wide(title: str, width: int) -> str:
    """Say that a table has too many columns to compare, and what to do."""
    return (
        f"{title} has {width:,} columns, and at most {MOST_COLUMNS:,} can be compared in a "
        "reasonable time. Keep those that the outcome depends on, or summarise them first: for "
        "example by sklearn.decomposition.PCA, fitted to both samples together."
    )
