"""Parquet files: what each type of column is read as, blocks, and files that are damaged."""

from __future__ import annotations

import io
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from read_files import read_table

from covshift.distributed import from_parquet
from covshift.exceptions import InputError
from covshift.files.arrow import ArrowFiles

NAN = float("nan")
NEW_YEAR = (date(2026, 1, 1) - date(1970, 1, 1)).days
NOON = datetime(2026, 1, 1, 12)

COLUMNS = [  # cells, the kind they are read as, their values
    (pa.array([1.5, None]), "number", [1.5, NAN]),
    (pa.array([1, None]), "number", [1.0, NAN]),
    (pa.array([2, 3], pa.uint8()), "number", [2.0, 3.0]),
    (pa.array([True, None]), "boolean", [1.0, NAN]),
    (pa.array([Decimal("1.25"), None]), "number", [1.25, NAN]),
    (pa.array([1, 2]).dictionary_encode(), "number", [1.0, 2.0]),
    (pa.array(["a", " NA "]), "category", ["a", None]),
    (pa.array(["a", None], pa.large_string()), "category", ["a", None]),
    (pa.array(["x", "y"]).dictionary_encode(), "category", ["x", "y"]),
    (pa.array([date(2026, 1, 1), None]), "date", [NEW_YEAR, NAN]),
    (pa.array([NOON, None], pa.timestamp("ns")), "date", [NEW_YEAR + 0.5, NAN]),
    (
        pa.array([NOON.replace(tzinfo=UTC), None], pa.timestamp("us", "Europe/Berlin")),
        "date",
        [NEW_YEAR + 0.5, NAN],
    ),
]
DECLARED = [  # cells, the kind that the user says, their values
    (pa.array([1.0, 0.1], pa.float32()), "category", ["1.0", "0.1"]),
    (pa.array([1, None]), "category", ["1", None]),
    (pa.array([True, False]), "text", ["true", "false"]),
    (pa.array(["1", " NA "]), "number", [1.0, NAN]),
    (pa.array(["2026-01-01", None]), "date", [NEW_YEAR, NAN]),
    (pa.array(["NA", None]), "text", ["NA", ""]),
]


def read(folder, cells, kind=None):
    """One column of a table that was written to a file."""
    path = folder / "t.parquet"
    pq.write_table(pa.table({"c": cells}), path)
    return read_table(str(path), {"c": kind} if kind else {}).columns["c"]


@pytest.mark.parametrize(("cells", "kind", "values"), COLUMNS)
def test_the_type_of_a_column_says_what_it_is(tmp_path, cells, kind, values):
    column = read(tmp_path, cells)
    assert column.kind == kind
    np.testing.assert_array_equal(column.values, np.array(values, dtype=column.values.dtype))


@pytest.mark.parametrize(("cells", "kind", "values"), DECLARED)
def test_the_user_may_say_what_a_column_is(tmp_path, cells, kind, values):
    column = read(tmp_path, cells, kind)
    assert column.kind == kind
    np.testing.assert_array_equal(column.values, np.array(values, dtype=column.values.dtype))


@pytest.mark.parametrize("kind", [None, "category"])
def test_a_column_of_lists_is_refused_whatever_it_is_called(tmp_path, kind):
    with pytest.raises(InputError, match=r"'c' has the type list.* Convert it, or leave it out"):
        read(tmp_path, pa.array([[1], [2]]), kind)


def opened(source):
    return ArrowFiles(source, title="The file", extra="parquet", needed_by="this test")


def test_a_file_a_folder_a_list_and_a_stream_give_the_same_rows_in_order(tmp_path):
    table = pa.table({"a": np.arange(25.0), "b": np.arange(25)})
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, row_group_size=10)
    for source in (path, str(path), tmp_path, [path], io.BytesIO(path.read_bytes())):
        files = opened(source)
        blocks = list(files.blocks(7, ["a"]))
        assert files.names == ["a", "b"]
        assert {block.schema.names[0] for block in blocks} == {"a"}
        assert 0 < max(block.num_rows for block in blocks) <= 7
        assert pa.Table.from_batches(blocks)["a"].to_pylist() == list(range(25))


def test_a_table_without_rows_has_no_blocks(tmp_path):
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "t.parquet")
    assert list(opened(tmp_path / "t.parquet").blocks(7)) == []


def test_damage_is_an_input_error_when_it_is_found(tmp_path):
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PAR1 and more")
    for source in (path, io.BytesIO(path.read_bytes())):
        with pytest.raises(InputError, match="The file is not a readable Parquet file: "):
            opened(source)
    with pytest.raises(InputError, match="from_parquet was given is not a readable"):
        from_parquet(path, label="y")
    pq.write_table(pa.table({"a": np.random.default_rng(0).normal(size=5000)}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(2000) + whole[2004:])  # where the rows begin
    with pytest.raises(InputError, match="The file is not a readable Parquet file: "):
        list(opened(path).blocks(100))
