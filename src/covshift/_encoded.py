"""Tables on their way in: encoded together where they have text, dates or gaps, else left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ._frames import FrameColumns
from ._validation import unwrap_target


class EncodedSamples(NamedTuple):
    """Training and target rows, and what made numbers of them; None: they came as they are."""

    X: Any
    X_target: Any
    encoder: FrameColumns | None


def encode_samples(
    X: Any, X_target: Any, *, more: Mapping[str, Iterable[str]] | None = None
) -> EncodedSamples:
    """Learn an encoder from both samples, and encode them; arrays of numbers stay as they are.

    ``X_target`` may be a one-tuple of the rows, or None. ``more`` are levels known without rows.
    """
    T = unwrap_target(X_target)
    encoder = FrameColumns.learn(X, T, more=more)
    if encoder is None:
        return EncodedSamples(X, X_target, None)
    encoded = None if T is None else encoder.encode(T, "X_target")
    return EncodedSamples(encoder.encode(X, "X"), encoded, encoder)
