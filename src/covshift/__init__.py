"""covshift: correct sampling bias by comparing cumulative distribution functions.

The method of Mazaheri, Jain and Bruck (NeurIPS 2020), and what users compare it with. Names are
imported when first used, so that ``import covshift`` costs next to nothing.
"""

from __future__ import annotations

TYPE_CHECKING = False  # that of typing, which would be most of the cost
if TYPE_CHECKING:
    from typing import Any

    from . import (
        bounds,
        comparison,
        conformal,
        corrections,
        datasets,
        diagnostics,
        distributed,
        estimates,
        evaluations,
        exceptions,
        margins,
        objectives,
        operators,
        persistence,
        plot,
        registry,
        report,
        show,
        testing,
        weights,
    )
    from . import torch as torch
    from .boosting import VBoostClassifier, VBoostRegressor
    from .comparison import compare
    from .conformal import ConformalClassifier, ConformalRegressor
    from .corrections import v_matrix
    from .data.row_weights import DesignWeights, repeat_rows
    from .data.validation import Target
    from .diagnostics import Diagnosis, diagnose
    from .encoding import TableEncoder
    from .engine.labels import Labels
    from .estimates import (
        CDF,
        Coefficients,
        Difference,
        Proportion,
        Quantile,
        Ratio,
        Total,
        estimate,
    )
    from .evaluations import Cost, Predictions, evaluate, plan
    from .machine import VSVC, VSVR
    from .machine.reweighted import Reweighted
    from .margins import Margins
    from .numerics.kernels import Kernel
    from .persistence import load, save
    from .robust import RobustBiasAware

__version__ = "0.9.0"

_MODULES = (
    "bounds",
    "comparison",
    "conformal",
    "corrections",
    "datasets",
    "diagnostics",
    "distributed",
    "estimates",
    "evaluations",
    "exceptions",
    "margins",
    "objectives",
    "operators",
    "persistence",
    "plot",
    "registry",
    "report",
    "show",
    "testing",
    "weights",
)
_EXTRAS = ("torch",)  # not in __all__: without its package ``import *`` would fail
_HOME = {
    "CDF": "estimates",
    "Coefficients": "estimates",
    "Cost": "evaluations",
    "ConformalClassifier": "conformal",
    "ConformalRegressor": "conformal",
    "DesignWeights": "data.row_weights",
    "Diagnosis": "diagnostics",
    "Difference": "estimates",
    "Kernel": "numerics.kernels",
    "Labels": "engine.labels",
    "Margins": "margins",
    "Predictions": "evaluations",
    "Proportion": "estimates",
    "Quantile": "estimates",
    "Ratio": "estimates",
    "Reweighted": "machine.reweighted",
    "RobustBiasAware": "robust",
    "TableEncoder": "encoding",
    "Target": "data.validation",
    "Total": "estimates",
    "VBoostClassifier": "boosting",
    "VBoostRegressor": "boosting",
    "VSVC": "machine",
    "VSVR": "machine",
    "compare": "comparison",
    "diagnose": "diagnostics",
    "estimate": "estimates",
    "evaluate": "evaluations",
    "load": "persistence",
    "plan": "evaluations",
    "repeat_rows": "data.row_weights",
    "save": "persistence",
    "v_matrix": "corrections",
}

__all__ = [
    "CDF",
    "VSVC",
    "VSVR",
    "Coefficients",
    "ConformalClassifier",
    "ConformalRegressor",
    "Cost",
    "DesignWeights",
    "Diagnosis",
    "Difference",
    "Kernel",
    "Labels",
    "Margins",
    "Predictions",
    "Proportion",
    "Quantile",
    "Ratio",
    "Reweighted",
    "RobustBiasAware",
    "TableEncoder",
    "Target",
    "Total",
    "VBoostClassifier",
    "VBoostRegressor",
    "__version__",
    "bounds",
    "compare",
    "comparison",
    "conformal",
    "corrections",
    "datasets",
    "diagnose",
    "diagnostics",
    "distributed",
    "estimate",
    "estimates",
    "evaluate",
    "evaluations",
    "exceptions",
    "load",
    "margins",
    "objectives",
    "operators",
    "persistence",
    "plan",
    "plot",
    "registry",
    "repeat_rows",
    "report",
    "save",
    "show",
    "testing",
    "v_matrix",
    "weights",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module  # not before: Ctrl-C at the start should find us ready

    if name in (*_MODULES, *_EXTRAS):
        return import_module(f".{name}", __name__)
    if name in _HOME:
        return getattr(import_module(f".{_HOME[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
