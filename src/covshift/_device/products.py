"""Products on a device, in double precision.

Sums over millions of rows are whitened afterwards (`machine.landmark_basis`), which multiplies
their rounding: with kernel values of single precision fits were off by 6 %. So they are made in
double precision whatever the precision of the rows. On large blocks the 0/1 dominance matrix meets
values of at most one as whole numbers, digits to the base 128: products of bits and digits of
seven bits are exact.
"""

from __future__ import annotations

from functools import cache
from typing import Any

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
