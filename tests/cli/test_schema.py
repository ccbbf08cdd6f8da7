"""Schema files: what was taken is written, read again to the same effect, and checked by line."""

from __future__ import annotations

import pytest
from cli.test_asking import drawn, nasty
from command import covshift, write
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from covshift.files.schema import KINDS, Schema, SchemaColumn, read_schema, schema_text

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=8)
COLUMNS = st.builds(
    SchemaColumn,
    role=st.sampled_from(["feature", "dropped"]),
    kind=st.sampled_from([None, *(kind for kind in KINDS if kind != "ordered")]),
    format=st.none() | TEXT,
    missing=st.lists(TEXT, max_size=3).map(tuple),
)
ORDERED = st.lists(TEXT, min_size=2, max_size=4, unique=True).map(
    lambda levels: SchemaColumn(kind="ordered", levels=tuple(levels))
)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None, max_examples=50)
@given(
    columns=st.dictionaries(TEXT, COLUMNS | ORDERED, min_size=1, max_size=4),
    missing=st.none() | st.lists(TEXT, max_size=3).map(tuple),
    decimal=st.none() | st.just(","),
    task=st.sampled_from([None, "classification", "regression"]),
    drop=st.booleans(),
)
def test_what_is_written_is_read(tmp_path_factory, columns, missing, decimal, task, drop):
    path = tmp_path_factory.getbasetemp() / "schema.toml"
    schema = Schema(columns, missing, decimal, None, task, drop)
    path.write_bytes(schema_text(schema).encode())
    assert read_schema(str(path)) == schema


@pytest.fixture
def files(tmp_path):
    lines = ["n,age,region,when,level,y"]
    other = ["n,age,region,when,level"]
    for k in range(30):
        age = "999" if k == 4 else str(20 + 2 * k % 41)
        row = f"{k},{age},{1 + k % 3},2026-0{1 + k % 9}-11,{['low', 'mid', 'high'][k % 3]}"
        lines.append(f"{row},{k % 2}")
        other.append(row)
    train = write(tmp_path / "train.csv", "\n".join(lines) + "\n")
    return train, write(tmp_path / "target.csv", "\n".join(other[:26]) + "\n")


ANSWERS = ["--id", "n", "--missing", "age=999", "--categorical", "region"]


def test_a_schema_has_the_effect_of_its_options(tmp_path, files):
    path = tmp_path / "schema.toml"
    ordered = ["--ordered", "level=low<mid<high"]
    made = covshift("schema", *files, "--label", "y", *ordered, "-o", path)
    assert made.code == 0, made.err
    schema = read_schema(str(path))
    assert {name: part.role for name, part in schema.columns.items()} == {
        "n": "id",
        "age": "feature",
        "region": "feature",
        "when": "feature",
        "level": "feature",
        "y": "label",
    }
    kinds = {name: part.kind for name, part in schema.columns.items() if part.kind}
    assert kinds == {"age": "number", "region": "category", "when": "date", "level": "ordered"}
    assert schema.columns["age"].missing == ("999",)
    assert schema.columns["level"].levels == ("low", "mid", "high")
    assert "# has 999 far above the rest" in path.read_text()
    by_schema = covshift("weigh", *files, "--schema", path)
    by_options = covshift("weigh", *files, "--label", "y", *ANSWERS, *ordered)
    assert by_schema.code == by_options.code == 0
    assert by_schema.out == by_options.out


@pytest.mark.parametrize("seed", range(20))
def test_any_schema_is_taken_without_a_question(tmp_path, seed):
    names = [name for name in drawn(seed) if name != "a=b"]
    files = nasty(tmp_path, seed, names, "plain")
    path = tmp_path / "schema.toml"
    assert covshift("schema", *files, "--label", "y", "-o", path).code == 0
    again = covshift("schema", *files, "--schema", path, "--ask")
    assert again.code == 0, again.err
    assert "a decision first" not in again.err
    assert schema_text(read_schema(str(path))) == uncommented(again.out)


def uncommented(text):
    """The schema that a text says, without its comments."""
    head, lines = schema_text(Schema({"x": SchemaColumn()})).split("\n\n")[0], []
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return head + "\n" + "\n".join(lines) + "\n"


