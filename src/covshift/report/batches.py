"""One page on several targets, such as months: an overview, then a section for each."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .._files import write_atomically
from .._optional import import_extra
from .._validation import is_margins, unwrap_target
from ..diagnostics import BatchesDiagnosis
from ..exceptions import InputError
from ..show.words import printable
from . import pictures
from .answer import answer_of
from .evaluation import evaluation_of
from .numbers import data_of
from .overview import Target, anchors, overview_of
from .render import render
from .shift import shift_of

TITLE = "Covariate shift report"
_LINES = 400  # columns of all sections together, roughly
_DRAWN = 25  # targets up to which every section has a picture
_DRAWN_WELL = 6  # up to which it has three
_SECTIONS = 40
_OF_ROWS = (
    "weights",
    "weights_name",
    "diagnosis",
    "feature_names",
    "sample_weight",
    "target_weight",
    "groups",
    "date_names",
)


def build_batches(
    X: Any,
    targets: Mapping[str, Any],
    *,
    estimates: Mapping[str, Any] | None = None,
    evaluations: Mapping[str, Any] | None = None,
    title: str | None = None,
    train_name: str | None = None,
    target_name: str | None = None,
    outcome_name: str | None = None,
    command: str | None = None,
    date: str | None = None,
    random_state: int = 0,
    **given: Any,
) -> str:
    """Return a report on several targets as the text of one HTML file that needs nothing else.

    Parameters
    ----------
    X : training rows
        Or a dict of them by the names of the targets, where they were encoded with each.
    targets : dict of str to target rows
        Such as the months of a year, in their order.
    estimates, evaluations : dict, optional
        What `covshift.estimate` and `covshift.evaluate` found, or the error without overlap, by the
        names of the targets.
    title, train_name, target_name, outcome_name, command, date, random_state
        As in `build`.
    **given
        Of `build`: ``weights``, ``weights_name``, ``diagnosis`` (or what `diagnose_batches` found),
        ``feature_names``, ``sample_weight``, ``target_weight``, ``groups``, ``date_names``: for all
        targets, or as a dict by their names.

    Notes
    -----
    The page has a table of all targets, and a section for each, the first 40. The more targets
    there are, the fewer of the columns that differ most, and of the pictures, a section shows, so
    that the page stays below a megabyte; the numbers in it, as JSON, are those that it shows.
    Cost: that of `covshift.diagnose` for each target, and up to a second for its pictures.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import report
    >>> rng = np.random.default_rng(0)
    >>> X, may, june = rng.normal(size=(3, 100, 2))
    >>> page = report.build_batches(X, {"May": may, "June": june + 1.0})
    >>> page.count('<section class="target"')
    2
    """
    import_extra("jinja2", extra="report", needed_by="covshift.report")
    parts = _targets(X, targets, estimates, evaluations, random_state, given)
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
                **part.shift.facts(),
            }
        )
        numbers[name] = {
            "estimates": data_of(part.estimates),
            "evaluations": _without_curves(data_of(part.evaluations)),
            **part.shift.numbers(),
        }
    top = {"train": train_name, "target": target_name, "outcome": outcome_name}
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


def write_batches(
    path: str | os.PathLike[str], X: Any, targets: Mapping[str, Any], **options: Any
) -> None:
    """Write the report of `build_batches` to ``path``: whole, or not at all."""
    write_atomically(path, build_batches(X, targets, **options))


def _targets(
    X: Any,
    targets: Mapping[str, Any],
    estimates: Mapping[str, Any] | None,
    evaluations: Mapping[str, Any] | None,
    random_state: int,
    given: dict[str, Any],
) -> dict[str, Target]:
    """Compare every target with its training rows."""
    if not isinstance(targets, Mapping) or not targets:
        raise InputError(
            f"targets={targets!r:.60} is no dict of target rows by their names. Pass for example "
            '{"May": X_may, "June": X_june}.'
        )
    unknown = sorted(set(given) - set(_OF_ROWS))
    if unknown:
        raise InputError(
            f"{unknown[0]} is no parameter of a report on several targets. Those of the rows are "
            f"{', '.join(_OF_ROWS)}."
        )
    diagnosis = given.get("diagnosis")
    if isinstance(diagnosis, BatchesDiagnosis):
        given = {**given, "diagnosis": diagnosis.batches}
    for name, found in {"estimates": estimates, "evaluations": evaluations, **given}.items():
        strange = sorted(map(str, set(found) - set(targets))) if isinstance(found, Mapping) else []
        if strange:
            raise InputError(f"{name} has {strange[0]!r}, which is none of the targets.")
    most = max(10, _LINES // len(targets))
    parts = {}
    for name, rows in targets.items():
        if is_margins(unwrap_target(rows)):
            raise InputError(
                f"The target {name!r} is margins. A report on several targets needs rows: write "
                "one report for each with report.build."
            )
        own = {option: _of(value, name) for option, value in given.items()}
        shift = shift_of(_of(X, name), rows, **own, most=most, random_state=random_state)
        parts[str(name)] = Target(shift, _of(estimates, name), _of(evaluations, name))
    return parts


def _pictures(part: Target, anchor: str, count: int) -> list[pictures.Picture]:
    """Pictures of one of so many targets."""
    shift, prefix = part.shift, f"{anchor}-"
    if count > _DRAWN:
        return []
    love = pictures.love_plot(shift.diagnosis, shift.after, most=12, prefix=prefix)
    if count > _DRAWN_WELL:
        return [love]
    given = shift.samples, shift.diagnosis, shift.weights
    return [love, *pictures.distribution_functions(*given, most=2, prefix=prefix)]


def _without_curves(data: Any) -> Any:
    """A section shows none of them."""
    return data and {key: value for key, value in data.items() if key != "curves"}


def _of(given: Any, name: str) -> Any:
    """What is given for one target: all of it, or its entry."""
    return given.get(name) if isinstance(given, Mapping) else given
