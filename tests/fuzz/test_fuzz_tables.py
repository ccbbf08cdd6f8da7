"""Tables of any cells: what is encoded can be told back, whatever library or file they come in."""

from __future__ import annotations

import csv
from datetime import date

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from fuzz.cases import fuzz, unless_refused
from hypothesis import assume
from hypothesis import strategies as st
from read_files import read_table

from covshift import TableEncoder

WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), min_size=1, max_size=4)
NUMBERS = st.floats(-1e9, 1e9, allow_subnormal=False) | st.integers(-(10**6), 10**6).map(float)
DATES = st.dates(date(1800, 1, 1), date(2200, 1, 1))
NAMES = st.lists(WORDS, min_size=1, max_size=3, unique=True)


@st.composite
def cells(draw, rows, gaps=True):
    """The kind of a column, and its cells."""
    kind = draw(st.sampled_from(["number", "category", "boolean", "date"]))
    levels = draw(st.lists(WORDS, min_size=2, max_size=4, unique=True))
    cell = {
        "number": NUMBERS,
        "category": st.sampled_from(levels),
        "boolean": st.booleans(),
        "date": DATES,
    }[kind]
    missing = gaps and kind != "boolean" and draw(st.booleans())
    column = draw(st.lists(cell | st.none() if missing else cell, min_size=rows, max_size=rows))
    return kind, column


@st.composite
def tables(draw, *, rows=(2, 12), gaps=True):
    """Columns by name, each of one kind."""
    n = draw(st.integers(*rows))
    return {name: draw(cells(n, gaps)) for name in draw(NAMES)}


def learned(X, **options):
    return unless_refused(TableEncoder(**options).fit, X)


def frame(table):
    found = {}
    for name, (kind, column) in table.items():
        column = [np.nan if kind == "number" and cell is None else cell for cell in column]
        found[name] = pd.Series(pd.to_datetime(column) if kind == "date" else column)
    return pd.DataFrame(found)


@fuzz(tables(), of_100_000=3_000)
def test_the_encoded_cells_can_be_told_back(table):
    kinds = {name: kind for name, (kind, _) in table.items() if kind in ("number", "category")}
    encoder = learned(frame(table), kinds=kinds, min_rows=1)
    assume(encoder is not None)
    Z = encoder.transform(frame(table))
    names = list(encoder.get_feature_names_out())
    assert Z.shape == (len(next(iter(table.values()))[1]), len(names))
    assert np.isfinite(Z).all()
    for name, (kind, column) in table.items():
        if kind == "number" and name in names:
            known = [k for k, cell in enumerate(column) if cell is not None]
            assert Z[known, names.index(name)].tolist() == [column[k] for k in known]
        levels = [k for k, made in enumerate(names) if made.startswith(f"{name}=")]
        others = [other for other in table if other != name and other.startswith(f"{name}=")]
        if kind == "category" and len(levels) > 1 and not others:
            assert (Z[:, levels].sum(axis=1) == 1).all()
            for row, cell in enumerate(column):
                at = names[levels[int(Z[row, levels].argmax())]]
                assert at == f"{name}={'(missing)' if cell is None else cell}"


@fuzz(tables(gaps=False), of_100_000=2_400)
def test_every_library_gives_the_same_numbers(table):
    columns = {name: column for name, (_, column) in table.items()}
    given = [frame(table), pl.DataFrame(columns), pa.table(columns)]
    encoders = [learned(each) for each in given]
    refused = [encoder is None for encoder in encoders]
    assert len(set(refused)) == 1
    assume(not refused[0])
    first = encoders[0].transform(given[0])
    for encoder, each in zip(encoders[1:], given[1:], strict=True):
        np.testing.assert_array_equal(encoder.transform(each), first)


@fuzz(tables(), of_100_000=1_800)
def test_the_order_of_rows_changes_no_number(table):
    together = frame(table)
    encoder = learned(together)
    assume(encoder is not None)
    turned = together.iloc[::-1].reset_index(drop=True)
    again = learned(turned)
    assert again is not None, "refused in another order"
    names = list(encoder.get_feature_names_out())
    assert sorted(again.get_feature_names_out()) == sorted(names)
    order = [list(again.get_feature_names_out()).index(name) for name in names]
    np.testing.assert_array_equal(
        again.transform(turned)[::-1][:, order], encoder.transform(together)
    )


@fuzz(tables(gaps=False), st.sampled_from([",", ";", "\t"]), of_100_000=2_400)
def test_numbers_and_dates_survive_a_file(tmp_path_factory, table, separator):
    path = tmp_path_factory.getbasetemp() / "cells.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL)
        writer.writerow(table)
        writer.writerows(zip(*(column for _, column in table.values()), strict=True))
    kinds = {name: kind for name, (kind, _) in table.items()}
    found = unless_refused(read_table, str(path), kinds)
    assume(found is not None)
    for name, (kind, column) in table.items():
        values = found.columns[name.strip()].values.tolist()  # as files are read
        if kind == "number":
            assert values == column
        if kind == "date":
            assert values == [(day - date(1970, 1, 1)).days for day in column]
