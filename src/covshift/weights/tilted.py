"""The default weights of `estimate`: an exponential tilt, and CDF weights on top of it.

CDF weights of single features are sums, w(x) = [c + sum_j g_j(x_j)]_+ . Where several features have
shifted on their own, the density ratio is a product, and only a product gives the right mean of
what two features do together. So an exponential tilt comes first, w_0(x) = exp(theta'f(x)) with f
the features and their squares (entropy balancing), and CDF weights then match what it leaves of
each feature's distribution, with the tilted sample as their start:

    w(x) = w_0(x) r(x) ,   r from `CDFWeights` on rows of design weight w_0 .

The tilt has the penalty 10 (1/N + 1/M): it lets moments differ by what sampling noise can explain,
always has a solution, and vanishes in large samples.

It is meant for what features do together: in benchmarks/results/estimates.md these weights alone
cover the mean of the "interaction" population. On the real tables there they have, alone, the error
of CDF weights and not less.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data.parameters import Rules, flag
from ..data.row_weights import design_of, kish, shares_of
from ..exceptions import OverlapWarning, WeightWarning
from ..numerics.array import Real
from ..numerics.parallel import over_rows
from ..numerics.quiet import heard
from .base import Weighter
from .cdf.weighter import CDFWeights
from .entropy import EntropyBalancing
from .problem import Problem

_NOISE = 10.0  # penalty of the tilt, in units of 1/N + 1/M
_MOST_ROWS = 100_000  # of each sample that it is fitted to
_AT_ONCE = 1 << 15  # rows that are weighed


class TiltedCDFWeights(Weighter):
    """CDF weights that start from an exponential tilt: the default weights of `covshift.estimate`.

        w(x) = exp(theta'f(x)) r(x) ,

    f the features and their squares, r CDF weights on rows of design weight exp(theta'f(x)): a
    product where features have shifted together, and each feature's distribution as `CDFWeights`
    match it. Fitted to at most 100,000 rows of each sample, drawn at random; the weights of the
    others follow from the fit. New rows are weighed as `CDFWeights` do, and none weighs more than
    the heaviest training row: an exponential grows beyond these.
    Cost: that of `EntropyBalancing` and of `CDFWeights`.

    Parameters
    ----------
    allow_no_overlap : bool
        As in `CDFWeights`: the nearest weights and a warning where the samples do not overlap.
    random_state : int or None
        Seed of the rows that are drawn.

    Examples
    --------
    >>> from covshift import estimate
    >>> from covshift.datasets import make_survey
    >>> from covshift.weights import TiltedCDFWeights
    >>> survey = make_survey(300, 300, random_state=0)
    >>> fitted = TiltedCDFWeights().fit(survey.X, X_target=survey.X_target)
    >>> fitted.overlap_
    True
    """

    _takes_sample_weight: ClassVar[bool] = True
    _tells_overlap = True

    _rules: ClassVar[Rules] = {"allow_no_overlap": flag()}

    def __init__(self, *, allow_no_overlap: bool = False, random_state: Any = None) -> None:
        self.allow_no_overlap = allow_no_overlap
        self.random_state = random_state

    @property
    def overlap_(self) -> bool:
        """Whether the samples overlap."""
        return bool(self._cdf.overlap_)

    def _solve(self, problem: Problem) -> Real:
        rows, target = (self._drawn(len(part)) for part in (problem.X, problem.T))
        X, own = problem.X[rows], shares_of(problem.own[rows])
        share = shares_of(problem.share[target])
        some = replace(problem, T=problem.T[target], share=share, size=kish(share), apart=())
        noise = 1 / kish(own) + 1 / kish(share)
        self._tilt = EntropyBalancing(moments=2, reg=_NOISE * noise)
        self._cdf = CDFWeights(allow_no_overlap=self.allow_no_overlap)
        base = own
        with heard(WeightWarning, ConvergenceWarning) as caught:  # those of the product count
            for part in (self._tilt, self._cdf):
                given = replace(some, rows=X, design=design_of(base, len(X)))
                part._keep(given, part._solve(given))
                base = own * part.weights_
        for item in caught:
            if issubclass(item.category, OverlapWarning):
                warnings.warn(item.text, item.category, stacklevel=3)
        if len(own) < len(problem.X):
            return self._ratio(problem.X)
        return np.asarray(self._tilt.weights_ * self._cdf.weights_)

    def _keep(self, problem: Problem, raw: Real) -> Real:
        final = super()._keep(problem, raw)
        self._most = float(self.weights_.max())
        return final

    def _ratio(self, X: Real) -> Real:
        found = np.empty(len(X))

        def work(rows: slice) -> None:
            for start in range(rows.start, rows.stop, _AT_ONCE):
                some = slice(start, min(start + _AT_ONCE, rows.stop))
                found[some] = self._tilt._scaled(self._tilt._ratio(X[some]))
                found[some] *= self._cdf._scaled(self._cdf._ratio(X[some]))

        over_rows(work, len(X), at_least=_AT_ONCE)
        return found

    def _drawn(self, count: int) -> Any:
        if count <= _MOST_ROWS:
            return slice(None)
        rng = np.random.default_rng(self.random_state)
        return np.sort(rng.choice(count, size=_MOST_ROWS, replace=False))
