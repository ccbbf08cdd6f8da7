"""One call of `estimate`, from checked samples to the result."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Samples
from ..data.columns import Outcome, check_outcomes, row_list
from ..data.row_weights import check_weight
from ..engine.explanation import LabelledValues, Moved
from ..engine.intervals import Number
from ..engine.label_shift import Shares, rejection, which_shift, within_classes
from ..engine.labels import (
    LEAST_LABELS,
    Known,
    LabelledProblem,
    chances,
    chances_by_columns,
    check_weight_of_labels,
    combined,
    no_labels_in,
    unlike_the_rest,
)
from ..engine.measures import METHODS, Method
from ..engine.overlap import Covered
from ..engine.problem import Item, Problem, Size
from ..engine.procedure import Procedure
from ..engine.robustness import robust
from ..engine.weights import Weights, are_weights, weigh
from ..exceptions import InputError
from ..numerics.array import Real, Rows
from ..numerics.influence import Influence
from ..numerics.resampling import Plan
from ..show.notes import Note
from ..show.table import Table
from .draws import draws, with_drawn_errors
from .margins import weigh_to_margins
from .quantities import Quantity
from .result import Change, Estimate, Estimates

_APART = 2.6  # standard errors: one of a hundred by chance
_KINDS = 20  # of outcomes that are classes, at most
_NO_ROWS = Size(0, 0.0, 0.0)
_SMALL_GROUP = 5  # rows below which an interval is hardly worth its name


@dataclass(frozen=True)
class Settings:
    """How the numbers are made."""

    method: Method
    weighter: Any
    outcome_model: Any
    finite_population: bool
    max_weight: float | None
    confidence: float
    replicates: int | None
    n_folds: int
    n_rep: int | None
    random_state: int
    shift: str = "covariate"


Where = tuple[str, str, str | None, str]


@dataclass(frozen=True)
class Asked:
    """What is known of one outcome: its problem and rows, and the draws that tell errors."""

    problem: Problem
    outcome: Outcome
    used: Rows
    again: Sequence[Problem] = ()
    made: Plan | None = None

    def bounded(self, odds: float, side: int) -> Asked:
        """Return the same, for bounds (`engine.sensitivity`)."""
        again = [problem.bounded(odds, side) for problem in self.again]
        return replace(self, problem=self.problem.bounded(odds, side), again=again)


@dataclass
class Run:
    """Outcomes one after the other; those with the same rows share their weights."""

    covered: Covered
    quantity: Quantity
    settings: Settings
    known: LabelledRows | None = None  # of the target
    notes: list[Note] = field(default_factory=list)
    kept: dict[bytes, tuple[Rows, Samples, Weights]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)  # for questions about the answer
    shares: list[Shares] = field(default_factory=list)  # of each outcome, under label shift

    def found(self, outcomes: list[Outcome]) -> Estimates:
        """Estimate the quantity of every outcome."""
        self.notes += self.covered.notes
        self._note_groups()
        rows: list[Estimate] = []
        changes: list[Change] = []
        models: dict[str, dict[str, float]] = {}
        drawn, by = None, None
        for outcome in outcomes:
            problem, used = self._problem(outcome)
            one = Asked(problem, outcome, used)
            if self.settings.replicates is not None or problem.sample.replicates is not None:
                list(self._items(problem, outcome, used))  # the outcome models, for all draws
                again, made = draws(
                    problem,
                    self.settings.weighter,
                    self.settings.replicates or 0,
                    max_weight=self.settings.max_weight,
                )
                one = replace(one, again=again, made=made)
                if drawn is None:
                    drawn = np.zeros((len(outcome.y), len(again)))
                    drawn[used] = np.column_stack([draw.weights.final for draw in again])
                    by = made
                self._note_draws(self.settings.replicates or 0, made)
            items = self._estimated(one)
            self.asked.append(one)
            rows += [row for item in items for row in self._rows(outcome.name, item)]
            if self.known is not None:
                rows += self._with_labels(problem, outcome, used, items)
            changes += [_change(outcome.name, item, item.change) for item in items if item.change]
            models |= problem.seen
            self._note_rows(outcome, problem, items)
        used, sample, weights = next(iter(self.kept.values()))
        if self.shares:
            weights = replace(weights, final=len(used) * self.shares[0].weights)
        final = np.zeros(len(outcomes[0].y))
        final[used] = weights.final
        found = Estimates(
            Table(rows),
            self.settings.method if self.known is None else "both",
            self.quantity.name,
            self.settings.confidence,
            weights.effective_sample_size,
            weights.design_effect,
            weights.largest,
            weights.trimmed,
            len(used),
            len(sample.T) if sample.known is None else 0,
            self.covered.share,
            self._weighter(weights),
            final,
            tuple(changes),
            models,
            self.covered.diagnosed,
            self.covered.unlike,
            None,
            drawn,
            None if by is None else by.scale * by.rscales,
            "influence" if by is None else by.kind,
            tuple(self.notes),
            None if sample.known is None else sample.known.margins,
            0 if self.known is None else self.known.count(outcomes[0].name),
            self,
            label_shift=tuple(shares.test for shares in self.shares),
        )
        answer: Estimates = robust(found)
        return answer

    def _estimated(self, one: Asked) -> list[Item]:
        """Estimate the quantity of one outcome, with errors from draws where these were made."""
        problem, outcome, used = one.problem, one.outcome, one.used
        items = list(self._items(problem, outcome, used))
        if one.made is None:
            return items
        own = problem.sample
        whole = problem.with_weights(own.d, problem.weights.final, own.share)
        first, *drawn = [list(self._items(part, outcome, used)) for part in (whole, *one.again)]
        refitted = not one.made.given or problem.weights.solve_equation
        return with_drawn_errors(items, first, drawn, one.made, refitted=refitted)

    def bounds(self, odds: float) -> dict[Where, tuple[Number, Number]]:
        """Smallest and largest numbers, with errors, by outcome, label, group and method."""
        if not self.quantity.has_bounds:
            raise InputError(f"The sensitivity of {self.quantity.name} is not known.")
        found: dict[Where, tuple[Number, Number]] = {}
        for one in self.asked:
            low, high = (self._estimated(one.bounded(odds, side)) for side in (-1, 1))
            for least, most in zip(low, high, strict=True):
                for method in METHODS:
                    if method != "none":
                        where = one.outcome.name, least.label, least.group, method
                        found[where] = least.numbers[method], most.numbers[method]
        return found

    def table_at(self, confidence: float) -> Table:
        """Return the numbers with intervals of another level, from the same models and weights."""
        again = replace(self, notes=[])  # what is told has been told
        rows: list[Estimate] = []
        for one in self.asked:
            one = replace(one, problem=replace(one.problem, confidence=confidence))
            items = again._estimated(one)
            rows += [row for item in items for row in self._rows(one.outcome.name, item)]
            if self.known is not None:
                rows += again._with_labels(one.problem, one.outcome, one.used, items)
        return Table(rows)

    def moved(self, row: Estimate) -> Moved | None:
        """Return what explains the change of one number."""
        asked = next(asked for asked in self.asked if asked.outcome.name == row.outcome)
        outcome, used, problem = asked.outcome, asked.used, replace(asked.problem, fixed={})
        where = row.what, row.group
        items = self._items(problem, outcome, used)
        moved = next(item.moved for item in items if (item.label, item.group) == where)
        if self.known is None or moved is None:
            return moved
        labelled, y, rows, probability = self._labelled(problem, outcome, used)
        found = self.quantity.items(replace(labelled, fixed=problem.fixed), y, outcome.name)
        one = next((item for item in found if (item.label, item.group) == where), None)
        if one is None or one.moved is None or not np.isfinite(one.numbers["dr"].value):
            return moved
        influence = one.moved.corrected
        target = influence.target.copy()
        np.add.at(target, rows, influence.train[: len(rows)])
        influence = Influence(influence.value, np.zeros_like(moved.plain.train), target)
        weight = problem.sample.share[rows] / probability
        labels = LabelledValues(rows, one.moved.values[: len(rows)], weight, influence)
        return replace(moved, labels=labels)

    def procedure(self) -> Procedure:
        """Return how the numbers were made, for the methods section."""
        one, labels = self.asked[0], ""
        if self.known is not None:
            labels = "random" if self.known.probability is None else "chances"
            labels = "columns" if self.known.selected else labels
        return Procedure(
            one.problem,
            self.covered,
            self.settings,
            made=one.made,
            labels=labels,
            detail=getattr(self.quantity, "family", ""),
        )

    def _weighter(self, weights: Weights) -> str:
        if self.shares:
            return "class shares"
        return "given" if weights.weighter is None else type(weights.weighter).__name__

    def _problem(self, outcome: Outcome) -> tuple[Problem, Rows]:
        sample, settings = self.covered.sample, self.settings
        present = outcome.present & (sample.d > 0)
        for name in self.quantity.row_options:
            present &= ~np.isnan(getattr(self.quantity, name))
        used = np.flatnonzero(present)
        if len(used) < 2:
            raise InputError(
                f"Only {len(used)} of {len(present)} training rows have the outcome "
                f"{outcome.name!r} and a positive weight. An estimate needs at least two."
            )
        key = present.tobytes()
        if key not in self.kept:
            part = sample.take(used)
            weighter = settings.weighter
            if are_weights(weighter):
                weighter = check_weight(weighter, len(present), "weighter", of="X")[used]
            make = weigh if part.known is None else weigh_to_margins
            weights = make(
                part, weighter, max_weight=settings.max_weight, random_state=settings.random_state
            )
            self.notes += [note for note in weights.notes if note not in self.notes]
            self.kept[key] = used, part, weights
        used, part, weights = self.kept[key]
        problem = Problem(
            part,
            weights,
            settings.method,
            settings.confidence,
            settings.n_folds,
            settings.outcome_model,
            settings.finite_population,
            settings.random_state,
            _ranked(outcome.y[used]),
            settings.n_rep,
        )
        if problem.design.units < 2:
            raise InputError(
                "All training rows are in one cluster, so that nothing can be learned about the "
                "spread between clusters. Leave out cluster, or pass more of them."
            )
        return problem, used

    def _items(self, problem: Problem, outcome: Outcome, used: Rows) -> Iterator[Item]:
        if self.settings.shift == "label":
            return self._of_shares(problem, outcome.y[used], outcome.name)
        return self.quantity.rows(used).items(problem, outcome.y[used], outcome.name)

    def _of_shares(self, problem: Problem, y: Any, name: str) -> Iterator[Item]:
        """Estimate the shares of the classes under label shift, and test whether it holds."""
        y = y.astype(int) if np.issubdtype(y.dtype, np.number) else y  # zeros and ones
        classes = np.unique(y)
        shares = Shares.of(problem, y, classes, name)
        self.shares.append(shares)
        self.notes += [*shares.notes(), *rejection(shares.test)]
        return self.quantity.from_shares(shares, classes)

    def _with_labels(
        self, problem: Problem, outcome: Outcome, used: Rows, items: list[Item]
    ) -> Iterator[Estimate]:
        """Estimate the same from labelled target rows, and from both."""
        assert self.known is not None
        labelled, y, rows, _ = self._labelled(problem, outcome, used)
        there = y[: len(rows)]
        if self.known.probability is None and not self.known.selected:
            self.notes += unlike_the_rest(problem.sample, rows)
        if self.quantity.row_options:
            raise InputError(
                f"what={type(self.quantity).__name__}(...) has a column of the training rows, "
                "which target rows lack: leave out y_target, or ask for the two means one by one."
            )
        alike = bool((there == there[0]).all())
        found = self.quantity.items(labelled, y, outcome.name)
        own = {(item.label, item.group): item for item in found}
        apart, without = [], []
        for item in items:
            one = own.get((item.label, item.group))
            if one is None or not np.isfinite(one.numbers["dr"].value):
                nothing = Number(np.nan, np.nan, np.nan, np.nan)
                one = replace(item, numbers=dict.fromkeys(METHODS, nothing), size=_NO_ROWS)
                without += [] if item.group is None else [item.group]
            number, alone = one.numbers["dr"], one.numbers["none"]
            if alike and np.isfinite(alone.value):
                number = alone  # and no model helps
            if alone.high == np.inf:  # beyond all outcomes nothing bounds a quantile
                number = replace(number, high=np.inf)
            if alone.low == -np.inf:
                number = replace(number, low=-np.inf)
            both, z = number, np.nan
            if self.covered.trusted:
                here = Known(item.numbers["dr"], item.influence)
                both, z = combined(Known(number, one.influence), here, rows)
            apart.append(z)
            for method, number in (("labels", one.numbers["none"]), ("both", both)):
                yield _line(outcome.name, item, method, number, one.size.rows, one.size.plain)
        of = f" {outcome.name!r}" if len(self.known.outcomes) > 1 else ""
        more = ""
        if abs(apart[0]) > _APART and len(np.unique(y)) <= _KINDS:
            more = which_shift(within_classes(problem, y[len(rows) :], rows, there))
        self.notes += about_assumption(apart[0], len(rows), of, more)
        if alike:
            text = f"All {len(rows)} outcomes of target rows are equal and show no spread."
            self.notes.append(Note("alike outcomes", text, "warning"))
        self.notes += no_labels_in(without)

    def _labelled(
        self, problem: Problem, outcome: Outcome, used: Rows
    ) -> tuple[LabelledProblem, NDArray[Any], Rows, Real]:
        """Return the problem of labelled target rows, with outcomes; these rows, their chances."""
        assert self.known is not None
        seed = self.settings.random_state
        there, rows, probability = self.known.of(outcome.name, problem.sample, seed)
        y = np.concatenate([there, outcome.y[used]])
        codes = np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.float64)
        return LabelledProblem.of(problem, rows, probability, codes), y, rows, probability

    def _rows(self, outcome: str, item: Item) -> Iterator[Estimate]:
        for method in item.numbers:
            effective = item.size.plain if method == "none" else item.size.effective
            yield _line(outcome, item, method, item.numbers[method], item.size.rows, effective)

    def _note_groups(self) -> None:
        groups = self.covered.sample.groups
        if groups is None:
            return
        if groups.absent:
            named = ", ".join(f"{name!r} ({share:.1%})" for name, share in groups.absent.items())
            text = (
                f"Groups of the target without rows in the sample, for which there is no number "
                f"(share of the target): {named}."
            )
            self.notes.append(Note("absent groups", text, "warning"))
        if groups.sample_only:
            named = ", ".join(map(repr, groups.sample_only))
            text = (
                f"Groups of the sample without target rows, so that they have no number: {named}."
            )
            self.notes.append(Note("absent groups", text))
        if groups.target is None and groups.share is None:
            text = "The groups are known of the sample alone, so their shares are estimated too."
            self.notes.append(Note("groups of the sample", text))

    def _note_rows(self, outcome: Outcome, problem: Problem, items: list[Item]) -> None:
        if outcome.missing:
            lost = np.flatnonzero(~outcome.present)
            text = (
                f"The outcome {outcome.name!r} is missing in {len(lost)} of {len(outcome.y)} rows, "
                f"which were left out (rows {row_list(lost)}). This is valid if the features "
                "explain why it is missing."
            )
            self.notes.append(Note("missing outcomes", text))
        for name in self.quantity.row_options:
            lost = np.flatnonzero(np.isnan(getattr(self.quantity, name)))
            if len(lost):
                text = (
                    f"The {name} is missing in {len(lost)} of {len(outcome.y)} rows, which "
                    f"were left out (rows {row_list(lost)})."
                )
                self.notes.append(Note("missing outcomes", text))
        if problem.sample.groups is not None and self.covered.sample.groups is not None:
            kept = {label for _, label in problem.groups()}
            groups = self.covered.sample.groups
            gone = [g for g in groups.labels if g not in kept and g not in groups.sample_only]
            if gone:
                text = (
                    f"Groups of which no row has the outcome {outcome.name!r} and a positive "
                    f"weight, so that they have no number: {', '.join(map(repr, gone))}."
                )
                self.notes.append(Note("absent groups", text, "warning"))
        there = outcome.y[outcome.present]
        if (there == there[0]).all():
            text = f"The outcome {outcome.name!r} is {there[0]} in every row."
            self.notes.append(Note("constant outcome", text, "warning"))
        few = [item for item in items if item.size.rows < _SMALL_GROUP]
        if self.quantity.name != "difference":
            few = [item for item in few if item.group]
        small = {item.group or item.label: item.size.rows for item in few}
        if small:
            named = ", ".join(f"{name!r} ({rows})" for name, rows in small.items())
            text = f"Groups of very few rows, whose intervals are rough: {named}."
            self.notes.append(Note("small groups", text, "warning"))
        alone = problem.sample.known is None and len(problem.sample.T) == 1
        if alone and not self.settings.finite_population:
            text = (
                "A single target row has no information about the spread of the target: the errors "
                "treat it as the whole population."
            )
            self.notes.append(Note("one target row", text, "warning"))
        if problem.design.lonely:
            text = (
                f"{problem.design.lonely} strata have a single unit; its distance from the mean of "
                "all units stands for their spread."
            )
            self.notes.append(Note("single units", text))

    def _note_draws(self, drawn: int, made: Plan) -> None:
        text = ""
        if made.kind == "bootstrap" and made.count < drawn:
            text = f"{drawn - made.count} of {drawn} draws had no weights and were left out."
        if made.kind == "jackknife":
            text = (
                f"The errors come from a jackknife of {made.count} replicates: the bootstrap "
                "would understate those of these weights, which solve no estimating equation."
            )
        note = Note("draws", text)
        if text and note not in self.notes:
            self.notes.append(note)


def _line(
    outcome: str, item: Item, method: Any, number: Number, rows: int, effective: float
) -> Estimate:
    return Estimate(
        outcome,
        item.label,
        item.group,
        method,
        number.value,
        number.standard_error,
        (number.low, number.high),
        rows,
        effective,
        item.proportion,
    )


@dataclass(frozen=True)
class LabelledRows:
    """Outcomes of target rows, by their names; of all rows that were given."""

    outcomes: dict[str, Outcome]
    probability: Real | None  # (M,); None: the rows are a random part
    selected: bool = False  # by their columns

    def count(self, name: str) -> int:
        """Return how many rows have an outcome."""
        return int(self.outcomes[name].present.sum())

    def of(self, name: str, sample: Samples, random_state: int) -> tuple[Any, Rows, Real]:
        """Return outcomes (L,), the target rows of the sample that have them, and probabilities."""
        here = np.arange(len(sample.T)) if sample.target_rows is None else sample.target_rows
        outcome = self.outcomes[name]
        rows = np.flatnonzero(outcome.present[here] & (sample.share > 0))
        if len(rows) < LEAST_LABELS:
            raise InputError(
                f"y_target has {len(rows)} outcomes {name!r} of target rows that the answer is "
                f"for; an interval needs at least {LEAST_LABELS}. Leave it out, or add some."
            )
        y, chance = outcome.y[here[rows]], np.ones(len(rows))
        if self.selected:
            chance = chances_by_columns(sample, rows, random_state)
        elif self.probability is not None:
            chance = self.probability[here[rows]]
            check_weight_of_labels(sample.share[rows] / chance, chance)
        return y, rows, chance


def labelled_rows(sample: Samples, outcomes: list[Outcome], *, selected: bool) -> LabelledRows:
    """Check outcomes of target rows, one for each outcome of the sample."""
    M = len(sample.T) if sample.target_rows is None else sample.n_given
    numbers = all(np.issubdtype(outcome.y.dtype, np.number) for outcome in outcomes)
    given = sample.beside["y_target"]
    there = check_outcomes(given, M, numbers=numbers, title="y_target", of="X_target")
    if len(there) != len(outcomes):
        raise InputError(
            f"y_target has {len(there)} columns, but y has {len(outcomes)}: pass the same outcomes."
        )
    if {other.name for other in there} == {own.name for own in outcomes}:  # in any order
        there = [next(o for o in there if o.name == own.name) for own in outcomes]
    for own, other in zip(outcomes, there, strict=True):
        seen = other.y[other.present]
        if numbers and np.isin(own.y[own.present], (0.0, 1.0)).all():
            odd = seen[~np.isin(seen, (0.0, 1.0))]
            if len(odd):
                raise InputError(
                    f"y_target has the outcome {odd[0]:g}, but in the sample all are 0 or 1."
                )
        strange = set() if numbers else set(seen) - set(own.y[own.present])
        if strange:
            raise InputError(
                f"y_target has the outcome {str(min(strange))!r}, which no row of the sample has. "
                "Spell categories the same way in both."
            )
    chosen = np.any([outcome.present for outcome in there], axis=0)
    given = sample.beside.get("probability")
    by_name = {own.name: other for own, other in zip(outcomes, there, strict=True)}
    return LabelledRows(by_name, None if given is None else chances(given, chosen), selected)


def about_assumption(z: float, count: int, of: str = "", more: str = "") -> Iterator[Note]:
    """Say whether the outcomes of target rows fit the correction."""
    if not np.isfinite(z):
        return
    apart = f"{abs(z):.1f} standard errors of their difference"
    if abs(z) > _APART:
        text = (
            f"The {count} outcomes{of} of target rows and the corrected number are {apart} apart: "
            f"given these columns, the outcome seems to differ between the two groups.{more}"
        )
        yield Note("assumption", text, "warning")
    else:
        yield Note(
            "assumption",
            f"The {count} outcomes{of} of target rows agree with the corrected number ({apart}).",
        )


def _ranked(y: Any) -> Real:
    """Numbers that are in the order of the outcomes (N,), and equal where these are."""
    if np.issubdtype(y.dtype, np.floating):
        return np.asarray(y, dtype=np.float64)
    return np.unique(y, return_inverse=True)[1].reshape(-1).astype(np.float64)


def _change(outcome: str, item: Item, number: Number) -> Change:
    return Change(
        outcome,
        item.label,
        item.group,
        number.value,
        number.standard_error,
        (number.low, number.high),
    )
