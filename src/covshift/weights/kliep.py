"""The density ratio of largest likelihood: KLIEP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtrs
from scipy.optimize import nnls

from ..numerics.array import Real, Whole
from ..numerics.folds import fold_of, held_shares
from ..numerics.progress import track
from .kernel_ratio import KernelRatio, Setting, gaussian
from .points import candidates, squared_distances

_WIDEST, _NARROWEST = 4.0, 1 / 32  # times the median distance of the centres
_MOST_WIDTHS = 9  # seven between these, and two to refine
_N_FOLDS = 5  # four fifths of the rows are about as many as all
_MAX_STEPS = 200  # a bound alone: the duality gap ends the search
_SMALLEST_STEP = 1e-10  # a shorter one is rounding
_FIRST_STEPS = 5  # of expectation-maximisation, which put Newton's method on its way
_POOR_START = 1e-2  # likelihood of a point, relative to its best centre
_NOT_REACHED = float(np.finfo(np.float64).tiny)  # below it, one over the likelihood overflows


class KLIEP(KernelRatio):
    """Kullback-Leibler importance estimation procedure.

    w(x) = sum_l a_l K(x, c_l) with a Gaussian kernel, centres c_l among the target points, and

        a = argmax  mean over the target of log w(t)   subject to  a >= 0, mean of w over X = 1.

    The width has the largest cross-validated likelihood, searched from a large one downwards:
    halved until the likelihood falls, then refined by a factor of sqrt(2).

    Parameters
    ----------
    width : "cv", float or list of floats
        Standard deviation of the kernel; a list is tried as it is.
    n_centers : int
        Number of centres: distinct target rows, drawn where there are more.
    standardize : bool
        Divide the features by their standard deviation first (the variances of both samples
        averaged); widths are then in these units.
    random_state : int, RandomState or None
        Seed of the draw of centres and of the folds.
    verbose : int
        Show a progress bar over the widths, on a terminal; the search may end early.

    Attributes
    ----------
    width_ : float
        The width used.
    scores_ : dict
        Cross-validated log likelihood of every width tried, when there was a choice.
    centers_, coef_ : (b, n) and (b,) arrays
        c_l, in the units of the kernel, and a_l.
    weights_, effective_sample_size_
        See `Weighter`.

    Notes
    -----
    Source: Sugiyama, Nakajima, Kashima, von Bünau and Kawanabe (2008), *Direct importance
    estimation with model selection and its application to covariate shift adaptation*. Their
    cross-validation splits the target alone, and drifts to the smallest width: a held-out point
    that is a centre itself sits on its own bump, and a bump where no training row lies costs
    nothing. Here a centre is left out while all the rows at its value are held out (equal rows are
    dealt one by one, so a value that many rows share stays), and the training rows are split as
    well: the score is the mean of log w(t) - log(mean of w(x)) over held-out rows of both samples.

    In b_l = a_l (mean of K(x, c_l) over X) the problem is to find the proportions of a mixture,
    solved by Newton steps, each a non-negative least-squares problem on the few centres that
    matter, until the duality gap is below 1e-8. With ``sample_weight`` means over X are weighted.
    Time O((N + M) b) per step, memory O((N + M) b).

    Examples
    --------
    >>> import numpy as np
    >>> from covshift.weights import KLIEP
    >>> rng = np.random.default_rng(0)
    >>> X, T = rng.normal(size=(500, 1)), rng.normal(0.5, 1.0, size=(500, 1))
    >>> ratio = KLIEP(random_state=0).fit(X, X_target=T)
    >>> ratio.predict_weights([[-1.0], [0.0], [1.0]]).round(1)  # the truth: 0.5, 0.9, 1.5
    array([0.5, 1.1, 1.4])
    """

    def _choose(self, setting: Setting) -> tuple[Real, Real]:
        unit, target = setting.unit, setting.target
        widths = candidates(self.width, np.array([unit]))
        likelihood = _Likelihood(setting)
        n_folds = min(_N_FOLDS, len(setting.X), target.size)
        by_name = isinstance(self.width, str)
        self.__dict__.pop("scores_", None)
        if n_folds == 1 or (len(widths) == 1 and not by_name):  # no choice, or no way to choose
            self.width_ = float(widths.max())
            return likelihood.solve(self.width_)
        rng, scores = setting.rng, dict[float, float]()
        folds = (
            fold_of(setting.X, n_folds, rng),
            held_shares(target.share, target.repeats, n_folds, rng),
        )
        tried = _downwards(unit, scores) if by_name else widths
        most = _MOST_WIDTHS if by_name else len(widths)
        for width in track(tried, most, "KLIEP: widths", verbose=bool(self.verbose)):
            scores[float(width)] = likelihood.score(float(width), *folds)
        self.scores_, self.width_ = scores, _best(scores)
        return likelihood.solve(self.width_)


def _downwards(unit: float, scores: dict[float, float]) -> Iterator[float]:
    """Halve the width until the scores fall, then go half a step to both sides of the best."""
    width = _WIDEST * unit
    while width > _NARROWEST * unit and (not scores or _best(scores) < 4 * width):
        yield width
        width /= 2
    best = _best(scores)
    yield best * np.sqrt(2)
    yield best / np.sqrt(2)


def _best(scores: dict[float, float]) -> float:
    """Width of the largest score; of equal scores the wider one wins."""
    return max(scores, key=lambda width: (scores[width], width))


class _Likelihood:
    """The likelihood at any width, from squared distances to the centres."""

    def __init__(self, setting: Setting) -> None:
        self.own, self.share, self.chosen = setting.own, setting.target.share, setting.chosen
        DX = squared_distances(setting.X, setting.centers)
        DT = squared_distances(setting.target.points, setting.centers)
        self.least = DX.min(axis=0)  # (b,)
        # Relative to the nearest training row, so that no column of the kernel vanishes.
        # A line for each centre: a step of the solver reads those of the few that matter.
        self.DX, self.DT = _lines(DX, self.least), _lines(DT, self.least)  # (b, N), (b, M)
        self._start = np.ones(len(self.chosen))  # the last solution, to start the next one from

    def solve(self, width: float) -> tuple[Real, Real]:
        """Log means of K(x, c_l) over the training rows (b,), and proportions (b,)."""
        means = gaussian(self.DX, width) @ self.own
        A, _ = self._scaled(width, means)
        scale = np.ones(len(means))
        proportions = _proportions(A, scale, self.share, self._start, tolerance=1e-8)
        return np.log(means) - self.least / (2 * width**2), proportions

    def score(self, width: float, folds_X: Whole, shares_T: Real) -> float:
        """Mean of log w(t) - log(mean of w(x)) over the held-out rows of both samples.

        ``folds_X`` are the folds of the training rows, (N,); ``shares_T`` the share of each target
        value in each fold, (M, folds).
        """
        masses = np.bincount(folds_X, weights=self.own)
        rows_of = self.own * (folds_X == np.arange(len(masses))[:, None])  # (folds, N)
        sums = rows_of @ gaussian(self.DX, width).T  # (folds, b)
        total = sums.sum(axis=0)
        A, offset = self._scaled(width, total)
        score = 0.0
        for fold, mass in enumerate(masses):
            held = shares_T[:, fold] > 0
            kept = np.where(shares_T[:, fold] < self.share, self.share - shares_T[:, fold], 0.0)
            seen = (total - sums[fold]) / (1 - mass)  # (b,) means over the kept rows
            usable = (kept[self.chosen] > 0) & (seen > np.finfo(float).eps)
            inverse = np.divide(1.0, seen, out=np.zeros_like(seen), where=usable)
            scale = total * inverse  # from A, whose columns were divided by the total
            b = _proportions(A, scale, kept / kept.sum(), self._start, tolerance=1e-3)
            w, mean = ((scale * b) @ A)[held], b @ (inverse * sums[fold] / mass)
            if mean <= 0 or w.min() <= 0:  # a point that the kernel does not reach
                return -np.inf
            score += float(shares_T[held, fold] @ (np.log(w) + offset[held] - np.log(mean)))
            self._start = b
        return score

    def _scaled(self, width: float, means: Real) -> tuple[Real, Real]:
        """K(t, c_l) / means (b, M), for each t divided by the largest; and the logs of these."""
        exponent = self.DT * (-0.5 / width**2)
        exponent -= np.log(means)[:, None]
        offset = exponent.max(axis=0)
        exponent -= offset
        return np.exp(exponent, out=exponent), offset


def _lines(D: Real, least: Real) -> Real:
    return np.ascontiguousarray((D - least).T)


def _proportions(A: Real, scale: Real, share: Real, start: Real, *, tolerance: float) -> Real:
    """Maximise share'log(A'(scale b)) over proportions b, to within ``tolerance``.

    A has a line for each centre. The constraint sum(b) = 1 is replaced by the term -sum(b) in the
    objective, whose maximum fulfils it. Each step maximises the quadratic model over b >= 0, on the
    centres in use and the most promising others; the largest derivative less one bounds what is
    missing. Centres of scale zero stay out; zeros are returned where the others do not reach every
    point.
    """
    b = start * (scale > 0) / max(float(start @ (scale > 0)), 1e-3)
    left_out = share == 0

    def reached(b: Real) -> Real:
        """A'(scale b) where it counts, one elsewhere: (M,)."""
        u = (scale * b) @ A
        u[left_out] = 1.0
        return u

    u = reached(b)
    if u.min() < _POOR_START:
        b = (scale > 0) / max(int(np.count_nonzero(scale)), 1)
        u = reached(b)
        if u.min() < _NOT_REACHED:
            return np.zeros_like(b)
        for _ in range(_FIRST_STEPS):  # of expectation-maximisation: slow, but from anywhere
            b = b * scale * (A @ (share / u))
            u = reached(b)
    value, root = float(share @ np.log(u) - b.sum()), np.sqrt(share)
    for _ in range(_MAX_STEPS):
        slope = scale * (A @ (share / u))  # (b,): one for a centre in use at the solution
        if slope.max() - 1 <= tolerance and b @ (1 - slope) <= tolerance:
            break
        others = np.flatnonzero((b == 0) & (slope > 1))
        others = others[np.argsort(-slope[others], kind="stable")][: max(5, np.count_nonzero(b))]
        trial = np.concatenate([np.flatnonzero(b), others])
        near = A[trial]
        near *= root / u
        goal = _quadratic_step(near, scale[trial], slope[trial])
        step = goal - b[trial]
        gain = float((slope[trial] - 1) @ step)
        change = (scale[trial] * step) @ near * (u / np.where(left_out, 1.0, root))
        size = 1.0
        while size > _SMALLEST_STEP:
            moved = u + size * change
            if (moved > u / 20).all():
                new = float(share @ np.log(moved) - b.sum() - size * step.sum())
                if new >= value + 1e-4 * size * gain - 1e-14:
                    break
            size /= 2
        else:
            break
        b[trial] = goal if size == 1 else b[trial] + size * step
        u, value = moved, new
    return np.asarray(b / b.sum())


def _quadratic_step(A: Real, scale: Real, slope: Real) -> Real:
    """Maximise (2 slope - 1)'z - |A'(scale z)|^2 / 2 over z >= 0, by non-negative least squares."""
    H = (A @ A.T) * scale * scale[:, None]
    H.flat[:: len(H) + 1] += 1e-9 * np.trace(H) / len(H)
    R, _ = dpotrf(H)  # R'R = H; SciPy's own names for it take as long as the work
    side, _ = dtrtrs(R, 2 * slope - 1, trans=1)
    solution: Real = nnls(R, side)[0]
    return solution
