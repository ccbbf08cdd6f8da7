"""What a contender is: a way to make V for the one kernel machine, or a learner of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from covshift.corrections import v_matrix
from covshift.numerics.array import Real

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Sample:
    """What a contender may see: training rows with labels, target rows without."""

    X: Real  # (N, n)
    y: NDArray[np.int64]  # (N,)
    T: Real  # (M, n)
    box: tuple[float, float]  # in which the features are known to lie
    density_ratio: Real  # (N,), the truth; for the contender that is told

    def mirrored(self) -> Sample:
        """The same problem in the features low + high - x."""
        total = sum(self.box)
        return replace(self, X=total - self.X, T=total - self.T)

    def without_target(self) -> Sample:
        """The training rows in the place of the target."""
        return replace(self, T=self.X)

    def with_target(self, T: Real) -> Sample:
        """The same training rows for another sample of the target."""
        return replace(self, T=T)


@dataclass(frozen=True)
class Contender:
    """A name for commands and files, a label for readers, and the source."""

    name: str
    label: str
    source: str = ""

    def v(self, sample: Sample, options: Options, seed: int) -> Real:
        """Return V (N, N) for the kernel machine."""
        raise NotImplementedError


class ByV(Contender):
    """A correction of `covshift.corrections`: the controls on V apply to it."""

    def correction(self, sample: Sample, options: Options, seed: int) -> Any:
        raise NotImplementedError

    def v(self, sample: Sample, options: Options, seed: int) -> Real:
        return np.asarray(v_matrix(sample.X, sample.T, self.correction(sample, options, seed)))


class ByWeights(Contender):
    """A weighter of `covshift.weights`: V = diag(w), of mean one."""

    def weighter(self, sample: Sample, options: Options, seed: int) -> Any:
        raise NotImplementedError

    def weights(self, sample: Sample, options: Options, seed: int) -> Real:
        weighter = self.weighter(sample, options, seed)
        return np.asarray(weighter.fit(sample.X, X_target=(sample.T,)).weights_)

    def v(self, sample: Sample, options: Options, seed: int) -> Real:
        return np.diag(self.weights(sample, options, seed))


class Learner(Contender):
    """A classifier that is not the kernel machine."""

    def probability(self, sample: Sample, at: Real, options: Options, seed: int) -> Real:
        """Return p(y = 1 | x) at the rows ``at``."""
        raise NotImplementedError