def test_options_win_over_the_schema(tmp_path, files):
    path = tmp_path / "schema.toml"
    covshift("schema", *files, "--label", "y", "-o", path)
    told = covshift("schema", *files, "--schema", path, "--numeric", "region", "--drop", "when")
    columns = read_back(tmp_path, told.out)
    assert columns["region"].kind == "number"
    assert columns["when"].role == "dropped"
    assert columns["age"].missing == ("999",)


def read_back(folder, text):
    write(folder / "again.toml", text)
    return read_schema(str(folder / "again.toml")).columns


def test_the_label_of_a_schema_serves_every_command(tmp_path, files):
    path = tmp_path / "schema.toml"
    covshift("schema", *files, "--label", "y", "-o", path)
    model = tmp_path / "m.covshift"
    fit = covshift("fit", *files, "--schema", path, "--learner", "linear", "-o", model)
    assert fit.code == 0, fit.err
    assert covshift("estimate", *files, "--schema", path).code == 0
    margins = covshift("margins", files[1], "--schema", path, "--min-count", "2")
    assert margins.code == 0


def test_columns_that_only_one_of_schema_and_files_has_are_named(tmp_path, files):
    path = write(
        tmp_path / "s.toml", '[columns.age]\nkind = "number"\n[columns.old]\nkind = "date"\n'
    )
    result = covshift("weigh", *files, "--label", "y", "--schema", path)
    assert result.code == 0
    assert "does not list" in result.err
    assert "'region'" in result.err
    assert "The schema lists 'old', which neither file has" in result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[columns.age]\nrole = "feature"\nkind = "integer"\n',
            "line 3: column 'age' has the unknown kind",
        ),
        ('[columns."a b"]\nrole = "target"\n', "line 2: column 'a b' has the unknown role"),
        ('[columns.x]\n[columns.age]\nlevel = ["a"]\n', "line 3: 'level' is unknown"),
        ('[columns.age]\nkind = "ordered"\n', "line 1: column 'age' is ordered and needs"),
        ('[columns.a]\nrole = "id"\n[columns.b]\nrole = "id"\n', "line 4: 'a' and 'b' both"),
        ("[columns.a]\nkind = 3\n", "line 2: kind must be text"),
        ("[columns.a]\nmissing = 9\n", "line 2: missing must be a list"),
        ('task = "sorting"\n[columns.a]\n', "line 1: the task 'sorting' is unknown"),
        ("[columns.a\n", "is not a schema file"),
        ("", "no [columns.NAME]"),
    ],
)
def test_a_schema_that_is_wrong_is_named_by_line(tmp_path, files, text, message):
    path = write(tmp_path / "bad.toml", text)
    result = covshift("weigh", *files, "--schema", path)
    assert result.code == 2
    assert message in result.err
    assert "bad.toml" in result.err


def test_models_carry_how_cells_are_read(tmp_path, files):
    model = tmp_path / "m.covshift"
    fit = ["fit", *files, "--label", "y", "--learner", "linear", "-o", model]
    assert covshift(*fit, *ANSWERS).code == 0
    new = write(tmp_path / "new.csv", "n,age,region,when,level\n7,999,1,2026-01-11,low\n")
    gap = write(tmp_path / "gap.csv", "n,age,region,when,level\n7,,1,2026-01-11,low\n")
    result = covshift("predict", model, new)
    assert result.code == 0
    assert result.out == covshift("predict", model, gap).out
    assert result.out.startswith("n,")
    none = covshift("predict", model, new, "--missing", "age=998")
    assert none.out != result.out


def test_a_model_where_a_table_belongs_is_told_apart(tmp_path, files):
    model = tmp_path / "m.covshift"
    fit = ["fit", *files, "--label", "y", "--learner", "linear", "-o", model]
    assert covshift(*fit).code == 0
    for order in ([files[0], model], [model, files[1]]):
        result = covshift("weigh", *order)
        assert result.code == 2
        assert "m.covshift is a model of covshift, not a table" in result.err
