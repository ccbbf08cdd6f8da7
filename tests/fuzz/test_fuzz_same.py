"""One question asked in several ways has one answer."""

from __future__ import annotations

import csv

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from fuzz.cases import Unstable, check_same, fuzz, unless_refused
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression

from covshift import Margins, Predictions, estimate, evaluate
from covshift.files.frame import read_frame

SEEDS, SIZES = st.integers(0, 2**16), st.integers(14, 30)
WEIGHTERS = st.sampled_from(["entropy", "gaussian-ratio", "cdf"])
QUICK = {"outcome_model": LinearRegression()}  # a penalty would depend on units
EXACT, NEARLY = 1e-9, 0.05  # of a standard deviation, and of a standard error


def people(seed, size):
    """Two samples that overlap, and a number, a score and a label of every row of the first."""
    rng = np.random.default_rng(seed)
    size = {"train": size, "target": size + 3}
    parts = {}
    for name, rows in size.items():
        parts[name] = pd.DataFrame(
            {
                "age": rng.normal(40, 9, rows).round(2),
                "region": rng.permutation(np.resize(["n", "s", "w"], rows)),
                "children": rng.permutation(np.resize([0, 1, 2, 3], rows)),
            }
        )
    train, target = parts.values()
    y = np.round(train["age"] / 10 + rng.normal(size=len(train)), 3).to_numpy()
    return train, target, y


def ask(train, y, target, weighter="entropy", **options):
    return unless_refused(estimate, train, y, target, weighter=weighter, **QUICK, **options)


def same(seed, size, weighter, change, *, sign=1.0, shift=0.0, labels=False):
    """Ask for the mean twice, before and after a change, by all methods."""
    train, target, y = people(seed, size)
    if labels:
        y = (y > np.median(y)).astype(int)
    one = ask(train, y, target, weighter)
    other = ask(*change(train, y, target), weighter)
    if one is None and other is None:
        return False
    if one is None or other is None:
        raise Unstable("refused in one of two ways")
    for row, again in zip(one.table, other.table, strict=True):
        tolerance = EXACT * y.std() + 1e-6 * row.standard_error
        check_same(sign * row.value + shift, again.value, tolerance=tolerance)
    return True


@pytest.mark.thorough
@fuzz(SEEDS, SIZES, WEIGHTERS, of_100_000=700, few=1)
def test_rows_in_another_order(seed, size, weighter):
    def change(train, y, target):
        order = np.random.default_rng(seed).permutation(len(train))
        return train.iloc[order], y[order], target.iloc[::-1]

    return same(seed, size, weighter, change)


@pytest.mark.thorough
@fuzz(SEEDS, SIZES, WEIGHTERS, of_100_000=700, few=1)
def test_columns_in_another_order(seed, size, weighter):
    def change(train, y, target):
        return train[["children", "age", "region"]], y, target[["region", "children", "age"]]

    return same(seed, size, weighter, change)


@pytest.mark.thorough
@fuzz(SEEDS, SIZES, WEIGHTERS, st.sampled_from([2.0**-13, 2.0**10]), of_100_000=700, few=1)
def test_a_feature_in_another_unit(seed, size, weighter, unit):
    def change(train, y, target):
        return *(train.assign(age=train["age"] * unit), y), target.assign(age=target["age"] * unit)

    return same(seed, size, weighter, change)  # powers of two are not rounded


@fuzz(SEEDS, SIZES, WEIGHTERS, of_100_000=700, few=1)
def test_the_complement_of_a_share(seed, size, weighter):
    def change(train, y, target):
        return train, 1 - y, target

    return same(seed, size, weighter, change, sign=-1.0, shift=1.0, labels=True)


@pytest.mark.thorough
@fuzz(SEEDS, SIZES, WEIGHTERS, of_100_000=700, few=1)
def test_other_words_for_categories(seed, size, weighter):
    names = {"n": "z", "s": "a", "w": "m"}

    def change(train, y, target):
        train, target = (part.assign(region=part["region"].map(names)) for part in (train, target))
        return train, y, target

    return same(seed, size, weighter, change)


