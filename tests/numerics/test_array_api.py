"""The operators on the strictest array library: nothing beyond the array API standard."""

from __future__ import annotations

import array_api_strict
import numpy as np
import portable
import pytest

from covshift import v_matrix
from covshift.corrections import Additive, Multiplicative


@pytest.mark.part(4)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("correction", portable.CORRECTIONS, ids=portable.label)
def test_strict_arrays_give_the_v_of_numpy(correction, tied, dtype):
    portable.agrees_with_numpy(
        correction, array_api_strict.asarray, np.asarray, tied=tied, dtype=dtype
    )


@pytest.mark.parametrize("n", [1, 2])
def test_float32_sums_lose_nothing(n):
    portable.sums_in_float32_lose_nothing(Multiplicative(), n, array_api_strict.asarray, np.asarray)


def test_integer_arrays_become_float64():
    X = array_api_strict.asarray([[0], [1]])
    V = v_matrix(X, X + 1)
    assert V.dtype == array_api_strict.float64


def test_two_libraries_in_one_call_are_refused():
    X = np.zeros((2, 1))
    with pytest.raises(TypeError, match="same library"):
        Additive().operator(X, array_api_strict.asarray(X))


@pytest.mark.parametrize(
    ("shape", "message"), [((3,), "Expected 2D array"), ((0, 2), "is empty"), ((2, 0), "is empty")]
)
def test_strict_arrays_of_a_bad_shape_are_refused(shape, message):
    with pytest.raises(ValueError, match=message):
        v_matrix(array_api_strict.zeros(shape))


def test_complex_strict_arrays_are_refused():
    with pytest.raises(ValueError, match="Complex data not supported"):
        v_matrix(array_api_strict.zeros((2, 2), dtype=array_api_strict.complex128))
