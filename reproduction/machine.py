"""The one solver of all contenders: the kernel machine with another V (theory, section 3)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels

from covshift.corrections import Precomputed
from covshift.machine import VSVC
from covshift.numerics.array import Real
from covshift.numerics.quiet import heard


class Machine:
    """One kernel on one training sample, met once; any V and penalty after that.

    ``kernel`` is "rbf" (exp(-factor d^2)), "laplacian" (exp(-factor |d|_1)), "linear", or "median":
    rbf with one over the median squared distance of the training rows as its factor.
    """

    def __init__(self, X: Real, y: Any, at: Real, kernel: str, factor: float | None = None) -> None:
        self.y = y
        if kernel == "median":
            squares = pairwise_distances(X, metric="sqeuclidean")
            median = float(np.median(squares[np.triu_indices(len(X), 1)]))
            kernel, factor = "rbf", 1 / median if median > 0 else 1.0
        options = {} if kernel == "linear" else {"gamma": factor}
        self._K = pairwise_kernels(X, metric=kernel, **options)
        self._at = pairwise_kernels(at, X, metric=kernel, **options)

    def values(self, V: Real, gamma: float | str) -> Real:
        """Return f at the evaluation rows; ``gamma`` "cv" is cross-validated squared error."""
        machine = VSVC(Precomputed(V), kernel="precomputed", reg=gamma, probability=None)
        return np.asarray(machine.fit(self._K, self.y).decision_function(self._at) + 0.5)


def unit_diagonal(V: Real) -> Real:
    """V scaled to a mean diagonal of one, so that a penalty is as strong as at V = I."""
    mean = float(np.diag(V).mean())
    return V / mean if mean > 0 else V


def error_rate(f: Real, y: Any) -> float:
    """Share of wrong classes; class 1 where f >= 1/2."""
    return float(np.mean((f >= 0.5) != (y == 1)))


class Watch:
    """CPU seconds by name, and which names covshift warned about."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.warned = False

    @contextmanager
    def time(self, name: str) -> Iterator[None]:
        start = time.process_time()
        with heard() as caught:
            yield
        self.warned = self.warned or (name == "select" and bool(caught))
        self.seconds[name] = self.seconds.get(name, 0.0) + time.process_time() - start
