"""Rows of whatever holds rows: counted, and taken by number or by flags."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array

from covshift.numerics.array import row_count, take_rows

NUMBERS = [5, 6, 7, 8]
HOLDERS = {
    "list": NUMBERS,
    "array": np.array(NUMBERS),
    "matrix": np.array(NUMBERS)[:, None],
    "sparse": csr_array(np.array(NUMBERS)[:, None]),
    "pandas": pd.DataFrame({"a": NUMBERS}, index=[9, 9, 1, 0]),
    "series": pd.Series(NUMBERS, index=[9, 9, 1, 0]),
    "polars": pl.DataFrame({"a": NUMBERS}),
    "polars series": pl.Series("a", NUMBERS),
    "arrow": pa.table({"a": NUMBERS}),
}


def cells(rows):
    if hasattr(rows, "toarray"):
        rows = rows.toarray()
    return np.ravel(rows).tolist() if not isinstance(rows, pa.Table) else rows["a"].to_pylist()


@pytest.mark.parametrize("rows", HOLDERS.values(), ids=HOLDERS)
def test_rows_are_counted_and_taken(rows):
    assert row_count(rows) == 4
    for some in (np.array([3, 1]), [3, 1]):
        part = take_rows(rows, some)
        assert type(part) is type(rows)
        assert cells(part) == [8, 6]
    flags = np.array([False, True, False, True])
    assert cells(take_rows(rows, flags)) == [6, 8]


def test_a_single_value_has_no_rows():
    with pytest.raises(TypeError, match="no rows"):
        row_count(np.array(3.0))
