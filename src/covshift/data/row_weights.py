"""What a weight means: it says how much of the population a row stands for, and has no scale.

A *probability weight* (``sample_weight``, ``target_weight``) says how much of the population a row
stands for, such as one over its chance to be drawn. A weight of 1000 is still one row. Only the
ratios of the weights matter; they are divided by their mean, so that penalties, which are made for
so many rows, mean the same on any scale. Tests and effective sizes use Kish's number of rows,
(sum d)^2 / sum d^2. A row of weight zero is not there.

A *count* says how often a row was seen: a row of count three is three rows. `repeat_rows` makes
them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InputError, InputTypeError
from ..numerics.array import Flags, Real, Rows, row_count, take_rows
from ..numerics.resampling import Plan
from .parameters import number, one_of
from .values import numbers_of_rows

_MOST_ROWS = 5_000_000  # that are made by repeating others
_EQUAL = 1e-14  # relative: weights that differ by less are equal


# Scale of the sum of squares by type, as R's survey has it; None: it must be given.
_SCALES: dict[str, Callable[[int], float] | None] = {
    "JK1": lambda B: (B - 1) / B,
    "JK2": lambda B: 1.0,
    "JKn": lambda B: 1.0,
    "BRR": lambda B: 1 / B,
    "Fay": None,
    "bootstrap": lambda B: 1 / (B - 1),
    "ACS": lambda B: 4 / B,
    "successive-difference": lambda B: 4 / B,
    "other": None,
}


@dataclass(frozen=True, eq=False)
class DesignWeights:
    """Design weights with more of the design: pass it to `covshift.estimate` as ``sample_weight``.

    Parameters
    ----------
    weights : name or (N,) array
        As ``sample_weight`` would be.
    fpc : name or (N,) array, optional
        Finite population correction of the first stage, for samples drawn without replacement: the
        number of primary units (clusters where these are given, else rows) that the row's stratum
        has in the population, or the share of them that was drawn.
    replicate_weights : name, list of names, (N, B) array or data frame, optional
        Replicate weights that an office publishes, complete ones: they take the place of the
        weights. Names may have wildcards, such as "repw*". The errors then come from them,

            Var = scale sum_b rscales_b (theta_b - theta)^2 ,

        theta_b from the replicate b and the weights that are fitted to it; where these solve no
        estimating equation, the factors stay as they are. The errors count the target's part.
    type : {"JK1", "JK2", "JKn", "BRR", "Fay", "bootstrap", "ACS", "successive-difference", "other"}
        What they are, by the names of R's survey.
    scale : float, optional
        Default: that of the type, with B replicates: (B - 1) / B for JK1, 1 for JK2 and JKn, 1 / B
        for BRR, 1 / (B - 1) for the bootstrap, 4 / B for ACS and successive differences. "Fay" and
        "other" need it: 1 / (B (1 - rho)^2) for Fay's method.
    rscales : (B,) array, optional
        A factor for each replicate. JKn needs it.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift import DesignWeights, estimate
    >>> from covshift.datasets import make_survey
    >>> survey = make_survey(300, 400, random_state=0)
    >>> given = {"weighter": np.ones(300), "method": "weights"}
    >>> plain = estimate(survey.X, survey.y, survey.X_target, **given)
    >>> design = DesignWeights(np.ones(300), fpc=np.full(300, 0.5))
    >>> half = estimate(survey.X, survey.y, survey.X_target, sample_weight=design, **given)
    >>> bool(np.isclose(half.standard_error, plain.standard_error * np.sqrt(0.5)))
    True
    """

    weights: Any
    fpc: Any = None
    replicate_weights: Any = None
    type: str | None = None
    scale: float | None = None
    rscales: Any = None

    def __post_init__(self) -> None:
        if self.weights is None:
            raise InputError("DesignWeights need weights: a column, or one number per row.")
        given = {"type": self.type, "scale": self.scale, "rscales": self.rscales}
        if self.replicate_weights is None:
            for name, value in given.items():
                if value is not None:
                    raise InputError(
                        f"{{{name}}} is for {{replicate_weights}}, of which there are none.",
                        **{name: "", "replicate_weights": ""},
                    )
            return
        if self.fpc is not None:
            raise InputError(
                "{fpc} and {replicate_weights}: keep one of them. The correction for a finite "
                "population is in the replicates or in their scale.",
                fpc="",
                replicate_weights="",
            )
        one_of(*_SCALES).check(self.type, "type")
        (number(above=0) | one_of(None)).check(self.scale, "scale")
        if self.scale is None and _SCALES[str(self.type)] is None:
            text = "{type} needs {scale}: the factor of the sum of squares."
            raise InputError(text, type=repr(self.type), scale="")
        if self.type == "JKn" and self.rscales is None:
            text = "{type} needs {rscales}, (n - 1) / n of each replicate's stratum."
            raise InputError(text, type=repr(self.type), rscales="")

    @classmethod
    def of(cls, sample_weight: Any) -> DesignWeights | None:
        """Return design weights as they are, and plain ones as such; None for None."""
        if sample_weight is None or isinstance(sample_weight, cls):
            return sample_weight
        return cls(sample_weight)

    def replicates(self, columns: Any, N: int) -> tuple[Real, Plan]:
        """Check the replicates (N, B) that were read, and say how a variance follows from them."""
        values = np.asarray(columns, dtype=np.float64)
        if values.ndim != 2 or len(values) != N or values.shape[1] < 2:
            raise InputError(
                f"{{replicate_weights}} have shape {values.shape}, but X has {N} rows. Pass one "
                "row per row of X, and at least two replicates.",
                replicate_weights="",
            )
        if not np.isfinite(values).all() or (values < 0).any() or not values.any(axis=0).all():
            text = (
                "{replicate_weights} must be numbers of zero or more, not all zero in a replicate."
            )
            raise InputError(text, replicate_weights="")
        B = values.shape[1]
        rscales = np.ones(B) if self.rscales is None else np.asarray(self.rscales, dtype=np.float64)
        if rscales.shape != (B,) or not (rscales >= 0).all():
            text = f"{{rscales}} must be {B} numbers of zero or more, one per replicate."
            raise InputError(text, rscales="")
        default = _SCALES[str(self.type)]
        scale = self.scale if default is None or self.scale is not None else default(B)
        assert scale is not None
        return values, Plan(str(self.type), float(scale), rscales, B - 1, given=True)


@dataclass(frozen=True)
class RowWeights:
    """How much N rows count."""

    w: Real  # (N,): mean one over the rows that are there, zero for the others

    @property
    def kept(self) -> Flags:
        """Which rows are there, (N,)."""
        return self.w > 0

    @property
    def rows(self) -> int:
        """Number of rows that are there."""
        return int(self.kept.sum())

    @property
    def equal(self) -> bool:
        """Whether all rows that are there have the same weight."""
        return bool((self.w[self.kept] == 1).all())

    @property
    def uniform(self) -> bool:
        """Whether all rows are there and have the same weight."""
        return bool((self.w == 1).all())

    @property
    def share(self) -> Real:
        """Shares of the rows, (N,), summing to one."""
        return np.full(len(self.w), 1 / len(self.w)) if self.uniform else self.w / self.w.sum()

    @property
    def size(self) -> float:
        """Kish's number of rows of equal weight that are as precise."""
        return float(self.rows) if self.equal else float(self.w.sum() ** 2 / (self.w @ self.w))

    def final(self, factor: Real) -> Real:
        """Weights times factors (N,), of mean one over the rows that are there."""
        w = self.w * factor
        return np.asarray(w * (self.rows / w.sum()))

    def take(self, rows: Rows) -> RowWeights:
        """Weights of some rows, of mean one again."""
        w = self.w[rows]
        if not (self.equal or (w == 0).all()):
            w = w * (np.count_nonzero(w) / w.sum())
        return RowWeights(w)

    def options(self, name: str) -> dict[str, Any]:
        """Return what must be passed on under this name; nothing where all rows are alike."""
        return {} if self.uniform else {name: self.w}


