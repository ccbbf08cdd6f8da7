"""covshift: correct sampling bias by comparing cumulative distribution functions.

The method of Mazaheri, Jain and Bruck (NeurIPS 2020), and what users compare it with. Names are
imported when first used, so that ``import covshift`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        bounds,
        corrections,
        datasets,
        distributed,
        estimates,
        exceptions,
        operators,
        selection,
        testing,
        weights,
    )
    from .corrections import v_matrix
    from .estimates import bootstrap_mean, estimate_mean, estimate_risk
    from .machine import VSVC, VSVR
    from .reweighted import Reweighted
    from .robust import RobustBiasAware

__version__ = "0.1.0"

_MODULES = (
    "bounds",
    "corrections",
    "datasets",
    "distributed",
    "estimates",
    "exceptions",
    "operators",
    "selection",
    "testing",
    "weights",
)
_HOME = {
    "Reweighted": "reweighted",
    "RobustBiasAware": "robust",
    "VSVC": "machine",
    "VSVR": "machine",
    "bootstrap_mean": "estimates",
    "estimate_mean": "estimates",
    "estimate_risk": "estimates",
    "v_matrix": "corrections",
}

__all__ = [
    "VSVC",
    "VSVR",
    "Reweighted",
    "RobustBiasAware",
    "__version__",
    "bootstrap_mean",
    "bounds",
    "corrections",
    "datasets",
    "distributed",
    "estimate_mean",
    "estimate_risk",
    "estimates",
    "exceptions",
    "operators",
    "selection",
    "testing",
    "v_matrix",
    "weights",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
