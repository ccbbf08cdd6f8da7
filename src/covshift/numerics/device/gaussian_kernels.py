"""Compiled kernels of `compiled`, in the language of Triton; importing this module needs it."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _values(x_at, square_at, w_at, z_at, z_square_at, b, D, rows, columns, FEATURES: tl.constexpr):
    """W exp(-|x - z|^2) in float64 for some rows x and landmarks z."""
    known, inside = rows < b, columns < D
    half = tl.zeros((rows.shape[0], columns.shape[0]), dtype=tl.float64)
    for k in tl.static_range(FEATURES):
        x = tl.load(x_at + rows * FEATURES + k, mask=known, other=0.0)
        z = tl.load(z_at + k * D + columns, mask=inside, other=0.0)
        half += x[:, None] * z[None, :]
    square = tl.load(square_at + rows, mask=known, other=0.0)
    z_square = tl.load(z_square_at + columns, mask=inside, other=0.0)
    w = tl.load(w_at + rows, mask=known, other=0.0)
    gap = tl.maximum(square[:, None] + z_square[None, :] - 2.0 * half, 0.0)
    return w[:, None] * tl.exp(-gap)


@triton.jit
def write_values(
    x_at,
    square_at,
    w_at,
    z_at,
    z_square_at,
    out_at,
    b,
    D,
    stride,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
):
    """Write the values to out (b, D), whose rows are ``stride`` numbers apart."""
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    values = _values(x_at, square_at, w_at, z_at, z_square_at, b, D, rows, columns, FEATURES)
    mask = (rows < b)[:, None] & (columns < D)[None, :]
    tl.store(out_at + rows[:, None] * stride + columns[None, :], values, mask=mask)


@triton.jit
def write_digits(
    x_at,
    square_at,
    w_at,
    z_at,
    z_square_at,
    out_at,
    b,
    D,
    stride,
    plane,
    FEATURES: tl.constexpr,
    ROWS: tl.constexpr,
    COLUMNS: tl.constexpr,
    DIGITS: tl.constexpr,
):
    """Write values of at most one as digits to the base 128: out (DIGITS, D, b) of int8.

    Rows of a digit are ``stride`` bytes apart, digits ``plane`` bytes.
    """
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    rest = _values(x_at, square_at, w_at, z_at, z_square_at, b, D, rows, columns, FEATURES)
    mask = (rows < b)[:, None] & (columns < D)[None, :]
    place = columns.to(tl.int64)[None, :] * stride + rows[:, None]
    for _ in tl.static_range(DIGITS):
        rest = rest * 128.0
        whole = tl.minimum(tl.floor(rest + 0.5), 127.0)
        rest = rest - whole
        tl.store(out_at + place, whole.to(tl.int8), mask=mask)
        place += plane