def row_weights(
    N: int, weight: Any = None, *, name: str = "sample_weight", of: str = "X"
) -> RowWeights:
    """Check the weights of N rows of ``of``; None: all count alike.

    >>> row_weights(3, [10, 10, 20]).w
    array([0.75, 0.75, 1.5 ])
    """
    if weight is None:
        return RowWeights(np.ones(N))
    values = without_scale(check_weight(weight, N, name, of=of))
    kept = values > 0
    there = values[kept]
    if np.ptp(there) <= _EQUAL * there.max():
        return RowWeights(kept.astype(np.float64))
    values[kept] = there / there.mean()
    return RowWeights(values)


def without_scale(weight: Real) -> Real:
    """Divide weights by the largest, and keep 40 bits of each.

    The last bits of a quotient depend on the scale; without them it changes nothing at all, not
    even the rounding that an iteration or a tie between two splits may turn on.
    """
    mantissa, exponent = np.frexp(weight / weight.max())
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**40) / 2.0**40, exponent))


def target_weights(M: int, weight: Any = None) -> RowWeights:
    """Check the weights of M target rows."""
    return row_weights(M, weight, name="target_weight", of="X_target")


def check_weight(weight: Any, length: int, name: str, *, of: str) -> np.ndarray[Any, Any]:
    """Return a copy of ``weight``: ``length`` finite non-negative float64 numbers, not all zero."""
    values = numbers_of_rows(weight, name, f"one weight per row of {of}")
    if values.shape != (length,):
        raise InputError(
            f"{name} has shape {values.shape}, but {of} has {length} rows. Pass one weight per row."
        )
    bad, negative = int((~np.isfinite(values)).sum()), int((values < 0).sum())
    text = ""
    if bad:
        text = f"contains {bad} NaN or inf values."
    elif negative:
        text = f"contains {negative} negative values."
    elif not (values > 0).any():
        text = "is zero for every row; at least one must be positive."
    if text:
        raise _of(name, text)
    return values


