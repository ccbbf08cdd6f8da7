"""Hostile tables: cells, names, rows and libraries on which careless code breaks.

A case is a few words and a seed, so that a failure is shown in one line that
`hypothesis.example` takes. Everything drawn is one of the lists below: to fuzz with a further kind
of column, add it to COLUMNS.
"""

from __future__ import annotations

import datetime
import warnings
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import reject
from hypothesis import strategies as st


def _of(*values: Any, dtype: Any = None) -> Any:
    """Cells that are some of these values."""

    def cells(rng: np.random.Generator, size: int) -> Any:
        found = [values[k] for k in rng.integers(len(values), size=size)]
        return pd.Series(found, dtype=object if dtype is None else dtype)

    return cells


def _category(*levels: Any, ordered: bool = False) -> Any:
    def cells(rng: np.random.Generator, size: int) -> Any:
        some = [levels[k] for k in rng.integers(len(levels) - 1, size=size)]
        return pd.Categorical(some, categories=levels, ordered=ordered)  # the last is never met

    return cells


def _dates(rng: np.random.Generator, size: int, zone: str | None = None) -> Any:
    days = pd.to_timedelta(rng.integers(0, 2000, size=size), unit="D")
    return (pd.Timestamp("2020-01-01", tz=zone) + days).as_unit("ns")


