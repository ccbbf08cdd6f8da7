"""Sums of the rows of PyTorch tensors into the bins of one-dimensional views.

For many columns rows are sorted by bin and then summed bin by bin: memory traffic of one read of A
for each view, no atomics.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def device_bin_totals(code: Any, values: Any | None, size: int) -> Any:
    """Add ``values`` (N,) into the ``size`` bins of one view; None counts rows."""
    import torch

    if values is None:
        return torch.bincount(code, minlength=size)
    return values.new_zeros(size).index_add_(0, code, values)


def device_line_totals(codes: Sequence[Any], offsets: Sequence[int], A: Any) -> Any:
    """Add the rows of A (b, q) into the bins of every view: (total bins, q), float64.

    The bins of view g are numbered from ``offsets[g]`` on; the last offset is their total.
    """
    import torch

    joint = torch.stack([code.int() + offset for code, offset in zip(codes, offsets, strict=False)])
    sorted_codes, order = torch.sort(joint, dim=1)
    ends = torch.searchsorted(
        sorted_codes.reshape(-1),
        torch.arange(offsets[-1], device=A.device, dtype=sorted_codes.dtype),
        out_int32=False,
    )
    # Views follow each other, and so do their bins: one list of rows, one start per bin.
    sums = torch.nn.functional.embedding_bag(order.reshape(-1), A, ends.to(order.dtype), mode="sum")
    return sums.double()
