"""`Margins`: what official statistics publish of a population, as a target."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..exceptions import InputError
from ..files.writing import write_atomically
from ..show.notes import Note
from ..show.table import Table, card
from .build import built
from .cells import CrossTable, Margin, Moments


class Margins:
    """A target known by the distributions of single columns, and of pairs of them.

    Official statistics publish distribution functions, not rows: age brackets, income deciles,
    shares of categories. ``X_target=margins`` takes the place of target rows in `CDFWeights`,
    `EntropyBalancing`, `Raking` and `PostStratification` of `covshift.weights`, in
    `covshift.estimate`, `covshift.diagnose`, `covshift.compare` and `covshift.report`, and in
    `VSVC`, `VSVR`, `VBoostClassifier`, `VBoostRegressor` and `v_matrix` with a V of single columns.

    Parameters
    ----------
    margins : dict
        For each column one of

        - brackets with shares, ``{(18, 30): 0.2, (30, 65): 0.55, (65, None): 0.25}``. None is an
          open end. A bracket holds its lower end, and its upper end unless the next bracket begins
          there, so that ``(18, 29), (30, 64)`` are the same brackets of whole numbers;
        - categories with shares, ``{"north": 0.3, "south": 0.7}``. A category ``"(other)"`` takes
          all levels that are not named. Here and beside brackets, ``"(missing)"`` takes the rows
          without a value;
        - quantiles, ``{"quantiles": {0.25: 18.5, 0.5: 24.0, 0.75: 30.2}}``: so large a share of the
          population is at or below the value;
        - a mean, with a standard deviation if that is known, ``{"mean": 27.1, "sd": 4.8}``.

        A pair of columns, ``("sex", "age")``, has a table: ``{("f", (18, 30)): 0.1, ...}``, every
        combination once. The columns of an array without names are called 0, 1, 2, ...

        Shares add up to 1, or to 100 as percentages; rounded ones may miss that by 1%.
    size : float, optional
        Number of people, or of rows, that the margins describe. None: so many that the margins
        are exact.
    source : str
        Where the numbers come from; kept in files and shown.

    Attributes
    ----------
    single : dict
        What is known of each column by itself.
    tables : tuple
        Tables of two columns.
    notes : list of Note
        What is worth knowing about the numbers, such as gaps and rounded shares.

    Examples
    --------
    >>> from covshift import Margins
    >>> margins = Margins(
    ...     {"age": {(18, 30): 16, (30, 65): 58, (65, None): 26}, "sex": {"f": 51, "m": 49}},
    ...     size=1_200_000,
    ...     source="census 2021",
    ... )
    >>> print(margins)
    Margins of 2 columns, size 1200000 (census 2021)
      age  brackets: 18 to under 30 16.0%, 30 to under 65 58.0%, 65 and over 26.0%
      sex  categories: f 51.0%, m 49.0%
    """

    _covshift_margins = True  # how the lower layers know one: see covshift.data.validation

    def __init__(
        self, margins: Mapping[Any, Any], *, size: float | None = None, source: str = ""
    ) -> None:
        notes: list[Note] = []
        single, tables = built(margins, notes)
        self._set(single, tables, size, source, notes)

    @classmethod
    def of(
        cls,
        single: Mapping[str, Margin | Moments],
        tables: Iterable[CrossTable] = (),
        *,
        size: float | None = None,
        source: str = "",
        notes: Iterable[Note] = (),
    ) -> Margins:
        """Make margins of checked parts."""
        made = cls.__new__(cls)
        made._set(dict(single), tuple(tables), size, source, list(notes))
        return made

    def _set(
        self,
        single: dict[str, Margin | Moments],
        tables: tuple[CrossTable, ...],
        size: float | None,
        source: str,
        notes: list[Note],
    ) -> None:
        if size is not None and not (isinstance(size, int | float) and 1 <= size < float("inf")):
            raise InputError(f"size={size!r} must be a number of at least 1, or None.")
        self.single, self.tables = single, tables
        self.size, self.source, self.notes = size, str(source), notes

    # Where they come from

    @classmethod
    def from_rows(
        cls, T: Any, *, bins: int | None = 100, min_count: int = 10, **more: Any
    ) -> Margins:
        """Summarise rows; no cell holds fewer than ``min_count`` of them.

        Such margins can be shared where rows cannot. Neighbouring values are merged until a cell
        holds ``min_count`` rows, and levels rarer than that go into "(other)"; rows that are too
        few for one cell are refused. Ends of cells are round numbers between neighbouring values,
        and the outermost cells are open, since the smallest and largest value are each one row's.
        With ``min_count=1`` nothing is hidden: the ends are the values themselves, and with
        ``bins=None`` every value has a cell, so that the margins say all that the rows say about
        each column.

        Parameters
        ----------
        T : (M, n) array or data frame
            Target rows; text and category columns of a frame are categories.
        bins : int or None
            Most cells of a column of numbers.
        min_count : int
            Fewest rows of a cell.
        weight : (M,) array, optional
            Probability weights of the rows, on any scale; the shares are then weighted,
            ``min_count`` still counts rows. A row of weight zero is not there.
        tables : list of pairs of columns, optional
            Tables to add. Their cells are made of whole cells of the single columns, so that no
            difference of two numbers tells of fewer rows than ``min_count``.
        source : str
            See `Margins`. ``size`` is the number of rows; with weights, Kish's number of equally
            weighted rows that are as precise.

        Examples
        --------
        >>> import numpy as np
        >>> from covshift import Margins
        >>> T = np.random.default_rng(0).normal(size=(200, 1))
        >>> print(Margins.from_rows(T, bins=2))
        Margins of 1 column, size 200
          0  brackets: up to 0.048 50.0%, above 0.048 50.0%
        """
        from .rows import summarised

        made: Margins = summarised(cls, T, bins=bins, min_count=min_count, **more)
        return made

    @classmethod
    def from_json(cls, path: Any) -> Margins:
        """Read a file that `to_json` wrote, or one by hand.

        By hand it needs ``columns``: ``{"columns": {"sex": {"f": 0.51, "m": 0.49}, "age":
        {"brackets": [[18, 64, 0.76], [65, null, 0.24]]}}}``, with shares or counts.
        """
        from .files import from_data, read_json

        made: Margins = from_data(cls, read_json(path), str(path))
        return made

    def to_json(self, path: Any) -> None:
        """Write a JSON file, with the size and the source."""
        from .files import json_text

        write_atomically(path, json_text(self))

    # What they hold

    @property
    def columns(self) -> list[str]:
        """Columns of which something is known."""
        beside = [name for table in self.tables for name in table.columns]
        return list(dict.fromkeys([*self.single, *beside]))

    def margin(self, column: str) -> Margin | None:
        """Shares of the cells of a column, from its own margin or a table; None without any."""
        own = self.single.get(column)
        if isinstance(own, Margin):
            return own
        found = (
            table.margin(table.columns.index(column))
            for table in self.tables
            if column in table.columns
        )
        return next(found, None)

    def select(self, columns: Iterable[Any]) -> Margins:
        """Keep some columns, and the tables of these."""
        wanted = [str(name) for name in columns]
        absent = [name for name in wanted if name not in self.columns]
        if absent:
            raise InputError(
                f"The margins have no column {', '.join(map(repr, absent))}. They have "
                f"{', '.join(map(repr, self.columns))}."
            )
        single = {name: part for name, part in self.single.items() if name in wanted}
        tables = [table for table in self.tables if set(table.columns) <= set(wanted)]
        given: dict[str, Any] = {"size": self.size, "source": self.source, "notes": self.notes}
        return Margins.of(single, tables, **given)

    def balance(self, X: Any, weight: Any = None) -> list[Any]:
        """Compare every number here with the one of a sample, weighted or not.

        ``weight`` holds one weight per row, on any scale.

        Returns a list of tuples (what, target, sample, gap): a share, mean or standard deviation,
        its value here, in the sample, and the difference. Gaps of means and standard deviations
        are in units of the standard deviation, where that is known.

        Examples
        --------
        >>> from covshift import Margins
        >>> margins = Margins({0: {(18, 40): 0.3, (40, None): 0.7}})
        >>> margins.balance([[20.0], [50.0]])[0]
        Balance(what="'0' in 18 to under 40", target=0.3, sample=0.5, gap=0.2)
        """
        from .sample import KnownRows, balance_of

        return balance_of(KnownRows.inside_or_not(self, X), weight)

    def __str__(self) -> str:

        return described(self)

    def _repr_html_(self) -> str:

        return as_html(self)

    def __repr__(self) -> str:
        return f"<Margins of {', '.join(self.columns)}>"

    def __eq__(self, other: object) -> bool:
        from .files import to_data

        return isinstance(other, Margins) and to_data(self) == to_data(other)

    __hash__ = None  # type: ignore[assignment]


# Margins in words.


_SHOWN = 6  # cells of a column; the first and last of more


def described(margins: Any) -> str:
    """Return what margins hold, a line for each column and table."""
    lines = _table(margins).lines()[1:]
    return "\n".join([_head(margins), *lines, *(f"  Note: {note}" for note in margins.notes)])


def as_html(margins: Any) -> str:
    """Return what margins hold as HTML that a notebook shows."""
    return card(_head(margins), _table(margins), notes=margins.notes)


def _table(margins: Any) -> Table:
    rows = [(name, _part(part)) for name, part in margins.single.items()]
    rows += [(part.title, _crossed(part)) for part in margins.tables]
    return Table.of(("column", "what is known"), rows, words=(0, 1))


def _head(margins: Any) -> str:
    n = len(margins.columns)
    head = f"Margins of {n} column{'s' if n != 1 else ''}"
    if margins.tables:
        head += f" and {len(margins.tables)} table{'s' if len(margins.tables) > 1 else ''}"
    if margins.size is not None:
        head += f", size {margins.size:.0f}"
    if margins.source:
        head += f" ({margins.source})"
    return head


def _part(part: Margin | Moments) -> str:
    if isinstance(part, Moments):
        spread = "" if part.sd is None else f", standard deviation {part.sd:.6g}"
        return f"mean {part.mean:.6g}{spread}"
    pairs = zip(part.cells.labels, part.share, strict=True)
    shown = [f"{label} {share:.1%}" for label, share in pairs]
    if len(shown) > _SHOWN:
        shown = [*shown[:3], f"... {len(shown) - 4} more", shown[-1]]
    kind = type(part.cells).__name__.lower()
    return f"{kind}: {', '.join(shown)}"


def _crossed(table: CrossTable) -> str:
    k, m = table.share.shape
    return f"table of {k} x {m} cells"
