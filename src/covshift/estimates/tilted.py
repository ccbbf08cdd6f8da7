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

from typing import ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._quiet import quiet
from .._types import Real
from ..exceptions import WeightWarning
from ..weights import CDFWeights, EntropyBalancing
from ..weights._design import kish
from ..weights.base import Weighter

_NOISE = 10.0  # penalty of the tilt, in units of 1/N + 1/M


class TiltedCDFWeights(Weighter):
    """CDF weights that start from an exponential tilt. See the module."""

    _takes_sample_weight: ClassVar[bool] = True

    def _fit(self, X: Real, T: Real, share: Real) -> Real:
        noise = 1 / kish(self._own) + 1 / kish(share)
        even = np.ptp(share) <= 1e-12 * share.max()
        # Shares, not counts: what weights of the target mean does not depend on their scale.
        target_weight = None if even else share / share.max() * (1 - 1e-9)
        given = {"X_target": (T,), "target_weight": target_weight}
        with quiet(WeightWarning, ConvergenceWarning):  # those of the product count
            tilt = EntropyBalancing(moments=2, reg=_NOISE * noise).of_features(self._groups)
            cdf = CDFWeights().of_features(self._groups)
            tilt._part = cdf._part = True
            self._tilt = tilt.fit(X, sample_weight=self._own, **given)
            base = self._own * self._tilt.weights_
            self._cdf = cdf.fit(X, sample_weight=base, **given)
        return np.asarray(self._tilt.weights_ * self._cdf.weights_)

    def _ratio(self, X: Real) -> Real:
        return np.asarray(self._tilt.predict_weights(X) * self._cdf.predict_weights(X))
