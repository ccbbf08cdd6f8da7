"""Sums of the rows of PyTorch tensors into the bins of one-dimensional views.

For many columns rows are sorted by bin and then summed bin by bin: memory traffic of one read of
the columns for each view, no atomics, and the same sums in every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._quiet import quiet


def device_bin_totals(code: Any, values: Any | None, size: int) -> Any:
    """Add ``values`` (N,) into the ``size`` bins of one view; None counts rows."""
    import torch

    if values is None:
        return torch.bincount(code, minlength=size)
    return values.new_zeros(size).index_add_(0, code, values)


class SortedRows:
    """The rows of a block in the order of their bins, view after view.

    The bins of view g are numbered from ``offsets[g]`` on; the last offset is their total.
    """

    def __init__(self, codes: Sequence[Any], offsets: Sequence[int]) -> None:
        import torch

        views = zip(codes, offsets, strict=False)
        joint = torch.stack([code.int() + offset for code, offset in views])
        in_order, order = torch.sort(joint, dim=1)
        self.rows = order.reshape(-1)  # (G b,)
        bins = torch.arange(offsets[-1] + 1, device=joint.device, dtype=joint.dtype)
        self.starts = torch.searchsorted(in_order.reshape(-1), bins)  # (bins + 1,)

    def totals(self, A: Any) -> Any:
        """Add the rows of A (b, q) into the bins of every view: (bins, q), float64.

        On a GPU by the vendor's sparse product, which is faster there.
        """
        import torch

        if A.device.type != "cuda":
            return torch.nn.functional.embedding_bag(self.rows, A, self.starts[:-1], mode="sum")
        ones = torch.ones(len(self.rows), dtype=A.dtype, device=A.device)
        shape = (len(self.starts) - 1, len(A))
        with quiet(UserWarning):  # that it is in beta, and unchecked
            membership = torch.sparse_csr_tensor(
                self.starts, self.rows, ones, shape, check_invariants=False
            )
            return membership @ A
