"""Inputs of weights: of the training rows, and of the target rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

from .outcomes import DAY, entry_at, masked
from .problem import Expectation, Input, Problem, Refuses, Same
from .rows import frame, in_one

BAD: dict[str, tuple[Callable[[Any], Any], Expectation]] = {
    "NaN": (entry_at(np.nan, float), Refuses("NaN")),
    "inf": (entry_at(np.inf, float), Refuses("inf")),
    "minus inf": (entry_at(-np.inf, float), Refuses("inf")),
    "None in one place": (entry_at(None, object), Refuses("NaN|no number")),
    "pd.NA in one place": (entry_at(pd.NA, object), Refuses("NaN|no number|NA")),
    "negative": (entry_at(-0.5, float), Refuses("negative")),
    "all negative": (lambda w: -w, Refuses("negative")),
    "all zero": (np.zeros_like, Refuses("zero")),
    "too long": (lambda w: np.append(w, 1.0), Refuses("rows|length")),
    "too short": (lambda w: w[:-1], Refuses("rows|length")),
    "empty": (lambda w: w[:0], Refuses("rows|length")),
    "a number": (lambda w: 1.0, Refuses("row|shape")),
    "a column": (lambda w: w[:, None], Refuses("shape")),
    "two columns": (lambda w: np.c_[w, w], Refuses("shape")),
    "a string": (lambda w: "weight", Refuses("row")),
    "strings": (lambda w: np.full(len(w), "heavy"), Refuses("no number|text")),
    "numbers as text": (lambda w: w.astype(str), Refuses("text")),
    "a list of text": (lambda w: [*map(str, w)], Refuses("text")),
    "bytes": (lambda w: w.astype("S8"), Refuses("text")),
    "one number as text": (entry_at("1.5", object), Refuses("text")),
    "dates": (lambda w: DAY + (w * 8).astype("m8[D]"), Refuses("date")),
    "timedeltas": (lambda w: (w * 8).astype("m8[D]"), Refuses("date|time")),
    "objects that are dates": (lambda w: [date(2024, 1, 1)] * len(w), Refuses("date")),
    "a series of dates": (
        lambda w: pd.Series(pd.date_range("2024-01-01", periods=len(w))),
        Refuses("date"),
    ),
    "complex numbers": (lambda w: w + 0j, Refuses("complex")),
    "a complex number": (entry_at(1j, object), Refuses("complex|no number")),
    "masked": (masked, Refuses("masked")),
    "a generator": (lambda w: (value for value in w.tolist()), Refuses()),
    "a dict": (lambda w: dict(enumerate(w.tolist())), Refuses()),
    "a list of lists": (lambda w: [*w.tolist()[:-1], [1.0, 2.0]], Refuses()),
    "sparse": (lambda w: scipy.sparse.csr_matrix(w[:, None]), Refuses()),
    "a nullable series with a gap": (
        lambda w: pd.Series(w).astype("Float64").mask(np.arange(len(w)) == 3),
        Refuses("NaN|no number|NA"),
    ),
    "a polars series with a null": (
        lambda w: pl.Series([None, *w[1:].tolist()]),
        Refuses("NaN|no number"),
    ),
    "a category series": (
        lambda w: pd.Series(pd.Categorical([*map(str, w)])),
        Refuses("text"),
    ),
}

ALIKE: dict[str, Callable[[Any], Any]] = {
    "a list": lambda w: w.tolist(),
    "objects": lambda w: w.astype(object),
    "strided": lambda w: np.repeat(w, 2)[::2],
    "read-only": lambda w: np.frombuffer(w.tobytes()),
    "big-endian": lambda w: w.astype(">f8"),
    "float32": lambda w: w.astype(np.float32),
    "float16": lambda w: w.astype(np.float16),
    "long double": lambda w: w.astype(np.longdouble),
    "masked, without mask": np.ma.asarray,
    "whole numbers": lambda w: (w * 8).astype(int),
    "uint8": lambda w: (w * 8).astype(np.uint8),
    "a hundred times as large": lambda w: w * 100,
    "a billionth of it": lambda w: w * 2.0**-30,
    "a series with another index": lambda w: pd.Series(w, index=np.arange(len(w))[::-1] + 5),
    "a nullable series": lambda w: pd.Series(w).astype("Float64"),
    "an Arrow-backed series": lambda w: pd.Series(w).astype("double[pyarrow]"),
    "a polars series": pl.Series,
}


def equal_weights(problem: Problem) -> Problem:
    return problem.each(np.ones_like, "sample_weight", "target_weight")


def none(slot: str) -> Input:
    def changed(problem: Problem) -> Problem:
        return equal_weights(problem).with_(**{slot: None})

    return Input(f"{slot}: None", slot, changed, Same(1e-6), reference=equal_weights)


def no_column(slot: str) -> Input:
    """A name, beside frames that have no column of it."""

    def changed(problem: Problem) -> Problem:
        return problem.each(frame, "X", "X_target").with_(**{slot: "heavy"})

    words = "Its columns are: 'age', 'income', 'visits'|one (weight|value) per row"
    return Input(f"{slot}: the name of no column", slot, changed, Refuses(words))


def of(slot: str) -> list[Input]:
    """What may be wrong, or odd, with the weights of one sample."""
    found = [in_one(slot, name, *how) for name, how in BAD.items()]
    found += [in_one(slot, name, change, Same(1e-6)) for name, change in ALIKE.items()]
    return [*found, none(slot), no_column(slot)]


INPUTS = [
    *of("sample_weight"),
    *of("target_weight"),
    in_one("target_weight", "a one-tuple", lambda v: (v,), Same()),
]
