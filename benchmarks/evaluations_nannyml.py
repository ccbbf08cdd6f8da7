"""What NannyML 0.13 expects of a model on the target, and the monitored models of its wheel.

benchmarks/evaluations-requirements.txt is an environment in which it ran: CBPE for classifiers, DLE
for regressors.

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

Monitored models: data sets inside NannyML's wheel, with scores and, later, the truth. Nothing is
downloaded and nothing of the data is kept here. The reference and the target are as NannyML splits
them; its documentation says for employment and california, not for the made-up ones, that the
training rows are not among them. Scores are the model's, of class 1;
``period`` has one label per row of the target.

Whether p(y | x) changed was looked at in two ways: A, does the period lower the held-out loss of a
boosted model of y given x, fitted to reference and target together; B, are the residuals of a
model of the reference the same in the target, where the two overlap, as in the reference weighted
to it.

- employment: ACS, Massachusetts, is a person employed? 16 features, all but the age categories
  (education too, whose order is lost); LightGBM fitted to 2014. Reference 2015 (68,785 rows),
  target 2016 to 2018 (208,892; period: the year). The features hardly move. Perhaps changed, by
  little: A finds 2.2, 1.1 and 0.7 standard errors, B 1.5, 3.5 and 3.5, towards more employed by
  .004 to .01.
- california: is a block's median house value above the median of the training rows? 8 features; a
  random forest fitted to the blocks before the reference, class 1 from a score of .8 (not .5).
  5,832 and 8,232 rows in the order of the file, which follows the map: the period, a made-up
  month, is a region, most of them without a like in the reference: a hard shift. Calibration is
  lost there (July 2021: 19 % above, 46 % expected of calibrated scores). Longitude and latitude
  are features, so a change of p(y | x) cannot be told from extrapolation; A finds 1.8 and -0.9 in
  the two halves.
- car loan: made up, is a loan repaid? 7 features; class 1 from .65. 50,000 and 50,000 rows;
  period: tenths of the target, in time. 1 to 5 are like the reference; in 6 to 10 dearer cars,
  longer loans and more loans repaid before, and p(y | x) changed too: about .015 fewer repaid at
  equal x (A 3.6 to 8.6 over seven fits of other sizes and splits, B 4.9). No pure covariate shift.
- car price: made up, the price of a used car. 7 features; 60,000 and 60,000 rows; period: tenths.
  1 to 5 are like the reference, 6 to 10 shifted, with an absolute error of 700 instead of 850. No
  change of p(y | x) seen (A 0.5, B 0.4), though only half the shifted rows overlap.

Left out: titanic (no model's scores), synthetic_sample (car loan's scores and truth under other
names), the variant of car loan with holes, mc (three classes).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from tables_data import typed

CLASSIFICATION = ["accuracy", "roc_auc", "average_precision", "f1"]

REGRESSION = ["mse", "mae", "rmse"]

COLUMNS = {
    "value": "value",
    "low": "lower_confidence_boundary",
    "high": "upper_confidence_boundary",
    "sampling_error": "sampling_error",
}


try:
    import nannyml
    import nannyml.usage_logging
except ImportError:  # left out then
    nannyml = None


def nannyml_estimates(kind, features, reference, target):
    """One record per metric: its expected value on the target, the band, the sampling error."""
    logging.getLogger("nannyml").setLevel(logging.CRITICAL)
    nannyml.usage_logging.disable_usage_logging()  # it reports every fit to its makers otherwise
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


TENTHS = 10


@dataclass(frozen=True)
class Rows:
    """What the model said of some rows, and the truth; ``score`` is None of a regression."""

    X: pd.DataFrame
    y: np.ndarray
    score: np.ndarray | None
    prediction: np.ndarray


@dataclass(frozen=True)
class Monitored:
    """A model on the rows it was tested on and on those it met later."""

    name: str
    kind: str  # "regression" or "classification"
    reference: Rows
    target: Rows  # y is the truth, for judging only
    period: np.ndarray  # one label per row of the target
    source: str


@dataclass(frozen=True)
class Recipe:
    """The three files (reference, target, truth of the target) and the columns' meaning."""

    files: tuple[str, str, str]
    outcome: str
    period: str  # "year", "month" or "tenth"
    prediction: str = "y_pred"
    score: str | None = "y_pred_proba"


MONITORED = {
    "employment": Recipe(
        (
            "employment_MA_reference.pq",
            "employment_MA_analysis.pq",
            "employment_MA_analysis_target.pq",
        ),
        "employed",
        "year",
        "prediction",
        "predicted_probability",
    ),
    "california": Recipe(
        (
            "california_housing_reference.csv",
            "california_housing_analysis.csv",
            "california_housing_analysis_gt.csv",
        ),
        "clf_target",
        "month",
    ),
    "car loan": Recipe(
        (
            "synthetic_car_loan_reference.csv",
            "synthetic_car_loan_analysis.csv",
            "synthetic_car_loan_analysis_target.csv",
        ),
        "repaid",
        "tenth",
    ),
    "car price": Recipe(
        (
            "regression_synthetic_reference.csv",
            "regression_synthetic_analysis.csv",
            "regression_synthetic_analysis_targets.csv",
        ),
        "y_true",
        "tenth",
        score=None,
    ),
}


def monitored(name: str) -> Monitored:
    """Read one data set; ``MONITORED`` has the names."""
    recipe, package = MONITORED[name], package_folder()
    reference, target, truth = (_read_file(package / "datasets" / "data" / f) for f in recipe.files)
    target = target.merge(truth, on="id", how="left", validate="one_to_one")
    if target[recipe.outcome].isna().any():
        raise ValueError(f"{recipe.files[2]} has no truth for some rows of {recipe.files[1]}")
    both = pd.concat([reference, target], ignore_index=True)
    used = ["id", "year", "timestamp", recipe.outcome, recipe.prediction, recipe.score]
    X = typed(both.drop(columns=[c for c in used if c in both]), categories="")
    kind = "regression" if recipe.score is None else "classification"
    rows = [
        _rows(part.reset_index(drop=True), both.loc[part.index], recipe, kind)
        for part in (X.iloc[: len(reference)], X.iloc[len(reference) :])
    ]
    version = next((p.name.split("-")[1] for p in package.parent.glob("nannyml-*.dist-info")), "?")
    source = f"nannyml {version.removesuffix('.dist')}, {recipe.files[1]}"
    return Monitored(name, kind, rows[0], rows[1], _periods(target, recipe.period), source)


def package_folder() -> Path:
    """The folder of the package."""
    return Path(find_spec("nannyml").submodule_search_locations[0])


def _read_file(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".pq" else pd.read_csv(path)


def _rows(X: pd.DataFrame, frame: pd.DataFrame, recipe: Recipe, kind: str) -> Rows:
    number = float if kind == "regression" else int
    return Rows(
        X,
        frame[recipe.outcome].to_numpy().astype(number),
        None if recipe.score is None else frame[recipe.score].to_numpy(dtype=float),
        frame[recipe.prediction].to_numpy().astype(number),
    )


def _periods(target: pd.DataFrame, period: str) -> np.ndarray:
    if period == "year":
        return target["year"].to_numpy()
    if period == "month":
        return target["timestamp"].str[:7].to_numpy()
    return np.arange(len(target)) * TENTHS // len(target) + 1