MISSING = (None, np.nan, pd.NA, pd.NaT)
ARROW = pd.ArrowDtype
COLUMNS = {
    # numbers
    "normal": lambda rng, size: rng.normal(size=size).round(2),
    "integer": lambda rng, size: rng.integers(0, 4, size=size),
    "share": lambda rng, size: rng.uniform(size=size).round(2),
    "zeros and ones": lambda rng, size: rng.integers(0, 2, size=size),
    "boolean": lambda rng, size: rng.integers(0, 2, size=size).astype(bool),
    "float32": lambda rng, size: rng.normal(size=size).astype(np.float32),
    "float16": lambda rng, size: rng.normal(size=size).astype(np.float16),
    "unsigned": lambda rng, size: rng.integers(250, 256, size=size).astype(np.uint8),
    "row numbers": lambda rng, size: np.arange(size),
    "constant": _of(7, dtype="int64"),
    "negative zero": _of(0.0, -0.0, 1.0, dtype="float64"),
    "far from zero": lambda rng, size: 1e9 + rng.normal(size=size),
    "1e150": lambda rng, size: 1e150 * rng.normal(size=size),
    "1e300": lambda rng, size: 1e300 * rng.normal(size=size),
    "1e99": lambda rng, size: 1e99 * rng.uniform(-1, 1, size=size),
    "1e-99": lambda rng, size: 1e-99 * rng.normal(size=size),
    "1e-300": lambda rng, size: 1e-300 * rng.normal(size=size),
    "subnormal": _of(5e-324, 1e-310, 0.0, -5e-324, dtype="float64"),
    "one huge": _of(0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 1e90, dtype="float64"),
    "infinite": _of(1.0, 2.0, np.inf, -np.inf, dtype="float64"),
    "beyond 64 bits": _of(2**63, 2**64, -(2**70), 5),
    "400 digits": _of(10**400, -(10**400), 3),
    "complex": _of(1j, 1 + 2j),
    "Decimal": _of(Decimal("1.5"), Decimal("2.25"), Decimal("-3")),
    "Decimal NaN": _of(Decimal("1.5"), Decimal("NaN"), Decimal("Infinity")),
    "Fraction": _of(Fraction(1, 3), Fraction(2, 3)),
    "NumPy scalars": _of(np.int8(1), np.float32(2.5), np.bool_(True)),
    # missing in every spelling
    "gaps": _of(1.5, 2.5, 4.0, *MISSING),
    "gaps in text": _of("a", "b", "c", *MISSING),
    "gaps in booleans": _of(True, False, *MISSING),
    "only gaps": _of(*MISSING),
    "only NaN": _of(np.nan, dtype="float64"),
    "only None": _of(None),
    # one column, several kinds
    "True beside 1": _of(True, 1, False, 0),
    "True beside text": _of(True, "True", 1, "1", 1.0),
    "numbers beside text": _of("a", 1, 2.5, None),
    "dates beside numbers": _of(datetime.date(2020, 1, 1), 3, "x"),
    "anything": _of(1, "a", None, b"b", (1, 2), 2.5, True, Decimal(1), pd.NaT),
    # text
    "text": _of("a", "b", "c"),
    "text of numbers": _of("1", "2", "3,5", " 4 "),
    "text of dates": _of("2020-01-01", "2021-02-03", "1.2.2020"),
    "blank text": _of("", " ", "a", "a ", "A"),
    "one letter, two forms": _of("\u00e9", "e\u0301", "\ufb01", "fi"),
    "controls": _of("\0", "a\nb", "\x1b[31m", "\u202e", "=1+1", "<script>", "%s", "{x}"),
    "words for gaps": _of("NA", "nan", "None", "(missing)", "(other)", "<NA>", "-"),
    "half a pair": _of("\ud800", "b"),
    "long text": _of("x" * 20_000, "y" * 300, "z"),
    "free text": lambda rng, size: [f"row {k}" for k in range(size)],
    "NumPy text": _of(np.str_("a"), np.str_("b")),
    "bytes": _of(b"a", b"b", b"\xff"),
    # extension types of pandas
    "Int64": _of(1, 2, 3, None, dtype="Int64"),
    "Float64": _of(1.5, 2.5, None, dtype="Float64"),
    "nullable boolean": _of(True, False, None, dtype="boolean"),
    "string": _of("a", "b", None, dtype="string"),
    "str": _of("a", "b", dtype="str"),
    "category": _category("a", "b", "c", "unused"),
    "ordered category": _category("low", "mid", "high", "unused", ordered=True),
    "category of numbers": _category(3, 1, 2, 9),
    "category of booleans": lambda rng, size: pd.Categorical(_of(True, False)(rng, size)),
    "category with gaps": lambda rng, size: pd.Categorical(_of("a", "b", None)(rng, size)),
    "dates": _dates,
    "dates with a zone": lambda rng, size: _dates(rng, size, "Europe/Zurich"),
    "dates with gaps": _of(pd.Timestamp("2020-01-01"), pd.Timestamp("2021-06-01"), pd.NaT),
    "far dates": _of(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)),
    "Python dates": _of(datetime.date(2020, 1, 1), datetime.date(2021, 5, 1), None),
    "times": _of(datetime.time(8), datetime.time(20, 30)),
    "durations": lambda rng, size: pd.to_timedelta(rng.integers(0, 99, size=size), unit="h"),
    "periods": _of("2020-01", "2020-02", dtype="period[M]"),
    "intervals": _of(pd.Interval(0, 1), pd.Interval(1, 2)),
    "sparse": lambda rng, size: pd.arrays.SparseArray(rng.integers(0, 2, size=size)),
    # Arrow in pandas
    "Arrow integers": _of(1, 2, None, dtype=ARROW(pa.int32())),
    "Arrow numbers": _of(1.5, 2.5, None, dtype=ARROW(pa.float64())),
    "Arrow booleans": _of(True, False, None, dtype=ARROW(pa.bool_())),
    "Arrow text": _of("a", "b", None, dtype=ARROW(pa.string())),
    "Arrow decimals": _of(Decimal("1.50"), Decimal("2.25"), dtype=ARROW(pa.decimal128(5, 2))),
    "Arrow dates": _of(datetime.date(2020, 1, 1), None, dtype=ARROW(pa.date32())),
    "Arrow moments": _of(pd.Timestamp("2020-01-01"), dtype=ARROW(pa.timestamp("us", "UTC"))),
    "Arrow bytes": _of(b"a", b"b", dtype=ARROW(pa.binary())),
    "Arrow lists": _of([1], [1, 2], dtype=ARROW(pa.list_(pa.int64()))),
    # objects
    "tuples": _of((1, 2), (2, 1)),
    "tuples of several lengths": _of((1,), (2, 1), ()),
    "lists": _of([1], [2, 3]),
    "dicts": _of({}, {"a": 1}),
    "sets": _of({1}, frozenset([2])),
    "arrays": _of(np.zeros(2), np.ones(3)),
    "objects": _of(object(), 1),
    "functions": _of(len, print),
}
"""Columns by what they hold: each makes cells from a generator and a number of rows."""

OUTCOMES = [name for name in COLUMNS if name not in ("float16", "unsigned", "free text")]
PLAIN = ["normal", "integer", "boolean", "text", "category", "dates"]

NAMES = {
    "plain": lambda k: f"c{k}",
    "numbers": lambda k: k,
    "mixed": lambda k: ("a", 1, 2.5, None, ("x", 1), True, b"b", pd.Timestamp("2020-01-01"))[k],
    "repeated": lambda k: "same",
    "odd": lambda k: ("", " a ", "a=b", "\0\n", "<b>{x}", "\u00e9", "share", "column")[k],
    "alike": lambda k: ("1", 1, 1.0, "1.0", "True", True, "nan", np.nan)[k],
    "tuples": lambda k: ("level", k),
    "long": lambda k: f"{k}" * 3000,
    "ours": lambda k: ("weight", "y", "outcome", "group", "score", "lower", "(other)", "value")[k],
}
MOST = 8  # columns that every list of names can name

