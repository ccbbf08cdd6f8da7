"""How good are the numbers of `covshift.evaluate`? Error, coverage, NannyML beside it, and time.

A model, labelled rows and a target of one real table, with the model's true performance there. The
table is the population. Every row has a chance p to be the target's (`tables_data.target_chance`: a
logistic of a random direction, or the rank in a random column), and the others are the labelled
sample's; or a column's values tell the two apart ("natural": then p(y | x) may differ as well); or
a coin does ("none": the control, where nothing is to be corrected). Half of the labelled rows train
a model, the other half judge it. The truth is the metric over all rows that did not train the
model, weighted by p. "held out" passes the rows that judge the model alone; "all rows" passes the
rows that trained it as well, marked by ``trained_on``.

Models: "linear" (logistic or ridge regression), "boosted" trees, and "restricted", a linear model
that sees a third of the columns, so that its scores cannot know what has shifted.
"""

from __future__ import annotations

import time
import warnings
import zlib
from collections import defaultdict
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
from evaluations_nannyml import monitored, nannyml, nannyml_estimates
from harness import Work, main, runs, table
from scipy.stats import gmean
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.metrics import accuracy_score, brier_score_loss, mean_squared_error, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from covshift import Predictions, evaluate
from covshift.datasets import make_survey
from covshift.exceptions import NoOverlapError

TITLE = "How good is the model there? Error, coverage, time"
SHIFTS = ("direction", "rank", "natural", "none")

MODELS = ("linear", "boosted", "restricted")

SIZES = {
    "small": (300, 300),
    "middle": (1000, 1000),
    "large": (5000, 5000),
    "few target rows": (1000, 50),
}

METRICS = {"classification": ("accuracy", "brier", "roc_auc"), "regression": ("mse",)}

MOST_COLUMNS, LEAST_CLASS, SPARE = 40, 20, 1.5


@dataclass(frozen=True)
class Problem:
    """X, y: all labelled rows, of which ``trained`` trained the model; T: the target's.

    ``said`` and ``said_T`` are the model's scores of class 1, or its predictions of numbers.
    """

    key: str
    kind: str
    X: Any
    y: np.ndarray
    said: np.ndarray
    trained: np.ndarray  # (N,), bool
    T: Any
    said_T: np.ndarray
    truth: dict[str, float]
    threshold: float = 0.5


def draw(name, shift, model, size, run):
    """Return a problem, or None where the table is too small or has no such shift."""
    from tables_data import as_numbers, columns, load, target_chance

    table, (N, M) = load(name), SIZES[size]
    key = f"{name}/{shift}/{model}/{size}/{run}"
    rng = np.random.default_rng([zlib.crc32(f"{name}/{shift}/{size}".encode()), run])
    X, y = columns(name), table.y
    if shift == "natural":
        if table.in_target is None:
            return None
        chance = table.in_target.astype(float)
        X = as_numbers(table.X.drop(columns=table.column))
    else:
        chance = target_chance(table.X, shift, rng)
    in_target = rng.uniform(size=len(y)) < chance
    labelled, target = (rng.permutation(np.flatnonzero(part)) for part in (~in_target, in_target))
    if len(labelled) < 2 * N or len(target) < SPARE * M:
        return None
    labelled, target = labelled[: 2 * N], target[:M]
    trained = np.arange(2 * N) < N
    if table.kind == "classification":
        counts = [np.bincount(y[labelled[part]], minlength=2).min() for part in (trained, ~trained)]
        if min(counts) < LEAST_CLASS:
            return None
    rows = labelled[trained]
    fitted = _model(table.kind, model, X.shape[1], rng).fit(X[rows], y[rows])
    said = fitted.predict(X) if table.kind == "regression" else fitted.predict_proba(X)[:, 1]
    others = np.setdiff1d(np.flatnonzero(chance > 0), rows)
    truth = performance(table.kind, y[others], said[others], weight=chance[others])
    return Problem(
        key,
        table.kind,
        X[labelled],
        y[labelled],
        said[labelled],
        trained,
        X[target],
        said[target],
        truth,
    )


def performance(kind, y, said, *, weight=None, threshold=0.5):
    """Measure what a model said of labelled rows."""
    if kind == "regression":
        return {"mse": float(mean_squared_error(y, said, sample_weight=weight))}
    return {
        "accuracy": float(accuracy_score(y, said >= threshold, sample_weight=weight)),
        "brier": float(brier_score_loss(y, said, sample_weight=weight)),
        "roc_auc": float(roc_auc_score(y, said, sample_weight=weight)),
    }


