"""Four ways to a population mean, each with the influence of every row.

With the weights w (design weight times factor), the cross-fitted prediction h of the values L, and
the target's shares s:

    none      sum d L / sum d                             the sample as it is, with design weights
    weights   sum w L / sum w
    model     sum_q s_q h(t_q)
    dr        sum_q s_q h(t_q) + sum w (L - h) / sum w    doubly robust: right if either part is

The influence values of "dr" are w_i (L_i - h_i - r) / sum w for training rows, r the weighted mean
of the residuals, and s_q (h(t_q) - mean h) for target rows.

Where h is good, the sum of weighted residuals is mostly noise, and flatter weights u (CDF weights
with a stronger penalty) make less of it. The default weights therefore come in two versions, and
with D the difference of the two estimates and v the variance that it has if h is right,

    v = sum_i (w_i / sum w - u_i / sum u)^2 (L_i - h_i - r)^2 ,    a = max(0, 1 - v / D^2) ,

the estimate is the flat one plus a D: flat where the two agree within noise, and the full one where
they do not, so that it is still right if either part is. Its error is that of the full one, and
besides what it leaves out, (1 - a) D: a bias of h below the noise is in no influence value, and
where an outcome is rare the noise hides much (results/answers_intervals.md: how often intervals
cover). As for the errors of a regression (HC1), variances are multiplied by n / (n - p - 1), n the
effective number of rows and p that of features (at most by two): both h and w were fitted to these
rows. One a serves all that is asked of an outcome, with v and D^2 summed
over its categories: so shares sum to one, groups to the total, and no ratio leans apart. Where
there are groups, it is the larger of this a and of that with v and D^2 summed over the groups.

For "weights" the weighter knows them
where its weights solve an equation (entropy balancing, logistic odds, and all weights that meet the
margins which are the target: M-estimation). Otherwise the
weights balance about what h explains, so they are those of "dr", and what stays unbalanced,

    b = sum_q s_q h(t_q) - sum w h / sum w ,

counts as an error besides. The error of "model" is a jackknife over the folds: with K models, each
without one fold, and the target means m_k of their predictions, its variance is
(K - 1) / K sum_k (m_k - mean m)^2; of several deals, the mean of theirs. It does not know a bias of
the model.

Margins that describe S rows err as those do. A model h that is linear in what they publish then has
the target variance var_w(h) / S, with the weighted training rows in the place of target rows: they
have the margins. Weights that meet the margins follow them, and so h is their weighted regression B
in "weights" and "dr". Margins without a size are exact.

Sources: Robins, Rotnitzky and Zhao (1994), *Estimation of regression coefficients when some
regressors are not always observed*; Kim and Haziza (2014), *Doubly robust inference with missing
data in survey sampling*.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np

from ..numerics.array import Real
from ..numerics.crossfit import CrossFit
from ..numerics.influence import Influence, mean_influence
from .weights import Weights

CovariateMethod = Literal["dr", "weights", "model", "none"]
Method = Literal[CovariateMethod, "label"]  # the last by class shares (`label_shift`)
METHODS: tuple[Method, ...] = get_args(CovariateMethod)


@dataclass(frozen=True)
class Signal:
    """Values L (N, k) of the training rows, and what is predicted for both samples."""

    values: Real
    h: CrossFit

    def times(self, train: Real, target: Real) -> Signal:
        """Multiply by something known of each row, such as an indicator: (N,) and (M,)."""
        return Signal(
            self.values * train[:, None],
            CrossFit(self.h.train * train[:, None], self.h.folds * target[:, None]),
        )


@dataclass(frozen=True)
class Engine:
    """The parts that all estimates share."""

    d: Real  # (N,): design weights
    weights: Weights
    share: Real  # (M,)
    finite_population: bool = False
    full_weight_share: float = 1.0  # a: share of the full weights in what the outcome model leaves
    residual_factor: float = 1.0  # how much of this is added to the model's mean
    caution: float = 1.0  # how far the variance goes from that of flat to that of full weights
    margin_size: float | None = None  # rows that the margins describe which are the target
    deals: int = 1  # of folds

    def means(self, signal: Signal, method: Method) -> Influence:
        """Estimate the target means of L, with the influence of every row (or fold) on them."""
        found = {
            "none": self._plain,
            "weights": self._weighted,
            "model": self._modelled,
            "dr": self._doubly_robust,
        }[method](signal)
        if self.margin_size is not None and not self.finite_population:
            return replace(found, target=self._margin_error(signal, method))
        return found.known_target() if self.finite_population else found

    def _plain(self, signal: Signal) -> Influence:
        value, train = mean_influence(signal.values, self.d)
        return Influence(value, train, np.zeros((len(self.share), len(value))))

    def _weighted(self, signal: Signal) -> Influence:
        w, weights = self.weights.final, self.weights
        exact = weights.mean_influence(signal.values, self.d, self.share)
        if exact is not None:
            train, target = exact
            factor = self._few_rows if weights.met and not weights.by_design else 1.0
            return Influence(w @ signal.values / w.sum(), factor * train, target)
        if weights.weighter is None:
            value, train = mean_influence(signal.values, w)
            return Influence(value, train, np.zeros((len(self.share), len(value))))
        _, train = mean_influence(signal.values - signal.h.train, w)
        target = self._target(signal.h.target)
        return Influence(w @ signal.values / w.sum(), self._few_rows * train, target)

    def _modelled(self, signal: Signal) -> Influence:
        h = signal.h
        by_fold = np.einsum("m,fmk->fk", self.share, h.folds)
        train = self.jackknife(by_fold)
        return Influence(by_fold.mean(axis=0), train, self._target(h.target))

    def jackknife(self, by_fold: Real) -> Real:
        """Influence (R K, k) of the folds on what their models say, within the deals."""
        dealt = by_fold.reshape(self.deals, -1, by_fold.shape[1])
        K = dealt.shape[1]
        rest = (K - 1) / K * (dealt.mean(axis=1, keepdims=True) - dealt)
        return np.asarray(rest.reshape(by_fold.shape) / np.sqrt(self.deals))

    def _doubly_robust(self, signal: Signal) -> Influence:
        h = signal.h
        rest, train = self.residuals(signal.values - h.train, self.full_weight_share)
        return Influence(self.share @ h.target + rest, train, self._target(h.target))

    def residuals(self, residual: Real, full: float) -> tuple[Real, Real]:
        """Means (k,) of what h leaves (N, k), shrunken to the full weights, and their influence."""
        w, u = self.weights.final, self.weights.steady
        rest, train = mean_influence(residual, w)
        if u is None:
            return self.residual_factor * rest, self._few_rows * train
        both = np.sqrt((1 - self.caution) * u**2 + self.caution * w**2) / len(w)  # mean one each
        train = both[:, None] * (residual - rest)
        return self.residual_share(full) @ residual, self._few_rows * train

    def residual_share(self, full: float) -> Real:
        """Weights (N,) of what h leaves, summing to one where it is trusted."""
        w, u = self.weights.final, self.weights.steady
        if u is None:
            return np.asarray(self.residual_factor * w / w.sum())
        return np.asarray(self.residual_factor * (full * w / w.sum() + (1 - full) * u / u.sum()))

    @property
    def _few_rows(self) -> float:
        """Factor on influence values, for what estimating h and weights costs small samples."""
        if self.weights.weighter is None and not self.weights.met:
            return 1.0
        rows, fitted = self.weights.effective_sample_size, self.weights.n_fitted
        return float(np.sqrt(rows / (rows - min(fitted, rows / 2))))

    def _target(self, h: Real) -> Real:
        return np.asarray(self.share[:, None] * (h - self.share @ h))

    def _margin_error(self, signal: Signal, method: Method) -> Real:
        """Influence (2 N, k), summing to zero, of the rows that stand for those of the margins."""
        assert self.margin_size is not None
        w, weights, h = self.weights.final, self.weights, signal.h.train
        given = method == "weights" and weights.weighter is None and not weights.met
        if method == "none" or given:
            return np.zeros((2 * len(h), h.shape[1]))
        share = w / w.sum()
        if method != "model" and weights.met:  # other margins would change the weights
            exact = weights.mean_influence(signal.values, self.d, self.share)
            assert exact is not None
            h = signal.values - exact[0] / np.where(share > 0, share, 1.0)[:, None]
        moved = np.sqrt(share / (2 * self.margin_size))[:, None] * (h - share @ h)
        return np.concatenate([moved, -moved])

    def counts_imbalance(self, method: Method) -> bool:
        """Whether what the weights leave unbalanced is an error of its own."""
        if method != "weights" or self.weights.weighter is None or self.weights.met:
            return False
        exact = self.weights.weighter._has_mean_influence() and not self.weights.trimmed
        return not exact


def share_of_full_weights(residual: Real, weights: Weights) -> float:
    """The share a of the full weights, for residuals (N, k) of k parts of an outcome."""
    if weights.steady is None:
        return 1.0
    full, flat = (w / w.sum() for w in (weights.final, weights.steady))
    return beyond_noise(residual, full, full - flat)


def beyond_noise(residual: Real, full: Real, moved: Real) -> float:
    """How much of sum_i moved_i r_i is no noise, for residuals r (N, k): max(0, 1 - v / D^2)."""
    unit = float(np.abs(residual).max())
    if not unit > 0:
        return 0.0
    rest = residual / unit
    D = moved @ rest
    noise = moved**2 @ (rest - full @ rest) ** 2
    return max(0.0, 1 - float(noise.sum() / (D @ D))) if D.any() else 0.0
