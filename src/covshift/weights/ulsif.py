"""Least-squares fits of the density ratio: uLSIF and its relative form, RuLSIF."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh

from ..data.parameters import Rules, number
from ..numerics.array import Real
from ..numerics.progress import track
from .kernel_ratio import KernelRatio, Setting, gaussian
from .points import CANDIDATES, blocks, candidates, squared_distances

_WIDTHS = np.geomspace(0.1, 10.0, 9)  # times the median distance of the centres
_PENALTIES = np.geomspace(1e-5, 10.0, 13)  # from hardly any to nearly equal weights
_FLAT = 0.5  # share of the target in the denominator, from which no row may weigh over twice
_WITHOUT_CHOICE = 0.1  # the penalty where no row can be left out


class ULSIF(KernelRatio):
    """Unconstrained least-squares importance fitting.

    w(x) = [sum_l a_l K(x, c_l)]_+ with a Gaussian kernel, centres c_l among the target points, and

        a = argmin  a'Ha / 2 - h'a + (reg / 2) |a|^2  =  (H + reg I)^-1 h ,
        H = mean over the training rows of k(x) k(x)',   h = mean over the target of k(t).

    Width and penalty have the smallest leave-one-out estimate of E_p[w^2] / 2 - E_q[w], which is
    half the squared error of w up to a constant, over the whole grid.

    Parameters
    ----------
    width : "cv", float or list of floats
        Standard deviation of the kernel. "cv" tries nine from 0.1 to 10 times the median distance
        between centres; a list is tried as it is.
    reg : "cv", float or list of floats
        Penalty; "cv" tries thirteen from 1e-5 to 10.
    n_centers : int
        Number of centres: distinct target rows, drawn where there are more.
    standardize : bool
        Divide the features by their standard deviation first (the variances of both samples
        averaged); widths are then in these units.
    random_state : int, RandomState or None
        Seed of the draw of centres.
    verbose : int
        Show a progress bar over the widths, on a terminal.

    Attributes
    ----------
    width_, reg_ : float
        The pair used.
    scores_ : (widths, penalties) array
        Leave-one-out criterion, when there was a choice.
    centers_, coef_ : (b, n) and (b,) arrays
        c_l, in the units of the kernel, and a_l.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Kanamori, Hido and Sugiyama (2009), *A least-squares approach to direct importance
    estimation*. Two departures. Negative *values* of the ratio are set to zero; the paper sets
    negative coefficients to zero, after which the fit no longer minimises anything, and on a
    Gaussian mean shift in ten dimensions the error is several times as large. And a training row
    is left out of H alone, a target row of h alone, in the paper pairs of them at once: every row
    counts, whatever the order. Of equal rows one is left out, and the others stay.

    With H = U diag(d) U', the leave-one-out values at all penalties are two matrix products
    (Sherman and Morrison). Time O(b^3 + (N + M) b^2) for each width; memory in blocks. With
    ``sample_weight`` the mean over the training rows is weighted, and leaving one out takes O(N b)
    for each pair of the grid on top.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import ULSIF
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(500, 1)), rng.normal(0.5, 1.0, size=(500, 1))
    >>> ratio = ULSIF(random_state=0).fit(X, X_target=T)
    >>> ratio.predict_weights([[-1.0], [0.0], [1.0]]).round(1)  # the truth: 0.5, 0.9, 1.5
    array([0.6, 1. , 1.5])
    """

    _rules: ClassVar[Rules] = {**KernelRatio._rules, "reg": CANDIDATES}

    def __init__(
        self,
        width: Any = "cv",
        *,
        reg: Any = "cv",
        n_centers: int = 100,
        standardize: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            width,
            n_centers=n_centers,
            standardize=standardize,
            random_state=random_state,
            verbose=verbose,
        )
        self.reg = reg

    def _mixture(self) -> float:
        """Share of the target in the denominator."""
        return 0.0

    def _choose(self, setting: Setting) -> tuple[Real, Real]:
        alpha, unit = self._mixture(), setting.unit
        widths, penalties = candidates(self.width, unit * _WIDTHS), candidates(self.reg, _PENALTIES)
        own, target, centers = setting.own, setting.target, setting.centers
        samples = (
            _Rows(setting.X, own, own, 1 - alpha, 0.0, centers),
            _Rows(target.points, target.share, target.row, alpha, 1.0, centers),
        )
        self.__dict__.pop("scores_", None)
        if len(widths) * len(penalties) == 1:
            self.width_, self.reg_ = float(widths[0]), float(penalties[0])
        elif min(len(setting.X), target.size) == 1:  # nothing can be left out
            self.width_ = float(widths[0]) if len(widths) == 1 else unit
            self.reg_ = float(penalties[0]) if len(penalties) == 1 else _WITHOUT_CHOICE
        else:
            label = f"{type(self).__name__}: widths"
            tried = track(widths, len(widths), label, verbose=bool(self.verbose))
            self.scores_ = np.stack([_scores(samples, width, penalties) for width in tried])
            best = np.unravel_index(np.argmin(self.scores_), self.scores_.shape)
            self.width_, self.reg_ = float(widths[best[0]]), float(penalties[best[1]])
        d, U, g = _spectrum(samples, self.width_)
        return np.zeros(len(d)), U @ (g / (d + self.reg_))


class RULSIF(ULSIF):
    """Relative unconstrained least-squares importance fitting: a bounded ratio.

    Estimates q / (alpha q + (1 - alpha) p), which never exceeds 1 / alpha, as `ULSIF` does, with

        H = alpha mean of k(t) k(t)' over the target + (1 - alpha) mean of k(x) k(x)' over X.

    Parameters
    ----------
    alpha : float, 0 <= alpha < 1
        Share of the target in the denominator. 0 is `ULSIF`; towards 1 the weights become equal.
    width, reg, n_centers, standardize, random_state, verbose
        As in `ULSIF`.

    Attributes
    ----------
    width_, reg_, scores_, centers_, coef_
        As in `ULSIF`.
    weights_, effective_sample_size_
        See `Weighter`. The weights estimate the relative ratio, scaled to mean one.

    Notes
    -----
    Source: Yamada, Suzuki, Kanamori, Hachiya and Sugiyama (2013), *Relative density-ratio
    estimation for robust distribution comparison*; selection by leave-one-out as in `ULSIF`, where
    the paper uses folds. A left-out target row leaves both H and h. Cost as `ULSIF`; with unequal
    target weights O(M b) for each pair of the grid on top.

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import RULSIF
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(500, 1)), rng.normal(0.5, 1.0, size=(500, 1))
    >>> ratio = RULSIF(alpha=0.5, random_state=0).fit(X, X_target=T)
    >>> ratio.predict_weights([[-1.0], [0.0], [1.0]]).round(1)
    array([0.8, 1. , 1.3])
    """

    _rules: ClassVar[Rules] = {**ULSIF._rules, "alpha": number(least=0, below=1)}

    def __init__(
        self,
        alpha: float = 0.1,
        *,
        width: Any = "cv",
        reg: Any = "cv",
        n_centers: int = 100,
        standardize: bool = True,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            width,
            reg=reg,
            n_centers=n_centers,
            standardize=standardize,
            random_state=random_state,
            verbose=verbose,
        )
        self.alpha = alpha

    def _mixture(self) -> float:
        return float(self.alpha)

    def _flat_on_purpose(self) -> bool:
        return self.alpha >= _FLAT


class _Rows:
    """One sample: what it weighs in H (omega) and in h (share), and its kernel in blocks.

    A value of share s stands for rows of share ``row`` each, one of which is left out at a time;
    H holds the part ``in_H`` of all of them, h the part ``in_h``.
    """

    def __init__(
        self, points: Real, share: Real, row: Real, in_H: float, in_h: float, centers: Real
    ) -> None:
        self.omega, self.share = in_H * share, in_h * share  # (values,) each
        self.row_omega, self.row_share = in_H * row, in_h * row  # of one row there
        self.n_centers = len(centers)
        self._points, self._centers = points, centers
        self.blocks = list(blocks(len(points), len(centers)))
        # A small sample keeps its distances for the next width.
        self._kept = squared_distances(points, centers) if len(self.blocks) == 1 else None
        self._last: tuple[float, Real] | None = None  # its width and kernel, read more than once

    def kernel(self, block: slice, width: float) -> Real:
        if self._kept is None:
            return gaussian(squared_distances(self._points[block], self._centers), width)
        if self._last is None or self._last[0] != width:
            self._last = width, gaussian(self._kept, width)
        return self._last[1]


def _spectrum(samples: Sequence[_Rows], width: float) -> tuple[Real, Real, Real]:
    """H = U diag(d) U' and g = U'h."""
    b = samples[0].n_centers
    H, h = np.zeros((b, b)), np.zeros(b)
    for sample in samples:
        for block in sample.blocks:
            K, omega = sample.kernel(block, width), sample.omega[block]
            if omega.any():
                H += (K * omega[:, None]).T @ K
            h += sample.share[block] @ K
    d, U = eigh(H, check_finite=False)
    return np.maximum(d, 0.0), U, U.T @ h


def _scores(samples: Sequence[_Rows], width: float, penalties: Real) -> Real:
    """Leave-one-out criterion at one width, for every penalty: (L,)."""
    d, U, g = _spectrum(samples, width)
    score = np.zeros(len(penalties))
    for sample in samples:
        for block in sample.blocks:
            omega, share = sample.omega[block], sample.share[block]
            row = sample.row_omega[block], sample.row_share[block]
            values = _left_out(sample.kernel(block, width) @ U, d, g, penalties, *row)
            score += omega @ values**2 / 2 - share @ values
    return score


def _left_out(Z: Real, d: Real, g: Real, penalties: Real, omega: Real, share: Real) -> Real:
    """Ratio at each value z when one row there is left out, at each penalty: (values, L).

    Without the row, of weights ``omega`` and ``share``, H is (H - omega zz') / (1 - omega) and h is
    (h - share z) / (1 - share).
    """
    if omega.min() == omega.max():
        inverse = 1 / (d[:, None] + penalties * (1 - omega[0]))  # (b, L)
        leverage, fit = (Z * Z) @ inverse, Z @ (g[:, None] * inverse)
    else:
        leverage, fit = np.empty((2, len(Z), len(penalties)))
        for k, penalty in enumerate(penalties):
            scaled = Z / (d + penalty * (1 - omega[:, None]))
            leverage[:, k], fit[:, k] = (scaled * Z).sum(axis=1), scaled @ g
    omega, share = omega[:, None], share[:, None]
    rest = np.maximum((1 - share) * (1 - omega * leverage), np.finfo(float).eps)
    return np.asarray(np.maximum((1 - omega) * (fit - share * leverage) / rest, 0.0))
