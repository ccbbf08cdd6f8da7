"""One verdict for the same two files, whichever command or function is asked."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from command import covshift

from covshift import Target, diagnose, estimate
from covshift.exceptions import NoOverlapError

# Numbers, levels of which some are rare, gaps, few rows, and weights of both samples.
PAIRS = {
    "no shift": (300, 300, 0.0, False, False),
    "moderate": (300, 300, 0.6, False, False),
    "few effective rows": (300, 300, 1.3, True, False),
    "fifty rows": (50, 60, 0.8, True, False),
    "weights": (300, 300, 0.5, True, True),
    "more rows than are drawn": (4500, 600, 0.7, False, False),
    "no overlap": (300, 300, 3.0, False, False),
}


def table(rows, shift, levels, rng):
    z = rng.normal(shift, 1, rows)
    made = {"age": np.round(45 + 10 * z, 1), "income": np.exp(0.3 * z + rng.normal(size=rows))}
    if levels:
        made["town"] = [f"t{int(abs(value) * 6)}" for value in z]
        made["income"] = np.where(rng.uniform(size=rows) < 0.1, np.nan, made["income"])
    made["design"] = rng.uniform(1, 3, rows)
    made["y"] = np.round(z + rng.normal(size=rows), 3)
    return pd.DataFrame(made)


@pytest.fixture(params=PAIRS)
def pair(request, tmp_path):
    N, M, shift, levels, weighted = PAIRS[request.param]
    rng = np.random.default_rng(0)
    sample, target = table(N, 0.0, levels, rng), table(M, shift, levels, rng).drop(columns="y")
    if not weighted:
        sample, target = sample.drop(columns="design"), target.drop(columns="design")
    sample.to_csv(tmp_path / "sample.csv", index=False)
    target.to_csv(tmp_path / "target.csv", index=False)
    options = ["--weight", "design", "--target-weight", "design"] if weighted else []
    files = [tmp_path / "sample.csv", tmp_path / "target.csv", "--label", "y", *options]
    return sample, target, files, weighted


def test_estimate_and_diagnose_agree_about_the_same_samples(pair):
    sample, target, files, weighted = pair
    names = {"sample_weight": "design", "target_weight": "design"} if weighted else {}
    found = diagnose(sample.drop(columns="y"), target, **names)
    alone = diagnose(sample.drop(columns="y"), target, methods=(), **names)
    assert (alone.verdict, alone.reason) == (found.verdict, found.reason)
    printed = covshift("diagnose", *files, "--strict", "--json")
    answered = covshift("estimate", *files, "--strict", "--json")
    assert json.loads(printed.out)["verdict"] == found.verdict
    assert printed.code == answered.code == (3 if found.verdict in ("strong", "no overlap") else 0)
    if found.verdict == "no overlap":
        assert "The training rows do not cover the target" in answered.err
        with pytest.raises(NoOverlapError):
            estimate(sample, "y", Target(target), **names)
        return
    assert json.loads(answered.out)["verdict"] == found.verdict
    answer = estimate(sample, "y", Target(target), **names)
    assert (answer.verdict, answer.diagnosis.reason) == (found.verdict, found.reason)