INDICES = {
    "plain": lambda size: range(size),
    "backwards": lambda size: range(size, 0, -1),
    "repeated": lambda size: [0] * size,
    "text": lambda size: [f"r{k}" for k in range(size)],
    "dates": lambda size: pd.date_range("2020-01-01", periods=size),
    "pairs": lambda size: pd.MultiIndex.from_arrays([[0] * size, range(size)]),
    "gaps": lambda size: [np.nan] * size,
}
LIBRARIES = ["pandas", "polars", "Arrow", "NumPy", "lists"]


@dataclass(frozen=True)
class Hostile:
    """Two samples of some columns, an outcome, and how they come."""

    columns: tuple[str, ...]
    outcome: str = "normal"
    rows: tuple[int, int] = (12, 14)
    names: str = "plain"
    library: str = "pandas"
    index: str = "plain"
    seed: int = 0

    @cached_property
    def frames(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Both samples as frames of pandas, of the same types."""
        N, M = self.rows
        rng = np.random.default_rng(self.seed)
        together = pd.concat(
            [pd.Series(COLUMNS[kind](rng, N + M)) for kind in self.columns], axis=1
        )
        labels = [NAMES[self.names](k) for k in range(len(self.columns))]
        together.columns = pd.Index(labels, dtype=object, tupleize_cols=False)
        parts = []
        for part in (together.iloc[:N], together.iloc[N:]):
            part = part.copy()
            part.index = pd.Index(INDICES[self.index](len(part)))
            parts.append(part)
        return parts[0], parts[1]

    def given(self, frame: pd.DataFrame) -> Any:
        """A frame in the library of this case; the case is none where it cannot hold the cells."""
        if self.library == "pandas":
            return frame
        if self.library == "NumPy":
            return frame.to_numpy()
        if self.library == "lists":
            return frame.to_numpy().tolist()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                table = pa.Table.from_pandas(frame, preserve_index=False)
                return table if self.library == "Arrow" else pl.from_arrow(table)
        except Exception:  # of the library
            reject()

    @property
    def samples(self) -> tuple[Any, Any]:
        train, target = self.frames
        return self.given(train), self.given(target)

    @property
    def named(self) -> tuple[Any, Any]:
        """Both samples; the first has the outcome as a column named y_."""
        train, target = self.frames
        train = train.copy()
        train["y_"] = self._series(self.outcome).set_axis(train.index)
        return self.given(train), self.given(target)

    @property
    def y(self) -> Any:
        return self.cells(self.outcome)

    def cells(self, kind: str, sample: int = 0) -> Any:
        """Cells of a kind for the rows of a sample, such as weights: a Series, array or list."""
        found = self._series(kind, sample)
        if self.seed % 3 == 0:
            return found.set_axis(self.frames[sample].index)
        return found.to_numpy() if self.seed % 3 == 1 else found.tolist()

    def _series(self, kind: str, sample: int = 0) -> pd.Series:
        rng = np.random.default_rng(self.seed + 1 + sample)
        return pd.Series(COLUMNS[kind](rng, self.rows[sample]))

    @property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)


@st.composite
def hostile(
    draw: st.DrawFn,
    *,
    rows: tuple[int, int] = (1, 16),
    kinds: list[str] | None = None,
    outcomes: list[str] | None = None,
    libraries: list[str] | None = None,
) -> Hostile:
    """A case in which one or two things are strange, mostly."""
    kind = st.sampled_from(list(COLUMNS) if kinds is None else kinds)
    columns = draw(st.lists(st.sampled_from(PLAIN), max_size=2))
    columns += draw(st.lists(kind, min_size=not columns, max_size=2))
    usual = st.sampled_from(["normal", "zeros and ones", "text"])
    plain = st.just("plain")
    small = draw(st.sampled_from([False, False, True]))
    size = st.integers(rows[0], 5) if small else st.integers(6, rows[1])
    return Hostile(
        columns=tuple(columns),
        outcome=draw(usual | usual | st.sampled_from(outcomes or OUTCOMES)),
        rows=(draw(size), draw(size)),
        names=draw(plain | plain | st.sampled_from(list(NAMES))),
        library=draw(st.just("pandas") | st.sampled_from(libraries or LIBRARIES)),
        index=draw(plain | plain | st.sampled_from(list(INDICES))),
        seed=draw(st.integers(0, 2**16)),
    )
