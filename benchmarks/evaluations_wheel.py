"""Models with their scores and, later, the truth: the data sets inside NannyML's wheel.

    from evaluations_wheel import MONITORED, load
    found = load("employment", folder)          # Monitored(name, kind, reference, target, period)
    found.reference.X, found.reference.y, found.reference.score, found.reference.prediction

Nothing is downloaded, nothing of the data is kept here and NannyML is not imported. ``folder`` is
the package's folder, the site-packages around it or its environment; without it the environment
variable NANNYML_FOLDER is used, then this environment's own nannyml. The reference and the target
are as NannyML splits them; its documentation says for employment and california, not for the
made-up ones, that the training rows are not among them. Scores are the model's, of class 1;
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

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from tables_data import typed

VARIABLE = "NANNYML_FOLDER"
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


def load(name: str, folder: str | Path | None = None) -> Monitored:
    """Read one data set; ``MONITORED`` has the names."""
    recipe, package = MONITORED[name], package_folder(folder)
    reference, target, truth = (_read(package / "datasets" / "data" / f) for f in recipe.files)
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


def package_folder(folder: str | Path | None = None) -> Path:
    """The folder of the package nannyml, which need not be importable from here."""
    given = folder or os.environ.get(VARIABLE)
    if given is None:
        spec = find_spec("nannyml")
        given = spec.submodule_search_locations[0] if spec else None
    if given is None:
        raise FileNotFoundError(
            f"nannyml is not installed here; give the folder of an environment that has it "
            f"(benchmarks/evaluations-requirements.txt), or set {VARIABLE}"
        )
    given = Path(given)
    around = [given, given / "nannyml", *given.glob("lib/python*/site-packages/nannyml")]
    for package in around:
        if (package / "datasets" / "data").is_dir():
            return package
    raise FileNotFoundError(
        f"{given} holds no nannyml; expected the package's folder, its site-packages or its "
        "environment"
    )


def _read(path: Path) -> pd.DataFrame:
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


if __name__ == "__main__":
    for name in MONITORED:
        found = load(name)
        print(f"{name} | {found.kind} | {found.source} | {dict(found.reference.X.dtypes)}")
        for label in ("reference", *pd.unique(found.period)):
            chosen = slice(None) if label == "reference" else found.period == label
            rows = found.reference if label == "reference" else found.target
            y, prediction = rows.y[chosen], rows.prediction[chosen]
            error = np.mean(np.abs(y - prediction))
            print(f"  {label}: {len(y)} rows, y {y.mean():.4g}, mean |y - prediction| {error:.4g}")
