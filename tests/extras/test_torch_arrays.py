"""The operators on torch tensors: NumPy's result, on the tensor's own device."""

from __future__ import annotations

import portable
import pytest

from covshift import v_matrix


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("correction", portable.CORRECTIONS, ids=portable.label)
def test_torch_tensors_give_the_v_of_numpy(torch, correction, tied, dtype):
    portable.agrees_with_numpy(
        correction, torch.asarray, lambda tensor: tensor.numpy(), tied=tied, dtype=dtype
    )


def test_half_precision_is_raised_to_single(torch):
    X = torch.zeros((3, 2), dtype=torch.float16)
    assert v_matrix(X).dtype == torch.float32


def test_nan_in_a_tensor_is_named(torch):
    X = torch.zeros((3, 2))
    X[1, 1] = float("nan")
    with pytest.raises(ValueError, match=r"column 1 \(1 NaN\)"):
        v_matrix(X)
