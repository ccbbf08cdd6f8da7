"""One-dimensional views: thresholds, bins, and the sums between them, in every array library."""

from __future__ import annotations

import array_api_strict
import numpy as np
import portable_lines
import pytest

from covshift.operators.line_groups import coarse_size
from covshift.operators.line_thresholds import Thresholds


@pytest.mark.parametrize("convert", [np.asarray, array_api_strict.asarray], ids=["numpy", "strict"])
@pytest.mark.parametrize("fact", portable_lines.FACTS, ids=lambda fact: fact.__name__)
def test_every_array_library_keeps(fact, convert):
    fact(convert, np.asarray)


@pytest.mark.parametrize(("bins", "kind"), [(255, np.uint8), (256, np.uint16)])
def test_codes_take_the_smallest_type_that_holds_them(bins, kind):
    line = Thresholds.of(np.arange(float(bins)), np.ones(bins))
    codes = line.codes(np.array([-1.0, 1e9]))
    assert codes.dtype == kind
    assert codes.tolist() == [0, bins]
    half = Thresholds.of(np.arange(float(bins // 2)), np.ones(bins // 2))
    assert half.codes(np.array([1e9]), symmetric=True).tolist() == [2 * (bins // 2)]


@pytest.mark.parametrize(
    ("N", "views", "reg", "size"),
    [(1000, 4, 1.0, 11), (10**6, 4, 1.0, 128), (10**6, 100, 1.0, 10), (10**6, 2000, 1e-3, None)],
)
def test_as_many_thresholds_precondition_as_the_penalty_asks_and_memory_allows(N, views, reg, size):
    assert coarse_size(N, views, reg) == size


def test_codes_of_many_points_are_those_of_each(monkeypatch):
    """Points that differ in their last bits, or in nothing, keep their exact bins."""
    rng = np.random.default_rng(0)
    near = 1 + np.finfo(float).eps * rng.integers(-3, 4, size=300)
    far = [0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, *rng.normal(size=200)]
    x = rng.permutation(np.concatenate([near, -near, far]))
    line = Thresholds.of(rng.choice(x, 150), np.ones(150))
    for symmetric in (False, True):
        each = line.codes(x, symmetric=symmetric)
        with monkeypatch.context() as patch:
            patch.setattr("covshift.operators.line_thresholds._MANY", 1)
            np.testing.assert_array_equal(line.codes(x, symmetric=symmetric), each)
            np.testing.assert_array_equal(line.codes(x[:1], symmetric=symmetric), each[:1])
