"""A file through the command line and its frame through Python give the same digits."""

from __future__ import annotations

import ast
import json
import re
from functools import cache

import numpy as np
import pandas as pd
import pytest
from command import covshift
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from covshift import Predictions, TableEncoder, Target, compare, diagnose, estimate, evaluate
from covshift.cli.predict import load_model
from covshift.encoding import scaled
from covshift.exceptions import InputError, UnseenLevelWarning
from covshift.weights import CDFWeights, EntropyBalancing

N, M = 240, 200


def people(size: int, shift: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = np.round(rng.normal(45 + 8 * shift, 12, size), 2)
    chance = 1 / (1 + np.exp(-(age - 45) / 12))
    ill = (rng.uniform(size=size) < chance).astype(int)
    frame = pd.DataFrame(
        {
            "age": age,
            "urban": np.where(rng.uniform(size=size) < 0.4 + 0.2 * shift, "yes", "no"),
            "owner": (rng.uniform(size=size) < 0.5 + 0.1 * shift).astype(int),
            "retired": rng.uniform(size=size) < 0.3,
            "region": rng.choice(["north", "east", "south", "west"], size, p=[0.4, 0.3, 0.2, 0.1]),
            "grade": pd.Categorical(rng.choice(["low", "high"], size)),
            "pw": np.round(rng.uniform(0.5, 2, size), 3),
            "ill": ill,
            "score": np.round(np.clip(chance + rng.normal(0, 0.1, size), 0.01, 0.99), 4),
        }
    )
    return frame


SURVEY, TARGET = people(N, 0.0, 1), people(M, 0.5, 2).drop(columns="ill")
FEATURES = ["age", "urban", "owner", "retired", "region", "grade"]
GROUPS = ["urban", "region"]
GROUPS += [pytest.param(name, marks=pytest.mark.thorough) for name in ("owner", "retired", "grade")]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    SURVEY.to_csv(folder / "survey.csv", index=False)
    TARGET.to_csv(folder / "target.csv", index=False)
    return str(folder / "survey.csv"), str(folder / "target.csv"), folder


def answer(*args: str) -> dict:
    result = covshift(*args, "--json")
    assert result.code == 0, result.err
    return json.loads(result.out)


@pytest.mark.part(40)
@pytest.mark.parametrize("by", [None, *GROUPS])
def test_estimate(files, by):
    more = [] if by is None else ["--by", by]
    said = answer(
        "estimate", *files[:2], "--outcome", "ill", "--weight", "pw", "--target-weight", "pw",
        "--drop", "score", *more,
    )  # fmt: skip
    survey = SURVEY.drop(columns="score")
    found = estimate(
        survey,
        "ill",
        TARGET.drop(columns="score"),
        by=by,
        sample_weight="pw",
        target_weight="pw",
    )
    ours = [[row.group, row.value, row.standard_error] for row in found.estimates]
    theirs = [[row["group"], row["value"], row["standard_error"]] for row in said["estimates"]]
    assert theirs == ours
    assert (by is None) == (len(ours) == 1)


def some_unlabelled() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A survey whose rows without outcome differ from the others in every column."""
    rng = np.random.default_rng(3)
    survey, target = (
        frame[["age", "region"]].assign(
            income=np.where(rng.uniform(size=size) < 0.1, np.nan, rng.normal(3, 1, size).round(2)),
            smokes=rng.choice(["yes", "no", None], size, p=[0.3, 0.6, 0.1]),
            asked=rng.normal(size=size).round(2),
            fixed=1.5,
        )
        for frame, size in ((SURVEY, N), (TARGET, M))
    )
    lost = rng.uniform(size=N) < 0.2
    survey["y"] = (1 + 0.05 * survey["age"] + rng.normal(size=N)).round(2).where(~lost)
    survey["way"] = rng.choice(["web", "phone"], N)
    survey.loc[~lost, "asked"] = np.nan
    survey.loc[lost, ["region", "fixed"]] = "abroad", 2.5
    survey.loc[lost & (rng.uniform(size=N) < 0.6), "income"] = np.nan
    return survey, target


def test_rows_without_outcome_count_for_nothing_in_any_answer(tmp_path):
    """As if they were removed by hand: from the command line, in Python and in the report."""
    survey, target = some_unlabelled()
    labelled = survey.dropna(subset="y").drop(columns=["way", "asked"])
    all_rows, without, population = (str(tmp_path / f"{name}.csv") for name in "abt")
    for path, frame in ((all_rows, survey), (without, labelled), (population, target)):
        frame.to_csv(path, index=False)
    report = ["report", all_rows, population, "--label", "y", "-o", tmp_path / "report.html"]
    found = estimate(survey, "y", target)
    answers = {
        "estimate": answer("estimate", all_rows, population, "--outcome", "y"),
        "estimate, removed": answer("estimate", without, population, "--outcome", "y"),
        "report": answer(*report, "--learner", "linear", "--max-rows", "40")["estimate"],
        "Python": found.to_dict(),
    }
    numbers = {name: [row["table"][0]["value"], *row["table"][0]["interval"]]
               for name, row in answers.items()}  # fmt: skip
    assert len(set(map(str, numbers.values()))) == 1, numbers
    assert len({row["sentence"] for row in answers.values()}) == 1
    explained = answer("explain", all_rows, population, "--outcome", "y")
    assert explained["sentence"] == found.explain().sentence


def test_rows_without_outcome_count_for_nothing_in_an_evaluation():
    survey, target = (
        frame.assign(guess=(2 + 0.05 * frame["age"]).round(2)) for frame in some_unlabelled()
    )
    given = {"metrics": "rmse", "outcome_model": Ridge()}
    rows = [
        evaluate("guess", part, "y", target, **given).headline
        for part in (survey, survey.dropna(subset="y"))
    ]
    assert rows[0] == rows[1]


QUICK = {"outcome_model": Ridge(), "weighter": "entropy"}  # a ridge feels a feature twice


@pytest.fixture(scope="module")
def by_letters():
    """Estimates by a group that is text."""
    survey, target = (
        frame[["age", "region"]].assign(g=frame["owner"].map({0: "a", 1: "b"}))
        for frame in (SURVEY, TARGET)
    )
    found = estimate(survey, SURVEY["ill"], target, by="g", **QUICK)
    return [row.value for row in found.estimates]


@pytest.mark.thorough
@pytest.mark.part(20)
@pytest.mark.parametrize("kind", [str, "category", int, bool])
def test_a_group_of_any_type_gives_one_number(by_letters, kind):
    """And is a feature once: not as a number and as a group."""

    def coded(frame):
        values = frame["owner"].astype(kind) if kind != "category" else frame["owner"].astype(str)
        return frame[["age", "region"]].assign(g=values.astype(kind))

    found = estimate(coded(SURVEY), SURVEY["ill"], coded(TARGET), by="g", **QUICK)
    assert [row.value for row in found.estimates] == by_letters


@pytest.mark.thorough
@pytest.mark.parametrize("by", [None, "urban", "region"])
def test_evaluate(files, by):
    more = [] if by is None else ["--by", by]
    said = answer("evaluate", *files[:2], "--label", "ill", "--score", "score", "--weight", "pw",
                  "--target-weight", "pw", *more)  # fmt: skip
    found = evaluate(
        Predictions("score", task="classes"), SURVEY, "ill", TARGET, by=by, sample_weight="pw",
        target_weight="pw",
    )  # fmt: skip
    ours = {(row.metric, row.group): row.value for row in found.table.where(method="model")}
    theirs = {(row["metric"], row["group"]): row["value"] for row in said["performances"]}
    assert theirs == ours


def test_diagnose(files):
    drop = [part for name in ("score", "ill", "pw") for part in ("--drop", name)]
    said = answer("diagnose", *files[:2], *drop)
    assert said == json.loads(json.dumps(diagnose(SURVEY[FEATURES], TARGET[FEATURES]).to_dict()))


@pytest.mark.part(20)
@pytest.mark.parametrize("method", ["cdf", "entropy"])
def test_weigh(files, method):
    written = files[2] / f"{method}.csv"
    drop = [part for name in ("score", "ill") for part in ("--drop", name)]
    options = ["--weight", "pw", "--target-weight", "pw", "--method", method, "-o", written]
    result = covshift("weigh", *files[:2], *drop, *options)
    assert result.code == 0, result.err
    weighter = {"cdf": CDFWeights, "entropy": EntropyBalancing}[method]()
    design = {"sample_weight": SURVEY["pw"], "target_weight": TARGET["pw"]}
    encoder = TableEncoder().fit(SURVEY[FEATURES], X_target=TARGET[FEATURES])
    Z, T = encoder.transform(SURVEY[FEATURES]), encoder.transform(TARGET[FEATURES])
    scaler = StandardScaler().fit(Z, sample_weight=SURVEY["pw"])  # as the command does
    weighter.fit(scaled(scaler, Z), X_target=scaled(scaler, T), **design)
    factor = pd.read_csv(written)["factor"].to_numpy()
    np.testing.assert_allclose(factor, weighter.weights_, rtol=1e-6)


def test_predict(files):
    """The file's rules are those of the frame, and what they say of new rows is the same."""
    saved, written = files[2] / "model.cov", files[2] / "predictions.csv"
    drop = [part for name in ("score", "pw") for part in ("--drop", name)]
    options = ["--label", "ill", "--learner", "linear", "--method", "none", "-o", saved]
    result = covshift("fit", *files[:2], *drop, *options)
    assert result.code == 0, result.err
    assert covshift("predict", saved, files[1], "-o", written).code == 0
    model = load_model(str(saved))
    encoder = TableEncoder().fit(SURVEY[FEATURES], X_target=TARGET[FEATURES])
    assert encoder.features_ == model.encoder.features_
    chances = model.predict_proba(TARGET)
    found = pd.read_csv(written)["probability_1"].to_numpy()
    np.testing.assert_allclose(found, chances[:, 1], atol=5.1e-7)  # six digits are written


def test_yes_and_no_are_one_column_however_they_are_written():
    words = [("yes", "no"), ("Yes", "NO"), ("TRUE", "false"), ("1", "0")]
    rows = np.arange(60) % 3 == 0
    other = np.arange(60) % 4 == 0
    for high, low in words:
        encoder = TableEncoder().fit(
            pd.DataFrame({"a": np.where(rows, high, low)}),
            X_target=pd.DataFrame({"a": np.where(other, high, low)}),
        )
        assert encoder.columns == ("a",)
        found = encoder.transform(pd.DataFrame({"a": [high, low, high]}))
        assert found[:, 0].tolist() == [1.0, 0.0, 1.0]
        with pytest.warns(UnseenLevelWarning, match="'perhaps'.*count as false"):
            strange = encoder.transform(pd.DataFrame({"a": [high, "perhaps"]}))
        assert strange[:, 0].tolist() == [1.0, 0.0]


# Decisions about columns: those of a file and of its frame are the same.


def coded(size: int, shift: float, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(shift, 1, size), 3)
    return pd.DataFrame(
        {
            "x": x,
            "z": np.round(rng.normal(size=size), 3),
            "t": rng.choice(["u", "v", "w"], size),
            "y": np.round(2 * x + rng.normal(size=size), 3),
            "rownames": rng.permutation(5000)[:size],
            "id": np.arange(size) + 1000 * seed,
            "Unnamed: 0": rng.permutation(size),
            "constant": 3.0,
            "copy": x,
            "name": [f"person {k}" for k in rng.permutation(size)],
            "remark": [f"{k % (size - 9)} said {k % (size - 9)}" for k in range(size)],
            "district": 7 * rng.permutation(size),
            "region": rng.integers(1, 6, size),
            "answer": rng.choice([1, 2, 3, 99], size),
            "debt": rng.choice([0, 3, 40, -9], size),
            "race": rng.choice([1, 2, 3, 9], size),
            "visits": rng.choice(["0", "1", "2-4", "5+"], size),
            "small": rng.choice(["<5", "5", "10+"], size),
            "word": np.where(np.arange(size) % 20, x.round(2).astype(str), "?"),
            "price": [f"${v:,.0f}" for v in np.exp(7 + x)],
            "school": [f"{k // 3 + 99 * seed}th" if k % 5 else "none" for k in range(size)],
            "only X": rng.normal(size=size),
            "only X_target": rng.normal(size=size),
        }
    )


CODED, CODED_TARGET = coded(160, 0.0, 0), coded(140, 0.3, 1).drop(columns="y")
DECIDED = [name for name in CODED if name not in ("x", "z", "t", "y")]
LEFT_OUT = {*DECIDED[:8], "school", "only X", "only X_target"}


@cache
def answer_of(*names: str) -> float:
    found = estimate(CODED[[*names, "y"]], "y", CODED_TARGET[list(names)], method="weights")
    return float(found.value)


@pytest.mark.thorough
@pytest.mark.part(40)
@pytest.mark.parametrize("text", [False, True])
@pytest.mark.parametrize("name", DECIDED)
def test_what_is_decided_about_a_column_is_the_same(tmp_path, name, text):
    names = ["x", "z", *["t"] * text]
    here, there = [*names, "y", name], [*names, name]
    here, there = (
        here[: -1 if name == "only X_target" else None],
        there[: -1 if name == "only X" else None],
    )
    train, target = CODED[here], CODED_TARGET[there]
    paths = [tmp_path / "X.csv", tmp_path / "X_target.csv"]
    for frame, path in zip((train, target), paths, strict=True):
        frame.to_csv(path, index=False)
    result = covshift("estimate", *paths, "--outcome", "y", "--json", "--method", "weights")
    assert result.code == 0, result.err
    said = json.loads(result.out)
    found = estimate(train, "y", target, method="weights")
    assert said["estimates"][0]["value"] == found.value
    alone = answer_of(*names)
    assert (found.value == pytest.approx(alone, rel=1e-9)) == (name in LEFT_OUT)
    ours = [note.of_command().text for note in found.notes if repr(name) in note.text]
    theirs = [note["text"] for note in said["notes"] if repr(name) in note["text"]]
    assert len(ours) == len(theirs) > 0
    for path in paths:
        theirs = [text.replace(str(path), path.stem) for text in theirs]
    if not name.startswith("Unnamed"):  # which the reader of files knows
        assert theirs == ours


@pytest.mark.parametrize("answer", [diagnose, lambda X, T: estimate(X, "y", T)])
def test_frames_without_a_common_column_are_refused(answer):
    with pytest.raises(InputError, match=r"X and X_target share no column\. X has 'x'"):
        answer(CODED[["x", "y"]], CODED_TARGET[["z"]])


UNDONE = {
    "rownames": "rownames",
    "region": "region",
    "answer": "answer",
    "small": "small=5",
    "word": "word=?",
    "said": "said=(other)",
}


@pytest.mark.part(20)
@pytest.mark.parametrize("name", UNDONE)
def test_a_note_says_what_undoes_the_decision_and_it_does(name):
    names = ["x", name]
    frames = CODED, CODED_TARGET
    if name == "said":  # free text, but for a level of many rows
        often = ["nothing" if k % 4 == 0 else f"{k} is {k}" for k in range(len(CODED))]
        frames = [part.assign(said=often[: len(part)]) for part in frames]
    train, target = (part[names] for part in frames)
    found = diagnose(train, target, methods=())
    notes = [note.text for note in found.notes if "X_target=Target(" in note.text]
    written = re.search(r"X_target=Target\(rows, kinds=(\{.*?\})\)", notes[0])
    kinds = ast.literal_eval(written[1])
    assert set(kinds) == {name}
    undone = diagnose(train, Target(target, kinds=kinds), methods=())
    assert not [note for note in undone.notes if "X_target=Target(" in note.text]
    used = TableEncoder(kinds).fit(train, X_target=target)
    assert UNDONE[name] in used.columns
    numbers = diagnose(
        used.transform(train), used.transform(target), methods=(), groups=used.groups
    )
    assert undone.auc == numbers.auc


def test_text_of_which_no_level_has_enough_rows_offers_nothing():
    names = ["x", "name", "remark"]
    found = diagnose(CODED[names], CODED_TARGET[names], methods=())
    left_out = [note.text for note in found.notes if note.text.startswith("Left out")]
    assert len(left_out) == 2
    assert not [text for text in left_out if "kinds=" in text]
    target = Target(CODED_TARGET[names], kinds={"name": "category"})
    said = str(diagnose(CODED[names], target, methods=()))
    assert "Left out 'name': each of its values has too few rows to be a category." in said


@pytest.mark.thorough
def test_kinds_of_a_target_are_those_of_every_answer():
    names = ["x", "rownames", "y"]
    train, target = CODED[names], Target(CODED_TARGET[names[:2]], kinds={"rownames": "number"})
    for found in (
        estimate(train, "y", target),
        evaluate(
            Predictions(train["x"].to_numpy(), target.rows["x"].to_numpy()), train, "y", target
        ),
        compare(train, "y", target, task="regression", methods=["none"]),
    ):
        assert not [note for note in found.notes if "rownames" in note.text]
    with pytest.raises(InputError, match="kinds names 'rowname', which X does not have"):
        estimate(train, "y", Target(target.rows, kinds={"rowname": "number"}))
