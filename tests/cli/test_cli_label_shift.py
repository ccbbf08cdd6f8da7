"""``--shift label`` of estimate and evaluate: the library's numbers, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command import covshift

from covshift import Predictions, estimate, evaluate

rng = np.random.default_rng(0)


def table(rows, share):
    y = (rng.uniform(size=rows) < share).astype(int)
    a = rng.normal(size=rows) + 1.6 * y
    p = 1 / (1 + np.exp(1.28 - 1.6 * a))
    return pd.DataFrame({"a": a, "b": rng.normal(size=rows), "p": p, "y": y}).round(6)


TRAIN, TARGET = table(150, 0.5), table(120, 0.2)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("label_shift")
    TRAIN.to_csv(folder / "train.csv", index=False)
    TARGET.to_csv(folder / "labelled.csv", index=False)
    TARGET.drop(columns="y").to_csv(folder / "target.csv", index=False)
    return [folder / "train.csv", folder / "target.csv"]


@pytest.mark.thorough
def test_estimate_has_the_number_of_the_library(files):
    found = covshift("estimate", *files, "--outcome", "y", "--shift", "label", "--json")
    assert found.code == 0
    data = json.loads(found.out)
    own = estimate(TRAIN.drop(columns="y"), TRAIN.y, TARGET.drop(columns="y"), shift="label")
    assert data["method"] == "label"
    assert data["estimates"][0]["value"] == pytest.approx(own.value, abs=1e-6)
    assert data["label_shift"][0]["p_value"] == pytest.approx(own.label_shift[0].p_value, abs=1e-4)


@pytest.mark.thorough
@pytest.mark.parametrize("target", ["target.csv", "labelled.csv"])
def test_evaluate_has_the_number_of_the_library(files, target):
    given = [files[0], files[0].parent / target, "--label", "y", "--score", "p", "--json"]
    found = covshift("evaluate", *given, "--metric", "brier", "--shift", "label")
    assert found.code == 0
    here, there = TRAIN[["a", "b"]], TARGET[["a", "b"]]
    said = Predictions(TRAIN.p.to_numpy(), TARGET.p.to_numpy())
    own = evaluate(said, here, TRAIN.y, there, metrics="brier", shift="label")
    data = json.loads(found.out)
    assert data["performances"][0]["value"] == pytest.approx(own["brier"].value, abs=1e-6)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--by", "b"], "--by is not for --shift label"),
        (["--method", "dr"], "--method is not for --shift label"),
        (["--weighter", "entropy"], "--weighter is not for --shift label"),
        (["--max-weight", "5"], "--max-weight is not for --shift label"),
        (["--restrict", "overlap"], "--restrict is not for --shift label"),
        (["--replicates", "20"], "--replicates is not for --shift label"),
        (["--target-outcome", "b"], "--target-outcome is not for --shift label"),
        (["--what", "median"], "cannot be computed from class shares"),
    ],
)
def test_options_that_it_has_no_use_for_are_refused(files, options, words):
    found = covshift("estimate", *files, "--outcome", "y", "--shift", "label", *options)
    assert found.code != 0
    assert words in " ".join(found.err.split())
