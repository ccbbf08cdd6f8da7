"""Inputs of rows: bad cells, bad shapes, other kinds of arrays, and data frames."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from importlib.util import find_spec
from typing import Any

import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import scipy.sparse

from .problem import Expectation, Input, Problem, Refuses, Same, Sound, SoundOrRefuses

NAMES = ["age", "income", "visits"]
DAY = np.datetime64("2024-01-01")


def with_cell(value: Any, dtype: Any = None) -> Callable[[Any], Any]:
    """Put a value into one cell."""

    def change(rows: Any) -> Any:
        changed = rows.astype(dtype) if dtype else rows.copy()
        changed[3, 1] = value
        return changed

    return change


def masked(rows: Any) -> Any:
    mask = np.zeros(rows.shape, dtype=bool)
    mask[3, 1] = True
    return np.ma.MaskedArray(rows, mask)


def ragged(rows: Any) -> Any:
    return [*rows.tolist()[:-1], [1.0]]


def frame(rows: Any) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=NAMES)


def with_column(column: Callable[[int], Any]) -> Callable[[Any], pd.DataFrame]:
    """A data frame of which one column is replaced."""

    def change(rows: Any) -> pd.DataFrame:
        return frame(rows).assign(income=column(len(rows)))

    return change


def nothing(rows: Any) -> None:
    return None


BAD: dict[str, tuple[Callable[[Any], Any], Expectation]] = {
    "NaN": (with_cell(np.nan), Refuses("NaN")),
    "inf": (with_cell(np.inf), Refuses("inf")),
    "minus inf": (with_cell(-np.inf), Refuses("inf")),
    "None in a cell": (with_cell(None, object), Refuses("NaN|None|missing|no number")),
    "pd.NA in a cell": (with_cell(pd.NA, object), Refuses("NaN|NA|missing|no number")),
    "text in a cell": (with_cell("x", object), Refuses("text")),
    "a number as text": (with_cell("1.5", object), Refuses("text")),
    "strings": (lambda rows: rows.astype(str), Refuses("text")),
    "bytes": (lambda rows: rows.astype("S8"), Refuses("text|bytes")),
    "dates": (lambda rows: DAY + (rows * 8).astype("m8[D]"), Refuses("date")),
    "timedeltas": (lambda rows: (rows * 8).astype("m8[D]"), Refuses("date or time")),
    "a date in a cell": (with_cell(date(2024, 1, 1), object), Refuses("date")),
    "a list in a cell": (with_cell([1.0, 2.0], object), Refuses()),
    "complex numbers": (lambda rows: rows + 0j, Refuses("complex")),
    "a complex number in a cell": (with_cell(1j, object), Refuses("complex|number")),
    "whole numbers beyond 2**53": (with_cell(2**53 + 1, np.int64), Refuses("whole numbers")),
    "masked entries": (masked, Refuses("masked")),
    "one dimension": (lambda rows: rows[:, 0], Refuses("2D|dimension")),
    "three dimensions": (lambda rows: rows[:, :, None], Refuses("dim|3")),
    "no rows": (lambda rows: rows[:0], Refuses("0 sample|empty|no rows|rows")),
    "no columns": (lambda rows: rows[:, :0], Refuses("0 feature|empty|columns|features")),
    "a number": (lambda rows: 3.0, Refuses()),
    "a string": (lambda rows: "rows", Refuses()),
    "a ragged list": (ragged, Refuses()),
    "an empty list": (lambda rows: [], Refuses()),
    "a generator": (lambda rows: (row for row in rows.tolist()), Refuses()),
    "a dict": (lambda rows: dict(zip(NAMES, rows.T.tolist(), strict=True)), Refuses()),
    "a set": (lambda rows: {1.0, 2.0}, Refuses()),
    "a sparse matrix": (scipy.sparse.csr_matrix, Refuses("sparse|dense")),
    "a sparse array": (scipy.sparse.csr_array, Refuses("sparse|dense")),
    "records": (
        lambda rows: np.array([*map(tuple, rows)], dtype=[(name, "f8") for name in NAMES]),
        Refuses(),
    ),
}
"""What is refused wherever rows go in."""

BAD_FRAMES: dict[str, tuple[Callable[[Any], Any], Expectation]] = {
    "a frame of no rows": (lambda rows: frame(rows)[:0], Refuses("empty|0 sample|no rows|rows")),
    "a frame with two columns of one name": (
        lambda rows: pd.DataFrame(rows, columns=["age", "income", "age"]),
        Refuses("'age'|same name|several columns"),
    ),
    "a frame with inf": (lambda rows: frame(with_cell(np.inf)(rows)), Refuses("inf")),
    "a frame of long integers": (
        lambda rows: frame(rows).assign(income=np.arange(len(rows)) + 2**53 + 1),
        Refuses("whole numbers"),
    ),
    "a frame of complex numbers": (with_column(lambda n: np.arange(n) * 1j), Refuses("complex")),
    "a frame of lists": (with_column(lambda n: [[k] for k in range(n)]), Refuses()),
}

TABLES: dict[str, Callable[[Any], Any]] = {
    "text": with_column(lambda n: ["a", "b", "c", "d"] * (n // 4)),
    "categories": with_column(lambda n: pd.Categorical(["a", "b"] * (n // 2))),
    "dates": with_column(lambda n: pd.date_range("2024-01-01", periods=n)),
    "gaps": lambda rows: frame(rows).mask(np.arange(len(rows) * 3).reshape(-1, 3) % 7 == 3),
    "nullable gaps": lambda rows: (
        frame(rows)
        .mask(np.arange(len(rows) * 3).reshape(-1, 3) % 7 == 3)
        .astype({"age": "Float64"})
    ),
    "polars text": lambda rows: pl.DataFrame(rows, schema=NAMES).with_columns(
        income=pl.Series(["a", "b"] * (len(rows) // 2))
    ),
    "polars nulls": lambda rows: pl.from_pandas(
        frame(rows).mask(np.arange(len(rows) * 3).reshape(-1, 3) % 7 == 3)
    ),
    "Arrow text": lambda rows: pa.table(
        {"age": rows[:, 0], "town": ["a", "b"] * (len(rows) // 2), "visits": rows[:, 2]}
    ),
}
"""Tables as they come, both samples alike: encoded, or refused by the name of the column."""


def fortran(rows: Any) -> Any:
    return np.asfortranarray(rows)


def strided(rows: Any) -> Any:
    return np.repeat(np.repeat(rows, 2, axis=0), 2, axis=1)[::2, ::2]


def reversed_view(rows: Any) -> Any:
    return rows[::-1].copy()[::-1]


def read_only(rows: Any) -> Any:
    rows = rows.copy()
    rows.flags.writeable = False
    return rows


def subclass(rows: Any) -> Any:
    class Own(np.ndarray):
        pass

    return rows.view(Own)


def other_index(rows: Any) -> Any:
    return pd.DataFrame(rows, columns=NAMES, index=np.arange(len(rows))[::-1] * 3 + 7)


def tensor(dtype: str) -> Callable[[Any], Any]:
    def change(rows: Any) -> Any:
        import torch

        return torch.tensor(rows, dtype=getattr(torch, dtype))

    return change


ALIKE: dict[str, Callable[[Any], Any]] = {
    "lists": lambda rows: rows.tolist(),
    "a list of arrays": list,
    "a list of tuples": lambda rows: [*map(tuple, rows.tolist())],
    "an object array": lambda rows: rows.astype(object),
    "decimals": lambda rows: np.array([[Decimal(v) for v in row] for row in rows.tolist()]),
    "Fortran order": fortran,
    "strided": strided,
    "a reversed view": reversed_view,
    "read-only": read_only,
    "big-endian": lambda rows: rows.astype(">f8"),
    "long double": lambda rows: rows.astype(np.longdouble),
    "a subclass": subclass,
    "masked, without mask": np.ma.asarray,
    "a frame": frame,
    "a frame with another index": other_index,
    "a frame of objects": lambda rows: frame(rows).astype(object).infer_objects(),
    "a nullable frame": lambda rows: frame(rows).astype("Float64"),
    "an Arrow-backed frame": lambda rows: frame(rows).astype("double[pyarrow]"),
    "a polars frame": lambda rows: pl.DataFrame(rows, schema=NAMES),
    "an Arrow table": lambda rows: pa.table(dict(zip(NAMES, rows.T, strict=True))),
}
"""The same numbers in another guise: the same answer, whichever of the samples has it."""

ROUNDED: dict[str, Callable[[Any], Any]] = {
    "float32": lambda rows: rows.astype(np.float32),
    "float16": lambda rows: rows.astype(np.float16),
    "a float32 frame": lambda rows: frame(rows).astype("float32"),
}
"""Numbers of another precision, in which the answer may be computed."""

BOTH_ALIKE: dict[str, Callable[[Any], Any]] = {
    "array API": array_api_strict.asarray,
    "frames whose columns are no strings": pd.DataFrame,
}
if find_spec("torch"):
    BOTH_ALIKE["tensors"] = tensor("float64")


def whole(problem: Problem) -> Problem:
    return problem.each(lambda rows: np.round(rows) + 3, "X", "X_target")


WHOLE: dict[str, Callable[[Any], Any]] = {
    "int64": lambda rows: rows.astype(np.int64),
    "int8": lambda rows: rows.astype(np.int8),
    "uint8": lambda rows: rows.astype(np.uint8),
    "uint64": lambda rows: rows.astype(np.uint64),
    "lists of int": lambda rows: rows.astype(int).tolist(),
    "a frame of int": lambda rows: frame(rows).astype("int32"),
    "a nullable frame of int": lambda rows: frame(rows).astype("Int64"),
}


def binary(problem: Problem) -> Problem:
    return problem.each(lambda rows: (rows > 0).astype(float), "X", "X_target")


def in_both(name: str, change: Any, expects: Expectation, **more: Any) -> Input:
    def changed(problem: Problem) -> Problem:
        return problem.each(change, "X", "X_target")

    return Input(f"X and X_target: {name}", "X", changed, expects, also=("X_target",), **more)


def in_one(slot: str, name: str, change: Any, expects: Expectation, **more: Any) -> Input:
    def changed(problem: Problem) -> Problem:
        return problem.each(change, slot)

    return Input(f"{slot}: {name}", slot, changed, expects, **more)


def after(first: Callable[[Problem], Problem], change: Any, *slots: str) -> Any:
    return lambda problem: first(problem).each(change, *slots)


def rows_of(slot: str) -> list[Input]:
    """What may be wrong, or odd, with one of the two samples."""
    found = [in_one(slot, name, *how) for name, how in {**BAD, **BAD_FRAMES}.items()]
    found += [in_one(slot, name, change, Same(1e-6)) for name, change in ALIKE.items()]
    found += [in_one(slot, name, change, Same(2e-3)) for name, change in ROUNDED.items()]
    return found


def target_frame(change: Callable[[pd.DataFrame], Any]) -> Callable[[Problem], Problem]:
    def changed(problem: Problem) -> Problem:
        return problem.with_(X=frame(problem.X), X_target=change(frame(problem.X_target)))

    return changed


COLUMNS = [
    ("reordered columns", lambda T: T[NAMES[::-1]], Same(1e-6)),
    ("a renamed column", lambda T: T.rename(columns={"age": "years"}), Refuses("'(age|years)'")),
    ("a missing column", lambda T: T[NAMES[:2]], Refuses("visits|2 features|columns")),
    ("a column too many", lambda T: T.assign(more=1.0), Refuses("more|4 features|columns")),
    (
        "polars, reordered",
        lambda T: pl.from_pandas(T[NAMES[::-1]]),
        Same(1e-6),
    ),
]

INPUTS = [
    *rows_of("X"),
    *rows_of("X_target"),
    *(in_both(name, change, Same(1e-6)) for name, change in BOTH_ALIKE.items()),
    *(
        in_both(f"table with {name}", change, Refuses("income|town"), tables=Sound())
        for name, change in TABLES.items()
    ),
    *(
        Input(
            f"X and X_target: {name}",
            "X",
            after(whole, change, "X", "X_target"),
            Same(1e-6),
            reference=whole,
            also=("X_target",),
        )
        for name, change in WHOLE.items()
    ),
    Input(
        "X and X_target: bool",
        "X",
        after(binary, lambda rows: rows.astype(bool), "X", "X_target"),
        Same(1e-6),
        reference=binary,
        also=("X_target",),
    ),
    *(
        Input(f"X_target: {name}", "X_target", target_frame(change), expects, also=("X",))
        for name, change, expects in COLUMNS
    ),
    in_one("X_target", "two columns", lambda T: T[:, :2], Refuses("2 features|columns")),
    in_one("X_target", "four columns", lambda T: np.c_[T, T[:, 0]], Refuses("4 features|columns")),
    in_one("X_target", "a pair", lambda T: (T, T), Refuses("tuple of 2")),
    in_one("X_target", "a one-tuple", lambda T: (T,), Same()),
    in_one("X_target", "a pair of frames", lambda T: (frame(T), frame(T)), Refuses("tuple of 2")),
    Input(
        "X_target: one row",
        "X_target",
        lambda p: p.with_(X_target=p.X_target[:1], target_weight=p.target_weight[:1]),
        SoundOrRefuses(),
        also=("target_weight",),
    ),
    in_both("a constant column", with_column(lambda n: np.ones(n)), Sound()),
    in_both("all columns constant", lambda rows: np.ones_like(rows), SoundOrRefuses()),
]
