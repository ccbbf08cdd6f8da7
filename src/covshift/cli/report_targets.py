"""``covshift report`` for several targets: files, or the batches of one."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError, NoOverlapError
from ..show.words import in_order
from . import console, options
from .diagnose import diagnosis_and_weights
from .evaluate import batch_labels
from .report_model import Judge
from .row_flags import short_names
from .targets import samples_of_each

if TYPE_CHECKING:
    from .._tables import Samples


def run_targets(args: argparse.Namespace, paths: list[str]) -> int:
    """Diagnose, estimate and evaluate every target, and write one report."""
    from ..diagnostics import BatchesDiagnosis
    from ..report import build_batches
    from ..show.words import printable
    from .report import estimate_of

    judge = Judge(args)
    samples, found, weights, names = {}, {}, {}, {}
    answers, judged = {}, {}
    for name, part in _samples(args, paths):
        console.step(f"diagnosing the shift of {printable(name)}")
        samples[name] = part
        names[name] = [printable(column, width=1000) for column in part.names]
        found[name], weights[name] = diagnosis_and_weights(part, names[name], args.seed)
        if args.label:
            answers[name] = estimate_of(part, found[name], args)
            judged[name] = judge(part, found[name])
    console.step("drawing the report")
    text = build_batches(
        {name: part.X for name, part in samples.items()},
        {name: part.X_target for name, part in samples.items()},
        estimates=answers or None,
        evaluations=judged or None,
        diagnosis=found,
        weights=weights,
        weights_name="CDFWeights",
        feature_names=names,
        sample_weight={name: part.weight for name, part in samples.items()},
        target_weight={name: part.target_weight for name, part in samples.items()},
        groups={name: part.encoding.groups for name, part in samples.items()},
        date_names={name: part.encoding.dates for name, part in samples.items()},
        title=args.title,
        train_name=Path(args.train).name,
        target_name=", ".join(short_names(paths)[:3]) + (", …" if len(paths) > 3 else ""),
        outcome_name=args.label,
        command=shlex.join(["covshift", *args.argv]),
        random_state=args.seed,
    )
    with console.text_file(args.output) as file:
        file.write(text)
    return _told(args, BatchesDiagnosis(found), answers, judged)


def _samples(args: argparse.Namespace, paths: list[str]) -> Iterator[tuple[str, Samples]]:
    """Read the targets one after the other: each with its name."""
    if args.batch is not None:
        if len(paths) > 1:
            raise InputError("--batch splits one target. Name one file, or leave out --batch.")
        yield from _batches(args)
        return
    yield from samples_of_each(args, paths)


def _batches(args: argparse.Namespace) -> Iterator[tuple[str, Samples]]:
    """Read one target and split it by the column of --batch."""
    import numpy as np

    console.step("reading")
    whole = options.samples_of(args, of_target=(("--batch", args.batch),))
    labels = np.array(batch_labels(whole, args), dtype=object)
    for name in in_order(set(labels.tolist())):
        rows = np.flatnonzero(labels == name)
        if len(rows) < 2:
            raise InputError(
                f"{args.target}: the batch {name!r} of {args.batch!r} has one row. A target needs "
                "at least two."
            )
        yield name, whole.take_target(rows)


def _told(
    args: argparse.Namespace, found: Any, answers: dict[str, Any], judged: dict[str, Any]
) -> int:
    """Print one line per target, and where the report is."""
    from ..show.table import Table
    from ..show.words import printable

    if args.json:
        targets = {
            name: {
                "verdict": part.verdict,
                "estimate": _data(answers.get(name)),
                "evaluation": _data(judged.get(name)),
                "notes": list(part.notes),
            }
            for name, part in found.batches.items()
        }
        data = {"verdict": found.verdict, "file": args.output, "targets": targets}
        print(console.as_json(data))
    else:
        print(str(found).partition("\n")[0] + "\n")
        columns = [*(["estimate", "interval"] if answers else []), *_metric(judged), "verdict"]
        lines = []
        for name, part in found.batches.items():
            numbers = _number(answers, name, "estimates") + _number(judged, name, "performances")
            lines.append((printable(name), *numbers, part.verdict))
        print(Table.of(("target", *columns), lines))
        print(f"\nWrote the report to {args.output}; open it in a browser.")
    return options.exit_code(found.verdict, args)


def _metric(judged: dict[str, Any]) -> list[str]:
    from ..evaluations.metrics import words

    if not judged:
        return []
    able = [part for part in judged.values() if hasattr(part, "performances")]
    return [words(able[0].performances[0].metric) if able else "evaluation", "interval"]


def _number(found: dict[str, Any], name: str, of: str) -> tuple[str, ...]:
    """The first number of a target and its interval; words where it has none."""
    from ..show.words import shown

    if not found:
        return ()
    rows = getattr(found[name], of, None)
    if not rows:
        return "none", ""
    return shown(rows[0].value, rows[0]), " to ".join(shown(b, rows[0]) for b in rows[0].interval)


def _data(found: Any) -> Any:
    if found is None:
        return None
    return {"refused": str(found)} if isinstance(found, NoOverlapError) else found.to_dict()
