"""What NannyML 0.13 expects of a model on the target: CBPE for classifiers, DLE for regressors.

    pip install -r benchmarks/evaluations-requirements.txt      # in an environment of its own
    OMP_NUM_THREADS=1 python benchmarks/evaluations_nannyml.py FOLDER
    OMP_NUM_THREADS=1 python benchmarks/evaluations_nannyml.py --example

Every problem of the folder is three files:

    <key>.reference.parquet   labelled rows: the features, `y`, `prediction` and, of a classifier,
                              `score`, the probability of class 1
    <key>.target.parquet      the same without `y`
    <key>.json                {"kind": "classification" or "regression", "features": [names]}

The .json is written last: a problem without it is not complete. FOLDER/nannyml.jsonl gets one line
per problem and metric,

    {"key", "metric", "value", "low", "high", "sampling_error", "seconds"}

or {"key", "error", "seconds"} where NannyML failed. A metric for which it gave no number has nulls
and `error`. `seconds` are those of the whole problem, files not counted. Problems that are already
there, failed ones too, are not repeated.

The whole target is one chunk and so is the reference. CBPE: isotonic calibration of the scores on
the reference, only where it lowers the calibration error in ten splits. DLE: one LightGBM model per
metric with its default settings, of the loss on the features and the prediction, on one thread.

`low` and `high` are NannyML's band, estimate -+ 3 sampling errors, cut at the metric's limits. The
sampling error is that of the realised metric on M rows of the reference's distribution (for the
accuracy: standard deviation of being right on the reference, over sqrt M): no part of it stands for
the error of the calibration, the loss model or the finite reference. That of the AUC has only the
share of the rarer class's rows, not that of the other class's.

NannyML has no Brier score. `brier` is mean(q (1 - s)^2 + (1 - q) s^2), with q what CBPE's own
calibrator makes of the score s; it has no band.
"""

from __future__ import annotations

import argparse
import json
import logging
import tempfile
import time
import warnings
from pathlib import Path

import nannyml
import numpy as np
import pandas as pd
from nannyml.usage_logging import disable_usage_logging

disable_usage_logging()  # it reports every fit to its makers otherwise

CLASSIFICATION = ["accuracy", "roc_auc", "average_precision", "f1"]
REGRESSION = ["mse", "mae", "rmse"]
COLUMNS = {
    "value": "value",
    "low": "lower_confidence_boundary",
    "high": "upper_confidence_boundary",
    "sampling_error": "sampling_error",
}


def nannyml_estimates(kind, features, reference, target):
    """One record per metric: its expected value on the target, the band, the sampling error."""
    # the sampling error of the average precision comes from rows drawn by numpy's global generator
    np.random.seed(0)  # noqa: NPY002
    if kind == "classification":
        return expected_performance(reference, target)
    if kind == "regression":
        return expected_loss(features, reference, target)
    raise ValueError(f"kind is {kind!r}; expected 'classification' or 'regression'")


def expected_performance(reference, target):
    estimator = nannyml.CBPE(
        metrics=CLASSIFICATION,
        y_true="y",
        y_pred="prediction",
        y_pred_proba="score",
        problem_type="classification_binary",
        chunk_number=1,
    )
    columns = {"prediction": int, "score": float}
    reference = reference[["y", *columns]].astype({"y": int, **columns})
    target = target[list(columns)].astype(columns)
    records = fitted_records(estimator, reference, target, CLASSIFICATION)
    score = target["score"].to_numpy()
    calibrated = estimator.calibrator.calibrate(score) if estimator.needs_calibration else score
    brier = np.mean(calibrated * (1 - score) ** 2 + (1 - calibrated) * score**2)
    return [*records, {"metric": "brier", **dict.fromkeys(COLUMNS), "value": number(brier)}]


def expected_loss(features, reference, target):
    names = {feature: f"x{k}" for k, feature in enumerate(features)}  # LightGBM allows few signs
    estimator = nannyml.DLE(
        feature_column_names=list(names.values()),
        y_true="y",
        y_pred="prediction",
        metrics=REGRESSION,
        hyperparameters={"n_jobs": 1, "verbosity": -1},  # neither changes what is estimated
        chunk_number=1,
    )
    columns = [*features, "prediction"]
    reference = reference[["y", *columns]].rename(columns=names)
    target = target[columns].rename(columns=names)
    return fitted_records(estimator, reference, target, REGRESSION)


