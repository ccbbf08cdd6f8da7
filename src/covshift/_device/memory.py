"""A device whose memory is full, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


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
