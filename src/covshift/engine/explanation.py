"""Why a number changed from the sample to the target: `Explanation`.

Without outcomes of target rows the change is what the columns moved. Every column has the Shapley
value that `covshift.engine.columns` gives it. What the answer has beyond, such as curves and
products that no basis holds, or noise that its weights and models see otherwise, is a line of its
own, so that the lines sum to the change.

With them the change has three parts (Cai, Namkoong and Yadlowsky 2023). P is the sample, Q the
target, pi(x) the chance of a row to be of the target where both are equally common, and S the
region that both share, of the density ~ p q / (p + q). With the values L of rows and
mu_P = E_P[L | x], mu_Q = E_Q[L | x],

    E_S mu_P - E_P L      the mix of rows in the shared region
    E_S mu_Q - E_S mu_P   the outcome given the columns: p(y | x) changed
    E_Q L - E_S mu_Q      rows the sample hardly has.

The means over S are those with the overlap weights pi (1 - pi). Their efficient influence values
are, with k = pi^2 for rows of the sample and (1 - pi)^2 for target rows, each sample counting half,

    theta_SP :  [k (mu_P - theta) + 1{P} pi (L - mu_P)] / E k ,
    theta_SQ :  [k (mu_Q - theta) + 1{Q, labelled} (1 - pi) (L - mu_Q) / chance] / E k ,

and the estimates solve that these sum to zero; pi, mu_P and mu_Q are cross-fitted. The answer leans
from the labelled rows to the number for which p(y | x) is the same (`covshift.engine.labels`): so
does the second part, and keeps its interval.

Where p(y | x) changed: a tree of depth three or less learns L - mu_P on half of the labelled target
rows; the other half tells the effect of every leaf, less what mu_P misses there in the weighted
sample, with intervals that hold for all leaves together (Bonferroni).

Sources: Cai, Namkoong and Yadlowsky (2023), *Diagnosing model performance under distribution
shift*; Crump, Hotz, Imbens and Mitnik (2006), *Moving the goalposts*; Li, Morgan and Zaslavsky
(2018), *Balancing covariates via propensity score weighting*; Athey and Imbens (2016), *Recursive
partitioning for heterogeneous causal effects*. Cost: that of `covshift.engine.columns`; with
outcomes of target rows three cross-fitted models besides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import stdtrit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from ..data import Samples
from ..data.row_weights import kish
from ..exceptions import InputError, InputTypeError
from ..numerics.array import Real, Rows
from ..numerics.copies import copies, together
from ..numerics.crossfit import CrossFit, Features, deal, fit_folds
from ..numerics.influence import Influence
from ..numerics.quiet import alone, quiet
from ..show.answer import ASSUMPTION, OF_LABELS, Answer
from ..show.notes import Note
from ..show.table import Cell, Column, Record, Table
from ..show.words import as_date, meant, printable, readable, shown
from .columns import ColumnSets
from .intervals import Errors
from .ridge import BrokenLines
from .stack import FEW_ROWS, mixture, predict, tree_settings

TOGETHER = "not attributed"
WITHIN, OUTCOMES = "mix of rows in the shared region", "outcome given the columns"
NEW = "rows the sample hardly has"
_MEANINGS = {
    WITHIN: "both samples have such rows, but not equally often",
    OUTCOMES: "rows with the same columns have different outcomes in the target",
    NEW: "they are common only in the target",
}
_BECAUSE = {
    WITHIN: "the mix of rows differs in the shared region",
    OUTCOMES: "rows with the same columns have different outcomes",
    NEW: "the target has rows that the sample hardly has",
}
_ROUNDING = 1e-12
_SHOWN = 10  # columns that are printed
_NAMED = 2  # columns in the sentence
_LEAST_CHANCE = 0.005  # of a row to be of either sample
_FOLDS = 5
_TREE = 40  # labelled target rows, at least
_DEPTH, _LEAF, _LEAF_SHARE = 3, 10, 0.05


@dataclass(frozen=True, eq=False)
class LabelledValues:
    """The same values of the target rows whose outcome is known."""

    rows: Rows  # (L,): of the target
    values: Real  # (L,)
    weight: Real  # (L,): shares of the target, over the chances to have an outcome
    found: Influence  # the number with these outcomes, its values of the samples' rows


@dataclass(frozen=True, eq=False)
class Moved:
    """A number of the sample and the same corrected, with what it takes to explain the change.

    To first order both are means of ``values``, which the change moves.
    """

    sample: Samples
    values: Real  # (N,): their mean, by design weights, is the plain number
    plain: Influence
    corrected: Influence
    errors: Errors
    weight: Real  # (N,): final weights
    finite_population: bool = False
    labels: LabelledValues | None = None


def amount(value: float, row: Any) -> str:
    """Write a difference of numbers; of shares in percentage points."""
    text = shown(value, row, percent=False)
    return f"{text} points" if row.proportion else text


def _signed(row: Share, like: Share) -> str:
    return ("+" if row.value > 0 else "") + amount(row.value, like)


def _vanishes(value: float, like: Share, of: float) -> bool:
    """Whether a difference is negligible (below rounding)."""
    text = shown(value, like, percent=False)
    return abs(value) <= _ROUNDING * abs(of) or not any(c in "123456789" for c in text)


def _interval(row: Any, confidence: float) -> str:
    low, high = (shown(end, row, percent=False) for end in row.interval)
    return f"{100 * confidence:g}% CI {low} to {high}"


def _counts(row: Share, change: Share) -> bool:
    return abs(row.value) >= 0.05 * abs(change.value)


def _value(row: Any) -> Cell:
    text = shown(row.value, row, percent=False)
    return Cell(f"+{text}" if row.value > 0 else text, row.value)


def _ends(row: Any) -> str:
    return " to ".join(shown(end, row, percent=False) for end in row.interval)


_NUMBERS = (
    Column("share", _value),
    Column(
        "s.e.",
        lambda row: (
            "" if np.isnan(row.standard_error) else shown(row.standard_error, row, percent=False)
        ),
    ),
    Column("interval", lambda row: "" if np.isnan(row.standard_error) else _ends(row)),
)


@dataclass(frozen=True)
class Share(Record):
    """What one column, or one of the parts, has of the change."""

    column: str
    value: float
    standard_error: float
    interval: tuple[float, float]
    proportion: bool = False

    _not_shown: ClassVar[frozenset[str]] = frozenset({"proportion"})
    _columns: ClassVar[tuple[Column, ...]] = (
        Column("column", lambda row: printable(row.column), words=True),
        *_NUMBERS,
    )


@dataclass(frozen=True)
class Region(Record):
    """A part of the target where p(y | x) changed, or may have."""

    where: str
    value: float  # their mean, less what the columns explain
    standard_error: float
    interval: tuple[float, float]  # of all regions together
    rows: int  # labelled target rows that tell it
    share: float  # of the target
    proportion: bool = False

    _not_shown: ClassVar[frozenset[str]] = frozenset({"proportion"})
    _columns: ClassVar[tuple[Column, ...]] = (
        Column("where the outcome may have changed", lambda row: row.where, words=True),
        *_NUMBERS,
        Column("rows", lambda row: f"{row.rows:,}"),
        Column("of the target", lambda row: f"{row.share:.0%}"),
    )


@dataclass(frozen=True, eq=False, repr=False)
class Explanation(Answer):
    """Why a number changed, as `explain` of an estimate or an evaluation found it.

    Attributes
    ----------
    name : str
        What changed.
    plain, value : float
        The number of the sample, and the answer's for the target.
    change : Share
        Their difference, with its interval.
    table : Table
        What every column has of the change, and what they do together: rows of `Share`. With
        outcomes of target rows, the three parts of the change. They sum to it.
    columns : Table
        With outcomes of target rows: what the columns explain, as without them. Else empty.
    regions : Table
        With these: where rows with the same columns have different outcomes. Rows of `Region`.
    confidence : float
    notes : tuple of Note
    """

    name: str
    plain: float
    value: float
    change: Share
    table: Table
    confidence: float
    columns: Table = field(default_factory=lambda: Table(()))
    regions: Table = field(default_factory=lambda: Table(()))
    notes: tuple[Note, ...] = ()

    _facts: ClassVar[tuple[str, ...]] = ("name", "plain", "value", "confidence")
    _data: ClassVar[tuple[str, ...]] = ("change", "table", "columns", "regions")

    @property
    def with_labels(self) -> bool:
        """Whether outcomes of target rows were known."""
        return self.table[0].column == WITHIN if len(self.table) else False

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        size, name = self.change.value, self.name
        of = f"from {shown(self.plain, self.change)} to {shown(self.value, self.change)}"
        like = self.change
        none = _vanishes(size, like, self.plain)
        parts_too = all(_vanishes(row.value, like, self.plain) for row in self.table)
        if none and (parts_too or not self.with_labels):
            return f"{name} does not change: {shown(self.plain, like)} in both samples."
        rows = sorted(self.table, key=lambda row: -row.value * np.sign(size))
        verb = "falls" if size < 0 else "rises"
        start = f"{name} {verb} by {amount(abs(size), like)}, {of}: "
        if like.interval[0] <= 0 <= like.interval[1]:
            chance = f"The change of {name} may be chance ({_interval(like, self.confidence)})."
            start = f"{chance} It {verb} by {amount(abs(size), like)}, {of}: "
        if self.with_labels:
            start = f"{name} hardly changes, {of}: " if none else start
            parts = [f"{_signed(row, like)} because {_BECAUSE[row.column]}" for row in rows]
            return f"{start}{', '.join(parts)}."
        rows = [row for row in rows if row.column != TOGETHER][:_NAMED]
        rows = [row for row in rows if row.value * size > 0 and _counts(row, self.change)]
        parts = [
            f"{printable(row.column)} {'accounts ' if k == 0 else ''}for "
            f"{amount(abs(row.value), self.change)}{' of it' if k == 0 else ''}"
            for k, row in enumerate(rows)
        ]
        why = ", ".join(parts) if parts else "no column accounts for much of it"
        against = min(self.table, key=lambda row: row.value * np.sign(size))
        if against.column != TOGETHER and -against.value * np.sign(size) >= abs(size) / 2:
            why += f"; {printable(against.column)} works against it ({_signed(against, like)})"
        rest = [row for row in self.table if row.column == TOGETHER and abs(row.value) > abs(size)]
        if rest:  # the shares describe another change than the answer's
            why += (
                f"; a first guess only: what is not attributed is larger ({_signed(rest[0], like)})"
            )
        return f"{start}{why}."

    @property
    def assumption(self) -> str:
        """What the explanation rests on."""
        return OF_LABELS if self.with_labels else ASSUMPTION

    def plot(self, ax: Any = None) -> Any:
        """Draw the way from the sample's number to the target's: a waterfall.

        Returns a `covshift.plot.WaterfallDisplay`.
        """
        from ..plot import WaterfallDisplay  # it needs matplotlib: loaded when asked for

        return WaterfallDisplay.from_explanation(self, ax=ax)

    def _below(self) -> Iterator[str]:
        change = self.change
        yield f"Change: {_signed(change, change)} ({_interval(change, self.confidence)})."

    def _parts(self) -> Iterator[Table | list[str]]:
        yield laid_out(self.table, "part of the change" if self.with_labels else "column")
        if self.with_labels:
            yield [f"{name}: {meaning}." for name, meaning in _MEANINGS.items()]
        if len(self.columns):
            yield laid_out(self.columns, "if only the columns had changed")
        if len(self.regions):
            yield self.regions
            lines = [_about(row, self.confidence) for row in self.regions if _differs(row)]
            if lines:
                yield lines


def laid_out(table: Table, name: str, title: str = "") -> Table:
    """Show the first columns, the others as one line, and what they do together."""
    rows = shortened(table)
    unit = " (points)" if rows and rows[0].proportion else ""
    first = Column(name, lambda row: printable(row.column, 40), words=True)
    columns = (first, replace(_NUMBERS[0], name=f"share{unit}"), *_NUMBERS[1:])
    return Table(tuple(rows), columns, title)


def shortened(table: Table) -> list[Share]:
    """Return the first columns, the others as one line without an error, and the last line."""
    rows = [row for row in table if row.column != TOGETHER]
    last = [row for row in table if row.column == TOGETHER]
    if len(rows) <= _SHOWN + 1:
        return rows + last
    more = rows[_SHOWN:]
    value, title = sum(row.value for row in more), f"the other {len(more)} columns"
    error = max(row.standard_error for row in more)
    if 0 < error < np.inf:  # no more digits than the columns have
        value = round(value, 1 - int(np.floor(np.log10(error))))
    others = Share(title, value, np.nan, (np.nan, np.nan), more[0].proportion)
    return [*rows[:_SHOWN], others, *last]


def _differs(row: Region) -> bool:
    return row.interval[0] > 0 or row.interval[1] < 0


def _about(row: Region, confidence: float) -> str:
    side = "higher" if row.value > 0 else "lower"
    return (
        f"{row.where}: {amount(abs(row.value), row)} {side} than the columns explain "
        f"({_interval(row, confidence)})."
    )


def explained(
    moved: Moved,
    name: str,
    numbers: tuple[float, float],
    *,
    proportion: bool,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Explanation:
    """Explain how the plain of two ``numbers`` became the answer's.

    ``groups`` joins columns: {"money": ["income", "wealth"]}.
    """
    if moved.labels is not None and not np.isfinite(moved.labels.found.value).all():
        moved = replace(moved, labels=None)  # they say nothing: the answer is the correction alone
    sets = ColumnSets.of(moved.sample, moved.values)
    titles, parts = _joined(sets.names, groups)
    shares, change = sets.shapley(parts), moved.corrected.minus(moved.plain)
    if moved.finite_population:
        shares = replace(shares, target=np.zeros((len(change.target), len(titles))))
    here, there = numbers
    if moved.labels is None:
        change = replace(change, value=np.array([there - here]))
    columns = _lines(titles, shares, change, moved.errors, proportion)
    if moved.labels is None:
        own = _share("change", change, moved.errors, proportion)
        return Explanation(name, here, there, own, columns, moved.errors.confidence)
    labels = moved.labels
    errors = replace(moved.errors, target_rows=kish(labels.weight))
    models = _Models.of(moved, labels)
    shared = models.shared(moved, labels)
    plain = replace(moved.plain, value=np.array([here]))
    steps = [plain, *shared, labels.found]
    lean = there - float(labels.found.value[0])  # to the correction: p(y | x) is the same
    names = (WITHIN, OUTCOMES, NEW)
    table = Table(
        tuple(
            _share(name, after.minus(before), errors, proportion, lean * (name == OUTCOMES))
            for name, before, after in zip(names, steps[:-1], steps[1:], strict=True)
        )
    )
    own = _share("change", labels.found.minus(plain), errors, proportion, lean)
    regions, notes = _regions(moved, labels, models, proportion)
    return Explanation(
        name, here, there, own, table, errors.confidence, columns, regions, tuple(notes)
    )


def _joined(
    names: tuple[str, ...], groups: Mapping[str, Sequence[str]] | None
) -> tuple[list[str], list[list[int]]]:
    """Return the lines of the explanation, and the features of each."""
    groups = {} if groups is None else groups
    parts = list(groups.values()) if isinstance(groups, Mapping) else [None]
    if not all(isinstance(part, str | Sequence | Set) for part in parts):
        raise InputTypeError(
            "groups must be a dict of a name for each group and a list of its columns, such as "
            f'{{"money": ["income", "wealth"]}}, not {groups!r:.60}.'
        )
    taken: dict[str, str] = {}
    for title, part in groups.items():
        members = [part] if isinstance(part, str) else part
        for member in members:
            if str(member) not in names:
                raise InputError(
                    f"The group {title!r} has {member!r}, which is not one of the columns that the "
                    f"answer rests on.{meant(str(member), names)} There are "
                    f"{', '.join(map(repr, names[:20]))}."
                )
            if str(member) in taken:
                where = "in two groups" if taken[str(member)] != str(title) else "twice in a group"
                raise InputError(f"The column {member!r} is {where}: keep it once.")
            taken[str(member)] = str(title)
        if str(title) == TOGETHER or str(title) in set(names) - set(map(str, members)):
            raise InputError(
                f"The group {title!r} has the name of a line or column that is not in it. Give it "
                "another name."
            )
    found: dict[str, list[int]] = {}
    for k, name in enumerate(names):
        found.setdefault(taken.get(name, name), []).append(k)
    return list(found), list(found.values())


def _share(
    name: str, influence: Influence, errors: Errors, proportion: bool, lean: float = 0.0
) -> Share:
    """Return a part; one that leans keeps its interval, as the answer does."""
    number = errors.number(influence)
    ends, value = (number.low, number.high), float(influence.value[0]) + lean
    return Share(name, value, number.standard_error, ends, proportion)


def _lines(
    titles: list[str], shares: Influence, change: Influence, errors: Errors, proportion: bool
) -> Table:
    """One line per column by size, and what is left of the change."""
    order = np.argsort(-np.abs(shares.value), kind="stable")
    rows = [_share(titles[k], shares.column(k), errors, proportion) for k in order]
    whole = shares.linear(np.ones((1, len(titles))))
    rows.append(_share(TOGETHER, change.minus(whole), errors, proportion))
    return Table(tuple(rows))


@dataclass(frozen=True, eq=False)
class _Models:
    """What the columns tell: of both samples' rows, by models that have not seen them."""

    chance: tuple[Real, Real]  # pi, (N,) and (M,)
    of_sample: tuple[Real, Real]  # mu_P
    of_target: tuple[Real, Real]  # mu_Q

    @classmethod
    def of(cls, moved: Moved, labels: LabelledValues) -> _Models:
        sample = moved.sample
        scaler = StandardScaler().fit(sample.X, sample_weight=sample.d)
        Z, T = scaler.transform(sample.X), scaler.transform(sample.T)
        there = _cross_fitted(T[labels.rows], np.vstack([Z, T]), labels.values, labels.weight)
        N = len(Z)
        mu = there.target[:, 0].copy()
        mu[N + labels.rows] = there.train[:, 0]
        here = _cross_fitted(Z, T, moved.values, moved.weight, sample)
        return cls(
            _chances(Z, T, sample),
            (here.train[:, 0], here.target[:, 0]),
            (mu[:N], mu[N:]),
        )

    def shared(self, moved: Moved, labels: LabelledValues) -> tuple[Influence, Influence]:
        """Return the means over the shared region: of mu_P and of mu_Q."""
        here, there = moved.sample.own / 2, moved.sample.share / 2
        pi, of_target = self.chance
        k, m = here * pi**2, there * (1 - of_target) ** 2
        unit = k.sum() + m.sum()
        mu, nu = self.of_sample
        rest = here * pi * (moved.values - mu)
        theta = (k @ mu + m @ nu + rest.sum()) / unit
        train, target = (k * (mu - theta) + rest) / unit, m * (nu - theta) / unit
        within = Influence(np.array([theta]), train[:, None], target[:, None])
        mu, nu = self.of_target
        u = labels.weight / labels.weight.sum() / 2
        rest = u * (1 - of_target[labels.rows]) * (labels.values - nu[labels.rows])
        theta = (k @ mu + m @ nu + rest.sum()) / unit
        train, target = k * (mu - theta) / unit, m * (nu - theta) / unit
        np.add.at(target, labels.rows, rest / unit)
        return within, Influence(np.array([theta]), train[:, None], target[:, None])


