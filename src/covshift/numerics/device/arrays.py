"""The columns [Psi, 1, y] of a block of rows on a device, made where they are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from ..quiet import quiet


class DeviceColumns:
    """Columns in float64: ``features`` of the rows X (b, n), if any, then ``others`` (b, k)."""

    def __init__(self, X: Any, others: Any, features: Any = None) -> None:
        self._X, self._others, self._features = X, others.double(), features

    @cached_property
    def array(self) -> Any:
        """All columns: (b, q)."""
        return self._weighted(self._X.new_ones(len(self._X)).double(), self._others)

    def bin_totals(self, codes: Sequence[Any], offsets: Sequence[int], w: Any) -> Any:
        """Sums of w times the columns, and of w, over the bins of every view: (bins, q + 1)."""
        w = w.double()
        return SortedRows(codes, offsets).totals(self._weighted(w, self._with_weights(w)))

    def dominance_totals(self, masks: MaskTables, bits: Any, w: Any) -> Any:
        """Sums of w times the columns, and of w, over what each target dominates: (M, q + 1)."""
        w = w.double()
        B = masks.unpacked(bits).double()
        return (B @ self._weighted(w, self._with_weights(w)))[: masks.count]

    def _with_weights(self, w: Any) -> Any:
        import torch

        return torch.cat([w[:, None] * self._others, w[:, None]], dim=1)

    def _weighted(self, w: Any, last: Any) -> Any:
        """[w Psi, last] as one array."""
        import torch

        if self._features is None:
            return torch.cat([w[:, None] * self._others[:, :0], last], dim=1)
        return torch.cat([w[:, None] * self._features(self._X.double()), last], dim=1)


# Sums of the rows of PyTorch tensors into the bins of one-dimensional views.
#
# For many columns rows are sorted by bin and then summed bin by bin: memory traffic of one read of
# the columns for each view, no atomics, and the same sums in every run.


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


# Which target points dominate a row in several dimensions, as bits of PyTorch tensors.


class MaskTables:
    """The target of one view of several dimensions, as bit masks by rank (see `operators.bits`)."""

    def __init__(self, T: Any) -> None:
        import torch

        self.count = T.shape[0]
        self._thresholds, self._tables = [], []
        places = 2 ** torch.arange(8, device=T.device)
        pad = -self.count % 8
        for t in T.T:
            thresholds = torch.unique(t)
            rank = torch.searchsorted(thresholds, t.contiguous())
            above = rank[None, :] >= torch.arange(len(thresholds) + 1, device=T.device)[:, None]
            above = torch.nn.functional.pad(above, (0, pad)).reshape(len(above), -1, 8)
            self._thresholds.append(thresholds)
            self._tables.append((above * places).sum(dim=2).to(torch.uint8))

    def read(self, X: Any) -> Any:
        """Packed columns of B: (b, M / 8) bytes; rows that no target dominates are zero."""
        import torch

        bits = None
        for k, (thresholds, table) in enumerate(zip(self._thresholds, self._tables, strict=True)):
            code = torch.searchsorted(thresholds, X[:, k].contiguous())
            read = table[code]
            bits = read if bits is None else bits.bitwise_and_(read)
        return bits

    def unpacked(self, bits: Any) -> Any:
        """B as bytes of zero and one: (M, b), and rows of zeros up to a multiple of eight."""
        import torch

        places = torch.arange(8, dtype=torch.uint8, device=bits.device)
        B = (bits.T.contiguous()[:, None, :] >> places[:, None]).bitwise_and_(1)
        return B.reshape(-1, len(bits))


# Products on a device, in double precision.
#
# Features whiten kernel values, which multiplies their rounding: with kernel values of single
# precision fits were off by 6%. So they are made in double precision, whatever that of the rows.


def device_gram(A: Any, w: Any) -> Any:
    """A' diag(w) A (q, q), in float64; of four quarters three are computed."""
    import torch

    A = A.double()
    if not bool((w == 1).all()):
        A = w.double().sqrt()[:, None] * A
    q = A.shape[1]
    middle = q // 2
    left, right = A[:, :middle], A[:, middle:]
    gram = torch.empty((q, q), dtype=A.dtype, device=A.device)
    gram[:middle, :middle] = left.T @ left
    gram[middle:, middle:] = right.T @ right
    gram[:middle, middle:] = left.T @ right
    gram[middle:, :middle] = gram[:middle, middle:].T
    return gram


# A device whose memory is full, in words.


@contextmanager
def enough_memory(work: str, instead: str) -> Iterator[None]:
    """Say which work did not fit into the memory of a device, and what to do ``instead``."""
    try:
        yield
    except RuntimeError as error:
        if type(error).__name__ != "OutOfMemoryError":  # PyTorch's, which need not be installed
            raise
        raise MemoryError(
            f"The device has not enough memory for {work}: {str(error).partition('. ')[0]}. "
            f"{instead}, or free what other tensors take (torch.cuda.empty_cache()), or pass "
            "NumPy arrays, which are worked on by the CPU in blocks."
        ) from error