def _of(name: str, text: str, other: str = "") -> InputError:
    """Return an error that begins with a parameter, and may end with another one."""
    if not name.isidentifier():
        return InputError(f"{name} {text}{other}{'.' * bool(other)}")
    if not other:
        return InputError(f"{{{name}}} {text}", **{name: ""})
    return InputError(f"{{{name}}} {text}{{{other}}}.", **{name: "", other: ""})


def repeat_rows(X: Any, y: Any, counts: Any) -> tuple[Any, Any]:
    """Repeat every row as often as it was seen.

    A weight says how much of the population a row stands for, and its scale means nothing. Where a
    number says instead how many equal rows a line stands for, the lines become these rows here.

    Parameters
    ----------
    X : (N, n) array or data frame
        Rows. A frame stays a frame of its kind, with a fresh index.
    y : (N,) array, series or None
        What belongs to the rows, such as outcomes or weights.
    counts : (N,) array
        How often each row was seen: whole numbers, zero or more. At most five million rows come
        out.

    Returns
    -------
    X, y : the repeated rows, and what belongs to them; y is None where it was None.

    Examples
    --------
    >>> import covshift
    >>> X, y = covshift.repeat_rows([[0.0], [1.0], [2.0]], [5, 6, 7], counts=[2, 0, 1])
    >>> X, y
    ([[0.0], [0.0], [2.0]], [5, 5, 7])
    """
    N = _length(X, "X")
    rows = repeated(counts, N, "counts", of="X", weight="sample_weight")
    if y is not None and (length := _length(y, "y")) != N:
        raise InputError(f"y has {length} values, but X has {N} rows.")
    return _taken(X, rows), None if y is None else _taken(y, rows)


