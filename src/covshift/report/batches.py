"""One page on several targets, such as months: an overview, then a section for each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..diagnostics import Diagnosis
from ..exceptions import InputError, import_extra
from ..show.words import printable
from . import pictures
from .build import TITLE, Answers
from .opening import answer_of
from .render import render
from .sections import data_of, evaluation_of
from .shift import shift_facts, shift_numbers, with_printable_names
from .targets import TargetAnswers, anchors, overview_of

_LINES = 240  # columns of all sections together, roughly
_DRAWN = 25  # targets up to which every section has a picture
_DRAWN_WELL = 6  # up to which it has three
_SECTIONS = 40


def build_batches(
    answers: Mapping[str, Any],
    *,
    title: str | None = None,
    names: Mapping[str, str | None] | None = None,
    command: str | None = None,
    date: str | None = None,
) -> str:
    """Return a report on several targets as the text of one HTML file that needs nothing else.

    Parameters
    ----------
    answers : dict of str to an answer, or to a tuple of answers
        Of every target, such as the months of a year, in their order: the diagnosis, an estimate
        and an evaluation, as in `build`. ``batches`` of what `diagnose_batches` returns are such.
    title, names, command, date
        As in `build`.

    Notes
    -----
    The page has a table of all targets, and a section for each, the first 40. The more targets
    there are, the fewer of the columns that differ most, and of the pictures, a section shows, so
    that the page stays below a megabyte; the numbers in it, as JSON, are those that it shows.
    Cost: up to a second for the pictures of each target.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import report
    >>> from covshift.diagnostics import diagnose_batches
    >>> rng = np.random.default_rng(0)
    >>> X, may, june = rng.normal(size=(3, 100, 2))
    >>> found = diagnose_batches(X, {"May": may, "June": june + 1.0}, methods=())
    >>> report.build_batches(found.batches).count('<section class="target"')
    2
    """
    import_extra("jinja2", extra="report", needed_by="covshift.report")
    parts = _targets(answers)
    most = max(10, _LINES // len(parts))
    sections, numbers = [], {}
    for name, anchor in anchors(list(parts)[:_SECTIONS]):
        part = parts[name]
        sections.append(
            {
                "name": printable(name, width=1000),
                "anchor": anchor,
                "answer": None if part.estimates is None else answer_of(part.estimates, draw=False),
                "evaluation": None
                if part.evaluations is None
                else evaluation_of(part.evaluations, draw=False),
                "pictures": _pictures(part, anchor, len(parts)),
                "effective": part.weighted.effective_sample_size,
                "caution": part.weighted.caution,
                **shift_facts(part.diagnosis, most),
            }
        )
        numbers[name] = {
            "estimates": data_of(part.estimates),
            "evaluations": _without_curves(data_of(part.evaluations)),
            **shift_numbers(part.diagnosis, most),
        }
    outcome = next((part.outcome for part in parts.values() if part.outcome), None)
    top = {"train": None, "target": None, "outcome": outcome, **(names or {})}
    facts = {"title": title or TITLE, "command": command, "date": date}
    return render(
        "batches.html",
        numbers={**facts, "samples": top, "targets": numbers},
        top=top,
        overview=overview_of(parts),
        sections=sections,
        links=[section["anchor"] for section in sections],
        count=len(parts),
        **facts,
    )


def _targets(answers: Mapping[str, Any]) -> dict[str, TargetAnswers]:
    """Sort the answers of every target."""
    if not isinstance(answers, Mapping) or not answers:
        raise InputError(
            f"answers={answers!r:.60} is not a dict of answers by the names of the targets. Pass "
            "for "
            'example {"May": (diagnosis, estimate), "June": ...}.'
        )
    parts = {}
    for name, given in answers.items():
        found = Answers.of(given if isinstance(given, tuple | list) else (given,))
        if found.comparison is not None or found.intervals is not None:
            raise InputError(
                f"The answers for {name!r} have a comparison or intervals. A report on several "
                "targets shows diagnoses, estimates and evaluations: write one report for each "
                "with report.build."
            )
        if not isinstance(found.diagnosis, Diagnosis):
            raise InputError(
                f"The target {name!r} is margins. A report on several targets needs rows: write "
                "one report for each with report.build."
            )
        diagnosis = with_printable_names(found.diagnosis)
        answers_of = found.estimates, found.evaluations, found.outcome
        parts[str(name)] = TargetAnswers(diagnosis, *answers_of, found.weighted)
    return parts


def _pictures(part: TargetAnswers, anchor: str, count: int) -> list[pictures.Picture]:
    """Pictures of one of so many targets."""
    prefix = f"{anchor}-"
    if count > _DRAWN:
        return []
    love = pictures.love_plot(part.diagnosis, most=12, prefix=prefix)
    if count > _DRAWN_WELL:
        return [love]
    return [love, *pictures.distribution_functions(part.diagnosis, most=2, prefix=prefix)]


def _without_curves(data: Any) -> Any:
    """A section shows none of them."""
    return data and {key: value for key, value in data.items() if key != "curves"}