TYPES = {
    "category": lambda part: part.astype({"region": "category"}),
    "unused levels": lambda part: part.assign(
        region=pd.Categorical(part["region"], categories=["n", "s", "w", "x"])
    ),
    "nullable": lambda part: part.astype({"age": "Float64", "children": "Int64"}),
    "Arrow": lambda part: part.convert_dtypes(dtype_backend="pyarrow"),
    "objects": lambda part: part.astype(object),
    "small": lambda part: part.astype({"children": "int8"}),
    "text": lambda part: part.astype({"region": "string"}),
    "polars": lambda part: pl.from_pandas(part),
    "pyarrow": lambda part: pa.Table.from_pandas(part),
}


@fuzz(SEEDS, SIZES, st.sampled_from(list(TYPES)), of_100_000=1_000, few=2)
def test_another_type_or_library(seed, size, kind):
    def change(train, y, target):
        return TYPES[kind](train), y, TYPES[kind](target)

    return same(seed, size, "entropy", change)


@pytest.mark.thorough
@fuzz(SEEDS, SIZES, st.integers(2, 3), of_100_000=700, few=1)
def test_weights_in_place_of_copies(seed, size, times):
    """Copies of all rows of the target, or their weights on any scale, change no weighted mean."""
    train, target, y = people(seed, size)
    one = ask(train, y, target, method="weights")
    for copies, options in (
        (pd.concat([target] * times, ignore_index=True), {}),
        (target, {"target_weight": np.full(len(target), 7.0 * times)}),
    ):
        other = ask(train, y, copies, method="weights", **options)
        if one is None and other is None:
            return False
        if one is None or other is None:
            raise Unstable("refused in one of two ways")
        check_same(one.value, other.value, tolerance=1e-6 * one.standard_error)
    return True


@fuzz(SEEDS, SIZES, st.sampled_from([",", ";", "\t"]), of_100_000=800, few=1)
def test_a_file_and_its_frame(tmp_path_factory, seed, size, separator):
    """The cells of a file, read as the commands read it, give the numbers of the frame."""
    train, target, y = people(seed, size)
    folder = tmp_path_factory.getbasetemp()
    tables = []
    for name, part in (("same train", train), ("same target", target)):
        path = folder / f"{name}.csv"
        part.to_csv(path, sep=separator, index=False, quoting=csv.QUOTE_NONNUMERIC)
        tables.append(unless_refused(read_frame, str(path)))
    found = ask(tables[0], y, tables[1])
    one = ask(train, y, target)
    if one is None and found is None:
        return False
    if one is None or found is None:
        raise Unstable("refused in one of two ways")
    check_same(one.value, found.value, tolerance=EXACT * y.std())
    return True


@fuzz(SEEDS, SIZES, of_100_000=800, few=1)
def test_margins_and_those_of_a_file(tmp_path_factory, seed, size):
    train, target, y = people(seed, size)
    margins = unless_refused(Margins.from_rows, target[["region", "children"]], min_count=3)
    if margins is None:
        return False
    path = tmp_path_factory.getbasetemp() / "same margins"
    margins.to_json(path)
    again = Margins.from_json(path)
    one, other = (
        unless_refused(estimate, train[["region", "children"]], y, part)
        for part in (margins, again)
    )
    if one is None and other is None:
        return False
    check_same(one.value, other.value, tolerance=0.0)
    return True


@pytest.mark.thorough
@fuzz(SEEDS, SIZES, of_100_000=500, few=1)
def test_the_sign_of_an_error(seed, size):
    """Metrics of numbers know no sign: of y and predictions, both turned."""
    train, target, y = people(seed, size)
    rng = np.random.default_rng(seed)
    f, g = y + rng.normal(size=len(y)), rng.normal(4, 1, size=len(target))
    found = [
        unless_refused(
            evaluate,
            Predictions(sign * f, sign * g, task="numbers"),
            train,
            sign * y,
            target,
            metrics=["rmse", "mae", "r2"],
            weighter="entropy",
            **QUICK,
        )
        for sign in (1, -1)
    ]
    if found[0] is None or found[1] is None:
        if found[0] is not found[1]:
            raise Unstable("refused in one of two ways")
        return False
    for one, other in zip(*(answer.performances for answer in found), strict=True):
        check_same(one.value, other.value, tolerance=NEARLY * one.standard_error)
    return True
