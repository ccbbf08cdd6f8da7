"""The operators on torch tensors: NumPy's result, on the tensor's own device."""

from __future__ import annotations

import array_api_strict
import numpy as np
import portable
import portable_lines
import pytest

from covshift import v_matrix
from covshift.corrections import Multiplicative
from covshift.data.validation import _check_same_library


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("correction", portable.CORRECTIONS, ids=portable.label)
def test_torch_tensors_give_the_v_of_numpy(torch, correction, tied, dtype):
    portable.agrees_with_numpy(
        correction, torch.asarray, lambda tensor: tensor.numpy(), tied=tied, dtype=dtype
    )


@pytest.mark.parametrize("n", [1, 2])
def test_float32_sums_lose_nothing(torch, n):
    portable.sums_in_float32_lose_nothing(
        Multiplicative(), n, torch.asarray, lambda tensor: tensor.numpy()
    )


def test_a_target_of_another_library_is_refused(torch):
    X = torch.zeros((3, 2))
    for other in (np.zeros((3, 2)), array_api_strict.zeros((3, 2))):
        with pytest.raises(TypeError, match="same library"):
            v_matrix(X, other)
        with pytest.raises(TypeError, match="Tensor, as V was made from"):
            Multiplicative().operator(X).matmat(other)


def test_a_target_on_another_device_is_refused(torch):
    with pytest.raises(TypeError, match="on cpu, but X_target is a Tensor on meta"):
        _check_same_library(torch.zeros((3, 2)), torch.zeros((3, 2), device="meta"))


def test_half_precision_is_raised_to_single(torch):
    X = torch.zeros((3, 2), dtype=torch.float16)
    assert v_matrix(X).dtype == torch.float32


def test_nan_in_a_tensor_is_named(torch):
    X = torch.zeros((3, 2))
    X[1, 1] = float("nan")
    with pytest.raises(ValueError, match=r"column 1 \(1 NaN\)"):
        v_matrix(X)


@pytest.mark.parametrize("fact", portable_lines.FACTS, ids=lambda fact: fact.__name__)
def test_one_dimensional_views_of_tensors_keep(torch, fact):
    fact(torch.asarray, lambda tensor: np.asarray(tensor))