def _cross_fitted(
    Z: Real, T: Real, y: Real, final: Real, sample: Samples | None = None
) -> CrossFit:
    cluster = None if sample is None else sample.cluster
    fold = deal(Z, y, _FOLDS, cluster=cluster)
    weight = None if sample is None or not sample.weighted else sample.d
    found, _ = predict(None, Features(Z, T), y, fold, classes=None, weight=weight, final=final)
    return found


def _chances(Z: Real, T: Real, sample: Samples) -> tuple[Real, Real]:
    """Return pi of both samples' rows, which count half each: logistic and boosted, mixed."""
    rows, N = np.vstack([Z, T]), len(Z)
    label = np.repeat([0, 1], [N, len(T)])
    weight = len(rows) / 2 * np.concatenate([sample.own, sample.share])
    fold = np.concatenate([deal(part, np.zeros(len(part)), _FOLDS) for part in (Z, T)])
    fold = together(fold, copies(Z, T), N, np.random.default_rng(0))
    lines = make_pipeline(BrokenLines(), StandardScaler(), LogisticRegression(C=0.1, max_iter=300))
    models: list[Any] = [lines]
    if len(rows) >= FEW_ROWS:
        models.append(HistGradientBoostingClassifier(**tree_settings(len(rows))))
    with quiet(ConvergenceWarning), alone():
        fits = [
            fit_folds(model, rows, label, fold, weight=weight, classes=np.array([0, 1]))
            for model in models
        ]
    parts = [fit.train[:, 1:] for fit in fits]
    shares = mixture(label[:, None].astype(np.float64), parts, weight)
    pi = np.clip(
        sum(share * part[:, 0] for share, part in zip(shares, parts, strict=True)),
        _LEAST_CHANCE,
        1 - _LEAST_CHANCE,
    )
    return pi[:N], pi[N:]


