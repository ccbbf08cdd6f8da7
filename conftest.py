"""Examples in docstrings of src are tests, where their module has some and its extra is there."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

_NEEDS = {"covshift/torch.py": "torch", "covshift/numerics/device/gaussian_kernels.py": "triton"}
_SOURCE = Path(__file__).parent / "src"


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """Leave out modules of src without an example: looking into all of them takes seconds."""
    if collection_path.suffix != ".py" or _SOURCE not in collection_path.parents:
        return None
    extra = _NEEDS.get(collection_path.relative_to(_SOURCE).as_posix())
    if extra is not None and find_spec(extra) is None:
        return True
    return None if ">>>" in collection_path.read_text(encoding="utf-8") else True
