"""What methods are compared for: rows of a target, or margins.

Both weigh the training rows by a weighter's name, say how far weighted rows are from the target,
and return what a learner takes as ``X_target``. A comparison asks for no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..data import Samples
from ..data.features import select
from ..data.samples import rows_again
from ..data.validation import Target, column_names
from ..diagnostics import standardized_mean_differences
from ..encoding import encoded as grouped
from ..exceptions import InputError
from ..margins import Margins
from ..margins.reading import cell_columns, levels_of
from ..margins.sample import KnownRows, balance_of
from ..margins.target_rows import encoded
from ..numerics.array import Real, Rows
from ..registry import TABLE, CorrectionEntry
from ..show.notes import Note
from .methods import Method, fit_weights, methods_for, refuse_what_needs_rows, takes_margins


@dataclass(frozen=True, eq=False)
class RowTarget:
    """Standardised rows of training and target."""

    X: Real  # (N, n)
    T: Real  # (M, n)
    share: Real | None  # (M,): weights of the target rows, mean one
    groups: Rows | None = None  # (n,): feature of each column; None: every column is one
    names: Sequence[str] | None = None  # (n,): of the columns, for messages
    measure: ClassVar[str] = "smd"  # what `off` is called in a row of the comparison

    def weigh(self, name: str, y: Any, own: Real | None, random_state: int) -> Real:
        """Weights (N,) of the training rows, factors on ``own``."""
        given = self.share, random_state, own
        X, T = (grouped(part, self.groups) for part in (self.X, self.T))
        return np.asarray(fit_weights(name, X, y, T, *given, names=self.names).weights_)

    def off(self, own: Real | None, w: Real | None = None) -> float:
        """Mean absolute standardised mean difference of the columns, rows weighted by w."""
        return imbalance(self.X, self.T, w, self.share, own)

    def for_learner(self, method: str) -> Real:
        """What a learner takes as ``X_target``."""
        return grouped(self.T, self.groups)


@dataclass(frozen=True, eq=False)
class MarginTarget:
    """Training rows as margins know them, and the margins of what learners see."""

    known: KnownRows
    encoded: Margins  # of the standardised columns 0, 1, 2, ...
    share: ClassVar[None] = None
    measure: ClassVar[str] = "gap"

    def weigh(self, name: str, y: Any, own: Real | None, random_state: int) -> Real:
        """Weights (N,) of the training rows, factors on ``own``, that give them the margins."""
        margins = self.known.margins
        fitted = fit_weights(name, self.known.table, y, margins, None, random_state, own)
        return np.asarray(fitted.weights_)

    def off(self, own: Real | None, w: Real | None = None) -> float:
        """Mean absolute difference from the published numbers, rows weighted by w."""
        weight = own if w is None else w
        rows = balance_of(self.known, weight)
        return float(np.mean([abs(row.gap) for row in rows]))

    def for_learner(self, method: str) -> Margins | None:
        """What a learner takes as ``X_target``: nothing where no margin has cells."""
        if cell_columns(self.encoded):
            return self.encoded
        if isinstance(TABLE[method], CorrectionEntry) and "target rows" in TABLE[method].needs:
            raise InputError(
                f"{method} compares distribution functions, and the margins have none: use weights "
                "by entropy."
            )
        return None


def beside_margins(
    margins: Margins,
    X: Any,
    y: Any = None,
    kinds: Mapping[str, Any] | None = None,
    frequency: str | None = None,
    outside: bool = False,
    **given: Any,
) -> Samples:
    """Return training rows as learners take them, with margins in place of target rows.

    What is decided about the columns of a data frame rests on its rows alone. Rows that the margins
    cannot place are refused, unless they may lie ``outside`` of all brackets. ``kinds`` are as in
    `covshift.Target`, ``frequency`` names a column that says how often each row was seen, and
    ``given`` are further arguments of `Samples.of`.
    """
    if (names := column_names(X)) is not None:
        there = (name for name in margins.columns if name in names)
        own = {name: "category" if levels_of(margins, name) else "number" for name in there}
        kinds = {**own, **(kinds or {})}
        rest = select(X, [name for name in names if name != y])
    target = Target(X if names is None else rest, kinds=kinds)
    counts = frequency, frequency
    both = Samples.of(X, y, target, counts=counts, every_level=True, **given).as_given()
    assert both.given is not None
    rows = both.given.features[0]
    if outside:
        known = KnownRows.inside_or_not(margins, rows)
    else:
        known = KnownRows.of(margins, rows, "a comparison")
    again = rows_again(both.given.of_rows(frequency, "frequency"), "", "X")
    known = replace(known if again is None else known.rows(again), free=())  # which a note tells
    notes = [*margins.notes, *both.notes]
    if names is None:  # the margins of an array's columns are called 0, 1, 2, ...
        named = tuple(str(k) for k in range(both.X.shape[1]))
        both = replace(both, names=named, made=[(name, None) for name in named])
    used = both.names if both.encoder is None else [rule.name for rule in both.encoder.features_]
    free = [name for name in used if name not in margins.columns]
    if free:
        text = f"No margin covers {', '.join(map(repr, free[:8]))}"
        text += f"{' ...' if len(free) > 8 else ''}: no method corrects these columns."
        notes.append(Note("columns without margins", text))
    return replace(both, known=known, notes=tuple(notes))


def standardised(samples: Samples, scaler: Any) -> MarginTarget:
    """Return the target of learners that see rows beside margins, scaled."""
    known = samples.known
    assert known is not None
    return MarginTarget(known, encoded(known.margins, samples.made, scaler.mean_, scaler.scale_))


def methods_with_margins(
    learner: str,
    n_features: int,
    margins: Margins,
    methods: list[Method] | None,
    notes: list[Note],
) -> list[Method]:
    """Return the methods that margins are enough for; refuse others that were asked for."""
    if methods is not None:
        for method in methods:
            refuse_what_needs_rows(method.name)
        return methods
    every = [method.name for method in methods_for(learner, n_features)]
    needy = [name for name in every if not takes_margins(learner, name)]
    if needy:
        text = f"Left out, since they need target rows: {', '.join(needy)}."
        notes.append(Note("methods that need rows", text))
    return methods_for(learner, n_features, margins)


def default_judge(margins: Margins | None = None) -> str:
    """Name of the weighter that weighs held-out rows, by default."""
    return "cdf" if margins is None or cell_columns(margins) else "entropy"


def refuse_scored(y_target: Any, X_scored: Any) -> None:
    """Refuse labels of target rows that are not there."""
    if y_target is not None and X_scored is None:
        raise InputError(
            "y_target needs the rows that it belongs to, and X_target is margins: pass these rows "
            "as X_scored."
        )


def imbalance(
    X: Real,
    T: Real,
    w: Real | None = None,
    share: Real | None = None,
    own: Real | None = None,
) -> float:
    """Mean absolute standardised mean difference of the columns, X weighted by w.

    Without w the rows of X have the weights ``own`` of the sample's design, which also make the
    unit, or equal ones.

    Columns that are constant in both samples, and differ, have no such number and no say; if there
    are no others it is infinite.
    """
    share = np.ones(len(T)) if share is None else share
    own = None if own is None else own / own.sum()
    found = np.abs(standardized_mean_differences(X, T, share / share.sum(), w, own))
    finite = found[np.isfinite(found)]
    return float(finite.mean()) if len(finite) else float("inf")
