"""Sums over blocks of rows on a GPU, through PyTorch: the heavy products of a fit on landmarks.

Columns come in single precision; what a block adds is rounded like single precision, and blocks are
added in double. Two products:

- into bins (one-dimensional views): rows sorted by bin, then summed bin by bin; memory traffic of
  one read of A a view, no atomics;
- with the 0/1 dominance matrix B (views of several dimensions): B is exact in half precision and A
  is split into two halves of 11 bits each, so that the tensor cores' fast product has 22 bits. It
  accumulates in single precision over at most 8192 rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from .._array import Array
from .bins import bin_offsets

_ROWS = 8192  # over which a half-precision product accumulates
_SPLIT = 2048.0  # 2^11: what the first half cannot hold


def is_torch(array: Array) -> bool:
    """Whether ``array`` is a PyTorch tensor."""
    return type(array).__module__.partition(".")[0] == "torch"


def line_totals(codes: Sequence[Any], sizes: Sequence[int], A: Any) -> Any:
    """Add the rows of A (b, q) into the bins of every view: (total bins, q), float64."""
    import torch

    offsets = bin_offsets(sizes)
    joint = torch.stack([code.int() + offset for code, offset in zip(codes, offsets, strict=False)])
    sorted_codes, order = torch.sort(joint, dim=1)
    ends = torch.searchsorted(
        sorted_codes.reshape(-1),
        torch.arange(offsets[-1], device=A.device, dtype=sorted_codes.dtype),
        out_int32=False,
    )
    # Views follow each other, and so do their bins: one list of rows, one start a bin.
    sums = torch.nn.functional.embedding_bag(order.reshape(-1), A, ends.to(order.dtype), mode="sum")
    return sums.double()


def dominance_totals(B: Any, A: Any) -> Any:
    """B'A (M, q) in float64, for the 0/1 matrix B (b, M), as bytes, and columns A (b, q)."""
    if not half_products(A):
        return (B.to(A.dtype).T @ A).double()
    A, scale = _to_unit(A)
    return joined(blocked_product(B.half(), split(A)), A.shape[1]) * scale.double()


def device_gram(A: Any, w: Any) -> Any:
    """A' diag(w) A (q, q) in float64."""
    root = w.sqrt()[:, None] * A
    if not half_products(A):
        return (root.T @ root).double()
    root, scale = _to_unit(root)
    q, halves = A.shape[1], split(root)
    middle = halves.shape[1] // 2
    product = blocked_product(halves[:, :middle], halves)
    cross = product[:q, middle : middle + q] / _SPLIT
    return (product[:q, :q] + cross + cross.T) * scale.double() * scale.double()[:, None]


def split_product(K: Any, W: Any) -> Any:
    """K W for K (b, D) and W (D, r), to about single precision."""
    import torch

    if not half_products(K) or bool(K.abs().amax() > 1):  # of a linear kernel, for example
        return K @ W
    W, unit = _to_unit(W)
    D, r = W.shape
    left, right = split(K), split(W)
    middle, half = left.shape[1] // 2, right.shape[1] // 2
    both = torch.mm(left[:, :D], right, out_dtype=torch.float32)  # high high, high low
    low = torch.mm(left[:, middle : middle + D], right[:, :half], out_dtype=torch.float32)
    both[:, half:] += low
    return joined(both, r) * unit


def split(A: Any) -> Any:
    """[high, low] in half precision, with A (b, q) = high + low / 2048 to 22 bits.

    Each half is padded with zeros to a multiple of eight columns, which fast products need.
    """
    b, q = A.shape
    width = -(-q // 8) * 8
    high = A.half()
    halves = high.new_zeros((b, 2 * width)) if q < width else high.new_empty((b, 2 * width))
    halves[:, :q] = high
    halves[:, width : width + q] = (A - high).mul_(_SPLIT)
    return halves


def joined(product: Any, q: int) -> Any:
    """Add up a product with [high, low]: (rows, q)."""
    width = product.shape[1] // 2
    return product[:, :q] + product[:, width : width + q] / _SPLIT


def blocked_product(B: Any, A: Any) -> Any:
    """B'A for half-precision (b, M) and (b, q): float32 within 8192 rows, float64 beyond."""
    import torch

    rows = B.shape[0]
    whole = rows - rows % _ROWS
    total = torch.zeros((B.shape[1], A.shape[1]), dtype=torch.float64, device=A.device)
    if whole:
        left = B[:whole].reshape(-1, _ROWS, B.shape[1]).transpose(1, 2)
        right = A[:whole].reshape(-1, _ROWS, A.shape[1])
        total += torch.bmm(left, right, out_dtype=torch.float32).sum(dim=0, dtype=torch.float64)
    if whole < rows:
        total += torch.mm(B[whole:].T, A[whole:], out_dtype=torch.float32).double()
    return total


def half_products(A: Any) -> bool:
    """Whether half-precision products with single-precision results serve A, and exist there."""
    if A.device.type != "cuda" or A.element_size() != 4:
        return False
    return _out_dtype_works(A.device)


@cache
def _out_dtype_works(device: Any) -> bool:
    import torch

    try:
        one = torch.ones((16, 16), dtype=torch.float16, device=device)
        torch.mm(one, one, out_dtype=torch.float32)
    except (TypeError, RuntimeError, NotImplementedError):
        return False
    return True


class MaskTables:
    """The target of one view of several dimensions, as bit masks by rank (see `bits`)."""

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
        """B as bytes of zero and one: (b, M), and columns of zeros up to a multiple of eight."""
        import torch

        places = torch.arange(8, dtype=torch.uint8, device=bits.device)
        B = (bits[:, :, None] >> places).bitwise_and_(1)
        return B.reshape(len(bits), -1)


def _to_unit(A: Any) -> tuple[Any, Any]:
    """Divide columns that leave [-1, 1] by a power of two; also return the divisors (q,)."""
    import torch

    largest = A.abs().amax(dim=0)
    scale = torch.exp2(torch.ceil(torch.log2(largest.clamp_min(1.0))))
    wide = torch.nonzero(scale > 1)[:, 0]
    if len(wide):
        A = A.clone()
        A[:, wide] /= scale[wide]
    return A, scale