def _regions(
    moved: Moved, labels: LabelledValues, models: _Models, proportion: bool
) -> tuple[Table, list[Note]]:
    """Find where p(y | x) changed on half of the labelled rows, and measure it on the others."""
    count, sample = len(labels.rows), moved.sample
    if count < _TREE:
        text = (
            f"{count} outcomes of target rows are too few to say where the outcome given the "
            f"columns changed; it takes {_TREE}."
        )
        return Table(()), [Note("few outcomes", text)]
    X = sample.T[labels.rows]
    rest = labels.values - models.of_sample[1][labels.rows]
    drawn = np.random.default_rng(0).permutation(count)
    learning, telling = drawn[: count // 2], drawn[count // 2 :]
    tree = DecisionTreeRegressor(
        max_depth=_DEPTH,
        min_samples_leaf=max(_LEAF, int(_LEAF_SHARE * count)),
        random_state=0,
    ).fit(X[learning], rest[learning], sample_weight=labels.weight[learning])
    here, there, all_there = tree.apply(sample.X), tree.apply(X), tree.apply(sample.T)
    left = moved.values - models.of_sample[0]
    places = [leaf for leaf in np.unique(there) if (there[telling] == leaf).sum() > 1]
    level = 1 - (1 - moved.errors.confidence) / max(1, len(places))
    found = []
    for leaf in places:
        own = telling[there[telling] == leaf]
        mean, error = _mean(rest[own], labels.weight[own])
        inside = (here == leaf) & (moved.weight > 0)
        if inside.sum() > 1:
            missed, more = _mean(left[inside], moved.weight[inside])
            mean, error = mean - missed, float(np.hypot(error, more))
        reach = float(stdtrit(max(1.0, kish(labels.weight[own]) - 1), (1 + level) / 2)) * error
        found.append(
            Region(
                _words(tree, int(leaf), sample),
                mean,
                error,
                (mean - reach, mean + reach),
                len(own),
                float(sample.share[all_there == leaf].sum()),
                proportion,
            )
        )
    found.sort(key=lambda row: -abs(row.value))
    return Table(tuple(found)), []


def _mean(values: Real, weight: Real) -> tuple[float, float]:
    """Weighted mean and its standard error."""
    share = weight / weight.sum()
    mean = float(share @ values)
    n = kish(share)
    spread = np.sqrt(np.sum(share**2 * (values - mean) ** 2) * n / max(n - 1, 1e-9))
    return mean, float(spread)


def _words(tree: Any, leaf: int, sample: Samples) -> str:
    """Say which rows are in a leaf, by the user's columns."""
    inner = tree.tree_
    above = {}
    for node in range(inner.node_count):
        for child, side in ((inner.children_left[node], "<="), (inner.children_right[node], ">")):
            if child >= 0:
                above[int(child)] = node, side
    ends: dict[tuple[int, str], float] = {}
    while leaf in above:
        leaf, side = above[leaf]
        column, cut = int(inner.feature[leaf]), float(inner.threshold[leaf])
        ends.setdefault((column, side), cut)  # the nearest is the tightest
    parts, levels = [], set()
    if sample.made:
        levels = {sample.made[k][0] for k, side in ends if side == ">" and sample.made[k][1]}
    for (column, side), cut in sorted(ends.items(), key=lambda end: (end[0][0], end[0][1] != ">")):
        name, mark = sample.made[column] if sample.made else (sample.names[column], None)
        seen = np.unique(sample.X[:, column][:1000])
        if mark is not None and np.isin(seen, (0.0, 1.0)).all():
            if side == "<=" and name in levels:
                continue  # it is another level, which is named
            parts.append(f"{name} {'=' if side == '>' else 'is not'} {mark}")
        else:
            at = as_date(cut) if column in sample.dates else readable(cut)
            parts.append(f"{name} {side} {at}")
    return " and ".join(parts) or "all rows"
