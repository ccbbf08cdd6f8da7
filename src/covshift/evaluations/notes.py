"""What is worth knowing about an evaluation, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..data import Groups
from ..data.columns import Outcome, row_list
from ..engine.intervals import Number
from ..numerics.array import Flags
from ..show.answer import LEVEL
from ..show.notes import Note
from ..show.table import Table
from .labelled import Change
from .methods import Method
from .metrics import words
from .scored import Scored

_DISAGREE = 2.6  # standard errors: one of a hundred by chance
_SHOWN = 1e-3  # of a number: differences that three digits show
_ENOUGH = 20  # rows, of which none is beyond 0 and 1 by chance


def disagreement(model: str, metric: str, numbers: dict[Method, Number]) -> Iterator[Note]:
    """Warn where the methods are further apart than their errors allow."""
    if "model" not in numbers:  # label shift, under which the methods do not hold
        return
    best = numbers["model"]
    apart = [
        f"{method!r} {number.value:.3g}"
        for method, number in numbers.items()
        if method in ("dr", "cbpe", "pape")
        and abs(number.value - best.value)
        > max(
            _DISAGREE * np.hypot(number.standard_error, best.standard_error),
            _SHOWN * abs(best.value),
        )
    ]
    if apart:
        text = (
            f"{words(metric)} of {model}: the methods disagree by more than their errors: "
            f"'model' {best.value:.3g}, but {', '.join(apart)}. The scores may be calibrated "
            "differently on the target than on the labelled rows, the labelled rows may cover "
            "little of the target, or they may have trained the model ({}). Labels of a few target "
            "rows would show whether p(y | x) has changed."
        )
        ways = "trained_on= or cv= of Predictions", "--trained-on"
        yield Note(
            "disagreement", text.replace("{}", ways[0]), "warning", text.replace("{}", ways[1])
        )


def perfect_score(model: str, what: str) -> Note:
    """Warn of a model that makes no error on the labelled rows."""
    text = (
        f"{model} gets {what} of the labelled rows right. Perhaps they trained it: then "
        "they cannot be used to judge it. Mark them"
    )
    python = f"{text}: Predictions(model, trained_on=...), or let cv=5 of it refit the model."
    return Note("perfect score", python, "warning", f"{text} with --trained-on.")


def changed_outcome(change: Change, more: Callable[[], str]) -> Iterator[Note]:
    """Warn where labels of the target contradict what was learned from the labelled rows.

    ``more`` says whether label shift fits.
    """
    if change.p_value < LEVEL:
        text = (
            f"{change.rows} labels of the target show that p(y | x) differs there from the "
            f"labelled rows (p = {change.p_value:.2g}; {change.model}): no weights and "
            f"no outcome model can correct this. Rely on the labels of the target.{more()}"
        )
        yield Note("changed outcome", text, "warning")


def about_scores(scored: Scored) -> Iterator[Note]:
    """Warn of scores that may mean something else than they are taken for."""
    if not scored.classes:
        return
    named = scored.name
    ends = scored.chosen, scored.chosen_target
    said = {int(k) for part in ends if part is not None for k in np.unique(part)}
    if len(said) == 1:
        text = f"{named}: the prediction is {scored.classes[said.pop()]!r} for every row."
        command = text
        if scored.given == "scores" and len(scored.classes) == 2:
            text += " Scores beyond 0 and 1 are cut at 0, unless "
            command = text + "you pass --threshold."
            text += "you pass Predictions(..., threshold=...)."
        yield Note("one prediction", text, "warning", command)
    if scored.given != "scores":
        return
    kept = [scored.positive] if len(scored.classes) == 2 else slice(None)
    parts = scored.train[:, kept], scored.target[:, kept]
    within = [bool(((part >= 0) & (part <= 1)).all()) for part in parts]
    if all(within):
        text = (
            f"{named}: scores are within 0 and 1, but do not sum to one over the classes. They "
            "rank the rows but are not probabilities."
        )
        yield Note("scores", text, "warning")
    elif any(len(part) >= _ENOUGH for part, inside in zip(parts, within, strict=True) if inside):
        inner, outer = ("labelled", "target") if within[0] else ("target", "labelled")
        text = (
            f"{named}: scores are within 0 and 1 on the {inner} rows, but not on the {outer} rows. "
            "Perhaps only one of the two holds probabilities: then these numbers are "
            "meaningless."
        )
        yield Note("scores", text, "warning")


def absent_classes(scored: Scored, labels: Any) -> Iterator[Note]:
    """Warn of classes that the model knows, but that no label shows."""
    lost = sorted(set(scored.classes) - set(labels.tolist()))
    if lost:
        text = (
            f"{scored.name} knows classes that no labelled row here has: {', '.join(lost[:5])}. "
            "Their share of the target counts as zero."
        )
        yield Note("absent classes", text, "warning")


def one_target_row(rows: int) -> Iterator[Note]:
    """Warn of a target of which nobody knows how its rows differ."""
    if rows == 1:
        text = (
            "The target is a single row: the interval is about rows like this one, and does "
            "not include how rows of the target differ."
        )
        yield Note("one target row", text, "warning")


def undefined_labels(rows: Table) -> Iterator[Note]:
    """Say which metrics labels of the target by themselves do not define; ``rows`` are theirs."""
    undefined = {words(row.metric) for row in rows if np.isnan(row.value)}
    if undefined:
        text = (
            f"The {rows[0].rows} labels of the target by themselves do not define "
            f"{', '.join(sorted(undefined))}: a class is missing among them or is never predicted, "
            "or they are all equal."
        )
        yield Note("undefined labels", text)


def rows_that_judge(outcome: Outcome, trained: Flags) -> Iterator[Note]:
    """Say which labelled rows do not judge."""
    if outcome.missing:
        lost = np.flatnonzero(~outcome.present)
        text = (
            f"The label is missing in {len(lost)} of {len(outcome.y)} rows, which were left "
            f"out (rows {row_list(lost)})."
        )
        yield Note("missing labels", text)
    if trained.any():
        text = (
            f"{trained.sum()} rows trained the model and are not used to judge it. Outcome "
            "models of classes learn from them as well."
        )
        yield Note("training rows", text)


def without_number(rows: Table, groups: Groups | None) -> Iterator[Note]:
    """Warn of metrics and groups that have no number; ``rows`` are those of the chosen method."""
    undefined = {
        f"{words(row.metric)} ({row.group or 'all'})" for row in rows if np.isnan(row.value)
    }
    if undefined:
        text = (
            f"Not defined here: {', '.join(sorted(undefined))}. A class is missing, is never "
            "predicted, or is separated by the scores; the scores or the outcomes are all equal; "
            "or no row is in the bin."
        )
        yield Note("undefined metrics", text, "warning")
    if groups is not None and (groups.absent or groups.sample_only):
        named = {*groups.absent, *groups.sample_only}
        text = f"Groups of only one sample, which have no number: {', '.join(sorted(named))}."
        yield Note("absent groups", text, "warning")