def fitted_records(estimator, reference, target, metrics):
    estimator.fit(reference)
    found = estimator.estimate(target).filter(period="analysis").to_df()
    if len(found) != 1:
        raise RuntimeError(f"NannyML made {len(found)} chunks of the target; expected 1")
    row = found.iloc[0]
    records = []
    for metric in metrics:
        values = {name: number(row[metric, column]) for name, column in COLUMNS.items()}
        missing = {"error": "NannyML gave no number"} if values["value"] is None else {}
        records.append({"metric": metric, **values, **missing})
    return records


def number(value):
    return float(value) if value is not None and np.isfinite(value) else None


def lines_of(folder, key):
    """The lines of one problem; a failure is a line too."""
    start = time.perf_counter()
    try:
        problem = json.loads((folder / f"{key}.json").read_text(encoding="utf-8"))
        reference = pd.read_parquet(folder / f"{key}.reference.parquet")
        target = pd.read_parquet(folder / f"{key}.target.parquet")
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            records = nannyml_estimates(problem["kind"], problem["features"], reference, target)
    except Exception as failure:  # NannyML raises many kinds; the other problems go on
        records = [{"error": f"{type(failure).__name__}: {failure}"[:300]}]
    seconds = round(time.perf_counter() - start, 4)
    return [json.dumps({"key": key, **record, "seconds": seconds}) for record in records]


def run(folder):
    """Append problem by problem: a run that was cut off goes on where it stopped."""
    results = folder / "nannyml.jsonl"
    lines = results.read_text(encoding="utf-8").splitlines() if results.exists() else []
    done = {json.loads(line)["key"] for line in lines}
    for path in sorted(folder.glob("*.json")):
        if path.stem not in done:
            with results.open("a", encoding="utf-8") as file:
                file.write("".join(f"{line}\n" for line in lines_of(folder, path.stem)))


def example(rows=1000):
    """Three made problems: a classifier, a regressor, and a reference of one class."""
    rng = np.random.default_rng(0)
    X, T = rng.normal(size=(rows, 3)), rng.normal(0.5, 1, size=(rows, 3))

    def chance(X):
        return 1 / (1 + np.exp(-X.sum(1)))

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        labels, later = rng.random(rows) < chance(X), rng.random(rows) < chance(T)
        scored = [framed(A, chance(A) > 0.5, score=chance(A)) for A in (X, T)]
        write(folder, "classifier", "classification", scored[0].assign(y=labels), scored[1])
        write(folder, "one class", "classification", scored[0].assign(y=False), scored[1])
        y, y_later = (A.sum(1) + np.abs(A[:, 0]) * rng.normal(size=rows) for A in (X, T))
        predicted = [framed(A, A.sum(1)) for A in (X, T)]
        write(folder, "regressor", "regression", predicted[0].assign(y=y), predicted[1])
        run(folder)
        print(f"accuracy in the target: {np.mean(later == (chance(T) > 0.5)):.3f}")
        print(f"mean squared error in the target: {np.mean((y_later - T.sum(1)) ** 2):.3f}")
        print((folder / "nannyml.jsonl").read_text(encoding="utf-8"))


def framed(X, prediction, **columns):
    frame = pd.DataFrame(X, columns=["a [cm]", "b", "c"])
    words = np.where(X[:, 2] > 0, "high", "low")
    return frame.assign(d=words, e=X[:, 1] > 0, prediction=prediction, **columns)


def write(folder, key, kind, reference, target):
    reference.to_parquet(folder / f"{key}.reference.parquet")
    target.to_parquet(folder / f"{key}.target.parquet")
    problem = {"kind": kind, "features": ["a [cm]", "b", "c", "d", "e"]}
    (folder / f"{key}.json").write_text(json.dumps(problem), encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--example", action="store_true")
    arguments = parser.parse_args()
    logging.getLogger("nannyml").setLevel(logging.CRITICAL)
    if arguments.example:
        example()
    elif arguments.folder is None:
        parser.error("give the folder of the problems, or --example")
    else:
        run(arguments.folder)
