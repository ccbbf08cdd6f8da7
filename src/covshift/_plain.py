"""Results as plain data, which JSON can hold."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from ._notes import Note


def plain(data: Any) -> Any:
    """Turn notes, arrays and tuples into dicts and lists; what is not finite becomes None."""
    if isinstance(data, Note):
        return asdict(data)
    if isinstance(data, dict):
        return {str(key): plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [plain(value) for value in data]
    if hasattr(data, "tolist"):  # arrays and numbers of NumPy
        return plain(data.tolist())
    if isinstance(data, float) and not math.isfinite(data):
        return None
    return data
