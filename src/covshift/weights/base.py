"""What a weighter is: an estimate of the density ratio q(x) / p(x), with the same self-check."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_consistent_length
from sklearn.utils.validation import check_is_fitted

from ..data.parameters import Rules, check_parameters
from ..data.row_weights import Design, check_weight, design_of, shares_of, target_weights
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
from ..exceptions import FewRowsWarning, InputError, NoOverlapError
from ..margins import Margins
from ..margins.reading import Reading
from ..numerics.array import Real, row_count, take_rows, to_numpy
from ..numerics.support import parts_apart, warn_of_apart
from .limits import BalanceCost, clipped, largest_difference, largest_gap
from .problem import EXACT, Features, Problem
from .shift import missing_levels, warn_of_shift

_FEW_ROWS = 0.1  # effective sample size, as a share of N, below which a warning is due
_NAMED = 5  # parts of the target without training rows that a message names
LARGEST_EXPONENT = 600.0
"""Of a log weight: far above any that is used, and exp() does not overflow."""


class Weighter(BaseEstimator):  # type: ignore[misc]
    """Base of all weighters: checks, normalisation and self-check in one place.

    A subclass implements ``_solve(problem)``, which learns from a `Problem`, checked rows X (N, n)
    with shares ``own`` and the target's T (M, n) with theirs, and returns the raw weights (N,); and
    ``_ratio(X)``, the raw weights of new rows. Both non-negative, on the same scale.
    Rules for its parameters go into ``_rules``: `fit` applies them first. The shares of the
    training rows are equal unless ``sample_weight`` was given: a subclass that uses them sets
    ``_takes_sample_weight``.
    One that can learn from `covshift.Margins` in place of target rows implements ``_read(margins,
    X)``, which says how rows become numbers, and ``_solve_margins(problem, margins)``, whose
    problem has these numbers and no target rows; ``_ratio`` gets them as well.

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
    _tells_overlap = False  # whether the fit itself tells of parts without training rows
    _given_groups: Any = None  # see `of_features`
    _given_names: Any = None

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
        given = unwrap_target(X_target), unwrap_target(target_weight), sample_weight
        margins = given[0] if is_margins(given[0]) else None
        gap: Callable[[Real], tuple[float, str]]
        if margins is not None:
            problem = self._problem_of_margins(X, *given)
            raw = self._solve_margins(problem, margins)
            kept = problem.design.kept
            some = X if kept.all() else take_rows(X, kept)
            gap = lambda w: largest_gap(margins, some, w)  # noqa: E731
        else:
            problem = self._problem(X, y, *given)
            raw = self._solve(problem)
            gap = lambda w: largest_difference(problem, w)  # noqa: E731
        final = self._keep(problem, np.asarray(raw, dtype=np.float64))
        self._tell_cost(problem.design, gap)
        if margins is None:
            self._check_itself(problem, final)
        return self

    def of_features(self, groups: Any, names: Any = None) -> Self:
        """Copy the weighter, for numbers of which some columns are one feature.

        ``groups`` (n,) holds the number of the feature that each column of X belongs to, ``names``
        what messages call the columns. Data frames need no such thing: there it is known.
        """
        found = copy(self)
        found._given_groups, found._given_names = groups, names
        return found

    def _problem(self, X: Any, y: Any, target: Any, target_weight: Any, own: Any) -> Problem:
        """Check samples, of numbers or tables."""
        known = self._given_groups if self._given_groups is not None else groups_of(X)
        X, T, self.encoder_ = encode_samples(
            X, target, sample_weight=own, target_weight=target_weight
        )
        samples = check_samples(X, T, target_weight)
        X, T, share = (to_numpy(part).astype(np.float64, copy=False) for part in samples)
        design = self._design(own, len(X))
        if target is None and target_weight is None:
            target_weight = design.of_all()
            share = shares_of(target_weight)
        size = target_weights(len(T), target_weight).size
        names = getattr(self, "feature_names_in_", self._given_names)
        features = Features.of(known, X.shape[1], names)
        if self.encoder_ is not None:
            features = Features.encoded(self.encoder_)
        if y is not None and not design.kept.all():
            check_consistent_length(design.kept, y)
            y = take_rows(y, np.flatnonzero(design.kept))
        apart = parts_apart(X[design.kept], T, share, size, design.size)
        framed = self.encoder_ is not None
        return Problem(X, T, share, size, design, features, y, framed, apart)

    def _problem_of_margins(
        self, X: Any, margins: Margins, target_weight: Any, own: Any
    ) -> Problem:
        """Read rows as the margins say; there are no target rows."""
        if type(self)._solve_margins is Weighter._solve_margins:
            refuse_margins(margins, "X_target", type(self).__name__)
        refuse_target_weights(target_weight=target_weight)
        self.encoder_ = None
        design = self._design(own, row_count(X))
        self._reading = self._read(margins, X if design.kept.all() else take_rows(X, design.kept))
        points = self._reading.encode(X)
        return Problem(points, points[:0], np.empty(0), margins.size or EXACT, design)

    def _design(self, sample_weight: Any, N: int) -> Design:
        design = design_of(sample_weight, N)
        if not (self._takes_sample_weight or design.equal):
            raise InputError(
                f"{type(self).__name__} takes no unequal sample_weight: it would fit the rows as "
                "if they counted alike. Use a weighter that takes it, such as CDFWeights, "
                "EntropyBalancing or Discriminative, or leave sample_weight out."
            )
        return design

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

    def _keep(self, problem: Problem, raw: Real) -> Real:
        """Check and scale the raw weights of the kept rows; return these times their shares."""
        design, X = problem.design, problem.rows
        mean = design.mean(raw)
        smallest = np.finfo(np.float64).tiny  # below it one over the mean is infinite
        if not (np.isfinite(raw).all() and (raw >= 0).all() and mean >= smallest):
            names, apart = problem.features.columns, problem.apart
            found = "".join(f" {part.describe(names)}." for part in apart[:_NAMED])
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

    def _solve_margins(self, problem: Problem, margins: Margins) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _solve_margins.")

    def _solve(self, problem: Problem) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _solve.")

    def _ratio(self, X: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _ratio.")

    def _ratio_of_unused(self, X: Real) -> Real:
        """Raw weights of training rows whose ``sample_weight`` is zero."""
        return self._ratio(X)

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

    def _check_itself(self, problem: Problem, final: Real) -> None:
        """Tell of parts of the target without rows, and of weights that do not help."""
        who, names = type(self).__name__, problem.features.columns
        apart = problem.apart
        if not apart:
            if problem.framed and not self._tells_overlap:
                warn_of_apart(missing_levels(problem), f"The weights of {who}", names, stacklevel=3)
            flat = self._flat_on_purpose() or self._rests_on_few(problem.N)
            warn_of_shift(who, problem, final, flat=flat, stacklevel=3)
        elif not self._tells_overlap:
            warn_of_apart(apart, f"The weights of {who}", names, stacklevel=3)


class LogRatioWeighter(Weighter):
    """Base of the weighters that know the logarithm of the density ratio, up to a constant.

    A subclass implements ``_solve_log(problem)`` and ``_log_ratio(X)``; the exponential is taken
    relative to the largest training row, so that it cannot overflow.
    """

    def _solve(self, problem: Problem) -> Real:
        log_ratio = self._solve_log(problem)
        self._largest = float(log_ratio.max())
        if self._largest == -np.inf:
            return np.zeros_like(log_ratio)
        return np.exp(log_ratio - self._largest)

    def _ratio(self, X: Real) -> Real:
        return np.exp(np.minimum(self._log_ratio(X) - self._largest, LARGEST_EXPONENT))

    def _solve_log(self, problem: Problem) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _solve_log.")

    def _log_ratio(self, X: Real) -> Real:
        raise NotImplementedError(f"{type(self).__name__} does not implement _log_ratio.")


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
