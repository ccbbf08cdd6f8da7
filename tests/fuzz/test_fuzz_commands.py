"""Commands on files of hostile tables: an answer, or a refusal in words, in every format."""

from __future__ import annotations

import io
import json
import warnings

import pandas as pd
import pyarrow as pa
import pytest
from command import covshift
from fuzz.cases import fuzz
from fuzz.hostile import hostile
from hypothesis import reject
from hypothesis import strategies as st
from pyarrow import feather


def _csv(**options):
    return lambda frame, path: frame.to_csv(path, index=False, **options)


def _arrow(frame):
    return pa.Table.from_pandas(frame, preserve_index=False)


def _excel(frame, path):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    content = io.BytesIO()  # what cannot be written leaves no open file
    frame.to_excel(content, index=False)
    path.write_bytes(content.getvalue())


FORMATS = {
    "csv": _csv(),
    "semicolons.csv": _csv(sep=";", decimal=","),
    "tabs.tsv": _csv(sep="\t", lineterminator="\r\n"),
    "mark.csv": _csv(encoding="utf-8-sig"),
    "utf16.csv": _csv(encoding="utf-16"),
    "latin.csv": _csv(encoding="latin-1", errors="replace"),
    "index.csv": lambda frame, path: frame.to_csv(path),
    "quoted.csv": _csv(quoting=1, na_rep="NA"),
    "csv.gz": _csv(),
    "parquet": lambda frame, path: frame.to_parquet(path, index=False),
    "feather": lambda frame, path: feather.write_feather(_arrow(frame), path),
    "xlsx": _excel,
    "json": lambda frame, path: frame.to_json(path, orient="records", date_format="iso"),
    "html": lambda frame, path: frame.to_html(path),
    "pickle": lambda frame, path: frame.to_pickle(path),
}
COMMANDS = {
    "estimate": ["estimate", "{train}", "{target}", "--outcome", "y_", "--json"],
    "estimate by weights": [
        *("estimate", "{train}", "{target}", "--outcome", "y_", "--json"),
        *("--method", "weights", "--weighter", "entropy"),
    ],
    "diagnose": ["diagnose", "{train}", "{target}", "--drop", "y_", "--json"],
    "weigh": ["weigh", "{train}", "{target}", "--drop", "y_", "-o", "{out}.csv", "--force"],
    "margins": ["margins", "{target}", "--min-count", "2", "-o", "{out}.json", "--force"],
    "evaluate": ["evaluate", "{train}", "{target}", "--label", "y_", "--score", "c0", "--json"],
    "schema": ["schema", "{train}", "{target}", "-o", "{out}.toml", "--force"],
}


@fuzz(
    hostile(rows=(1, 20), libraries=["pandas"]),
    st.sampled_from(list(FORMATS)),
    st.sampled_from(list(COMMANDS)),
    of_100_000=5_000,
    few=4,
)
def test_a_command(tmp_path_factory, case, form, command):
    folder = tmp_path_factory.getbasetemp() / "hostile files"
    folder.mkdir(exist_ok=True)
    train, target = case.named
    paths = {name: folder / f"{name}.{form}" for name in ("train", "target", "out")}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for name, part in (("train", train), ("target", target)):
                FORMATS[form](pd.DataFrame(part), paths[name])
    except Exception:  # of a library that cannot write these cells
        reject()
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        done = covshift(*(part.format(**paths) for part in COMMANDS[command]))
    assert done.code in (0, 2, 3), done.err
    assert done.code == 0 or done.err.strip(), "refused without a word"
    assert "bug" not in done.err.partition("hostile files")[0], done.err
    assert not [str(found.message) for found in shown if "sklearn" in str(found.filename)]
    if done.code == 0 and "--json" in COMMANDS[command]:
        json.loads(done.out, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    return done.code != 2
