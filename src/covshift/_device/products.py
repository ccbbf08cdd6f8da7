"""Products on a GPU, through PyTorch: the heavy part of a fit on landmarks.

Columns come in single precision; what a block of rows adds is rounded like single precision, and
blocks are added in double. The 0/1 dominance matrix B of views of several dimensions is exact in
half precision, and A is split into two halves of 11 bits each: the tensor cores multiply them fast
and keep 22 bits. They accumulate in single precision over at most 8192 rows.
"""

from __future__ import annotations

from functools import cache
from typing import Any

_ROWS = 8192  # over which a half-precision product accumulates
_SPLIT = 2048.0  # 2^11: what the first half cannot hold


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
