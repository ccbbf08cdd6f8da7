"""The report of benchmarks/tables.py, from the rows that it keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
from harness import machine, publish, table
from tables_contenders import CONTENDERS, PEERS

TODAY, TOLERANCE, WORST = "VSVC today", 1.15, 8
ON_TOP = ("blended", "auto")  # corrections of the default, compared with it alone
CELL = ["half", "real", "kind", "table", "shift", "N", "rep"]
HALVES = {"report": "The half on which nothing was chosen", "settle": "The half of the choices"}


def report(rows, *, write):
    """Print the report, and with ``write`` keep it in results/tables.md."""
    found = pd.DataFrame(rows)
    found = found.reindex(columns=[*found.columns.union(["failed", "log_loss", "accuracy"])])
    sections = []
    for half, title in HALVES.items():
        part = found[found["half"] == half]
        if len(part):
            sections += [f"## {title} (`{half}`)", *_half(part)]
    failed = found[found["failed"].notna()]
    if len(failed):
        counts = failed.groupby(["contender", "failed"]).size().reset_index(name="fits")
        sections += [
            "## Fits that failed",
            table(["contender", "error", "fits"], counts.to_numpy().tolist()),
        ]
    publish(
        "tables",
        "Machines on real tables",
        "Squared error on the target (Brier score for classes) relative to the variance of the "
        "outcome; on generated problems, error against the true function. Figures are geometric "
        f'means of ratios to "{TODAY}", the default of covshift 0.1.0, on the same rows; smaller '
        "is better. Every table counts once, as the mean over its shifts, sizes and draws. Shifts: "
        "natural ones (another region, a later year, ...), selection along a random direction, "
        "selection by the rank in one column, none. Seeds are made of a cell's name; draws of a "
        f"cell: {found['rep'].max() + 1}.",
        'Peers see standardised columns and dummies, "boosting" (HistGradientBoosting) the '
        'categories themselves. "random forest" has 500 trees. "linear" is RidgeCV or '
        'LogisticRegressionCV. "Gaussian process" has one width per column by marginal likelihood, '
        "on 500 rows and in 400 steps at most, and takes classes as numbers 0 and 1, cut off at "
        '.01. "SVM" compares nine pairs of C and gamma by 5 folds, on 1000 rows at most, and '
        "has probabilities by Platt's method.",
        f"Machine: {machine(('numpy', 'scipy', 'scikit-learn', 'pandas', 'covshift'))}.",
        *sections,
        "Command: `make bench-tables`.",
        write=write,
    )


def _half(part):
    errors = part.pivot_table(index=CELL, columns="contender", values="error")
    names = [name for name in CONTENDERS if name in errors and name not in ON_TOP]
    logs = np.log(errors[names])
    sections = []
    for real, title in ((True, "Real tables"), (False, "Generated problems")):
        if real not in logs.index.get_level_values("real"):
            continue
        own = logs.xs(real, level="real")
        reference = TODAY if TODAY in own else names[0]
        relative = own.sub(own[reference], axis=0)
        count = own.index.get_level_values("table").nunique()
        sections += [f"### {title}: {count}", _by(relative, "N"), _by(relative, "shift")]
        best = _best_peer(own)
        if best is not None:
            sections += [
                f'The best single peer is "{best}"; relative to it, and to the best peer of each '
                "table, chosen with hindsight:",
                _to_peers(own, best),
                f'Each table\'s mean relative to "{reference}":',
                _by_table(relative),
                *_losses(own),
            ]
    corrected = _on_top(np.log(errors))
    part = part[~part["contender"].isin(ON_TOP)]
    seconds = ["CPU seconds of fit and prediction:", _seconds(part)]
    return [*sections, *corrected, *_probabilities(part), *seconds]


def _on_top(logs):
    """Compare corrections of the default machine with it, on the cells that have both."""
    rows = []
    for name in ON_TOP:
        if name not in logs or "default" not in logs:
            continue
        ratio = (logs[name] - logs["default"]).dropna()
        for real in (True, False):
            own = ratio[ratio.index.get_level_values("real") == real]
            if len(own) > 1:
                sizes = sorted(set(own.index.get_level_values("N")))
                rows.append(
                    [
                        name,
                        "real" if real else "generated",
                        f"{len(own)} (N = {', '.join(map(str, sizes))})",
                        f"{np.exp(own.mean()):.4f}",
                        f"{own.std() / np.sqrt(len(own)):.4f}",
                        f"{np.exp(own.max()):.3f}",
                    ]
                )
    if not rows:
        return []
    header = ["correction", "problems", "cells", "geometric mean", "s.e.", "worst cell"]
    return [
        "### A correction on top",
        'Relative to "default", which has none, on the cells that have both; the standard error is '
        "that of the mean logarithm.",
        table(header, rows),
    ]


def _mean(logs):
    """Geometric mean in which every table counts once."""
    return np.exp(logs.groupby(level="table").mean().mean())


def _by(relative, level):
    values = relative.index.get_level_values(level)
    columns = {str(value): _mean(relative[values == value]) for value in dict.fromkeys(values)}
    columns = dict(sorted(columns.items(), key=lambda item: _number(item[0])))
    kinds = relative.index.get_level_values("kind")
    if level == "N":
        columns = {f"N = {value}": column for value, column in columns.items()}
        columns |= {kind: _mean(relative[kinds == kind]) for kind in dict.fromkeys(kinds)}
    columns["all"] = _mean(relative)
    rows = [
        [name, *(_show(column[name]) for column in columns.values())] for name in relative.columns
    ]
    return table(["", *columns], rows)


def _best_peer(logs):
    peers = [name for name in PEERS if name in logs]
    return min(peers, key=lambda name: _mean(logs)[name]) if peers else None


def _to_peers(logs, best):
    hindsight = _by_best_of_table(logs)
    single = _mean(logs.sub(logs[best], axis=0))
    rows = [
        [
            name,
            _show(single[name]),
            _show(np.exp(hindsight[name].mean())),
            f"{(np.exp(hindsight[name]) > TOLERANCE).sum()} of {hindsight[name].notna().sum()}",
            f"{_show(np.exp(hindsight[name].max()))} ({hindsight[name].idxmax()})",
        ]
        for name in logs.columns
    ]
    header = ["", f'to "{best}"', "to the best of each table", f"tables above {TOLERANCE}", "worst"]
    return table(header, rows)


def _by_best_of_table(logs):
    """Log of each table's error relative to the peer that is best on it."""
    means = logs.groupby(level="table").mean()
    return means.sub(means[[name for name in PEERS if name in means]].min(axis=1), axis=0)


