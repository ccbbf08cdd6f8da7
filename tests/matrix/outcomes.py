"""Inputs of outcomes: classes for classifiers, numbers for regressors, and what is neither."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

from .problem import Expectation, Input, Problem, Refuses, Same, Sound, SoundOrRefuses

DAY = np.datetime64("2024-01-01")


def entry_at(value: Any, dtype: Any) -> Callable[[Any], Any]:
    """Put a value in one place."""

    def change(y: Any) -> Any:
        changed = np.asarray(y).astype(dtype)
        changed[3] = value
        return changed

    return change


def masked(y: Any) -> Any:
    return np.ma.MaskedArray(y, np.arange(len(y)) == 3)


def in_y(task: str | None, name: str, change: Any, expects: Expectation, **more: Any) -> Input:
    def changed(problem: Problem) -> Problem:
        return problem.each(change, "y")

    return Input(f"y: {name}", "y", changed, expects, task=task, **more)


BAD: dict[str, tuple[Callable[[Any], Any], Expectation]] = {
    "NaN": (entry_at(np.nan, float), Refuses("NaN|missing")),
    "inf": (entry_at(np.inf, float), Refuses("inf")),
    "minus inf": (entry_at(-np.inf, float), Refuses("inf")),
    "None in one place": (entry_at(None, object), Refuses("None|NaN|missing")),
    "pd.NA in one place": (entry_at(pd.NA, object), Refuses("NA|NaN|missing")),
    "a nullable series with a gap": (
        lambda y: pd.Series(y).astype("Float64").mask(np.arange(len(y)) == 3),
        Refuses("NA|NaN|missing"),
    ),
    "a polars series with a null": (
        lambda y: pl.Series([None, *y[1:].tolist()]),
        Refuses("NaN|missing|null|None"),
    ),
    "masked": (masked, Refuses("masked")),
    "complex numbers": (lambda y: y + 0j, Refuses("complex")),
    "mixed labels": (entry_at("yes", object), Refuses("text|mix|number|string|str")),
    "mixed bytes": (entry_at(b"yes", object), Refuses("text|mix|number|string|bytes")),
    "too long": (lambda y: np.append(y, y[:1]), Refuses("33|rows|length|inconsistent")),
    "too short": (lambda y: y[:-1], Refuses("31|rows|length|inconsistent")),
    "empty": (lambda y: y[:0], Refuses()),
    "an empty list": (lambda y: [], Refuses()),
    "a number": (lambda y: 1.0, Refuses()),
    "a string": (lambda y: "outcome", Refuses()),
    "a generator": (lambda y: (value for value in y.tolist()), Refuses()),
    "a dict": (lambda y: dict(enumerate(y.tolist())), Refuses()),
    "three dimensions": (lambda y: y[:, None, None], Refuses("dim|shape|3d")),
    "sparse": (lambda y: scipy.sparse.csr_matrix(y[:, None]), Refuses("sparse|dense")),
    "ragged": (lambda y: [*y.tolist()[:-1], [1.0, 2.0]], Refuses()),
    "sets": (lambda y: [{value} for value in y.tolist()], Refuses()),
}

ALIKE: dict[str, Callable[[Any], Any]] = {
    "a list": lambda y: y.tolist(),
    "a tuple": lambda y: tuple(y.tolist()),
    "objects": lambda y: y.astype(object),
    "strided": lambda y: np.repeat(y, 2)[::2],
    "read-only": lambda y: np.frombuffer(y.tobytes(), y.dtype),
    "big-endian": lambda y: y.astype(y.dtype.newbyteorder(">")),
    "masked, without mask": np.ma.asarray,
    "a series with another index": lambda y: pd.Series(y, index=np.arange(len(y))[::-1] + 5),
    "a nullable series": lambda y: pd.Series(y).convert_dtypes(),
    "an Arrow-backed series": lambda y: pd.Series(y).astype(
        "int64[pyarrow]" if y.dtype.kind == "i" else "double[pyarrow]"
    ),
    "a polars series": pl.Series,
    "a column": lambda y: y[:, None],
    "a frame of one column": lambda y: pd.DataFrame({"outcome": y}),
}

CLASSES: dict[str, tuple[Callable[[Any], Any], Expectation]] = {
    "booleans": (lambda y: y.astype(bool), Same()),
    "strings": (lambda y: np.array(["a", "b"])[y], Same()),
    "objects that are strings": (lambda y: np.array(["a", "b"], dtype=object)[y], Same()),
    "a string series": (lambda y: pd.Series(np.array(["a", "b"])[y]), Same()),
    "a categorical": (lambda y: pd.Series(pd.Categorical(np.array(["a", "b"])[y])), Same()),
    "floats": (lambda y: y.astype(float), Same()),
    "uint8": (lambda y: y.astype(np.uint8), Same()),
    "one class": (np.zeros_like, Refuses("class")),
    "continuous numbers": (lambda y: y + np.arange(len(y)) / 7, Refuses("continuous|class")),
    "two columns": (lambda y: np.c_[y, y], Refuses("column|1d|dimension|shape|2")),
    "a class of one row": (lambda y: np.where(np.arange(len(y)) == 5, 2, y), SoundOrRefuses()),
    "dates": (lambda y: DAY + y.astype("m8[D]"), Refuses("date")),
    "timedeltas": (lambda y: y.astype("m8[D]"), Refuses("date|time")),
}

NUMBERS: dict[str, tuple[Callable[[Any], Any], Expectation]] = {
    "float32": (lambda y: y.astype(np.float32), Same(1e-4)),
    "float16": (lambda y: y.astype(np.float16), Same(1e-4)),
    "long double": (lambda y: y.astype(np.longdouble), Same()),
    "constant": (np.ones_like, Sound()),
    "numbers as text": (lambda y: y.astype(str), Refuses("text|string|number")),
    "text": (lambda y: np.array(["a", "b"])[(y > 0).astype(int)], Refuses("text|string|number")),
    "bytes": (lambda y: y.astype("S8"), Refuses("text|bytes|number")),
    "dates": (lambda y: DAY + (y * 8).astype("m8[D]"), Refuses("date")),
    "timedeltas": (lambda y: (y * 8).astype("m8[D]"), Refuses("date|time")),
    "objects that are dates": (lambda y: [date(2024, 1, 1)] * len(y), Refuses("date")),
    "a series of dates": (
        lambda y: pd.Series(pd.date_range("2024-01-01", periods=len(y))),
        Refuses("date"),
    ),
    "a polars series of dates": (
        lambda y: pl.Series([date(2024, 1, 1)] * len(y)),
        Refuses("date"),
    ),
    "a categorical": (
        lambda y: pd.Series(pd.Categorical(np.array(["a", "b"])[(y > 0).astype(int)])),
        Refuses("text|string|number"),
    ),
}

INPUTS = [
    *(in_y(None, name, *how) for name, how in BAD.items()),
    *(in_y(None, name, change, Same()) for name, change in ALIKE.items()),
    *(in_y("classes", name, *how) for name, how in CLASSES.items()),
    *(in_y("numbers", name, *how) for name, how in NUMBERS.items()),
]
