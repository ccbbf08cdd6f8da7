"""The classes whose objects a model file may hold, by name: those of the registry, and a few more.

A file names its classes; it cannot bring one along, nor name one that is not here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._fields import PLAIN, TEXT, Kind, Labels, Maybe, Reals, Size, Texts, fields_of
from ..registry import FILES, TABLE, CorrectionEntry, LearnerEntry, load

_MORE = {  # that no name of the registry stands for
    "covshift:ConformalClassifier": "covshift.conformal:ConformalClassifier",
    "covshift:ConformalRegressor": "covshift.conformal:ConformalRegressor",
    "covshift:Importance": "covshift.corrections:Importance",
    "covshift:Precomputed": "covshift.corrections:Precomputed",
    "covshift:Reweighted": "covshift.reweighted:Reweighted",
    "covshift:RobustBiasAware": "covshift.robust:RobustBiasAware",
    "covshift:TableEncoder": "covshift.encoding:TableEncoder",
}
_SIDES = ("classifier", "regressor")
_COLUMNS: dict[str, Kind] = {"n_features_in_": Size("n"), "feature_names_in_": Maybe(Texts("n"))}


class Declared(NamedTuple):
    """What of an estimator is saved."""

    fields: dict[str, Kind]
    after_loading: Callable[[Any], None]
    ours: bool  # if not, parameters at their default are left out: another version may lack them


def class_named(name: str) -> type:
    """Return the class that a file calls ``name``; ValueError for an unknown one."""
    if name in _MORE:
        found: type = load(_MORE[name])
        return found
    first, _, side = name.partition(":")
    entry = TABLE.get(first)
    if isinstance(entry, LearnerEntry):
        if FILES in entry.can and side in _SIDES:
            side_class: type = entry.load()[_SIDES.index(side)]
            return side_class
    elif entry is not None and not side:
        return _made(entry)
    raise ValueError(f"an estimator of unknown kind {name[:50]!r}")


def name_of(cls: type) -> str | None:
    """Return what a file calls a class; None for one that it cannot hold."""
    return next((name for name in _names() if class_named(name) is cls), None)


def declared(cls: type) -> Declared | None:
    """Return what of a class is saved; None where it does not say.

    What a class inherits is not enough: it may learn more than its base.
    """
    own = f"{cls.__module__.partition('.')[0]}:{cls.__name__}"
    if own in _LINEAR:
        fields, check = _LINEAR[own]
        return Declared({**_COLUMNS, **fields}, check, ours=False)
    learns = hasattr(cls, "fit")
    if learns and "_saved" not in vars(cls):
        return None
    columns = _COLUMNS if learns and not hasattr(cls, "n_features_in_") else {}  # no property
    check = getattr(cls, "_after_loading", lambda _: None)
    return Declared({**columns, **fields_of(cls)}, check, ours=True)


def saved_names() -> list[str]:
    """Return the names of the classes that can be saved, for people."""
    return sorted({class_named(name).__name__ for name in _names()})


def _names() -> Iterator[str]:
    for name, entry in TABLE.items():
        if not isinstance(entry, LearnerEntry):
            yield name
        elif FILES in entry.can:
            yield from (f"{name}:{side}" for side in _SIDES)
    yield from _MORE


def _made(entry: Any) -> type:
    """Return the class of what an entry makes: it may name a function."""
    made = entry.load()
    if isinstance(entry, CorrectionEntry) and not isinstance(made, type):
        return type(made())
    found: type = made
    return found


def _check_logistic(model: Any) -> None:
    K = len(model.classes_)
    if K < 2 or len(model.coef_) != (K if K > 2 else 1):
        raise ValueError("the coefficients have another number of classes")


_FLOATS = (np.float64, np.float32)


def _check_ridge(model: Any) -> None:
    shape = np.shape(model.coef_)
    for part in (model.coef_, model.intercept_):
        if not isinstance(part, float) and getattr(part, "dtype", None) not in _FLOATS:
            raise ValueError("coefficients that are no numbers")
    if len(shape) not in (1, 2) or shape[-1] != model.n_features_in_:
        raise ValueError("the coefficients have another size")
    if np.shape(model.intercept_) not in ((), shape[:-1]):
        raise ValueError("the intercepts have another size")
    if not all(np.isfinite(part).all() for part in (model.coef_, model.intercept_)):
        raise ValueError("coefficients that are not finite")


_LINEAR: Mapping[str, tuple[dict[str, Kind], Callable[[Any], None]]] = {
    "sklearn:LogisticRegression": (
        {
            "classes_": Labels("K"),
            "coef_": Reals("k", "n"),
            "intercept_": Reals("k"),
            "n_iter_": Maybe(PLAIN),
        },
        _check_logistic,
    ),
    "sklearn:Ridge": (
        {
            "coef_": PLAIN,
            "intercept_": PLAIN,
            "n_iter_": Maybe(PLAIN),
            "solver_": Maybe(TEXT),
        },
        _check_ridge,
    ),
}