def _by_table(relative):
    means = np.exp(relative.groupby(level=["kind", "table"]).mean())
    rows = [[f"{name} ({kind[:5]}.)", *map(_show, row)] for (kind, name), row in means.iterrows()]
    return table(["table", *means.columns], rows)


def _losses(logs):
    """Name where the first of our contenders that took part loses to the best peer."""
    ours = [name for name in ("default", *CONTENDERS) if name in logs and CONTENDERS[name].ours]
    if not ours:
        return []
    cells = logs[[name for name in PEERS if name in logs]]
    behind = (logs[ours[0]] - cells.min(axis=1)).groupby(level=["table", "N"]).mean()
    best = cells.groupby(level=["table", "N"]).mean().idxmin(axis=1)
    worst = behind.sort_values(ascending=False).head(WORST)
    rows = [[name, N, _show(np.exp(value)), best[name, N]] for (name, N), value in worst.items()]
    return [
        f'Where "{ours[0]}" loses most, relative to the best peer of each cell:',
        table(["table", "N", "ratio", "best peer"], rows),
    ]


def _probabilities(part):
    classes = part[part["kind"] == "classification"]
    if not len(classes):
        return []
    names = [name for name in CONTENDERS if name in set(classes["contender"])]
    columns = {}
    for real, title in ((True, "real"), (False, "generated")):
        for value, label in (("log_loss", "log-loss"), ("accuracy", "accuracy")):
            cells = classes[classes["real"] == real].pivot_table(
                index=CELL, columns="contender", values=value
            )
            if len(cells):
                cells = cells.reindex(columns=names).dropna(axis=1, how="all").dropna()
                columns[f"{label}, {title}"] = cells.groupby(level="table").mean().mean()
    rows = [
        [name, *(_show(column.get(name, np.nan)) for column in columns.values())] for name in names
    ]
    return [
        "### Probabilities",
        "Means over tables, of the cells in which everybody took part; probabilities are cut off "
        "at .001 before their logarithm is taken.",
        table(["", *columns], rows),
    ]


def _seconds(part):
    means = part.pivot_table(index="contender", columns="N", values="seconds")
    rows = [
        [name, *(f"{value:.2g}" for value in means.loc[name])]
        for name in CONTENDERS
        if name in means.index
    ]
    return table(["", *(f"N = {N}" for N in means.columns)], rows)


def _number(text):
    return (0, int(text), "") if text.isdigit() else (1, 0, text)


def _show(value):
    return "–" if np.isnan(value) else f"{value:.3f}"