def _model(kind, name, width, rng):
    classes = kind == "classification"
    if name == "boosted":
        made = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
        return made(max_leaf_nodes=8, learning_rate=0.1, max_iter=100, random_state=0)
    linear = LogisticRegression(max_iter=2000) if classes else RidgeCV(np.logspace(-2, 4, 13))
    if name == "restricted":
        seen = np.sort(rng.permutation(width)[: max(1, width // 3)])
        return make_pipeline(make_column_transformer((StandardScaler(), seen)), linear)
    return make_pipeline(StandardScaler(), linear)


RUNS = {"small": 5, "middle": 5, "large": 2, "few target rows": 2}

FOR_NANNYML = {"small": 2, "middle": 2, "large": 1}  # runs of each cell

MONITORED_THRESHOLDS = {"employment": 0.5, "california": 0.8, "car loan": 0.65, "car price": None}

MONITORED_SIZES = ((1000, 1000, 5), (50_000, 5000, 1), (60_000, 50_000, 1))  # N, M, runs


def one_table(name, shift, model, size, run):
    """Return the numbers of all methods, of both ways to pass the rows."""
    problem = made_up(name, shift) if size == "tiny" else draw(name, shift, model, size, run)
    return problem and answered(problem)


def answered(problem):
    """Return what we say of a problem, and the truth."""
    about = {"key": problem.key, "kind": problem.kind, "truth": problem.truth}
    return about | evaluated(problem)


def of_nannyml(name, shift, model, size, run):
    """Return what NannyML says of the same problem, by metric."""
    problem = draw(name, shift, model, size, run)
    return problem and by_nannyml(problem)


def by_nannyml(problem):
    """Return NannyML's value and error of every metric; none where it fails."""
    frames = []
    for rows, said in ((problem.X[~problem.trained], problem.said[~problem.trained]),
                       (problem.T, problem.said_T)):  # fmt: skip
        frame = pd.DataFrame(rows).reset_index(drop=True)
        frame.columns = features = [f"x{k}" for k in range(frame.shape[1])]
        frame["prediction"] = said
        if problem.kind == "classification":
            frame["prediction"] = (said >= problem.threshold).astype(int)
            frame["score"] = said
        frames.append(frame)
    frames[0]["y"] = problem.y[~problem.trained]
    try:
        found = nannyml_estimates(problem.kind, features, *frames)
    except Exception as reason:  # NannyML raises many kinds; the other problems go on
        return {"failed": f"{type(reason).__name__}: {reason}"[:300]}
    return {line["metric"]: line for line in found if line["value"] is not None}


def evaluated(problem):
    """Return value, error and interval of every metric by every method, and the time."""
    judging, metrics = ~problem.trained, METRICS[problem.kind]
    found, line = None, {}
    for way, rows in {"held out": judging, "all rows": np.ones_like(judging)}.items():
        if way == "all rows" and judging.all():
            continue
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = evaluate(
                    Predictions(
                        problem.said[rows],
                        problem.said_T,
                        trained_on=problem.trained[rows],
                        threshold=problem.threshold if problem.kind == "classification" else None,
                        task="numbers" if problem.kind == "regression" else "classes",
                    ),
                    problem.X[rows],
                    problem.y[rows],
                    problem.T,
                    metrics=metrics,
                )
            except NoOverlapError as reason:
                return {"refused": str(reason)}
        line[way] = {
            f"{row.metric}/{row.method}": [row.value, row.standard_error, *row.interval]
            for row in found.table
        }
        line[f"seconds, {way}"] = time.perf_counter() - start
    return line


def of_monitored(name, period, N, M, run):
    """Return what we and NannyML say of a monitored model: rows of the reference, and a period."""
    whole = monitored(name)
    said = {
        part: rows.prediction if whole.kind == "regression" else rows.score
        for part, rows in (("reference", whole.reference), ("target", whole.target))
    }
    threshold = MONITORED_THRESHOLDS[name]
    there = np.flatnonzero(whole.period == period)
    truth = performance(
        whole.kind, whole.target.y[there], said["target"][there], threshold=threshold
    )
    key = f"{name}/{period}/{N} and {M}/{run}"
    rng = np.random.default_rng([zlib.crc32(key.encode()), run])
    rows, target = rng.permutation(len(whole.reference.y))[:N], rng.permutation(there)[:M]
    problem = Problem(
        *(key, whole.kind, whole.reference.X.iloc[rows], whole.reference.y[rows]),
        *(said["reference"][rows], np.zeros(N, dtype=bool), whole.target.X.iloc[target]),
        *(said["target"][target], truth, threshold),
    )
    return answered(problem) | {"NannyML": by_nannyml(problem)}


def monitored_jobs(share):
    """Names, periods, sizes and runs of monitored models."""
    found = []
    for name in MONITORED_THRESHOLDS:
        whole = monitored(name)
        for N, M, count in MONITORED_SIZES:
            for period in np.unique(whole.period).tolist():
                if len(whole.reference.y) >= N and (whole.period == period).sum() >= M:
                    found += [(name, period, N, M, run) for run in range(runs(count, share))]
    return found


def time_of(rows, width):
    """Time one evaluation by the defaults; five features have moved by 0.3."""
    rng = np.random.default_rng(0)
    X, T = (rng.normal(size=(rows, width)) for _ in range(2))
    T[:, :5] += 0.3
    y, y_T = (rng.uniform(size=rows) < _chance(part) for part in (X, T))
    more = rng.normal(size=(5000, width))
    model = LogisticRegression().fit(more, rng.uniform(size=5000) < _chance(more))
    start, cpu = time.perf_counter(), time.process_time()
    row = evaluate(model, X, y, T)["accuracy"]
    took = time.perf_counter() - start, time.process_time() - cpu
    return [*took, row.value, *row.interval, float((model.predict(T) == y_T).mean())]


def _chance(X):
    return 1 / (1 + np.exp(-(X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] * X[:, 3])))


def time_sections(found):
    """Return the table of times."""
    rows = [
        [
            *(f"{size:,}", width, f"{line[0]:.1f}", f"{line[1]:.1f}", f"{line[2]:.4f}"),
            *(f"{line[3]:.4f} to {line[4]:.4f}", f"{line[5]:.4f}"),
        ]
        for (size, width), line in found
    ]
    head = ["rows of each sample", "features", "seconds", "of the processor", "accuracy"]
    return [
        "## Time",
        "One evaluation by the defaults (accuracy, AUC, Brier score, curves, diagnosis); normal "
        "features, of which five have moved by 0.3; a logistic regression judged; seed 0; one run.",
        table([*head, "interval", "realised"], rows),
    ]


def made_up(kind, shift):
    """Return a small made-up problem, which needs no tables."""
    survey = make_survey(160, 80, random_state=0)
    y, p = survey.y, survey.probability_target
    if kind == "regression":
        y, p = survey.X[:, 0], survey.X_target[:, 0]
    rng = np.random.default_rng(0)
    said, said_T = (0.4 * part + 0.6 * rng.uniform(size=len(part)) for part in (y, p))
    truth = performance(kind, p > 0.5 if kind == "classification" else p, said_T)
    trained, key = np.arange(160) < 80, f"made up/{shift}/linear/small/0"
    return Problem(key, kind, survey.X, y, said, trained, survey.X_target, said_T, truth)


GOALS = {"accuracy": 0.38, "brier": 0.42, "roc_auc": 0.75, "mse": 0.55}

METHODS = ("none", "weights", "cbpe", "pape", "model", "dr")
DEFAULT = "model"

WORDS = {
    "none": "labelled rows as they are",
    "weights": "weighted rows",
    "cbpe": "calibrated scores (our CBPE)",
    "pape": "weighted calibration (our PAPE)",
    "model": "outcome model",
    "dr": "doubly robust",
}

NAMES = {"accuracy": "accuracy", "brier": "Brier", "roc_auc": "AUC", "mse": "MSE"}

WAYS = ("held out", "all rows")

TEXT = "\n\n".join(
    [
        "The table is the population, and every row has a chance to be the target's: a logistic "
        "of a random direction, or the rank in a random column (induced shifts); or a column's "
        "values tell the two apart (natural shifts: p(y | x) may differ as well, and no method "
        "knows); or a coin (no shift: the control). "
        "Half of the labelled rows train a model, the other half judge it: `held out` "
        "passes these alone, `all rows` passes both and marks the former by `trained_on`. The "
        "truth is the metric over all rows of the table that did not train the model, weighted "
        "by their chance. Models: linear; boosted trees; a linear one that sees a third of the "
        "columns. Rows that judge, and target rows: 300 and 300, 1000 and 1000, 5000 and 5000 "
        "where the table has them. Tables of the half on which nothing was chosen "
        "(`tables_data.half`); method, mixture and width of the intervals were settled on the "
        "other half.",
        "Error: mean absolute error over the runs of a cell (table, shift, model, size) "
        "relative to that of the labelled rows as they are; geometric mean over the cells. "
        "Coverage: share of 95 % intervals that hold the truth; width: relative to the plain "
        "interval, median. Rows are drawn without replacement from finite tables, so that "
        "intervals cover a little too often.",
    ]
)


def tables_sections(found, theirs):
    """Return the tables of real tables."""
    every = [line for _, line in found if line is not None]
    lines = [line for line in every if "refused" not in line]
    names = sorted({line["key"].split("/")[0] for line in lines})
    counts = (
        f"{len(lines)} problems of {len(names)} tables ({', '.join(names)}); "
        f"{len(every) - len(lines)} more were refused for lack of overlap. Seeds from the names."
    )
    found = ["## Real tables", TEXT, counts]
    few = [line for line in lines if _of_few(line) and _induced(line)]
    lines = [line for line in lines if not _of_few(line)]
    parts = {
        "Induced shifts": [line for line in lines if _induced(line)],
        "Natural shifts": [line for line in lines if _natural(line)],
        "No shift: the control": [line for line in lines if _unshifted(line)],
        "Induced shifts, 1000 rows that judge, a target of 50": few,
    }
    for title, part in parts.items():
        if part:
            found += [f"### {title}", _errors_table(part), _coverage_table(part)]
    shifted = [line for line in lines if not _unshifted(line)]
    found += ["### By shift, model and size (induced and natural)", _groups_table(shifted)]
    if theirs:
        theirs = {"/".join(map(str, job)): answer for job, answer in theirs if answer}
        found += ["### NannyML beside it", NANNYML, _beside(lines, theirs)]
    return found


NANNYML = (
    "The same runs: NannyML, CBPE for classes and DLE for "
    "numbers, the labelled rows that judge as its reference and the whole target as one chunk. "
    "Its band of three sampling errors is cut to 1.96 of them for a 95 % interval; it tells the "
    "target's sampling noise alone. It has no Brier score; that of its calibrated scores is ours."
)


def monitored_sections(found):
    """Return the tables of monitored models: real and made-up, with later truth."""
    every = [line for _, line in found]
    lines = [line for line in every if "refused" not in line]
    refused = defaultdict(int)
    for line in every:
        refused[line["key"].split("/")[0]] += "refused" in line
    text = (
        "Models with their scores and, later, the truth, of NannyML's wheel; what each is, and "
        "whether p(y | x) has changed: `evaluations_nannyml.py`. Labelled rows drawn from the "
        "reference, target rows from one period, the truth over the whole period. Error: mean "
        "absolute error relative to the plain one (all periods and runs of a size pooled). "
        "Refused for lack of overlap: "
        + ", ".join(f"{name} {count}" for name, count in refused.items())
        + ". Where we lose: the shifted tenths of the made-up sets (car loan, car price) are so "
        "far from the reference that the verdict is a strong shift. There NannyML is nearer to the "
        "truth, and our intervals, which do not count extrapolation, cover too little; `evaluate` "
        "warns of it. The employed of Massachusetts hardly shift at all: there is nothing to gain."
    )
    theirs = {line["key"]: line["NannyML"] for line in lines}
    return ["## Monitored models", text, _monitored_table(lines, theirs)]


def _monitored_table(lines, theirs):
    by_key = _by_key(theirs)
    rows = []
    cells = sorted({(line["key"].split("/")[0], line["key"].split("/")[2]) for line in lines})
    for name, size in cells:
        part = [line for line in lines if line["key"].split("/")[::2][:2] == [name, size]]
        for metric in part[0]["truth"]:
            plain = np.mean(
                [abs(_number(line, metric, "none")[0] - _t(line, metric)) for line in part]
            )
            row = [name, size, len(part), NAMES[metric], f"{plain:.4g}"]
            row += [_of_cell(part, metric, method, plain) for method in ("model", "dr")]
            known = [line for line in part if (line["key"], metric) in by_key]
            peer = ""
            if known:
                numbers = [by_key[line["key"], metric] for line in known]
                errors = [
                    abs(n["value"] - _t(line, metric))
                    for n, line in zip(numbers, known, strict=True)
                ]
                peer = f"{np.mean(errors) / plain:.2f}, {_peer_coverage(numbers, known, metric)}"
            rows.append([*row, peer])
    head = ["model", "rows", "runs", "metric", "plain error", "default", "doubly robust", "NannyML"]
    return "Error relative to the plain one, and coverage of the 95 % interval.\n\n" + table(
        head, rows
    )


def _of_cell(part, metric, method, plain):
    numbers = [_number(line, metric, method) for line in part]
    errors = [abs(n[0] - _t(line, metric)) for n, line in zip(numbers, part, strict=True)]
    inside = [n[2] <= _t(line, metric) <= n[3] for n, line in zip(numbers, part, strict=True)]
    return f"{np.mean(errors) / plain:.2f}, {np.mean(inside):.0%}"


def _peer_coverage(numbers, lines, metric):
    inside = [
        abs(n["value"] - _t(line, metric)) <= 1.96 * n["sampling_error"]
        for n, line in zip(numbers, lines, strict=True)
        if n.get("sampling_error") is not None
    ]
    return f"{np.mean(inside):.0%}" if inside else "no band"


def _errors_table(lines):
    head = ["error relative to the plain one", "rows passed", *NAMES.values()]
    rows = []
    for way in WAYS:
        for method in METHODS:
            cells = [_relative(lines, metric, method, way) for metric in NAMES]
            rows.append([WORDS[method], way, *("" if c is None else f"{c[0]:.2f}" for c in cells)])
    rows.append(["goal", "", *(f"{goal:.2f}" for goal in GOALS.values())])
    counts = {m: _relative(lines, m, DEFAULT, "held out") for m in NAMES}
    sizes = [f"{NAMES[m]} {found[1]}" for m, found in counts.items() if found is not None]
    return table(head, rows) + f"\n\nCells: {', '.join(sizes)}."


def _coverage_table(lines):
    head = ["coverage, width", "rows passed", *NAMES.values()]
    rows = []
    for way in WAYS:
        for method in METHODS:
            cells = []
            for metric in NAMES:
                part = [line for line in lines if metric in line["truth"]]
                numbers = [_number(line, metric, method, way) for line in part]
                if not numbers or numbers[0] is None:
                    cells.append("")
                    continue
                plain = [_number(line, metric, "none", way) for line in part]
                inside = [
                    n[2] <= _t(line, metric) <= n[3] for n, line in zip(numbers, part, strict=True)
                ]
                width = [(n[3] - n[2]) / (p[3] - p[2]) for n, p in zip(numbers, plain, strict=True)]
                cells.append(f"{np.mean(inside):.1%}, {np.median(width):.2f}")
            rows.append([WORDS[method], way, *cells])
    return table(head, rows)


def _groups_table(lines):
    """Set the default beside the best method of each group."""
    rows = []
    for place in (1, 2, 3):
        for value in sorted({line["key"].split("/")[place] for line in lines}):
            part = [line for line in lines if line["key"].split("/")[place] == value]
            for metric in NAMES:
                found = {m: _relative(part, metric, m, "all rows") for m in METHODS}
                found = {m: c[0] for m, c in found.items() if c is not None}
                if DEFAULT not in found:
                    continue
                best = min(found, key=found.get)
                rows.append(
                    [
                        value,
                        NAMES[metric],
                        f"{found[DEFAULT]:.2f}",
                        f"{found[best]:.2f} ({WORDS[best]})",
                        f"{found[DEFAULT] / found[best]:.2f}",
                    ]
                )
    head = ["group of cells", "metric", "default", "best method", "ratio"]
    return "All rows passed.\n\n" + table(head, rows)


def _beside(lines, theirs):
    by_key = _by_key(theirs)
    rows = []
    for title, wanted in (("induced", _induced), ("natural", _natural)):
        for metric in NAMES:
            part = [line for line in lines if wanted(line) and (line["key"], metric) in by_key]
            if not part:
                continue
            numbers = [by_key[line["key"], metric] for line in part]
            errors, plain = defaultdict(list), defaultdict(list)
            for line, number in zip(part, numbers, strict=True):
                cell = _cell(line)
                errors[cell].append(abs(number["value"] - _t(line, metric)))
                plain[cell].append(abs(_number(line, metric, "none")[0] - _t(line, metric)))
            relative = gmean([np.mean(errors[c]) / np.mean(plain[c]) for c in errors])
            ours = [_relative(part, metric, DEFAULT, way)[0] for way in WAYS]
            inside = [
                n[2] <= _t(line, metric) <= n[3]
                for line in part
                for n in [_number(line, metric, DEFAULT)]
            ]
            rows.append(
                [
                    title,
                    NAMES[metric],
                    len(part),
                    f"{relative:.2f}",
                    *(f"{value:.2f}" for value in ours),
                    _peer_coverage(numbers, part, metric),
                    f"{np.mean(inside):.0%}",
                ]
            )
    head = [
        "shifts",
        "metric",
        "runs",
        "NannyML: error",
        "default, held out",
        "default, all rows",
        "NannyML: coverage",
        "default: coverage",
    ]
    return table(head, rows)


def _relative(lines, metric, method, way):
    """Return the error relative to the plain one, geometric mean over cells; and their number."""
    errors, plain = defaultdict(list), defaultdict(list)
    for line in lines:
        if metric not in line["truth"]:
            continue
        number = _number(line, metric, method, way)
        if number is None:
            return None
        cell = _cell(line)
        errors[cell].append(abs(number[0] - _t(line, metric)))
        plain[cell].append(abs(_number(line, metric, "none", way)[0] - _t(line, metric)))
    if not errors:
        return None
    return float(gmean([np.mean(errors[c]) / np.mean(plain[c]) for c in errors])), len(errors)


def _by_key(theirs):
    return {
        (key, metric): line
        for key, own in theirs.items()
        for metric, line in own.items()
        if metric != "failed"
    }


def _cell(line):
    return line["key"].rpartition("/")[0]


def _t(line, metric):
    return line["truth"][metric]


def _number(line, metric, method, way="held out"):
    return line[way].get(f"{metric}/{method}")


def _induced(line):
    return not _natural(line) and not _unshifted(line)


def _natural(line):
    return "/natural/" in line["key"]


def _unshifted(line):
    return "/none/" in line["key"]


def _of_few(line):
    return "/few target rows/" in line["key"]


def works(share, quick):
    """Real tables, NannyML on some of them, monitored models, times."""
    if quick:
        made = [("classification", "direction"), ("regression", "natural")]
        return [
            Work("tables", one_table, [(*pair, "linear", "tiny", 0) for pair in made]),
            Work("time", time_of, [(200, 5)]),
        ]
    from tables_data import available, columns

    names = [name for name in available("report") if columns(name).shape[1] <= MOST_COLUMNS]

    def jobs(counts, size):
        return [
            (name, shift, model, size, run)
            for run in range(runs(counts[size], share, least=1))
            for name in names
            for shift in SHIFTS
            for model in MODELS
        ]

    # In the environment of the tables its files are there, but not what it needs.
    needed = "nannyml" if nannyml else "nannyml and what it imports"
    cost = {"small": 2.0, "middle": 5.0, "large": 15.0, "few target rows": 4.0}
    works = [Work(f"tables {s}", one_table, jobs(RUNS, s), cost[s]) for s in RUNS]
    works += [
        Work(f"NannyML {s}", of_nannyml, jobs(FOR_NANNYML, s), 3.0, needs=(needed,))
        for s in FOR_NANNYML
    ]
    both = monitored_jobs(share) if find_spec("nannyml") else []
    return [
        *works,
        Work("monitored", of_monitored, both, 15.0, needs=("nannyml",)),
        Work("time", time_of, [(10_000, 20), (100_000, 10), (100_000, 20)], 12.0, alone=True),
    ]


def report(found):
    """Return all tables."""
    ours, theirs = (
        [pair for name, part in found.items() if name.startswith(kind) for pair in part]
        for kind in ("tables", "NannyML")
    )
    sections = tables_sections(ours, theirs)
    if "monitored" in found:
        sections += monitored_sections(found["monitored"])
    return [*sections, *time_sections(found["time"])]


if __name__ == "__main__":
    main(__file__)
