"""``covshift report``: one HTML file to show a colleague."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from ..exceptions import InputError, NoOverlapError
from ..show.words import in_order
from . import console
from .answers import report_facts
from .compare import comparison_of
from .frames import Files, read_files
from .judge import Judge
from .options import ComparisonOptions, Label, Learner, Verdict
from .targets import (
    diagnosis_of,
    files_of_each,
    targets_of,
    weighted_diagnosis,
)

if TYPE_CHECKING:
    from ..data import Samples
    from ..show.notes import Note
    from .labels import Labelled


@dataclass(frozen=True, kw_only=True)
class Arguments(ComparisonOptions, Learner, Label, Verdict):
    """Write a report that any browser opens, without a network. The target may be a file of
    margins: see covshift margins. With several targets, or batches of one, it opens with a table of
    all and has a section for each; methods are not compared then.

    Arguments:
      more...  further targets

    Columns:
      --batch COL  batches of the target, such as months; each gets its own section (not a feature)

    Output:
      -o, --output FILE  write the report to FILE (needed)
      --title TITLE  title of the report
    """

    needs: ClassVar = {"output": "-o FILE: name the file for the report"}

    more: tuple[str, ...] = ()
    batch: str | None = None
    output: str = ""
    title: str | None = None


def run(options: Arguments) -> int:
    """Diagnose, estimate and compare where there is a label, and write the report."""
    targets = targets_of(options)
    options = replace(options, target=targets[0])
    if len(targets) > 1 or options.batch is not None:
        return run_targets(options, targets)
    console.step("reading")
    files, both, samples = _read(read_files(options, margins=True), options)
    console.step("diagnosing the shift")
    found = diagnosis_of(both, options)
    answer = comparison = judged = None
    if samples is not None:
        comparison = comparison_of(samples, options)
        answer = estimate_of(samples, found, options)
    if samples is not None and comparison is not None:
        judged = Judge(options, comparison)(samples, found) if both.known is None else None
        found = _with_recommended_weights(found, both, comparison)
    noted = replace(found, notes=(*files.notes, *found.notes))
    _write(options, noted, answer, judged, comparison)
    return _told(options, files.notes, found, comparison, answer, judged)


def _read(
    files: Files, options: Arguments, quiet: Container[Note] = ()
) -> tuple[Files, Samples, Labelled | None]:
    """Return the samples; where there is a label, of the rows that have one."""
    if options.label is None:
        return *files.samples(quiet=quiet, learners=True), None
    from .labels import labelled_samples

    samples = labelled_samples(files, quiet=quiet)
    return samples.files, samples.both, samples


def _write(options: Arguments, *answers: Any) -> None:
    """Write the report of the answers that there are."""
    from ..report import build

    console.step("drawing the report")
    text = build(*(answer for answer in answers if answer is not None), **report_facts(options))
    console.write_text(options.output, text)


def _told(
    options: Arguments,
    notes: Sequence[Note],
    found: Any,
    comparison: Any,
    answer: Any,
    judged: Any = None,
) -> int:
    """Print the answers, the verdict and the recommendation."""
    from ..report.sections import data_of

    facts = {
        "verdict": found.verdict,
        "file": options.output,
        "notes": [*notes, *found.notes],
    }
    if options.json:
        data = None if comparison is None else comparison.to_dict()
        more = {"comparison": data, "estimate": data_of(answer), "evaluation": data_of(judged)}
        console.print_json({**facts, **more})
    else:
        lines = [] if answer is None else [_sentence(answer)]
        able = [part for part in (answer, judged) if hasattr(part, "caution")]
        lines += [judged.sentence] if judged in able else []
        caution = next(iter(able), found).caution  # of the weights of the first answer
        lines += [f"{caution} Shift: {found.verdict}.".lstrip()]
        lines += [comparison.recommendation] if comparison else []
        lines += [(comparison or found).assumption]
        print("\n".join([*lines, f"Wrote the report to {options.output}; open it in a browser."]))
    return options.exit_code(found.verdict)


def _sentence(answer: Any) -> str:
    return str(answer) if isinstance(answer, NoOverlapError) else str(answer.sentence)


def estimate_of(samples: Labelled, diagnosis: Any, options: Arguments) -> Any:
    """What the outcome is in the population: `Estimates`, or the error where it has no answer."""
    from ..data import Samples
    from ..estimates import estimate
    from .labels import Outcomes

    console.step("estimating the outcome")
    labels = samples.labels
    numbers = labels.task == "regression" or set(labels.classes) <= {"0", "1"}
    values = labels.y.astype(float) if numbers else labels.y
    y = Outcomes({labels.name: values.tolist()})
    both, known = replace(samples.both, y=y), samples.both.known
    if known is not None:
        both = Samples.of(known.table, y, known.margins, sample_weight=samples.weight)
    try:
        return estimate(
            replace(both, diagnosis=diagnosis),
            what="mean" if numbers else "proportion",
            random_state=options.seed,
        )
    except NoOverlapError as error:
        return error.of_command(
            ["estimate", options.train, options.target, "--outcome", labels.name]
        )


def _with_recommended_weights(found: Any, both: Samples, comparison: Any) -> Any:
    """Show the weights of the recommended method, unless it has none or is too slow."""
    from ..diagnostics.sizes import row_limit
    from ..weights import WEIGHTERS

    name = comparison.recommended
    if name not in WEIGHTERS or max(len(both.X), len(both.T)) > row_limit(name):
        return found
    return weighted_diagnosis(found, both, comparison.weights(name), name)


def run_targets(options: Arguments, paths: list[str]) -> int:
    """Diagnose, estimate and evaluate every target, and write one report."""
    from ..diagnostics import BatchesDiagnosis
    from ..numerics.crossfit import sharing_fits
    from ..report import build_batches
    from ..show.words import printable

    judge = Judge(options)
    found, answers, judged = {}, {}, {}
    with sharing_fits():
        for name, part in _samples(options, paths):
            console.step(f"diagnosing the shift of {printable(name)}")
            _, both, samples = part
            found[name] = diagnosis_of(both, options)
            if samples is not None:
                answers[name] = estimate_of(samples, found[name], options)
                judged[name] = judge(samples, found[name])
    console.step("drawing the report")
    every = {
        name: tuple(part[name] for part in (found, answers, judged) if part.get(name) is not None)
        for name in found
    }
    console.write_text(options.output, build_batches(every, **report_facts(options, paths)))
    return _target_lines(options, BatchesDiagnosis(found), answers, judged)


Part = tuple[Files, "Samples", "Labelled | None"]


def _samples(options: Arguments, paths: list[str]) -> Iterator[tuple[str, Part]]:
    """Read the targets one after the other: each with its name; notes are said once."""
    if options.batch is not None:
        if len(paths) > 1:
            raise InputError("--batch splits one target. Name one file, or leave out --batch.")
        yield from _batches(options)
        return
    said: list[Note] = []
    for name, files in files_of_each(options, paths):
        part = _read(files, options, [note for note in said if note.severity != "warning"])
        said += part[0].notes
        yield name, part


def _batches(options: Arguments) -> Iterator[tuple[str, Part]]:
    """Read one target and split it by the column of --batch."""
    import numpy as np

    from .predictions import check_batches

    console.step("reading")
    files, both, samples = _read(read_files(options), options)
    cells = files.cells("target", str(options.batch)).tolist()
    check_batches(cells, options)
    labels = np.array(cells, dtype=object)
    for name in in_order(set(labels.tolist())):
        rows = np.flatnonzero(labels == name)
        if len(rows) < 2:
            raise InputError(
                f"{options.target}: the batch {name!r} of {options.batch!r} has one row. A target "
                "needs at least two."
            )
        part = None if samples is None else samples.take_target(rows)
        yield name, (files, both.take_target(rows) if part is None else part.both, part)


def _target_lines(
    options: Arguments, found: Any, answers: dict[str, Any], judged: dict[str, Any]
) -> int:
    """Print one line per target, and where the report is."""
    from ..report.sections import data_of
    from ..show.answer import ASSUMPTION
    from ..show.table import Table
    from ..show.words import printable

    if options.json:
        targets = {
            name: {
                "verdict": part.verdict,
                "estimate": data_of(answers.get(name)),
                "evaluation": data_of(judged.get(name)),
                "notes": list(part.notes),
            }
            for name, part in found.batches.items()
        }
        data = {"verdict": found.verdict, "file": options.output, "targets": targets}
        console.print_json(data)
    else:
        print("\n".join(part for part in (found.sentence, found.caution, "") if part))
        columns = [*_heads(answers, "estimate"), *_heads(judged, "evaluation"), "verdict"]
        lines = []
        for name, part in found.batches.items():
            numbers = _number(answers, name) + _number(judged, name)
            lines.append((printable(name), *numbers, part.verdict))
        print(Table.of(("target", *columns), lines))
        print(f"\n{ASSUMPTION if answers else found.assumption}")
        print(f"\nWrote the report to {options.output}; open it in a browser.")
    return options.exit_code(found.verdict)


def _heads(found: dict[str, Any], otherwise: str) -> list[str]:
    """What the number of each target and its interval are called."""
    names = [part.headline_name for part in found.values() if hasattr(part, "headline_name")]
    return [names[0] if names else otherwise, "interval"] if found else []


def _number(found: dict[str, Any], name: str) -> tuple[str, ...]:
    """The first number of a target and its interval; words where it has none."""
    from ..show.words import shown

    if not found:
        return ()
    row = getattr(found[name], "headline", None)
    if row is None:
        return "none", ""
    return shown(row.value, row), " to ".join(shown(bound, row) for bound in row.interval)