def repeated(counts: Any, length: int, name: str, *, of: str, weight: str) -> Rows:
    """Numbers of the rows, each as often as it was seen; ``weight`` names probability weights."""
    values = check_weight(counts, length, name, of=of)
    broken = int((values != np.round(values)).sum())
    if broken:
        raise _of(
            name,
            f"holds {broken} values that are not whole numbers, but is the number of times each "
            "row occurs. Weights for how much each row stands for, on any scale, are ",
            weight,
        )
    total = values.sum()
    if total > _MOST_ROWS:
        shown = f"{int(total):,}" if total < 1e15 else f"{total:.3g}"
        raise _of(
            name,
            f"sums to {shown}, and at most {_MOST_ROWS:,} rows are made. Divide it by a constant, "
            "or pass it as weights, whose scale does not matter: ",
            weight,
        )
    return np.repeat(np.arange(length), values.astype(np.int64))


def _length(values: Any, name: str) -> int:
    """Count rows, of what has rows in an order."""
    try:
        if not isinstance(values, str | bytes | dict | set | frozenset):
            return int(row_count(values))
    except TypeError:  # no length
        pass
    raise InputTypeError(
        f"{name} is of type {type(values).__name__}, which holds no rows. Pass an array, a list or "
        "a data frame."
    )


def _taken(values: Any, rows: Rows) -> Any:
    found = take_rows(values, rows)
    return found.reset_index(drop=True) if hasattr(found, "reset_index") else found


# Design weights: how much each training row counts before any correction.
#
# A sample drawn with unequal chances, as a survey, carries weights d: the training distribution is
# sum_i d_i delta(x_i) / sum d. They say how much a row counts, not how often it was seen, so that
# their scale does not matter, and a row of weight zero is not there.


_NOTHING = 1e-9  # relative to the largest: a row that counts for so little is not there


class Design(NamedTuple):
    """Which training rows count, and how much."""

    kept: Flags  # (N,): rows of positive weight
    share: Real  # (n,): shares of the kept rows, positive, sum to one

    @property
    def equal(self) -> bool:
        """Whether all rows that are kept count alike."""
        return bool(self.share.min() == self.share.max())

    @property
    def size(self) -> float:
        """Kish's number of equally weighted rows that are as precise."""
        return kish(self.share)

    @property
    def most(self) -> float:
        """The largest factor that a row can have where the weighted mean of all is one."""
        return float(len(self.share)) if self.equal else float(1 / self.share.min())

    def mean(self, values: Real) -> float:
        """Mean of the values (n,) of the kept rows."""
        return float(values.mean() if self.equal else self.share @ values)

    def of_all(self) -> Real:
        """Shares of all rows, (N,)."""
        share = np.zeros(len(self.kept))
        share[self.kept] = self.share
        return share


def design_of(sample_weight: Any, N: int) -> Design:
    """Check the weights of N training rows; None: all rows count alike."""
    if sample_weight is None:
        return Design(np.ones(N, dtype=bool), equal_shares(N))
    weight = without_scale(check_weight(sample_weight, N, "sample_weight", of="X"))
    kept = weight > _NOTHING
    return Design(kept, shares_of(weight[kept]))


def shares_of(weight: Real) -> Real:
    """Shares of rows with these weights; exactly equal where the weights are."""
    if np.ptp(weight) <= 1e-14 * weight.max():
        return equal_shares(len(weight))
    return np.asarray(weight / weight.sum())


def equal_shares(count: int) -> Real:
    """Shares of ``count`` rows of equal weight."""
    return np.full(count, 1 / count)


def masses(share: Real) -> Real:
    """How many rows each row counts for, of mean one: N times its share."""
    return np.ones(len(share)) if share.min() == share.max() else len(share) * share


def kish(share: Real) -> float:
    """Kish's effective number of rows, (sum s)^2 / sum s^2; of equal shares their number.

    Zero where no row has a share.
    """
    if share.min() == share.max():
        return float(len(share)) if share[0] > 0 else 0.0
    return float(share.sum() ** 2 / (share @ share))
