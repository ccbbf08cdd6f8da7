"""Four ways to a population mean, each with the influence of every row: the estimator on one page.

With the weights w (design weight times factor), the cross-fitted prediction h of the values L, and
the target's shares s:

    none      sum d L / sum d                             the sample as it is, with design weights
    weights   sum w L / sum w
    model     sum_q s_q h(t_q)
    dr        sum_q s_q h(t_q) + sum w (L - h) / sum w    doubly robust: right if either part is

The influence values of "dr" are w_i (L_i - h_i - r) / sum w for training rows, r the weighted mean
of the residuals, and s_q (h(t_q) - mean h) for target rows. This is the textbook's estimator. As
for the errors of a regression (HC1), variances are multiplied by n / (n - p - 1)
(`Weights.few_rows`): h and w were fitted to these rows.

Where h is good, the sum of weighted residuals is mostly noise, and flatter weights u make less of
it, but alone they miss what h misses. So the default weights come in two versions, and with D the
difference of the two estimates and v the variance that it has if h is right,

    v = sum_i (psi_i - psi_i^u)^2 ,    a = max(0, 1 - v / D^2) ,

psi and psi^u the influence values under w and u, the number is the flat one plus a D, its error
that of the full one, and besides its distance (1 - a) D from it (`leaning`). Every number has an a
of its own, so that no answer depends on what else is asked. What this and other steps are worth:
benchmarks/results/estimator.md.

For "weights" the weighter knows them where its weights solve an equation (entropy balancing,
logistic odds, and all weights that meet the margins which are the target: M-estimation). Otherwise
the weights balance about what h explains, so they are those of "dr", and what stays unbalanced,
sum_q s_q h(t_q) - sum w h / sum w, counts as an error besides: it mends the coverage.

The error of "model" is a jackknife over the folds: with K models, each without one fold, and the
target means m_k of their predictions, its variance is (K - 1) / K sum_k (m_k - mean m)^2; of
several deals, the mean of theirs. It does not know a bias of the model.

Margins that describe S rows err as those do. A model h that is linear in what they publish then has
the target variance var_w(h) / S, with the weighted training rows in the place of target rows: they
have the margins. Weights that meet the margins follow them, and so h is their weighted regression B
in "weights" and "dr". Margins without a size are exact.

Sources: Robins, Rotnitzky and Zhao (1994), *Estimation of regression coefficients when some
regressors are not always observed*; Chernozhukov et al. (2018), *Double/debiased machine learning
for treatment and structural parameters*.
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
class Measures:
    """How target means are taken."""

    d: Real  # (N,): design weights
    weights: Weights
    share: Real  # (M,)
    finite_population: bool = False
    margin_size: float | None = None  # rows that the margins describe which are the target
    deals: int = 1  # of folds

    def means(self, signal: Signal, method: Method) -> Influence:
        """Estimate the target means of L, with the influence of every row (or fold) on them."""
        L, h = signal.values, signal.h
        target = self.share[:, None] * (h.target - self.share @ h.target)
        if method == "none":
            found = Influence(*mean_influence(L, self.d), np.zeros_like(target))
        elif method == "weights":
            found = self._weighted(signal, target)
        elif method == "model":
            by_fold = np.einsum("m,fmk->fk", self.share, h.folds)
            found = Influence(by_fold.mean(axis=0), self.jackknife(by_fold), target)
        else:
            rest, train = mean_influence(L - h.train, self.weights.final)
            train = self.weights.few_rows * train
            found = Influence(self.share @ h.target + rest, train, target)
        if self.margin_size is not None and not self.finite_population:
            return replace(found, target=self._margin_error(signal, method))
        return found.known_target() if self.finite_population else found

    def _weighted(self, signal: Signal, target: Real) -> Influence:
        w, weights = self.weights.final, self.weights
        value, train = mean_influence(signal.values, w)
        exact = weights.mean_influence(signal.values, self.d, self.share)
        if exact is not None:
            factor = weights.few_rows if weights.met and not weights.by_design else 1.0
            return Influence(value, factor * exact[0], exact[1])
        if weights.weighter is None:
            return Influence(value, train, np.zeros_like(target))
        h, (_, train) = signal.h, mean_influence(signal.values - signal.h.train, w)
        apart = self.share @ h.target - w @ h.train / w.sum()
        return Influence(value, weights.few_rows * train, target, apart)

    @property
    def flat(self) -> Measures | None:
        """The same with the flatter version of the weights, where there is one."""
        flat = self.weights.flat
        if flat is None:
            return None
        return replace(self, weights=replace(self.weights, final=flat, flat=None))

    def jackknife(self, by_fold: Real) -> Real:
        """Influence (R K, k) of the folds on what their models say, within the deals."""
        dealt = by_fold.reshape(self.deals, -1, by_fold.shape[1])
        K = dealt.shape[1]
        rest = (K - 1) / K * (dealt.mean(axis=1, keepdims=True) - dealt)
        return np.asarray(rest.reshape(by_fold.shape) / np.sqrt(self.deals))

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


def leaning(full: Influence, flat: Influence) -> Influence:
    """Lean from a number to that of flatter weights, as far as the two agree within noise."""
    D = full.value - flat.value
    unit = float(np.abs(D).max())
    if not (unit > 0 and np.isfinite(unit)):
        return full
    noise = (((full.train - flat.train) / unit) ** 2).sum()
    a = max(0.0, 1 - float(noise / ((D / unit) @ (D / unit))))
    return replace(full, value=full.value - (1 - a) * D, apart=(1 - a) * D)
