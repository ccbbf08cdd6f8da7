"""The number that options ask for, as `covshift.estimate` takes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from ..exceptions import InputError
from ..registry import QUANTITIES
from .options import CALLED, Quantity, spelled

if TYPE_CHECKING:
    from ..data import Samples


def quantity_name(options: Quantity, by: str | None) -> str | None:
    """Return what is asked for, by --what or by an option that belongs to it; None: the default."""
    what = options.what
    for name in QUANTITIES:
        for option in _parameters(name):
            if not _given(options, option) or (what and option in _parameters(what)):
                continue
            if what is not None:
                raise InputError(
                    f"{spelled(option)} belongs to --what {name}, not to --what {what}."
                )
            what = name
    if what is not None:
        for option, required in _parameters(what).items():
            if required and not _given(options, option):
                raise InputError(f"--what {what} needs {spelled(option)}.")
        if "groups" in QUANTITIES[what].needs and by is None:
            raise InputError(f"--what {what} compares groups: name their column with --by.")
    return what


def of_categories(what: str | None) -> bool | None:
    """Whether the outcomes of a quantity are categories; None: find out."""
    return None if what is None else bool(QUANTITIES[what].load().of_categories)


def made_quantity(what: str, options: Quantity, **read: Any) -> Any:
    """Make the quantity from the options, but for those that were ``read`` from the files."""
    given = {name: _given(options, name) for name in _parameters(what)} | read
    own = {name: value for name, value in given.items() if value not in (None, ())}
    return QUANTITIES[what].load()(**own)


def regressors(samples: Samples, names: Sequence[str]) -> list[str]:
    """Columns of X for the regressors; of a category all levels but the first."""
    features: dict[str, list[str]] = {}
    for feature in () if samples.encoder is None else samples.encoder.features_:
        made = [name for name, _ in feature.made]
        features[feature.name] = [
            column
            for k, column in enumerate(feature.columns)
            if made.count(made[k]) == 1 or made.index(made[k]) < k
        ]
    found: list[str] = []
    for name in names or features:
        if name not in features and name not in samples.names:
            raise InputError(
                f"--regressor {name!r} is not one of the features: "
                f"{', '.join(map(repr, list(features)[:12]))}."
            )
        found += features.get(name, [name])
    return found


def _parameters(what: str) -> dict[str, bool]:
    """Parameters of a quantity, and whether it needs them."""
    own = [one for one in fields(QUANTITIES[what].load()) if one.init]
    return {one.name: one.default is MISSING for one in own}


def _given(options: Quantity, name: str) -> Any:
    value = vars(options)[CALLED.get(name, name)]
    return list(value) if isinstance(value, tuple) and value else value or None
