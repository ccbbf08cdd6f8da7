"""How an answer is printed: its sentence and table, or JSON, with the notes on the files."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import console
from .options import Doubts, Verdict

if TYPE_CHECKING:
    from ..show.notes import Note


def report_facts(options: Any, targets: Sequence[str] = ()) -> dict[str, Any]:
    """What a report says of the command that made it."""
    named = [_file_name(path) for path in targets or [options.target]]
    names = {
        "train": _file_name(options.train),
        "target": ", ".join(named[:3]) + (", …" if len(named) > 3 else ""),
        "outcome": options.label,
    }
    command = shlex.join(["covshift", *options.argv])
    return {"title": options.title, "names": names, "command": command}


def _file_name(path: str) -> str:
    return "standard input" if path == "-" else Path(path).name or path


def with_doubts(answer: Any, options: Doubts) -> Any:
    """Add what --sensitivity and --null ask of estimates or evaluations."""
    if options.sensitivity is not None:
        answer = answer.with_sensitivity(options.sensitivity)
    if options.null is not None:
        answer = replace(answer, _robustness=answer.robustness(options.null))
    return answer


def show_answer(
    answer: Any, notes: Sequence[Note], options: Verdict, verdict: str | None = None
) -> int:
    """Print an answer, with the notes on the files; return the exit code of its verdict."""
    code = options.exit_code(answer.verdict if verdict is None else verdict)
    if options.json:
        data = answer.to_dict()
        if "checklist" in data:
            data["checklist"] = _checklist(answer, notes).records
        console.print_json({**data, "notes": [*notes, *data["notes"]]})
        return code
    text = str(answer)
    if isinstance(options, Doubts) and options.methods:
        text += f"\n\n{answer.methods_text()}\n\n{_checklist(answer, notes)}"
    if options.output == "-":
        print(text, file=sys.stderr)
    else:
        console.emit(text, None)
    return code


def _checklist(answer: Any, notes: Sequence[Note]) -> Any:
    """Return the checklist of an answer, with what was decided when the files were read."""
    table = answer._checklist(notes)
    lines = ({**line, "where": _IN_COMMANDS.get(line["where"], line["where"])} for line in table)
    return replace(table, records=tuple(lines))


_IN_COMMANDS = {
    "with_sensitivity(1.5)": "--sensitivity 1.5",
    "robustness()": "--null",
    "y_target=": "the target's outcomes",
    "sample_weight=, strata=, cluster=": "--weight, --strata, --cluster",
    "cluster=": "--cluster",
    "finite_population=": "--finite-population",
    "confidence=": "--confidence",
    "random_state=": "--seed",
    'method="dr"': "--method dr",
    "X, X_target": "the files",
}


def shift_line(diagnosis: Any) -> str:
    """Say the verdict of a diagnosis in a line; first that few rows carry the weights."""
    return f"{diagnosis.caution} Shift: {diagnosis.verdict}.".lstrip()
