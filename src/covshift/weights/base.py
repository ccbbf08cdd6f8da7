"""What a weighter is: an estimate of the density ratio q(x) / p(x), with the same self-check."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..data.features import column_shares, feature_groups, members
from ..data.parameters import Rules, check_parameters
from ..data.row_weights import Design, check_weight, design_of, kish, shares_of, target_weights
from ..data.validation import (
    check_columns,
    check_host_rows,
    check_samples,
    is_margins,
    refuse_margins,
    refuse_target_weights,
    unwrap_target,
)
from ..data.values import numbers_of_rows
from ..encoding import TableEncoder, groups_of
from ..encoding.samples import encode_samples
from ..exceptions import FewRowsWarning, InputError, NoOverlapError, WeightWarning
from ..margins import Margins
from ..margins.reading import Reading
from ..numerics.array import Real, Rows, is_numpy, row_count, take_rows, to_numpy
from ..numerics.parallel import one_blas_thread
from ..numerics.row_sample import ENOUGH_ROWS, drawn_rows
from ..numerics.support import Uncovered, parts_apart, uncovered, warn_of_apart
from ..operators import Coordinates
from ..operators.line_vectors import LineTarget
from .limits import BalanceCost, clipped, largest_difference, largest_gap

# The columns of numbers that a weighter learns from: what they are called, and which are one.
#
# A data frame becomes numbers by the encoder, and a category there is several columns: messages
# name the column of the frame, and means over columns are means over features
# (`covshift.data.features`).


_NAMED_FEATURES = 5  # features that a message names


@dataclass(frozen=True)
class Features:
    """Which of the columns of numbers are one feature, and the names of all that have any."""

    groups: Rows | None  # (n,), from 0; None: every column by itself
    columns: tuple[str, ...] | None = None  # "age", "region=north"
    names: tuple[str, ...] | None = None  # of the features: "age", "region"
    sources: tuple[str, ...] = ()  # for each column, that of the frame it was made of

    @classmethod
    def of(cls, groups: Any, n: int, columns: Any) -> Features:
        """Take n columns of numbers as they are; ``columns`` are their names, or None."""
        found = feature_groups(groups, n)
        if columns is None:
            return cls(found)
        shown = tuple(map(str, columns))
        names = shown if found is None else tuple(shown[own[0]] for own in members(found))
        return cls(found, shown, names, shown)

    @classmethod
    def encoded(cls, encoder: TableEncoder) -> Features:
        """Take the columns that an encoder makes."""
        sources = tuple(rule.name for rule in encoder.features_ for _ in rule.columns)
        groups = feature_groups(encoder.groups, len(sources))
        return cls(groups, encoder.columns, encoder.group_names, sources)

    def mean_of_columns(self, values: Real) -> Real:
        """Mean over the columns of each feature: (n,) -> (features,)."""
        if self.groups is None:
            return values
        return np.asarray(np.bincount(self.groups, weights=values) / np.bincount(self.groups))

    def members(self, n: int) -> list[list[int]]:
        """Columns of each feature, of n columns in all."""
        return [[k] for k in range(n)] if self.groups is None else members(self.groups)

    def column(self, k: int) -> str:
        """Name of a column of numbers, quoted: "'region=north'", or "column 3"."""
        return f"column {k}" if self.columns is None else repr(self.columns[k])

    def listed(self, features: Iterable[int]) -> str:
        """Say some features in words: "column 'age'", "columns 'age', 'region'"."""
        found = [self._label(int(g)) for g in features]
        more = ", ..." if len(found) > _NAMED_FEATURES else ""
        return f"column{'s' if len(found) > 1 else ''} {', '.join(found[:_NAMED_FEATURES])}{more}"

    def _label(self, g: int) -> str:
        if self.names is not None:
            return repr(self.names[g])
        own = [g] if self.groups is None else np.flatnonzero(self.groups == g).tolist()
        return str(own[0]) if len(own) == 1 else f"{own[0]} to {own[-1]}"


EACH_COLUMN = Features(None)
"""Every column is a feature, and none has a name."""


def column_sides(highest: Any, T: Any, share: Any, groups: Rows | None) -> Real | None:
    """Side from which each column is looked at, 1 or -1: (n,); None where all are 1.

    Distribution functions are compared at the target's points. Of a column in which the target is
    mostly at the largest value of both samples (``highest`` is that of the training rows, (n,)),
    such as zeros and ones of which it has ones alone, these see little or nothing; from the other
    side they do. Which of two levels is called one is then no matter either.
    """
    top = np.maximum(to_numpy(highest), to_numpy(T.max(axis=0) if is_numpy(T) else T.amax(0)))
    mass = [float(share[T[:, k] == float(value)].sum()) for k, value in enumerate(top)]
    high = np.array(mass) > 0.5 + _ROUNDING
    if groups is not None:
        high &= np.bincount(groups)[groups] == 1
    return np.where(high, -1.0, 1.0) if high.any() else None


__all__ = ["Weighter", "cdf_mismatch"]

_ROUNDING = 1e-9  # of a sum of shares
_FEW_ROWS = 0.1  # effective sample size, as a share of N, below which a warning is due
_NAMED = 5  # parts of the target without training rows that a message names


class Weighter(BaseEstimator):  # type: ignore[misc]
    """Base of all weighters: checks, normalisation and self-check in one place.

    A subclass implements ``_fit(X, T, share)``, which learns from checked float64 arrays X (N, n),
    T (M, n) and the target's shares (M,), summing to one, and returns the raw weights (N,); and
    ``_ratio(X)``, the raw weights of new rows. Both non-negative, on the same scale. One that
    learns from labels as well implements ``_fit_labelled(X, y, T, share)`` in place of ``_fit``.
    Rules for its parameters go into ``_rules``: `fit` applies them first.
    The shares do not say how many rows they stand for: while ``_fit`` runs, ``_target_counts``
    (M,) and ``_target_size`` do. The training rows have shares too, ``_own`` (N,), equal unless
    ``sample_weight`` was given: a subclass that uses them sets ``_takes_sample_weight``. It gets
    only rows that have a share. A data frame with text, categories, dates or gaps has become
    numbers by then, and ``_groups`` (n,) tells which of their columns are one feature, such as the
    levels of a category; None: every column by itself.
    One that can learn from `covshift.Margins` in place of target rows implements ``_read(margins,
    X)``, which says how rows become numbers, and ``_fit_margins(Z, margins)``, with Z (N, p) these
    numbers; ``_ratio`` gets them as well.

    Attributes
    ----------
    weights_ : (N,) array
        Weights of the training rows: non-negative, finite, mean one. With ``sample_weight`` the
        factors on these: the products are the weights to use, and the weighted mean is one.
    effective_sample_size_ : float
        Kish's (sum w)^2 / sum w^2: the number of equally weighted rows that are as precise. With
        ``sample_weight``, of the products.
    encoder_ : TableEncoder or None
        What makes numbers of the data frames; None: they are numbers already.
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {
        "X_target": True,
        "target_weight": True,
    }
    _rules: ClassVar[Rules] = {}
    _takes_sample_weight: ClassVar[bool] = False
    _part = False  # of other weights, which check what comes out
    _tells_overlap = False  # whether the fit itself tells of parts without training rows
    _given_groups: Any = None  # see `of_features`
    _given_names: Any = None
    _layout = EACH_COLUMN  # while fit runs, of the columns that it gets

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        X_target: Any = None,
        target_weight: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Estimate the weights that make the training sample look like the target.

        Parameters
        ----------
        X : (N, n) array or data frame
            Training rows. A data frame may have text, categories, dates, booleans and gaps.
        y : (N,) array, optional
            Labels; ignored, except by a weighter that chooses a parameter with their help.
        X_target : (M, n) array or data frame, or a one-tuple of it
            Target rows. None: the target is the training sample, with its weights. Some weighters
            take a `covshift.Margins` too, and then X with text and category columns.
        target_weight : (M,) array, optional
            Probability weights of the target rows, on any scale.
        sample_weight : (N,) array, optional
            Weights d that the training rows have by the design of the sample, such as one over
            their chance to be drawn. ``weights_`` are then factors on them: d times ``weights_``
            makes the sample look like the target. The scale of d does not matter; a row of weight
            zero, or below 1e-9 of the largest, is not there: its factor is that of a new row.
        """
        check_parameters(self)
        check_columns(self, X, reset=True)
        for name in ("_reading", "encoder_", "balance_cost_", "_unlimited"):
            self.__dict__.pop(name, None)
        target_weight = unwrap_target(target_weight)
        known = self._given_groups if self._given_groups is not None else groups_of(X)
        if is_margins(unwrap_target(X_target)):
            return self._fit_to_margins(X, unwrap_target(X_target), target_weight, sample_weight)
        X, X_target, self.encoder_ = encode_samples(
            X, X_target, sample_weight=sample_weight, target_weight=target_weight
        )
        samples = check_samples(X, X_target, target_weight)
        X, T, share = (to_numpy(part).astype(np.float64, copy=False) for part in samples)
        design = design_of(sample_weight, len(X))
        self._refuse_if_ignored(design)
        if unwrap_target(X_target) is None and target_weight is None:
            target_weight = design.of_all()
            share = shares_of(target_weight)
        rows, y = X if design.kept.all() else X[design.kept], _labels_of(y, design)
        target = target_weights(len(T), target_weight)
        self._target_size = target.size
        self._own, self._layout = design.share, self._layout_of(X.shape[1], known)
        apart = parts_apart(rows, T, share, target.size, kish(design.share))
        try:
            raw = np.asarray(self._fit_labelled(rows, y, T, share), dtype=np.float64)
            final = self._keep(X, design, raw, apart)
            both = rows, T, share, design.share
            names = self._layout.columns
            self._tell_cost(design, lambda w: largest_difference(*both, w, names))
            if self._part or (apart and self._tells_overlap):
                pass
            elif apart:
                who = f"The weights of {type(self).__name__}"
                warn_of_apart(apart, who, self._layout.columns, stacklevel=2)
            else:
                self._warn_of_levels(rows, design.share, T, share, target.size)
                self._warn_of_the_shift(rows, design.share, final, T, share, target.size)
        finally:
            del self._target_size, self._own, self._layout
        return self

    def of_features(self, groups: Any, names: Any = None) -> Self:
        """Copy the weighter, for numbers of which some columns are one feature.

        ``groups`` (n,) holds the number of the feature that each column of X belongs to, ``names``
        what messages call the columns. Data frames need no such thing: there it is known.
        """
        found = copy(self)
        found._given_groups, found._given_names = groups, names
        return found

    @property
    def _groups(self) -> Rows | None:
        return self._layout.groups

    @property
    def _column_names(self) -> Any:
        """Names of the columns of numbers; None where they have none."""
        encoder: TableEncoder | None = getattr(self, "encoder_", None)
        if encoder is not None:
            return encoder.columns
        return getattr(self, "feature_names_in_", self._given_names)

    def _layout_of(self, n: int, groups: Any) -> Features:
        if self.encoder_ is not None:
            return Features.encoded(self.encoder_)
        return Features.of(groups, n, self._column_names)

    def _fit_to_margins(
        self, X: Any, margins: Margins, target_weight: Any, sample_weight: Any
    ) -> Self:
        if type(self)._fit_margins is Weighter._fit_margins:
            refuse_margins(margins, "X_target", type(self).__name__)
        refuse_target_weights(target_weight=target_weight)
        self.encoder_ = None
        design = design_of(sample_weight, row_count(X))
        self._refuse_if_ignored(design)
        reading = self._read(margins, X if design.kept.all() else take_rows(X, design.kept))
        points = reading.encode(X)
        self._reading, self._own = reading, design.share
        try:
            raw = np.asarray(self._fit_margins(points[design.kept], margins), dtype=np.float64)
        finally:
            del self._own
        self._keep(points, design, raw)
        some = X if design.kept.all() else take_rows(X, design.kept)
        self._tell_cost(design, lambda w: largest_gap(margins, some, w))
        return self

    @property
    def _limits(self) -> Any:
        """Bounds of the weights; a weighter that takes them leaves ``_unlimited`` ones too."""
        return getattr(self, "limits", None)

    def _tell_cost(self, design: Design, gap: Callable[[Real], tuple[float, str]]) -> None:
        """Say what limits cost in balance, and what they save in rows."""
        limits = self._limits
        if limits is None:
            return
        free: Real | None = self.__dict__.pop("_unlimited", None)
        found, worst = gap(design.share * self.weights_[design.kept])
        without = None if free is None else design.share * free
        self.balance_cost_ = BalanceCost(
            float(limits[0]),
            float(limits[1]),
            found,
            None if without is None else gap(without)[0],
            worst,
            self.effective_sample_size_,
            None if without is None else effective_sample_size(without),
        )

    def _scaled(self, raw: Real) -> Real:
        """Weights of rows from raw ones, within the limits and no larger than any can be."""
        return np.minimum(clipped(raw * self._scale, self._limits), self._most)

    def _keep(self, X: Real, design: Design, raw: Real, apart: Sequence[Uncovered] = ()) -> Real:
        """Check and scale the raw weights of the kept rows; return these times their shares.

        ``apart`` are the parts of the target that no training row is near to.
        """
        mean = design.mean(raw)
        smallest = np.finfo(np.float64).tiny  # below it one over the mean is infinite
        if not (np.isfinite(raw).all() and (raw >= 0).all() and mean >= smallest):
            found = "".join(f" {part.describe(self._layout.columns)}." for part in apart[:_NAMED])
            error = NoOverlapError if apart else InputError
            raise error(
                f"{type(self).__name__} found no usable weights: they are zero, negative or not "
                f"finite. Check that training and target rows overlap.{found}"
            )
        self._scale = 1 / mean
        self._most, self._n_rows = design.most, len(X)
        self.weights_ = np.empty(len(X))
        self.weights_[design.kept] = clipped(raw * self._scale, self._limits)
        if not design.kept.all():
            self.weights_[~design.kept] = self._scaled(self._ratio_of_unused(X[~design.kept]))
        final = design.share * self.weights_[design.kept]
        self.effective_sample_size_ = effective_sample_size(final)
        self._warn_if_few_rows(design.size)
        return final

    def predict_weights(self, X: Any) -> Real:
        """Return the weights of new rows, on the scale of ``weights_``.

        They are finite wherever the rows lie: no row weighs more than a training row can, which is
        N without ``sample_weight``.
        """
        check_is_fitted(self, "weights_")
        return self._scaled(self._ratio(self._points(X)))

    def _points(self, X: Any) -> Real:
        """Return checked rows in the form that `_ratio` takes."""
        encoder: TableEncoder | None = getattr(self, "encoder_", None)
        if encoder is not None:
            return encoder.encode(X, "X")
        reading: Reading | None = getattr(self, "_reading", None)
        if reading is None:
            return check_host_rows(self, X, reset=False)
        check_columns(self, X, reset=False)
        return reading.encode(X)

    def _read(self, margins: Margins, X: Any) -> Reading:
        raise NotImplementedError(f"{type(self).__name__} does not implement _read.")

    def _fit_margins(self, Z: Real, margins: Margins) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _fit_margins.")

    def _fit_labelled(self, X: Real, y: Any, T: Real, share: Real) -> Real:
        return self._fit(X, T, share)

    def _fit(self, X: Real, T: Real, share: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _fit.")

    def _ratio(self, X: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _ratio.")

    def _ratio_of_unused(self, X: Real) -> Real:
        """Raw weights of training rows whose ``sample_weight`` is zero."""
        return self._ratio(X)

    def _refuse_if_ignored(self, design: Design) -> None:
        if not (self._takes_sample_weight or design.equal):
            raise InputError(
                f"{type(self).__name__} takes no unequal sample_weight: it would fit the rows as "
                "if they counted alike. Use a weighter that takes it, such as CDFWeights, "
                "EntropyBalancing or Discriminative, or leave sample_weight out."
            )

    def _has_mean_influence(self) -> bool:
        """Whether `_mean_influence` knows the influence of the rows on weighted means."""
        return False

    def _mean_influence(
        self, values: Real, X: Real, T: Real, d: Real, share: Real
    ) -> tuple[Real, Real, Real] | None:
        """Weighted means (k,) of the values (N, k), and the influence of all rows on them.

        For weights that solve an equation: their own error is then counted (M-estimation). The
        rows are those of the fit; d (N,) are design weights. None where it is not known.
        """
        return None

    def _rests_on_few(self, N: float) -> bool:
        return self.effective_sample_size_ < _FEW_ROWS * N and N > 1

    def _warn_if_few_rows(self, N: float) -> None:
        if self._rests_on_few(N):
            warnings.warn(
                f"The weights of {type(self).__name__} rest on few rows: the effective sample size "
                f"is {self.effective_sample_size_:.1f} of {N:.6g}. Estimates will be noisy; check "
                "the overlap of training and target rows.",
                FewRowsWarning,
                stacklevel=4,
            )

    def _flat_on_purpose(self) -> bool:
        """Whether the parameters ask for weights that leave part of the shift."""
        return self._limits is not None

    def _warn_of_levels(self, X: Real, own: Real, T: Real, share: Real, size: float) -> None:
        """Tell of levels of an encoded frame that the target has and no training row."""
        if self._tells_overlap or self.encoder_ is None:
            return
        found = missing_levels(X, own, T, share, size)
        who = f"The weights of {type(self).__name__}"
        warn_of_apart(found, who, self._layout.columns, stacklevel=3)

    def _warn_of_the_shift(
        self, X: Real, own: Real, final: Real, T: Real, share: Real, size: float
    ) -> None:
        rng = np.random.default_rng(0)
        rows, target = (drawn_rows(len(part), ENOUGH_ROWS, rng) for part in (X, T))
        if len(rows) < len(X):
            X, own, final = X[rows], own[rows] / own[rows].sum(), final[rows]
        if len(target) < len(T):
            T, share, size = T[target], share[target] / share[target].sum(), len(target)
        sides = column_sides(X.max(axis=0), T, share, self._groups)
        if sides is not None:
            X, T = sides * X, sides * T
        found = shift(X, own, final, T, share, size, self._layout)
        before, after = float(found.before.mean()), float(found.after.mean())
        N = kish(own)
        noise = (1 / N + 1 / size) / 6  # mean square distance of two samples' CDFs
        if after > before + noise:
            warnings.warn(
                f"The weights of {type(self).__name__} move the sample away from the target: the "
                f"mean squared distance between the distribution functions grew from "
                f"{before:.3g} to {after:.3g}. Do not use them.",
                WeightWarning,
                stacklevel=3,
            )
        elif found.stays and not self._flat_on_purpose() and not self._rests_on_few(N):
            warnings.warn(
                f"The weights of {type(self).__name__} do not move the sample towards the target: "
                f"in {self._layout.listed(found.clear)} the samples differ clearly, and "
                f"{found.left:.0%} of the squared distance between their distribution functions is "
                "left. Use fewer features, or another weighter: CDFWeights() also checks whether "
                "the samples overlap.",
                WeightWarning,
                stacklevel=3,
            )


def _labels_of(y: Any, design: Design) -> Any:
    """Labels of the rows that are kept."""
    if y is None or design.kept.all():
        return y
    check_consistent_length(design.kept, y)
    return take_rows(y, np.flatnonzero(design.kept))


# Base of the weighters that know the logarithm of the density ratio.


LARGEST_EXPONENT = 600.0  # far above any weight that is used, and exp() does not overflow


class LogRatioWeighter(Weighter):
    """Base of the weighters that know the logarithm of the density ratio, up to a constant.

    A subclass implements ``_fit_log(X, T, share)`` and ``_log_ratio(X)``; the exponential is taken
    relative to the largest training row, so that it cannot overflow.
    """

    def _fit(self, X: Real, T: Real, share: Real) -> Real:
        return self._exponential(self._fit_log(X, T, share))

    def _exponential(self, log_ratio: Real) -> Real:
        self._largest = float(log_ratio.max())
        if self._largest == -np.inf:
            return np.zeros_like(log_ratio)
        return np.exp(log_ratio - self._largest)

    def _ratio(self, X: Real) -> Real:
        return np.exp(np.minimum(self._log_ratio(X) - self._largest, LARGEST_EXPONENT))

    def _fit_log(self, X: Real, T: Real, share: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _fit_log.")

    def _log_ratio(self, X: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _log_ratio.")


# How many equally weighted rows a weighted sample is worth.


def effective_sample_size(weights: Real) -> float:
    """Kish's effective sample size, (sum w)^2 / sum w^2.

    Parameters
    ----------
    weights : array (n,)
        Of any scale.

    Returns
    -------
    float
        As many equally weighted rows would be as precise.

    References
    ----------
    L. Kish, *Survey Sampling*, Wiley, 1965.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import effective_sample_size
    >>> effective_sample_size(np.array([3.0, 1.0, 1.0, 1.0]))
    3.0
    """
    w: Real = numbers_of_rows(weights, "weights", "one weight per row")
    w = check_weight(w, w.size, "weights", of="the sample")
    w = np.ldexp(w, -int(np.frexp(w.max())[1]))  # squares neither overflow nor vanish
    return float(w.sum() ** 2 / (w @ w))


# What weights did to a shift, feature by feature: the facts behind the warnings of a weighter.


_CLEAR = 20.0  # times the noise: beyond it two samples of one distribution come once in 10^5
_LEFT = 0.8  # share of a clear shift, squared, that weights worth their name do not leave


class Shift(NamedTuple):
    """Mean squared distances between the distribution functions of the samples, by feature."""

    before: Real  # (n,)
    after: Real  # (n,), with the weights
    noise: Real  # (n,): expected of two samples of one distribution

    @property
    def clear(self) -> NDArray[np.intp]:
        """Features in which the samples differ beyond doubt."""
        return np.flatnonzero(self.before > _CLEAR * self.noise)

    @property
    def left(self) -> float:
        """Share of the clear shift that the weights leave; zero where none is clear."""
        clear = self.clear
        return float(self.after[clear].sum() / self.before[clear].sum()) if len(clear) else 0.0

    @property
    def stays(self) -> bool:
        """Whether the weights leave nearly all of a clear shift."""
        return self.left > _LEFT


@one_blas_thread(0)
def shift(
    X: Real,
    own: Real,
    final: Real,
    T: Real,
    share: Real,
    size: float,
    features: Features = EACH_COLUMN,
) -> Shift:
    """Compare X (N, n) with the target T (M, n) of ``size`` rows, without and with the weights.

    ``own`` are the shares that the training rows have before the correction, ``final`` after it.
    |G - F|^2 at the target points, F the target's distribution function of the feature and G the
    training rows'. The noise is H (1 - H) r + r^2 there, H that of both together, r = 1 / N +
    1 / size, N the effective number of training rows; the square is for rare values, whose counts
    are far from normal. A feature of several columns has the means of these.
    """
    columns = np.column_stack([own, final / final.sum()])
    rows = kish(own), size
    found = np.array(
        [_of_feature(X[:, k], columns, T[:, k], share, rows) for k in range(X.shape[1])]
    )
    return Shift(*map(features.mean_of_columns, found.T))


def cdf_mismatch(
    X: Real, T: Real, share: Real, weights: Real, *, groups: Rows | None = None
) -> float:
    """Mean squared distance of the weighted training CDF from the target's, over the features.

    ||R w / N - F||^2 in the additive views (theory, section 7), F the target seen by the same rows.
    Columns of one group are one feature: the mean over these comes first.
    """
    found = feature_groups(groups, X.shape[1])
    shares = None if found is None else column_shares(found)
    target = LineTarget.of(Coordinates(), T, share, shares=shares)
    residual = target.rows(X).matvec(weights / weights.sum()) - target.F
    return float(residual @ residual)


def missing_levels(X: Real, own: Real, T: Real, share: Real, size: float) -> tuple[Uncovered, ...]:
    """Significant parts of the target with a zero or one that no training row has in the column."""
    levels = np.isin(X, (0, 1)).all(axis=0) & np.isin(T, (0, 1)).all(axis=0)
    if not levels.any():
        return ()
    parts = uncovered(X[:, levels], T[:, levels], share, size, own=own)
    columns = np.flatnonzero(levels)
    return tuple(replace(part, column=int(columns[part.column])) for part in parts)


def _of_feature(x: Real, columns: Real, t: Real, share: Real, rows: tuple[float, float]) -> Real:
    points, place = np.unique(t, return_inverse=True)
    mass = np.bincount(place.reshape(-1), weights=share)
    F = np.cumsum(mass)[:, None]
    order = np.argsort(x)
    sums = np.vstack([np.zeros((1, 2)), np.cumsum(columns[order], axis=0)])
    G = sums[np.searchsorted(x[order], points, side="right")]  # (points, 2)
    N, M = rows
    both = np.clip((N * G[:, 0] + M * F[:, 0]) / (N + M), 0.0, 1.0)
    row = 1 / N + 1 / M
    noise = mass @ (both * (1 - both)) * row + row**2
    return np.append(mass @ (G - F) ** 2, noise)
