"""Every kind of column × every class and command: a table as it comes is its encoded numbers.

Quick entry points see each kind by itself, slow ones see all kinds in one table.
"""

from __future__ import annotations

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import covshift
from covshift import TableEncoder, v_matrix
from covshift.cli import main
from covshift.comparison import compare
from covshift.comparison.methods import methods_for
from covshift.exceptions import NoOverlapError
from covshift.weights import WEIGHTERS

N, M = 60, 70
LEVELS = ["a", "b", "c", "d", "e"]


def columns(rows: int, seed: int, *, target: bool) -> dict[str, object]:
    """One column of every kind; what only the target has is there if it is the ``target``."""
    rng = np.random.default_rng(seed)
    numbers = rng.normal(0.4 * target, 1.0, rows)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, rows), "D")
    words = rng.choice(LEVELS, rows, p=[0.4, 0.3, 0.1, 0.1, 0.1][:: -1 if target else 1])
    gap = rng.random(rows) < (0.3 if target else 0.15)
    return {
        "number": numbers,
        "single precision": numbers.astype(np.float32),
        "whole number": rng.integers(0, 5, rows),
        "boolean": rng.random(rows) < 0.4,
        "two levels": rng.choice(["no", "yes"], rows, p=[0.6, 0.4]),
        "text": words,
        "category": pd.Categorical(words, LEVELS),
        "ordered": pd.Categorical(words, LEVELS, ordered=True),
        "date": days,
        "moment": days + pd.to_timedelta(rng.integers(0, 86_400, rows), "s"),
        "ISO date": days.strftime("%Y-%m-%d"),
        "number with gaps": np.where(gap, np.nan, numbers),
        "whole number with gaps": pd.array(rng.integers(0, 5, rows), "Int64").to_numpy(object),
        "text with gaps": np.where(gap, None, words),
        "boolean with gaps": np.where(gap, None, rng.random(rows) < 0.5),
        "date with gaps": pd.Series(days).where(~gap).to_numpy(),
        "number as text": [f"{value:.3f}" for value in numbers],
        "id": [f"p{seed}-{k}" for k in range(rows)],
        "constant": ["same"] * rows,
        "many levels": [f"town {k}" for k in rng.integers(0, 80, rows) // 3],
        "level of the target": rng.choice(["a", "b", "new"] if target else ["a", "b"], rows),
        "gap of the target": np.where(gap & target, np.nan, numbers),
    }


KINDS = list(columns(10, 0, target=False))


def tables(*kinds: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and target rows with a number and columns of these kinds."""
    found = []
    for rows, target in ((N, False), (M, True)):
        every = columns(rows, int(target), target=target)
        base = np.random.default_rng(7 + target).normal(0.3 * target, 1.0, rows)
        found.append(pd.DataFrame({"x": base, **{kind: every[kind] for kind in kinds}}))
    return found[0], found[1]


def outcome(X: pd.DataFrame) -> np.ndarray:
    noise = np.random.default_rng(3).normal(size=len(X))
    return (X["x"].to_numpy() + noise > 0).astype(int)


def predicted(estimator, method="predict"):
    def answer(X, T, y):
        return np.asarray(getattr(estimator().fit(X, y, X_target=T), method)(T), dtype=float)

    return answer


def weighed(name):
    def answer(X, T, y):
        weighter = WEIGHTERS[name]()
        if "random_state" in weighter.get_params():
            weighter.set_params(random_state=0)
        return weighter.fit(X, y, X_target=T).weights_

    return answer


def interval(X, T, y):
    model = covshift.ConformalRegressor(encoded(LinearRegression()), random_state=0)
    found = model.fit(X, y, X_target=T).predict_interval(T)
    return np.column_stack([found.lower, found.upper])


def encoded(learner):
    return make_pipeline(TableEncoder(), learner)


QUICK = {
    "VSVC": predicted(lambda: covshift.VSVC("blended", kernel="rbf", reg=1.0), "predict_proba"),
    "VSVR": predicted(lambda: covshift.VSVR("additive", kernel="rbf", reg=1.0)),
    "VSVR, all columns": predicted(lambda: covshift.VSVR("multiplicative", kernel="rbf", reg=1.0)),
    "VBoostClassifier": predicted(
        lambda: covshift.VBoostClassifier(n_estimators=3), "predict_proba"
    ),
    "VBoostRegressor": predicted(lambda: covshift.VBoostRegressor(n_estimators=3)),
    "RobustBiasAware": predicted(covshift.RobustBiasAware, "predict_proba"),
    "Reweighted": predicted(lambda: covshift.Reweighted(LogisticRegression()), "predict_proba"),
    "v_matrix": lambda X, T, y: v_matrix(X, T),
    "ConformalRegressor": interval,
    **{f"weighter {name}": weighed(name) for name in WEIGHTERS},
}
NOT_AS_NUMBERS = {  # cells of a table and of its numbers are other cells
    "weighter raking",
    "weighter post-stratification",
    "weighter gaussian-ratio",  # which takes two levels for a category, 0 and 1 for a number
    "ConformalRegressor",
}


@pytest.mark.part(14)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", QUICK)
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_is_its_encoded_numbers(kind, entry):
    X, T = tables(kind)
    y = outcome(X)
    try:
        found = QUICK[entry](X, T, y)
    except NoOverlapError:  # which is right where only the target has something
        assert kind.endswith("of the target") or kind == "many levels"
        with pytest.raises(NoOverlapError, match=kind):
            QUICK[entry](X, T, y)
        return
    assert not np.isnan(found).any()
    if entry in NOT_AS_NUMBERS:
        return
    encoder = TableEncoder().fit(X, X_target=T)
    numbers = QUICK[entry](encoder.transform(X), encoder.transform(T), y)
    np.testing.assert_allclose(found, numbers, rtol=1e-6, atol=1e-8)


# All kinds at once


def whole() -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray]:
    X, T = tables(*KINDS)
    return X, T, outcome(X)


def quiet(function, *args, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


def test_diagnose_has_a_line_per_feature_and_gaps_among_them():
    X, T, _ = whole()
    names = [feature.name for feature in quiet(covshift.diagnose, X, T).features]
    assert {"text", "ordered", "date", "number with gaps missing", "level of the target"} <= {
        *names
    }
    assert not {"id", "constant"} & {*names}
    assert not [name for name in names if "=" in name]


@pytest.mark.thorough
@pytest.mark.part(20)
@pytest.mark.parametrize("what", ["mean", "proportion"])
def test_estimate_of_all_kinds(what):
    X, T, y = whole()
    found = quiet(covshift.estimate, X, y, T, what=what, random_state=0, restrict="overlap")
    assert np.isfinite(np.ravel(found.value)).all()
    assert any("looks like a row identifier" in str(note) for note in found.notes)


@pytest.mark.thorough
def test_evaluate_of_all_kinds():
    X, T, y = whole()
    model = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression()).fit(X, y)
    found = quiet(covshift.evaluate, model, X, y, T, restrict="overlap", random_state=0)
    assert 0 <= found["accuracy"].value <= 1


def test_compare_of_all_kinds():
    X, T, y = whole()
    found = quiet(compare, X, y, T, learner="linear", methods=methods_for("linear", 20)[:2])
    assert found.recommended


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    X, T, y = whole()
    X.assign(ill=np.where(y, "yes", "no")).to_csv(folder / "train.csv", index=False)
    T.to_csv(folder / "target.csv", index=False)
    return folder


COMMANDS = {
    "diagnose": ["diagnose", "train.csv", "target.csv", "--drop", "ill", "--json"],
    "weigh": ["weigh", "train.csv", "target.csv", "--drop", "ill", "-o", "w.csv", "--json"],
    "estimate": [
        "estimate", "train.csv", "target.csv", "--outcome", "ill", "--restrict", "overlap",
        "--json",
    ],
    "fit": [
        "fit", "train.csv", "target.csv", "--label", "ill", "--restrict", "overlap",
        *("-o", "m.covshift", "--json"),
    ],
}  # fmt: skip


@pytest.mark.part(20)
@pytest.mark.parametrize("command", COMMANDS)
def test_commands_answer_at_once(command, files, monkeypatch, capsys):
    monkeypatch.chdir(files)
    assert quiet(main, COMMANDS[command]) == 0
    assert json.loads(capsys.readouterr().out)
    if command == "fit":
        assert quiet(main, ["predict", "m.covshift", "target.csv", "-o", "p.csv"]) == 0
        assert len(pd.read_csv(files / "p.csv")) == M
