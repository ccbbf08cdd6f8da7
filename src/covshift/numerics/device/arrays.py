"""The columns [K(x, Z), 1, y] of a block of rows on a device, made where they are summed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import Any

import numpy as np

from ..array import Real
from ..quiet import quiet


class DeviceColumns:
    """Columns in float64: kernel values of the rows X (b, n), then ``others`` (b, k).

    Without ``features`` there are no kernel values.
    """

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
        import torch

        w, B = w.double(), masks.unpacked(bits)
        last = self._with_weights(w)
        compiled = None if self._features is None else self._features.compiled(self._X)
        if compiled is None or not digits_serve(self._X):
            return (B.double() @ self._weighted(w, last))[: masks.count]
        gaussian, points = compiled
        unit = w.amax().clamp_min(1e-300)
        values = bits_times_digits(B, gaussian.digits(points, w / unit))
        digits, units = as_digits(last)
        rest = bits_times_digits(B, digits)
        found = [values[:, : gaussian.count] * unit, rest[:, : last.shape[1]] * units]
        return torch.cat(found, dim=1)[: masks.count]

    def _with_weights(self, w: Any) -> Any:
        import torch

        return torch.cat([w[:, None] * self._others, w[:, None]], dim=1)

    def _weighted(self, w: Any, last: Any) -> Any:
        """[w K(x, Z), last] as one array."""
        import torch

        if self._features is None:
            return torch.cat([w[:, None] * self._others[:, :0], last], dim=1)
        compiled = self._features.compiled(self._X)
        if compiled is None:
            return torch.cat([w[:, None] * self._features(self._X.double()), last], dim=1)
        gaussian, points = compiled
        D = gaussian.count
        out = torch.empty((len(w), D + last.shape[1]), dtype=torch.float64, device=w.device)
        gaussian.write(points, w, out)
        out[:, D:] = last
        return out


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
# Sums over millions of rows are whitened afterwards (`machine.landmark_basis`), which multiplies
# their rounding: with kernel values of single precision fits were off by 6%. So they are made in
# double precision whatever the precision of the rows. On large blocks the 0/1 dominance matrix
# meets values of at most one as whole numbers, digits to the base 128: products of bits and digits
# of seven bits are exact.


DIGITS = 5  # of seven bits: 35 bits, an error of 1.5e-11
SIZES = 8  # what products of whole numbers want their sizes to be a multiple of


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


def bits_times_digits(B: Any, digits: Any) -> Any:
    """B A (M, D) in float64, for 0/1 bytes B (M, b) and A (b, D) as digits (DIGITS, D, b)."""
    import torch

    B = torch.nn.functional.pad(B, (0, -B.shape[1] % SIZES, 0, -B.shape[0] % SIZES))
    found = torch._int_mm(B.view(torch.int8), digits.reshape(-1, digits.shape[2]).T)
    places = 128.0 ** -torch.arange(1, DIGITS + 1, dtype=torch.float64, device=B.device)
    return torch.einsum("mpd,p->md", found.reshape(len(B), DIGITS, -1).double(), places)


def as_digits(A: Any) -> tuple[Any, Any]:
    """Columns A (b, q) as digits (DIGITS, q, b), rounded up, and their units (q,)."""
    import torch

    unit = A.abs().amax(dim=0).clamp_min(1e-300)
    rest = (A / unit).T
    q, b = (-(-size // SIZES) * SIZES for size in rest.shape)
    digits = torch.zeros((DIGITS, q, b), dtype=torch.int8, device=A.device)
    for digit in digits:
        rest = rest * 128
        whole = rest.round().clamp_(-127, 127)
        digit[: A.shape[1], : A.shape[0]] = whole
        rest = rest - whole
    return digits, unit


def device_eigh(K: Any, example: Any) -> tuple[Any, Any]:
    """Eigenvalues and eigenvectors of a NumPy matrix, computed where ``example`` lies."""
    import torch

    values, vectors = torch.linalg.eigh(torch.asarray(K, device=example.device))
    return values.cpu().numpy(), vectors.cpu().numpy()


@cache
def whole_products(device: Any) -> bool:
    """Whether products of whole numbers of eight bits exist there."""
    import torch

    if device.type != "cuda" or not hasattr(torch, "_int_mm"):
        return False
    try:
        one = torch.ones((32, 32), dtype=torch.int8, device=device)
        return bool((torch._int_mm(one, one.T) == 32).all())
    except (TypeError, RuntimeError, NotImplementedError):
        return False


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


# Gaussian kernel values on a GPU in one pass, by compiled kernels (Triton comes with PyTorch).
#
# Written with tensors, a value passes through memory four times (distance, cut at zero,
# exponential, weight). A compiled kernel writes it once: as a number, for sums into bins, or as
# digits to the base 128, for products with the 0/1 dominance matrix, which are then exact products
# of whole numbers.


_MOST_FEATURES = 64  # which the kernels unroll
_VALUES = {"ROWS": 8, "COLUMNS": 128}  # a program writes
_DIGITS = {"ROWS": 64, "COLUMNS": 16}


class CompiledGaussian:
    """w exp(-gamma |x - z|^2) for the landmarks Z (D, n), on one device."""

    def __init__(self, gamma: float, Z: Real, example: Any) -> None:
        import torch

        self._root, center = float(np.sqrt(gamma)), Z.mean(axis=0)
        z = (Z - center) * self._root
        self.count = len(Z)
        self._center, self._z, self._squares = (
            torch.asarray(part, device=example.device)
            for part in (center, np.ascontiguousarray(z.T), (z**2).sum(axis=1))
        )

    def write(self, X: Any, w: Any, out: Any) -> None:
        """Write the values of the rows X (b, n), of weights w (b,), to ``out`` (b, D), float64."""
        from .gaussian_kernels import write_values

        given, grid = self._given(X, w, out, _VALUES)
        write_values[grid](*given, out.stride(0), FEATURES=X.shape[1], **_VALUES)

    def digits(self, X: Any, w: Any) -> Any:
        """Return values of at most one as digits: (DIGITS, D, b) of int8, D and b rounded up."""
        import torch

        from .gaussian_kernels import write_digits

        D, b = (-(-size // SIZES) * SIZES for size in (self.count, X.shape[0]))
        out = torch.zeros((DIGITS, D, b), dtype=torch.int8, device=X.device)
        given, grid = self._given(X, w, out, _DIGITS)
        write_digits[grid](*given, b, D * b, FEATURES=X.shape[1], DIGITS=DIGITS, **_DIGITS)
        return out

    def _given(self, X: Any, w: Any, out: Any, tile: dict[str, int]) -> tuple[Any, Any]:
        x = ((X.double() - self._center) * self._root).contiguous()
        b = len(x)
        grid = (-(-b // tile["ROWS"]), -(-self.count // tile["COLUMNS"]))
        given = (x, (x**2).sum(dim=1), w.contiguous(), self._z, self._squares, out, b, self.count)
        return given, grid


def compiled_gaussian(kernel: Any, Z: Real, example: Any) -> CompiledGaussian | None:
    """Return the compiled form of a Gaussian kernel, where the device has it."""
    if example.device.type != "cuda" or kernel.name != "rbf" or Z.shape[1] > _MOST_FEATURES:
        return None
    return CompiledGaussian(kernel.gamma, Z, example) if _has_triton() else None


def digits_serve(X: Any) -> bool:
    """Whether products of whole numbers serve rows X (b, n)."""
    return len(X) >= 1 << 14 and whole_products(X.device)


@cache
def _has_triton() -> bool:
    try:
        import triton  # noqa: F401
    except ImportError:
        return False
    return True
