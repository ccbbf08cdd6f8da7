"""From answers to the text of one HTML file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ..comparison import Comparison
from ..conformal import Intervals, Sets
from ..diagnostics import Diagnosis, MarginsDiagnosis
from ..estimates import Estimates, Explanation
from ..evaluations import Evaluations
from ..exceptions import InputError, InputTypeError, NoOverlapError, import_extra
from ..files.writing import write_atomically
from . import pictures
from .comparisons import comparison_of
from .intervals import intervals_of
from .margins import margins_page
from .opening import answer_of, why_of
from .render import render
from .sections import data_of, evaluation_of
from .shift import shift_facts, shift_numbers, with_printable_names

TITLE = "Covariate shift report"


@dataclass
class Answers:
    """The answers of one report, each by what it answers."""

    diagnosis: Diagnosis | MarginsDiagnosis
    estimates: Estimates | NoOverlapError | None = None
    evaluations: Evaluations | NoOverlapError | None = None
    comparison: Comparison | None = None
    intervals: Intervals | Sets | None = None

    @classmethod
    def of(cls, answers: Any) -> Answers:
        """Sort answers by their kinds; the diagnosis may be that of an estimate or evaluation."""
        found: dict[str, Any] = {}
        for answer in answers:
            kind = _kind(answer)
            if kind in found:
                raise InputError(
                    f"Two answers are {kind}. A report shows one of each; use "
                    "report.build_batches for several targets."
                )
            found[kind] = answer
        for kind in ("estimates", "evaluations"):
            diagnosis = getattr(found.get(kind), "diagnosis", None)
            if diagnosis is not None:
                found.setdefault("diagnosis", diagnosis)
        if "diagnosis" not in found:
            raise InputError(
                "The report has no diagnosis. Pass the result of covshift.diagnose as well."
            )
        if isinstance(found["diagnosis"], MarginsDiagnosis) and "evaluations" in found:
            raise InputError(
                "An evaluation needs target rows, but the diagnosis is of margins. Leave one of "
                "the two out."
            )
        return cls(**found)

    @property
    def weighted(self) -> Estimates | Evaluations | Diagnosis | MarginsDiagnosis:
        """The first answer: its weights are those that the page speaks of."""
        for answer in (self.estimates, self.evaluations):
            if isinstance(answer, Estimates | Evaluations):
                return answer
        return self.diagnosis

    @property
    def assumption(self) -> str:
        """What the page rests on; where outcomes of target rows have tested it, what they say."""
        judged = self.evaluations
        if isinstance(judged, Evaluations) and judged.changes and judged.method != "both":
            return judged.assumption
        return (self.comparison or self.intervals or self.weighted).assumption

    @property
    def weights_facts(self) -> dict[str, Any]:
        """How many rows carry these weights."""
        found = self.weighted
        return {"effective": found.effective_sample_size, "caution": found.caution}

    def explanations(self) -> Iterator[Explanation]:
        """Why the numbers changed, where answers have the rows that tell it."""
        for answer in (self.estimates, self.evaluations):
            if isinstance(answer, Estimates | Evaluations):
                with suppress(InputError):  # nothing was adjusted, or the number is not defined
                    yield answer.explain()

    def papers(self) -> Iterator[dict[str, Any]]:
        """What a paper says of the answers: their methods sections and checklists."""
        for answer in (self.estimates, self.evaluations):
            if isinstance(answer, Estimates | Evaluations):
                what = "estimate" if answer is self.estimates else "evaluation"
                # With what was decided about the columns, perhaps when files were read.
                table = answer._checklist(self.diagnosis.notes)
                table = replace(table, title=f"Checklist of the {what}")
                yield {
                    "title": f"Methods of the {what}",
                    "text": answer.methods_text(),
                    "table": table,
                }

    @property
    def outcome(self) -> str | None:
        """Name of the outcome, where there is one."""
        if not isinstance(self.estimates, Estimates):
            return None
        names = dict.fromkeys(row.outcome for row in self.estimates.table)
        return next(iter(names)) if len(names) == 1 else None


_KINDS: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("diagnosis", (Diagnosis, MarginsDiagnosis)),
    ("estimates", (Estimates,)),
    ("evaluations", (Evaluations,)),
    ("comparison", (Comparison,)),
    ("intervals", (Intervals, Sets)),
)


def _kind(answer: Any) -> str:
    if isinstance(answer, NoOverlapError):
        return "evaluations" if answer.question == "evaluate" else "estimates"
    for kind, types in _KINDS:
        if isinstance(answer, types):
            return kind
    raise InputTypeError(
        f"A report takes answers, not {type(answer).__name__}: results of covshift.diagnose, "
        "estimate, evaluate, compare, predict_interval and predict_set."
    )


def build(
    *answers: Any,
    title: str | None = None,
    names: Mapping[str, str | None] | None = None,
    command: str | None = None,
    date: str | None = None,
) -> str:
    """Return the report as the text of one HTML file that needs nothing else.

    Parameters
    ----------
    *answers : results of diagnose, estimate, evaluate, compare, predict_interval or predict_set
        At most one of each, in any order, all about the same samples. Without a diagnosis, that of
        the estimate or evaluation is shown. In place of an estimate or evaluation, the
        `NoOverlapError` that it raised: the report says why there is no number. The corrected
        numbers and pictures are those of the weights of the diagnosis: ``diagnose(..., weights=w)``
        shows others.
    title : str, optional
        Heading of the page.
    names : dict, optional
        What stands below the heading: "train", "target" and "outcome", such as the names of files.
        The outcome is by default that of the estimate.
    command : str, optional
        The command that made the report, for the block on reproducibility.
    date : str, optional
        Shown as it is. None: no date, and the same answers give the same bytes.

    Notes
    -----
    The page loads nothing, runs one script (it sorts tables, copies them as CSV) that its content
    security policy names by hash, shows every name as text, follows the reader's choice of light
    or dark, and holds all its numbers as JSON in the element with the id "numbers". Cost: about a
    second for the pictures.

    Examples
    --------
    >>> from covshift import diagnose, report
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(200, 300, random_state=0)
    >>> page = report.build(diagnose(survey.X, survey.X_target))
    >>> page[:15], "<svg" in page
    ('<!doctype html>', True)
    """
    import_extra("jinja2", extra="report", needed_by="covshift.report")
    found = Answers.of(answers)
    comparison, diagnosis = found.comparison, found.diagnosis
    explanations = list(found.explanations())
    facts: dict[str, Any] = {
        "title": title or TITLE,
        "top": {"train": None, "target": None, "outcome": found.outcome, **(names or {})},
        "comparison": None if comparison is None else comparison_of(comparison),
        "answer": None if found.estimates is None else answer_of(found.estimates),
        "evaluation": None if found.evaluations is None else evaluation_of(found.evaluations),
        "whys": [why_of(part) for part in explanations],
        "papers": list(found.papers()),
        "promise": None if found.intervals is None else intervals_of(found.intervals),
        "command": command,
        "date": date,
        "assumption": found.assumption,
        # What the diagnosis advises in a moderate shift, the comparison has done.
        "advised": comparison is None or diagnosis.verdict != "moderate",
        **found.weights_facts,
    }
    numbers = {
        **{key: facts[key] for key in ("title", "command", "date")},
        "samples": facts["top"],
        "estimates": data_of(found.estimates),
        "evaluations": data_of(found.evaluations),
        "explanations": [part.to_dict() for part in explanations],
        "intervals": data_of(found.intervals),
        "comparison": data_of(comparison),
    }
    if isinstance(diagnosis, MarginsDiagnosis):
        return margins_page(diagnosis, numbers=numbers, **facts)
    diagnosis, w = with_printable_names(diagnosis), diagnosis.weights
    return render(
        "rows.html",
        numbers={**numbers, **shift_numbers(diagnosis)},
        love=pictures.love_plot(diagnosis),
        ecdfs=pictures.distribution_functions(diagnosis),
        histogram=None if w is None else pictures.weight_histogram(w),
        map=pictures.overlap_map(diagnosis),
        **shift_facts(diagnosis),
        **facts,
    )


def write(path: str | os.PathLike[str], *answers: Any, **options: Any) -> None:
    """Write the report of `build` to ``path``: whole, or not at all."""
    write_atomically(path, build(*answers, **options))
